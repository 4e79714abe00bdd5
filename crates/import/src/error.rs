//! Why an import ended early.

use daybook_client::Trouble;
use std::fmt;
use std::io;

/// Why an import ended early. [`fmt::Display`] gives the sentence for users.
#[derive(Debug)]
pub enum ImportError {
    /// It failed; the sentence states why.
    Failed(String),
    /// Values are invalid; the [`CheckReport`](crate::check_report::CheckReport) lists them.
    InvalidValues {
        /// How many.
        count: u64,
        /// What that means for the import, as the end of a sentence.
        consequence: &'static str,
    },
    /// The payments file has no rows, and the options do not allow that.
    NoPayments {
        /// The file.
        file: String,
    },
    /// The product is in migration mode for accounts of another import.
    OthersAreHeld {
        /// The product.
        product_id: String,
        /// The number of those accounts.
        accounts: u64,
        /// The loans file, which does not have them.
        loans_file: String,
    },
    /// The server refused a request or cannot be reached.
    Server(Trouble),
    /// The [`Observer`](crate::observer::Observer) ended the import.
    Interrupted,
    /// A file of the result could not be written.
    Output(io::Error),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Failed(sentence) => f.write_str(sentence),
            ImportError::InvalidValues { count: 1, consequence } => write!(f, "1 value is invalid: {consequence}"),
            ImportError::InvalidValues { count, consequence } => write!(f, "{count} values are invalid: {consequence}"),
            ImportError::NoPayments { file } => write!(f, "{file} has no rows below its header: nothing was loaded"),
            ImportError::OthersAreHeld { product_id, accounts, loans_file } => write!(
                f,
                "{product_id} is already in migration mode, and holds events of {} that {loans_file} does not contain: \
                 another import may be running, or may have been interrupted. Finish that import first",
                accounts_in_words(*accounts)
            ),
            ImportError::Server(trouble) => trouble.fmt(f),
            ImportError::Interrupted => f.write_str("stopped; nothing is lost: run the same command again to continue"),
            ImportError::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<Trouble> for ImportError {
    fn from(trouble: Trouble) -> ImportError {
        ImportError::Server(trouble)
    }
}

/// A row of a CSV file that could not be written.
impl From<csv::Error> for ImportError {
    fn from(error: csv::Error) -> ImportError {
        ImportError::Output(io::Error::other(error))
    }
}

/// A number of accounts, as in `1 account` or `2 accounts`.
pub fn accounts_in_words(count: u64) -> String {
    if count == 1 { "1 account".to_owned() } else { format!("{count} accounts") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let invalid = |count| ImportError::InvalidValues { count, consequence: "nothing was loaded" }.to_string();
        assert_eq!(invalid(1), "1 value is invalid: nothing was loaded");
        assert_eq!(invalid(2), "2 values are invalid: nothing was loaded");
        let held = |accounts| {
            let (product_id, loans_file) = ("p".to_owned(), "loans.csv".to_owned());
            ImportError::OthersAreHeld { product_id, accounts, loans_file }.to_string()
        };
        assert!(held(1).contains("holds events of 1 account that loans.csv does not contain"), "{}", held(1));
        assert!(held(2).contains("holds events of 2 accounts that loans.csv does not contain"), "{}", held(2));
    }
}
