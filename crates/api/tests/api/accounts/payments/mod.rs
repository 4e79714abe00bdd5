mod post;
