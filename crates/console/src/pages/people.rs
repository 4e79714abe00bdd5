//! People: who may use the console, and as what.
