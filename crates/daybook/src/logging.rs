//! Logging to stderr; stdout is for data.
//!
//! The format is text, or one JSON object per line. With JSON, nothing else goes to stderr: messages and errors of a
//! command are JSON too. `--dev` leaves out the date and the module. Colours are used only on a terminal, and never
//! with `NO_COLOR`.
//!
//! A server writes its log from a separate thread. If stderr is a pipe that is not read and the queue is full, lines
//! are dropped and counted, and requests are served as usual. Queued lines are written before the process ends.

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

/// The target of messages for users in a JSON log.
pub const TALK: &str = "daybook::talk";

/// Whether stderr contains only JSON.
static IS_JSON: AtomicBool = AtomicBool::new(false);

/// The most queued lines. The longest have some hundred bytes.
const QUEUED_LINES: usize = 32_768;

/// The writer of a server's log. Dropping it writes the queued lines.
static WRITER: Mutex<Option<WorkerGuard>> = Mutex::new(None);
/// The counter of dropped lines.
static DROPPED: Mutex<Option<ErrorCounter>> = Mutex::new(None);

/// The style of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Text or JSON.
    pub format: LogFormat,
    /// `info`, or levels by module.
    pub level: String,
    /// Whether text lines leave out the date and the module.
    pub friendly: bool,
    /// Whether text lines are coloured.
    pub colour: bool,
}

impl Style {
    /// The style for these settings, on this process's stderr.
    pub fn of(settings: &Settings) -> Style {
        // no-color.org: any value that is not empty.
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

/// Starts logging to stderr from a separate thread, for a server. [`finish`] writes the queued lines.
pub fn start_for_server(style: &Style) -> Result<(), String> {
    let builder = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(QUEUED_LINES).thread_name("log");
    let (writer, guard) = builder.finish(io::stderr());
    *DROPPED.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer.error_counter());
    *WRITER.lock().unwrap_or_else(PoisonError::into_inner) = Some(guard);
    start_with(style, writer)
}

/// Writes the queued lines, or gives up after a second if stderr is blocked.
pub fn finish() {
    drop(WRITER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Metrics of the log.
pub fn metrics() -> Families {
    let registry = Registry::default();
    if let Some(dropped) = &*DROPPED.lock().unwrap_or_else(PoisonError::into_inner) {
        let help = "Log lines that were dropped because stderr was not read";
        registry.total("daybook_log_lines_dropped_total", help, dropped.dropped_lines() as f64);
    }
    registry.families()
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

/// Starts logging in JSON for a program that will only report why it cannot start.
pub fn start_json() {
    let style = Style { format: LogFormat::Json, level: "info".to_owned(), friendly: false, colour: false };
    if let Err(error) = start(&style) {
        eprintln!("daybook: {error}");
    }
}

/// Whether stderr contains only JSON.
pub fn is_json() -> bool {
    IS_JSON.load(Relaxed)
}

/// Prints a message for users, in the format of the log. Errors of stderr are ignored.
pub fn say(text: &str) {
    if !is_json() {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    } else if !text.trim().is_empty() {
        tracing::info!(target: TALK, "{}", text.trim());
    }
}

/// Reports why the program failed, in the format of the log.
pub fn tell_failure(failure: &dyn std::fmt::Display) {
    if is_json() {
        tracing::error!("{failure}");
    } else {
        // Written after the queued lines.
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
    struct CapturedLog(Arc<Mutex<Vec<u8>>>);

    impl Write for CapturedLog {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no writer panicked").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, level: &str, friendly: bool) -> String {
        let page = CapturedLog::default();
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
