//! Webhooks: messages of the log on their way to the URLs that want them.
//!
//! A message's `data` is written and signed once, when the event is recorded; every delivery sends the same bytes and the
//! same signature.
//!
//! | module | what it does |
//! |---|---|
//! | [`signature`], [`envelope`] | what a receiver gets, and how it can tell that it comes from us |
//! | [`policy`] | what becomes of a message by what was answered: pure |
//! | [`guard`] | where a URL may point |
//! | [`sender`] | one message to one URL |
//! | [`dispatcher`] | who sends what to whom, and when |

pub mod dispatcher;
pub mod envelope;
pub mod guard;
pub mod policy;
pub mod sender;
pub mod signature;
