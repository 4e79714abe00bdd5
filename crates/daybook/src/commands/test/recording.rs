//! `daybook test --record`: writes the results of a case into its file as the expected values.

use super::super::{Failure, say};
use super::gather::Gathered;
use daybook_cases::{CaseOutcome, ScenarioError, record};
use std::fs;
use std::io;
use std::path::Path;

/// Writes the results of each case into its file and prints the changes. Returns the results after that.
pub async fn run(gathered: &Gathered) -> Result<(Vec<CaseOutcome>, Vec<ScenarioError>), Failure> {
    if gathered.are_builtin {
        let why = "--record: the built-in cases cannot be written to; name a file";
        return Err(Failure::Senseless(why.to_owned()));
    }
    let (mut outcomes, mut broken) = (Vec::new(), Vec::new());
    for (case, text) in gathered.cases.iter().zip(&gathered.texts) {
        let recording = match record(case, text).await {
            Ok(recording) => recording,
            Err(error) => {
                broken.push(error);
                continue;
            }
        };
        let file = case.file.display();
        match &recording.text {
            Some(text) => {
                let kept = replace(&case.file, text);
                kept.map_err(|error| Failure::Failed(format!("{file} cannot be written: {error}")))?;
                say(&format!("recorded  {file}\n"));
                recording.changes.iter().for_each(|change| say(&format!("          {change}\n")));
            }
            None if recording.outcome.passed => say(&format!("unchanged {file}\n")),
            None => say(&format!("unchanged {file}: nothing can be recorded, see below\n")),
        }
        outcomes.push(recording.outcome);
    }
    Ok((outcomes, broken))
}

/// Replaces a file atomically.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    // A symbolic link stays one.
    let file = fs::canonicalize(file)?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = file.with_file_name(name);
    fs::write(&beside, text)?;
    let placed = fs::metadata(&file)
        .and_then(|found| fs::set_permissions(&beside, found.permissions()))
        .and_then(|()| fs::rename(&beside, &file));
    if placed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    placed
}
