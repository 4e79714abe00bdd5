//! The file of the write-ahead log, and whether another process truncated it.
//!
//! SQLite does not notice that: it writes the next commit where the log should end, the file system fills the gap with
//! zeros, and the commits in the gap are lost.
//!
//! SQLite's index of the log (`-shm`) begins with a header, which holds the number of committed frames (a frame is a
//! page with its own header). SQLite changes it after it has written frames, and before it truncates the log itself. So
//! the log is never shorter than the header says, unless something else truncated it. The writer checks that before
//! each job. A log that is truncated during a job may be long enough again afterwards, so the writer also compares the
//! last frame from before the job ([`Frame`]).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The bytes of the log before its first frame.
const LOG_HEADER_BYTES: u64 = 32;
/// The bytes of a frame before its page.
const FRAME_HEADER_BYTES: u64 = 24;
/// The size of the index's header, which is stored twice: while SQLite changes it, the two copies differ.
const INDEX_HEADER_BYTES: usize = 48;
/// The version of the index that this code can read.
const INDEX_VERSION: u32 = 3_007_000;
/// How often the header is read until it holds still.
const TRIES: usize = 16;

/// The log and its index, open.
#[derive(Debug)]
pub(super) struct LogFile {
    log: File,
    /// Never closed: SQLite holds locks on it.
    index: Arc<File>,
}

/// The header of the index.
#[derive(Clone, PartialEq, Eq)]
struct Header([u8; INDEX_HEADER_BYTES]);

/// The last committed frame of the log.
pub(super) struct Frame {
    salts: [u8; 8],
    at: u64,
    bytes: Vec<u8>,
}

impl Header {
    fn number(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        u32::from_ne_bytes(bytes)
    }

    fn is_valid(&self) -> bool {
        let is_initialized = self.0[12] != 0;
        self.number(0) == INDEX_VERSION && is_initialized
    }

    fn frames(&self) -> u64 {
        u64::from(self.number(16))
    }

    fn frame_bytes(&self) -> u64 {
        // The size 65,536 is stored as 1.
        let page_bytes = match u16::from_ne_bytes([self.0[14], self.0[15]]) {
            1 => 65_536,
            bytes => u64::from(bytes),
        };
        FRAME_HEADER_BYTES + page_bytes
    }

    /// Where the committed frames end. A log without frames may be empty.
    fn end(&self) -> u64 {
        match self.frames() {
            0 => 0,
            frames => LOG_HEADER_BYTES + frames * self.frame_bytes(),
        }
    }

    /// They change when the log restarts from its beginning.
    fn salts(&self) -> [u8; 8] {
        let mut salts = [0; 8];
        salts.copy_from_slice(&self.0[32..40]);
        salts
    }
}

impl LogFile {
    pub(super) fn new(log: File, index: Arc<File>) -> LogFile {
        LogFile { log, index }
    }

    /// The first bytes of the log; `None` if it has none.
    pub(super) fn magic(&self) -> Option<u32> {
        let mut magic = [0; 4];
        self.log.read_exact_at(&mut magic, 0).ok()?;
        Some(u32::from_be_bytes(magic))
    }

    /// `None` if the header cannot be read, or does not hold still.
    fn header(&self) -> Option<Header> {
        for _ in 0..TRIES {
            let mut both = [0; 2 * INDEX_HEADER_BYTES];
            self.index.read_exact_at(&mut both, 0).ok()?;
            let (first, second) = both.split_at(INDEX_HEADER_BYTES);
            if first == second {
                return first.try_into().ok().map(Header).filter(Header::is_valid);
            }
        }
        None
    }

    /// Whether the log holds all frames that were committed.
    pub(super) fn is_whole(&self) -> bool {
        let Some(mut header) = self.header() else { return true };
        for _ in 0..TRIES {
            let Ok(found) = self.log.metadata() else { return true };
            if found.len() >= header.end() {
                return true;
            }
            // If SQLite truncated the log meanwhile, it changed the header before.
            match self.header() {
                Some(again) if again == header => return false,
                Some(again) => header = again,
                None => return true,
            }
        }
        true
    }

    /// The last committed frame; `None` if the log has no frames.
    pub(super) fn last_frame(&self) -> Option<Frame> {
        let header = self.header().filter(|header| header.frames() > 0)?;
        let at = header.end() - header.frame_bytes();
        let mut bytes = vec![0; usize::try_from(header.frame_bytes()).ok()?];
        self.log.read_exact_at(&mut bytes, at).ok()?;
        Some(Frame { salts: header.salts(), at, bytes })
    }

    /// Whether the log still has this frame, or has restarted since: it does so only if all its frames were copied.
    pub(super) fn still_has(&self, frame: &Frame) -> bool {
        let has_restarted = || self.header().is_none_or(|header| header.salts() != frame.salts);
        let mut bytes = vec![0; frame.bytes.len()];
        let is_same = self.log.read_exact_at(&mut bytes, frame.at).is_ok() && bytes == frame.bytes;
        is_same || has_restarted()
    }
}
