//! Customers, with their accounts.
