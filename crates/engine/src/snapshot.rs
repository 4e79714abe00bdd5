//! States as bytes: compact, with a version and a checksum in front.
//!
//! A snapshot holds what folding on needs, and no more: it forgets the rows that are paid and where the money of each
//! payment went. So its size does not grow with the account's age, and undoing an old payment starts from the
//! beginning ([`crate::fold::Stop::NeedsPast`]).
//!
//! The checksum finds bytes that changed since they were written: a damaged snapshot is refused, and never read as other
//! figures. Snapshots of version 2 have none and are read all the same.

use crate::state::State;
use alloc::vec::Vec;
use core::fmt;

/// The version written today. Its number differs from the earlier ones in two bits, so that no flipped bit makes one of the
/// other.
pub const VERSION: u8 = 4;

/// The oldest version that is read. It had no checksum.
pub const OLDEST: u8 = 2;

/// How many bytes the checksum has.
const CHECKSUM_BYTES: usize = 8;

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

/// FNV-1a with 64 bits, begun with the version. Each step can be undone, so two texts that differ in one byte never have
/// the same.
fn checksum(body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(PRIME);
    body.iter().fold(step(BASIS, VERSION), |sum, byte| step(sum, *byte)).to_le_bytes()
}

/// Writes a state.
pub fn write(state: &State) -> Result<Vec<u8>, NoSnapshot> {
    let mut room = alloc::vec![VERSION];
    room.extend_from_slice(&[0; CHECKSUM_BYTES]);
    let mut bytes = postcard::to_extend(state, room).map_err(|_| NoSnapshot::Damaged)?;
    let (front, body) = bytes.split_at_mut(1 + CHECKSUM_BYTES);
    front[1..].copy_from_slice(&checksum(body));
    Ok(bytes)
}

/// Reads a state.
pub fn read(bytes: &[u8]) -> Result<State, NoSnapshot> {
    let (version, rest) = bytes.split_first().ok_or(NoSnapshot::Damaged)?;
    let body = match *version {
        VERSION => {
            let (sum, body) = rest.split_first_chunk::<CHECKSUM_BYTES>().ok_or(NoSnapshot::Damaged)?;
            if *sum != checksum(body) {
                return Err(NoSnapshot::Damaged);
            }
            body
        }
        OLDEST => rest,
        version => return Err(NoSnapshot::Version(version)),
    };
    match postcard::take_from_bytes(body) {
        Ok((state, [])) => Ok(state),
        _ => Err(NoSnapshot::Damaged),
    }
}
