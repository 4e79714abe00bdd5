//! Log lines, on stderr: stdout belongs to data.
//!
//! Text for people, or a JSON object a line for machines: then nothing else goes to stderr, neither what a command says to
//! people nor why the program failed. A `--dev` start leaves out what only an operator wants: date
//! and module. Colours only on a terminal, and never with `NO_COLOR`.
//!
//! A server writes its lines from a thread of its own. Where stderr is a pipe that is not read, lines are dropped and
//! counted once the queue is full, and calls are answered as ever. What is queued is written before the process ends.

use crate::config::Settings;
use crate::config::values::LogFormat;
use daybook_metrics::{Families, Registry};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use tracing::Subscriber;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Names what a command says to people, among the lines of a log in JSON.
pub const TALK: &str = "daybook::talk";

/// Whether stderr is for JSON alone.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Lines that may wait to be written. The longest are some hundred bytes.
const QUEUED_LINES: usize = 32_768;

/// What writes a server's lines: dropped, it writes what is queued.
static WRITER: Mutex<Option<WorkerGuard>> = Mutex::new(None);
/// The lines that were dropped.
static DROPPED: Mutex<Option<ErrorCounter>> = Mutex::new(None);

/// How to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Text or JSON.
    pub format: LogFormat,
    /// `info`, or levels by module.
    pub level: String,
    /// Whether text lines are short.
    pub friendly: bool,
    /// Whether text lines are coloured.
    pub colour: bool,
}

impl Style {
    /// The style that the settings ask for, on this process's stderr.
    pub fn of(settings: &Settings) -> Style {
        // no-color.org: set and not empty, whatever the value.
        let wants_none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style {
            format: settings.log_format,
            level: settings.log_level.clone(),
            friendly: settings.dev,
            colour: !wants_none && io::stderr().is_terminal(),
        }
    }
}

/// Starts logging to stderr, for the whole process.
pub fn start(style: &Style) -> Result<(), String> {
    start_with(style, io::stderr)
}

/// Starts logging to stderr from a thread of its own, for a server. [`finish`] writes what is queued.
pub fn start_for_server(style: &Style) -> Result<(), String> {
    let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUED_LINES).thread_name("log");
    let (writer, guard) = builder.finish(io::stderr());
    *DROPPED.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer.error_counter());
    *WRITER.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    start_with(style, writer)
}

/// Writes what is queued, or gives up after a second where stderr takes nothing.
pub fn finish() {
    drop(WRITER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Figures about the log.
pub fn metrics() -> Families {
    let figures = Registry::default();
    if let Some(dropped) = &*DROPPED.lock().unwrap_or_else(PoisonError::into_inner) {
        let help = "Log lines that were dropped because stderr was not read";
        figures.total("daybook_log_lines_dropped_total", help, dropped.dropped_lines() as f64);
    }
    figures.families()
}

fn start_with<W>(style: &Style, writer: W) -> Result<(), String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let subscriber = subscriber(style, writer)?;
    tracing::subscriber::set_global_default(subscriber).map_err(|error| format!("logging cannot start: {error}"))?;
    if style.format == LogFormat::Json {
        IS_JSON.store(true, Relaxed);
        std::panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    }
    Ok(())
}

/// Starts logging in JSON for a program that will only say why it cannot start.
pub fn start_json() {
    let style = Style { format: LogFormat::Json, level: "info".to_owned(), friendly: false, colour: false };
    if let Err(error) = start(&style) {
        eprintln!("daybook: {error}");
    }
}

/// Whether stderr is for JSON alone.
pub fn is_json() -> bool {
    IS_JSON.load(Relaxed)
}

/// Says something to people, in the form that the log has. A stderr that takes nothing is no reason to stop.
pub fn say(text: &str) {
    if !is_json() {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    } else if !text.trim().is_empty() {
        tracing::info!(target: TALK, "{}", text.trim());
    }
}

/// Says why the program failed, in the form that the log has.
pub fn tell_failure(failure: &dyn std::fmt::Display) {
    if is_json() {
        tracing::error!("{failure}");
    } else {
        // After what was logged before.
        finish();
        eprintln!("daybook: {failure}");
    }
}

type AnySubscriber = Box<dyn Subscriber + Send + Sync>;

fn subscriber<W>(style: &Style, writer: W) -> Result<AnySubscriber, String>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(&style.level).map_err(|error| format!("log-level = {:?}: {error}", style.level))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(style.colour);
    Ok(match (style.format, style.friendly) {
        (LogFormat::Json, _) => Box::new(builder.json().flatten_event(true).finish()),
        (LogFormat::Text, true) => Box::new(builder.without_time().with_target(false).compact().finish()),
        (LogFormat::Text, false) => Box::new(builder.finish()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no writer panicked").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, level: &str, friendly: bool) -> String {
        let page = Page::default();
        let writer = page.clone();
        let style = Style { format, level: level.to_owned(), friendly, colour: false };
        let subscriber = subscriber(&style, move || writer.clone()).expect("a good level");
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(accounts = 3, "released");
            tracing::debug!("a detail");
        });
        let bytes = page.0.lock().expect("no writer panicked").clone();
        String::from_utf8(bytes).expect("log lines are text")
    }

    #[test]
    fn json_lines_are_json() {
        let lines = logged(LogFormat::Json, "info", false);
        assert_eq!(lines.lines().count(), 1, "{lines}");
        let line: serde_json::Value = serde_json::from_str(&lines).expect("a JSON object");
        assert_eq!(
            (&line["message"], &line["accounts"], &line["level"]),
            (&"released".into(), &3.into(), &"INFO".into())
        );
        assert!(line["timestamp"].is_string());
    }

    #[test]
    fn friendly_lines_are_short() {
        assert_eq!(logged(LogFormat::Text, "info", true).trim(), "INFO released accounts=3");
        assert!(logged(LogFormat::Text, "info", false).contains("daybook::logging::tests: released accounts=3"));
    }

    #[test]
    fn the_level_decides() {
        assert_eq!(logged(LogFormat::Text, "debug", true).lines().count(), 2);
        assert_eq!(logged(LogFormat::Text, "warn", true), "");
    }
}
