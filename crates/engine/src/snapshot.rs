//! States as bytes: compact, with a version in front.
//!
//! A snapshot holds what folding on needs, and no more: it forgets the rows that are paid and where the money of each
//! payment went. So its size does not grow with the account's age, and undoing an old payment starts from the
//! beginning ([`crate::fold::Stop::NeedsPast`]).

use crate::state::State;
use alloc::vec::Vec;
use core::fmt;

/// The version written today.
pub const VERSION: u8 = 2;

/// Why bytes are no snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSnapshot {
    /// There are none, or they are not what a snapshot of this version consists of.
    Damaged,
    /// The version is unknown.
    Version(u8),
}

impl fmt::Display for NoSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSnapshot::Damaged => f.write_str("the snapshot is damaged"),
            NoSnapshot::Version(version) => write!(f, "snapshot version {version} is unknown, {VERSION} is written"),
        }
    }
}

impl core::error::Error for NoSnapshot {}

/// Writes a state.
pub fn write(state: &State) -> Result<Vec<u8>, NoSnapshot> {
    postcard::to_extend(state, alloc::vec![VERSION]).map_err(|_| NoSnapshot::Damaged)
}

/// Reads a state.
pub fn read(bytes: &[u8]) -> Result<State, NoSnapshot> {
    match bytes.split_first() {
        None => Err(NoSnapshot::Damaged),
        Some((&VERSION, rest)) => match postcard::take_from_bytes(rest) {
            Ok((state, [])) => Ok(state),
            _ => Err(NoSnapshot::Damaged),
        },
        Some((&version, _)) => Err(NoSnapshot::Version(version)),
    }
}
