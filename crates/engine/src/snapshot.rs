//! States as bytes: compact, with a version and a checksum in front.
//!
//! A snapshot holds only what later folds need. It drops paid rows and where the money of each payment went. So its
//! size does not grow with the account's age, and undoing an old payment requires a fold from the beginning
//! ([`crate::fold::FoldError::NeedsPast`]).
//!
//! The checksum detects bytes that changed since they were written, and bytes of another account: it covers the owner
//! that the caller names. Such a snapshot is refused instead of being read with wrong amounts. Earlier versions are
//! still read: the checksum of version 4 does not cover the owner, and version 2 has no checksum.

use crate::state::State;
use alloc::vec::Vec;
use core::fmt;

/// The version written today. Its number differs from each earlier one in two bits, so that a single flipped bit cannot
/// turn one version into another.
pub const VERSION: u8 = 8;

/// An earlier version whose checksum does not cover the owner.
pub const UNBOUND: u8 = 4;

/// The oldest version that can be read. It has no checksum.
pub const OLDEST: u8 = 2;

/// The checksum's length in bytes.
const CHECKSUM_BYTES: usize = 8;

/// Why bytes are not a readable snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSnapshot {
    /// There are no bytes, they are not a snapshot of their version, or they belong to another owner.
    Damaged,
    /// The version is unknown.
    Version(u8),
}

impl fmt::Display for NoSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoSnapshot::Damaged => f.write_str("the snapshot is damaged"),
            NoSnapshot::Version(version) => {
                write!(f, "snapshot version {version} is unknown; this build uses version {VERSION}")
            }
        }
    }
}

impl core::error::Error for NoSnapshot {}

/// 64-bit FNV-1a over version, owner and body. Each step is reversible, so two bodies that differ in a single byte always
/// have different checksums.
fn checksum(version: u8, owner: &[u8], body: &[u8]) -> [u8; CHECKSUM_BYTES] {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(PRIME);
    owner.iter().chain(body).fold(step(BASIS, version), |sum, byte| step(sum, *byte)).to_le_bytes()
}

/// Writes the state of an owner. The owner is a text of the caller that identifies the account; it is not part of the
/// snapshot, but of its checksum.
pub fn write(state: &State, owner: &[u8]) -> Result<Vec<u8>, NoSnapshot> {
    let mut room = alloc::vec![VERSION];
    room.extend_from_slice(&[0; CHECKSUM_BYTES]);
    let mut bytes = postcard::to_extend(state, room).map_err(|_| NoSnapshot::Damaged)?;
    let (front, body) = bytes.split_at_mut(1 + CHECKSUM_BYTES);
    front[1..].copy_from_slice(&checksum(VERSION, owner, body));
    Ok(bytes)
}

/// Reads the state of an owner.
pub fn read(bytes: &[u8], owner: &[u8]) -> Result<State, NoSnapshot> {
    let (version, rest) = bytes.split_first().ok_or(NoSnapshot::Damaged)?;
    let body = match *version {
        VERSION => checked(VERSION, owner, rest)?,
        UNBOUND => checked(UNBOUND, &[], rest)?,
        OLDEST => rest,
        version => return Err(NoSnapshot::Version(version)),
    };
    match postcard::take_from_bytes(body) {
        Ok((state, [])) => Ok(state),
        _ => Err(NoSnapshot::Damaged),
    }
}

/// The bytes after a checksum that fits them.
fn checked<'a>(version: u8, owner: &[u8], rest: &'a [u8]) -> Result<&'a [u8], NoSnapshot> {
    let (sum, body) = rest.split_first_chunk::<CHECKSUM_BYTES>().ok_or(NoSnapshot::Damaged)?;
    if *sum == checksum(version, owner, body) { Ok(body) } else { Err(NoSnapshot::Damaged) }
}
