//! The bytes of a group.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | the number of the dictionary |
//! | 1 | the number of messages |
//! | 1 | the number of signatures that follow |
//! | 32 each | the signatures of messages, if they are 32 bytes in Base64, as the service makes them |
//! | most of the rest | a zstd frame |
//! | 4 | a checksum over all these bytes: the beginning of their SHA-256 |
//!
//! The frame has a head for each message, and then the data of all messages, one after the other. A head consists of
//! texts with their lengths (a signature of another form, the subject, the event id) and the length of the data. An event
//! id with which the data begins is left out. Numbers are in LEB128.

use super::dictionary;
use crate::Result;
use crate::error::StoreError;
use crate::records::MessageRow;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::io;
use std::sync::{Mutex, PoisonError};
use zstd::bulk::{Compressor, Decompressor};

const SIGNATURE_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 4;
/// Larger than any group.
const EXPANDED_BYTES_MAX: usize = 1 << 30;
/// How the data of messages begins: the event id follows.
const EVENT_ID_FIRST: &[u8] = b"{\"event_id\":\"";
/// A text's length is stored plus this; the numbers below have other meanings.
const LENGTHS_FROM: u64 = 1;
/// For a signature: it is among the signatures before the frame. For an event id: the data begins with it.
const ELSEWHERE: u64 = 0;

/// What a group holds of a message. A text that is in the row's own column is empty here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageContent {
    pub signature: String,
    pub subject: String,
    pub event_id: String,
    pub data: Bytes,
}

impl MessageContent {
    /// Of a message that leaves everything to the group, or keeps its event id and subject in columns.
    pub fn of(message: &MessageRow, is_all: bool) -> MessageContent {
        let column = |text: &String| if is_all { text.clone() } else { String::new() };
        MessageContent {
            signature: message.signature.clone(),
            subject: column(&message.subject),
            event_id: column(&message.event_id),
            data: message.data.clone(),
        }
    }
}

/// The messages of a group.
#[derive(Debug)]
pub(super) struct Group {
    contents: Vec<MessageContent>,
}

impl Group {
    /// The message that is this many before the last.
    pub fn before_last(&self, distance: usize) -> Option<&MessageContent> {
        self.contents.get(self.contents.len().checked_sub(distance + 1)?)
    }
}

/// Adds the bytes of a group.
pub(super) fn write(contents: &[MessageContent], to: &mut Vec<u8>) -> Result<()> {
    let mut frame = Vec::with_capacity(contents.iter().map(|content| content.data.len() + 64).sum());
    let mut signatures = Vec::with_capacity(contents.len() * SIGNATURE_BYTES);
    for content in contents {
        match raw_signature(&content.signature) {
            Some(signature) => {
                signatures.extend_from_slice(&signature);
                put_number(&mut frame, ELSEWHERE);
            }
            None => put_text(&mut frame, &content.signature),
        }
        put_text(&mut frame, &content.subject);
        if leading_event_id(&content.data) == Some(&content.event_id) {
            put_number(&mut frame, ELSEWHERE);
        } else {
            put_text(&mut frame, &content.event_id);
        }
        put_number(&mut frame, content.data.len() as u64);
    }
    contents.iter().for_each(|content| frame.extend_from_slice(&content.data));
    let begin = to.len();
    let byte = |count: usize| u8::try_from(count).map_err(|_| failed("a group has too many messages"));
    to.extend([dictionary::NEWEST, byte(contents.len())?, byte(signatures.len() / SIGNATURE_BYTES)?]);
    to.extend_from_slice(&signatures);
    let mut compressor = COMPRESSORS.take(new_compressor).map_err(failed)?;
    to.extend_from_slice(&compressor.compress(&frame).map_err(failed)?);
    COMPRESSORS.give_back(compressor);
    let checksum = checksum(&to[begin..]);
    to.extend_from_slice(&checksum);
    Ok(())
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = Sha256::digest(bytes);
    [hash[0], hash[1], hash[2], hash[3]]
}

fn failed(error: impl ToString) -> StoreError {
    StoreError::Broken(format!("messages could not be compressed: {}", error.to_string()))
}

