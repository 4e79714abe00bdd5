//! Webhooks: delivers messages of the log to subscribed URLs.
//!
//! A message's `data` is written and signed once, when the event is recorded; every delivery sends the same bytes and
//! the same signature.
//!
//! | module | what it does |
//! |---|---|
//! | [`signature`], [`envelope`] | what a receiver gets, and how it can verify the origin |
//! | [`policy`] | decides from the response what happens to a message: pure |
//! | [`guard`] | where a URL may point |
//! | [`sender`] | sends one message to one URL |
//! | [`dispatcher`] | decides which node sends what to which URL, and when |

pub mod dispatcher;
pub mod envelope;
pub mod guard;
pub mod policy;
pub mod sender;
pub mod signature;
