//! One account: what it owes and why, what can be done with it, and the time machine.
