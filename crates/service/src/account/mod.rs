//! An account in memory and its operations. Pure: time is an argument, rows are returned as data.
//!
//! | file | contents |
//! |---|---|
//! | `journal` | all inputs of an account, in order of arrival |
//! | `book` | the account itself |
//! | `attempt` | undoing a request that fails |
//! | `requests` | requests: submit an input, withdraw one, roll the clock |
//! | `judging` | judging a change when it arrives |
//! | `changes` | changes of the loan: make, withdraw and show them |
//! | `folding` | folding forward, or from the beginning |
//! | `release` | releasing held inputs |
//! | `slice` | how much is processed in one transaction |
//! | `outdated` | accounts that earlier rules wrote |
//! | `refolding` | folding the whole journal again by newer rules |
//! | `refusals` | errors for inputs that the engine refuses |
//! | `causes` | the causes of messages |
//! | `event_data` | the content of messages |
//! | `message_writer` | messages, with the data as of each event |
//! | `notices` | the configured notices, as they are shown |
//! | `writes` | the rows to write |
//! | `profile` | customers and external fields |
//! | `postings` | the amounts that each step posted |
//! | `preview` | the account as of any moment, past or future |
//! | `timeline` | how the balance came about |

mod attempt;
pub mod book;
pub mod causes;
pub mod changes;
pub mod event_data;
mod folding;
pub mod journal;
mod judging;
pub mod message_writer;
pub mod notices;
pub mod outdated;
pub mod postings;
pub mod preview;
pub mod profile;
pub mod refolding;
mod refusals;
mod release;
mod requests;
pub mod slice;
pub mod timeline;
pub mod writes;

use daybook_store::records::AccountKey;

/// Identifies an account in the checksum of its state: its organization and its id.
pub fn owner_of(key: &AccountKey) -> String {
    format!("{}:{}", key.org, key.account)
}
