//! Shows an import on the terminal, and ends it when the user interrupts the command.

use crate::commands::progress::Progress;
use crate::commands::{interrupt, say};
use daybook_import::observer::{Observer, Task};

/// Progress bars and messages on stderr.
#[derive(Clone, Copy, Debug)]
pub struct OnTerminal;

impl Observer for OnTerminal {
    fn begin(&self, what: &str, total: u64) -> Box<dyn Task> {
        Box::new(Progress::begin(what, total))
    }

    fn say(&self, sentence: &str) {
        say(&format!("{sentence}\n"));
    }

    fn is_interrupted(&self) -> bool {
        interrupt::is_interrupted()
    }
}

impl Task for Progress {
    fn add(&self, steps: u64) {
        Progress::add(self, steps);
    }

    fn is_at(&self, steps: u64) {
        Progress::is_at(self, steps);
    }

    fn is_of(&self, steps: u64) {
        Progress::is_of(self, steps);
    }

    fn end(self: Box<Self>, sentence: &str) {
        Progress::end(*self, sentence);
    }

    fn clear(self: Box<Self>) {
        Progress::clear(*self);
    }
}
