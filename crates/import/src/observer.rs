//! What an import tells its caller while it works, and how the caller interrupts it.
//!
//! The command line shows progress bars and handles Ctrl+C; another caller may do neither ([`Silent`]).

use crate::error::ImportError;

/// Follows an import. Several threads use it at the same time.
pub trait Observer: Sync {
    /// A task of `total` steps begins, called `what` (`loading accounts`).
    fn begin(&self, what: &str, total: u64) -> Box<dyn Task>;

    /// A message for the user.
    fn say(&self, sentence: &str);

    /// Whether the import is to end at the next safe point.
    fn is_interrupted(&self) -> bool;

    /// Fails if the import is to end.
    fn check(&self) -> Result<(), ImportError> {
        if self.is_interrupted() { Err(ImportError::Interrupted) } else { Ok(()) }
    }
}

/// A task in progress. One that is dropped has failed.
pub trait Task: Send + Sync {
    /// Adds completed steps.
    fn add(&self, steps: u64);

    /// Sets the number of completed steps.
    fn is_at(&self, steps: u64);

    /// Changes the total number of steps.
    fn is_of(&self, steps: u64);

    /// The task is done; the sentence says what was done.
    fn end(self: Box<Self>, sentence: &str);

    /// The task is done, and there is nothing to say about it.
    fn clear(self: Box<Self>);
}

/// Shows nothing and never interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _what: &str, _total: u64) -> Box<dyn Task> {
        Box::new(Silent)
    }

    fn say(&self, _sentence: &str) {}

    fn is_interrupted(&self) -> bool {
        false
    }
}

impl Task for Silent {
    fn add(&self, _steps: u64) {}

    fn is_at(&self, _steps: u64) {}

    fn is_of(&self, _steps: u64) {}

    fn end(self: Box<Self>, _sentence: &str) {}

    fn clear(self: Box<Self>) {}
}
