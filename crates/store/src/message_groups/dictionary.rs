//! The dictionaries by which messages are compressed.
//!
//! A dictionary is text that messages have in common; both sides need the same one. Each has a number, which every group
//! names, and none is ever changed or removed: a database holds groups of every build that wrote to it. The newest one
//! compresses. `crates/store/examples/train_dictionary.rs` makes one, from the scenarios and the samples of the catalogue of
//! events.

use std::sync::LazyLock;
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// How hard to compress. With a dictionary, higher levels take longer and gain little.
const LEVEL: i32 = 1;

/// By number, from 1.
const DICTIONARIES: &[&[u8]] = &[include_bytes!("../../dictionaries/messages-1.zdict")];

/// The number of the newest dictionary.
pub(super) const NEWEST: u8 = DICTIONARIES.len() as u8;

static NEWEST_PREPARED: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(DICTIONARIES[DICTIONARIES.len() - 1], LEVEL));

static PREPARED: LazyLock<Vec<DecoderDictionary<'static>>> =
    LazyLock::new(|| DICTIONARIES.iter().map(|bytes| DecoderDictionary::copy(bytes)).collect());

/// The newest dictionary, to compress with.
pub(super) fn newest() -> &'static EncoderDictionary<'static> {
    &NEWEST_PREPARED
}

/// The dictionary with a number, to decompress with.
pub(super) fn numbered(number: u8) -> Option<&'static DecoderDictionary<'static>> {
    PREPARED.get(usize::from(number).checked_sub(1)?)
}
