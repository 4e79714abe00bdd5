//! The procedure of a migration, by hand only.
