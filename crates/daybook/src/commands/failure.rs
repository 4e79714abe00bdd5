//! Why a command failed: a sentence, and an exit code.

use crate::config::Problems;
use crate::instance::NotTaken;
use crate::secrets_file::KeyError;
use daybook_import::ImportError;
use daybook_service::problem::Problem;
use daybook_store::error::StoreError;
use std::fmt;
use std::io;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The settings are invalid.
    Settings(Problems),
    /// The command was tried and failed; the sentence states why.
    Failed(String),
    /// The command was not tried because its arguments make no sense; the sentence states why.
    Senseless(String),
    /// An import ended early.
    Import(ImportError),
    /// The output could not be written.
    Output(io::Error),
}

impl Failure {
    /// The exit code of the process: 2 for invalid arguments or settings, 1 for a failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Settings(_) | Failure::Senseless(_) => 2,
            Failure::Failed(_) | Failure::Import(_) | Failure::Output(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Settings(problems) => problems.fmt(f),
            Failure::Failed(sentence) | Failure::Senseless(sentence) => f.write_str(sentence),
            Failure::Import(error) => error.fmt(f),
            Failure::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Settings(problems)
    }
}

/// The error code is for programs. Users get the message and, if there are several, the message of each field.
impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        let mut sentence = problem.message;
        if problem.details.len() > 1 {
            for detail in &problem.details {
                sentence.push_str(&format!("\n  {}: {}", detail.field, detail.message));
            }
        }
        Failure::Failed(sentence)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Failed(error.to_string())
    }
}

impl From<KeyError> for Failure {
    fn from(error: KeyError) -> Failure {
        Failure::Failed(error.to_string())
    }
}

impl From<NotTaken> for Failure {
    fn from(not_taken: NotTaken) -> Failure {
        Failure::Failed(not_taken.to_string())
    }
}
