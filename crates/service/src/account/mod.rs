//! An account in memory, and what can be done with it. Pure: time comes in as an argument, rows go out as data.
//!
//! | file | what is there |
//! |---|---|
//! | `journal` | everything that was asked of an account, in order of arrival |
//! | `book` | the account itself |
//! | `asking` | what is asked of it: an input, taking one back, a roll |
//! | `folding` | folding forward, or from the beginning |
//! | `release` | letting go of what is held |
//! | `slice` | how much of that is done in one transaction |
//! | `refolding` | folding the whole journal again by newer rules |
//! | `causes` | what made a message |
//! | `herald` | messages, written as things stand when they happen |
//! | `writes` | what is gathered to be written |
//! | `profile` | customers and external fields |
//! | `postings` | what each step did, line by line |
//! | `preview` | the account as of any moment, past or to come |
//! | `timeline` | why the balance is this |

mod asking;
pub mod book;
mod causes;
mod folding;
pub mod herald;
pub mod journal;
pub mod postings;
pub mod preview;
pub mod profile;
pub mod refolding;
mod release;
pub mod slice;
pub mod timeline;
pub mod writes;
