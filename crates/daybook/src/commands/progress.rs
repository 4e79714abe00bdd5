//! Progress bars on stderr, only if it is a terminal: a log or a pipe gets one line at the end.

use super::say;
use crate::logging;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

const TEMPLATE: &str = "{prefix:>12} [{bar:32}] {human_pos}/{human_len} {msg} {elapsed} ({eta} left)";
const REDRAW: Duration = Duration::from_millis(100);

/// The progress of a task.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
    what: String,
    is_shown: bool,
}

impl Progress {
    /// Starts a task of `total` steps, called `what` (`loading accounts`).
    pub fn begin(what: &str, total: u64) -> Progress {
        let is_shown = io::stderr().is_terminal() && !logging::is_json();
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if is_shown {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.enable_steady_tick(REDRAW);
        }
        bar.set_prefix(what.to_owned());
        Progress { bar, what: what.to_owned(), is_shown }
    }

    /// Adds completed steps.
    pub fn add(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// Sets the number of completed steps.
    pub fn is_at(&self, steps: u64) {
        self.bar.set_position(steps);
    }

    /// Changes the total number of steps.
    pub fn is_of(&self, steps: u64) {
        self.bar.set_length(steps);
    }

    /// Ends the task: removes the bar and prints one line.
    pub fn end(self, sentence: &str) {
        self.bar.finish_and_clear();
        say(&format!("{}: {sentence}\n", self.what));
    }

    /// Ends the task without a line.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Whether the bar is visible.
    pub fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Prints a line on stderr above the bar.
    pub fn say(&self, line: &str) {
        if self.is_shown {
            self.bar.println(line);
        } else {
            say(&format!("{line}\n"));
        }
    }
}
