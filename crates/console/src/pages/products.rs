//! Products: the list, making one, and the migration switch.
