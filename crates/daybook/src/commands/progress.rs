//! Progress bars, on stderr and only where somebody looks: a log or a pipe gets a line when something is done.

use super::say;
use crate::logging;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::time::Duration;

const TEMPLATE: &str = "{prefix:>12} [{bar:32}] {human_pos}/{human_len} {msg} {elapsed} ({eta} left)";
const REDRAW: Duration = Duration::from_millis(100);

/// How far something is.
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
    what: String,
    is_shown: bool,
}

impl Progress {
    /// Begins something of so many steps, called `what` (`loading accounts`).
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

    /// So many more steps are done.
    pub fn add(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// So many steps are done altogether.
    pub fn is_at(&self, steps: u64) {
        self.bar.set_position(steps);
    }

    /// There are so many steps altogether after all.
    pub fn is_of(&self, steps: u64) {
        self.bar.set_length(steps);
    }

    /// Ends it: the bar goes, and one line stays.
    pub fn end(self, sentence: &str) {
        self.bar.finish_and_clear();
        say(&format!("{}: {sentence}\n", self.what));
    }

    /// Ends it without a word.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Whether somebody sees it.
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
