//! Test cases: listing them, running them, writing one from an account.
