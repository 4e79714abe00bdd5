//! Accounts: the list, and opening one.
