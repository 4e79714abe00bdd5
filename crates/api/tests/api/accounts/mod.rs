mod get;
mod line_items;
mod payments;
mod post;
mod status;
