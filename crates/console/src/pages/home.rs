//! Home: how the portfolio stands, and what needs attention.
