//! Why a command did not do what it was asked: a sentence, and an exit code.

use crate::config::Problems;
use crate::instance::NotTaken;
use crate::secrets_file::KeyError;
use daybook_service::problem::Problem;
use daybook_store::error::StoreError;
use std::fmt;
use std::io;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// The settings are wrong.
    Settings(Problems),
    /// It was tried and failed; the sentence says why.
    Failed(String),
    /// It was not tried, because it makes no sense; the sentence says why.
    Senseless(String),
    /// The answer could not be written.
    Output(io::Error),
}

impl Failure {
    /// The process's exit code: 2 for a request that makes no sense, 1 for one that failed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Settings(_) | Failure::Senseless(_) => 2,
            Failure::Failed(_) | Failure::Output(_) => 1,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Settings(problems) => problems.fmt(f),
            Failure::Failed(sentence) | Failure::Senseless(sentence) => f.write_str(sentence),
            Failure::Output(error) => write!(f, "the answer cannot be written: {error}"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Failure {
        Failure::Settings(problems)
    }
}

/// The code is for programs; people get the sentence, and each field's if there are several.
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
