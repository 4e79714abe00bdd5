//! Commands of this same program, as processes of their own.

use crate::commands::Failure;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command of this program, in a folder, without this process's settings.
pub fn command(args: &[&str], folder: &Path) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe().map_err(Failure::Output)?);
    command.env_clear().args(args).current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

/// Runs a command to its end and returns the JSON that it prints.
pub async fn json_of(command: Command) -> Result<Value, Failure> {
    let text = output_of(command).await?;
    serde_json::from_str(&text).map_err(|error| Failure::Failed(format!("the output is no JSON: {error}: {text}")))
}

/// Runs a command to its end, which must succeed, and returns what it prints.
pub async fn output_of(mut command: Command) -> Result<String, Failure> {
    let running = tokio::task::spawn_blocking(move || {
        let output = command.stderr(Stdio::piped()).output().map_err(Failure::Output)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        Err(Failure::Failed(format!("daybook {}: {}", args.join(" "), last_line(&text(&output.stderr)))))
    });
    running.await.map_err(|error| Failure::Failed(error.to_string()))?
}

/// A command says last why it failed.
fn last_line(text: &str) -> &str {
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it ended without a message")
}