/// Reads the bytes of a group; `None` if they are damaged.
pub(super) fn read(stored: &[u8]) -> Option<Group> {
    let (stored, found) = stored.split_last_chunk()?;
    if checksum(stored) != *found {
        return None;
    }
    let (&[number, count, signed], rest) = stored.split_first_chunk()?;
    let (signatures, frame) = rest.split_at_checked(usize::from(signed) * SIGNATURE_BYTES)?;
    let frame = Bytes::from(decompress(number, frame)?);
    let mut signatures = signatures.chunks_exact(SIGNATURE_BYTES).map(|signature| STANDARD.encode(signature));
    let mut reader = HeadReader { bytes: &frame, at: 0 };
    let mut contents = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let signature = match reader.text()? {
            Some(text) => text,
            None => signatures.next()?,
        };
        let subject = reader.text()?.unwrap_or_default();
        let event_id = reader.text()?;
        contents.push((signature, subject, event_id, usize::try_from(reader.number()?).ok()?));
    }
    let mut at = reader.at;
    let content = |(signature, subject, event_id, length): (String, String, Option<String>, usize)| {
        let end = at.checked_add(length).filter(|end| *end <= frame.len())?;
        let data = frame.slice(at..end);
        at = end;
        let event_id = match event_id {
            Some(text) => text,
            None => leading_event_id(&data)?.to_owned(),
        };
        Some(MessageContent { signature, subject, event_id, data })
    };
    let contents = contents.into_iter().map(content).collect::<Option<_>>()?;
    (at == frame.len()).then_some(Group { contents })
}

/// The 32 bytes of a signature. Only one text gives them: other paddings and stray bits are refused.
fn raw_signature(text: &str) -> Option<[u8; SIGNATURE_BYTES]> {
    // Decoding works in steps of three bytes.
    let mut bytes = [0; SIGNATURE_BYTES + 1];
    let length = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}

/// The event id with which data begins.
fn leading_event_id(data: &[u8]) -> Option<&str> {
    let rest = data.strip_prefix(EVENT_ID_FIRST)?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()
}

fn put_number(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

fn put_text(to: &mut Vec<u8>, text: &str) {
    put_number(to, text.len() as u64 + LENGTHS_FROM);
    to.extend_from_slice(text.as_bytes());
}

/// Reads what `put_number` and `put_text` wrote.
struct HeadReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl HeadReader<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..63).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A text; the inner `None` if it is elsewhere.
    fn text(&mut self) -> Option<Option<String>> {
        let Some(length) = self.number()?.checked_sub(LENGTHS_FROM) else { return Some(None) };
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let text = std::str::from_utf8(self.bytes.get(self.at..end)?).ok()?;
        self.at = end;
        Some(Some(text.to_owned()))
    }
}

/// Compressors and decompressors are kept: making one takes longer than using it.
struct Kept<T>(Mutex<Vec<T>>);

static COMPRESSORS: Kept<Compressor<'static>> = Kept(Mutex::new(Vec::new()));
static DECOMPRESSORS: Kept<(u8, Decompressor<'static>)> = Kept(Mutex::new(Vec::new()));

impl<T> Kept<T> {
    /// Some are kept; more are made when many threads need one at once.
    const MOST: usize = 8;

    fn take(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.map_or_else(make, Ok)
    }

    fn give_back(&self, used: T) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < Self::MOST {
            kept.push(used);
        }
    }
}

fn new_compressor() -> io::Result<Compressor<'static>> {
    let mut compressor = Compressor::with_prepared_dictionary(dictionary::newest())?;
    compressor.include_checksum(false)?;
    compressor.include_dictid(false)?;
    Ok(compressor)
}

fn decompress(number: u8, frame: &[u8]) -> Option<Vec<u8>> {
    let dictionary = dictionary::numbered(number)?;
    let make = || Ok((number, Decompressor::with_prepared_dictionary(dictionary)?));
    let (of, mut decompressor) = DECOMPRESSORS.take(make).ok()?;
    if of != number {
        decompressor.set_prepared_dictionary(dictionary).ok()?;
    }
    let expanded = decompressor.decompress(frame, EXPANDED_BYTES_MAX).ok();
    DECOMPRESSORS.give_back((number, decompressor));
    expanded
}
