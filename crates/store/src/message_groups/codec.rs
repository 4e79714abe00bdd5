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
//!
//! In a row of several messages, each head ends with what the columns of a row of one message have: the event and the
//! cause, as texts, and two times, when it happened and when it was recorded. A time is stored as the difference to that
//! of the message before: twice the difference in seconds, or, if one of the two is no whole second, twice the difference
//! in microseconds and one more.

use super::dictionary;
use crate::Result;
use crate::error::StoreError;
use crate::records::MessageRow;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use daybook_engine::time::Time;
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

/// The largest distance of a time from 1970, in microseconds, that a group can hold: 36,000 years.
pub(super) const TIME_MAX: i64 = 1 << 60;
const SECOND: i64 = 1_000_000;

/// What a group holds of a message. A text that is in the row's own column is empty here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageContent {
    pub signature: String,
    pub subject: String,
    pub event_id: String,
    pub data: Bytes,
    /// `None` if these are in the columns of the row.
    pub facts: Option<Facts>,
}

/// What a row of several messages holds of each in addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub event: String,
    pub cause: String,
    pub effective_at: Time,
    pub recorded_at: Time,
}

impl MessageContent {
    /// Of a message that keeps its event id and subject in columns.
    pub fn beside_columns(message: &MessageRow) -> MessageContent {
        let (signature, data) = (message.signature.clone(), message.data.clone());
        MessageContent { signature, data, ..MessageContent::default() }
    }

    /// Of a message that leaves its event id and subject to the group.
    pub fn with_texts(message: &MessageRow) -> MessageContent {
        let (subject, event_id) = (message.subject.clone(), message.event_id.clone());
        MessageContent { subject, event_id, ..MessageContent::beside_columns(message) }
    }

    /// Of a message in a row of several.
    pub fn whole(message: &MessageRow) -> MessageContent {
        let facts = Facts {
            event: message.event.clone(),
            cause: message.cause.clone(),
            effective_at: message.effective_at,
            recorded_at: message.recorded_at,
        };
        MessageContent { facts: Some(facts), ..MessageContent::with_texts(message) }
    }
}

/// The messages of a group.
#[derive(Debug)]
pub(super) struct Group {
    contents: Vec<MessageContent>,
}

impl Group {
    /// How many messages it has.
    pub fn size(&self) -> usize {
        self.contents.len()
    }

    /// The message that is this many before the last.
    pub fn before_last(&self, distance: usize) -> Option<&MessageContent> {
        self.contents.get(self.contents.len().checked_sub(distance + 1)?)
    }
}

/// Adds the bytes of a group.
pub(super) fn write(contents: &[MessageContent], to: &mut Vec<u8>) -> Result<()> {
    let mut frame = Vec::with_capacity(contents.iter().map(|content| content.data.len() + 64).sum());
    let mut signatures = Vec::with_capacity(contents.len() * SIGNATURE_BYTES);
    let mut before = TimesBefore::default();
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
        if let Some(Facts { event, cause, effective_at, recorded_at }) = &content.facts {
            put_text(&mut frame, event);
            put_text(&mut frame, cause);
            put_time(&mut frame, *effective_at, &mut before.effective_at);
            put_time(&mut frame, *recorded_at, &mut before.recorded_at);
        }
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

/// Reads the bytes of a group, whose messages have facts or not; `None` if they are damaged.
pub(super) fn read(stored: &[u8], has_facts: bool) -> Option<Group> {
    let (stored, found) = stored.split_last_chunk()?;
    if checksum(stored) != *found {
        return None;
    }
    let (&[number, count, signed], rest) = stored.split_first_chunk()?;
    let (signatures, frame) = rest.split_at_checked(usize::from(signed) * SIGNATURE_BYTES)?;
    let frame = Bytes::from(decompress(number, frame)?);
    let mut signatures = signatures.chunks_exact(SIGNATURE_BYTES).map(|signature| STANDARD.encode(signature));
    let mut reader = HeadReader { bytes: &frame, at: 0 };
    let mut heads = Vec::with_capacity(usize::from(count));
    let mut before = TimesBefore::default();
    for _ in 0..count {
        let signature = match reader.text()? {
            Some(text) => text,
            None => signatures.next()?,
        };
        let subject = reader.text()?.unwrap_or_default();
        let event_id = reader.text()?;
        let length = usize::try_from(reader.number()?).ok()?;
        let facts = if has_facts { Some(reader.facts(&mut before)?) } else { None };
        heads.push((MessageContent { signature, subject, facts, ..MessageContent::default() }, event_id, length));
    }
    let mut at = reader.at;
    let content = |(head, event_id, length): (MessageContent, Option<String>, usize)| {
        let end = at.checked_add(length).filter(|end| *end <= frame.len())?;
        let data = frame.slice(at..end);
        at = end;
        let event_id = match event_id {
            Some(text) => text,
            None => leading_event_id(&data)?.to_owned(),
        };
        Some(MessageContent { event_id, data, ..head })
    };
    let contents = heads.into_iter().map(content).collect::<Option<_>>()?;
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

/// The times of the message before.
#[derive(Default)]
struct TimesBefore {
    effective_at: i64,
    recorded_at: i64,
}

fn put_time(to: &mut Vec<u8>, time: Time, before: &mut i64) {
    let micros = time.micros();
    let is_whole = micros % SECOND == 0 && *before % SECOND == 0;
    let difference = (micros - *before) / if is_whole { SECOND } else { 1 };
    let zigzag = ((difference << 1) ^ (difference >> 63)).cast_unsigned();
    put_number(to, zigzag << 1 | u64::from(!is_whole));
    *before = micros;
}

/// Reads what `put_number`, `put_text` and `put_time` wrote.
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

    fn time(&mut self, before: &mut i64) -> Option<Time> {
        let number = self.number()?;
        let unit = if number & 1 == 0 { SECOND } else { 1 };
        let zigzag = number >> 1;
        let difference = (zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed());
        *before = before.checked_add(difference.checked_mul(unit)?)?;
        Some(Time::from_micros(*before))
    }

    fn facts(&mut self, before: &mut TimesBefore) -> Option<Facts> {
        Some(Facts {
            event: self.text()??,
            cause: self.text()??,
            effective_at: self.time(&mut before.effective_at)?,
            recorded_at: self.time(&mut before.recorded_at)?,
        })
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
