//! The file of the write-ahead log, and whether another process truncated or overwrote it.
//!
//! SQLite does not notice that: it neither reads the header of the log again nor what it has written. It writes the next
//! commit where the log should end; after a crash, recovery ends at the first frame that does not fit, or ignores the
//! whole log if its header is wrong. A frame is a page with its own header.
//!
//! SQLite's index of the log (`-shm`) begins with a header, which holds the number of committed frames, the salts of the
//! log and the checksum of the last frame. SQLite changes it after it has written the log's header and the frames of a
//! commit, and before it truncates the log or restarts it from its beginning. A committed frame does not change in
//! between. So, as long as the index stays the same, the log
//!
//! - is at least as long as the committed frames,
//! - begins with a header with these salts and its own checksum,
//! - holds a last frame with these salts, the size of the database and a checksum that fits its page and the frame
//!   before it,
//!
//! unless something else changed it ([`LogFile::is_intact`]). If the index changed meanwhile, the comparison is repeated.
//! The writer checks that before and after each job. A log that is truncated during a job may look intact again
//! afterwards, so the writer also compares the last frame from before the job ([`Frame`]). What is not noticed: earlier
//! frames that are overwritten in place.

use std::fs::File;
use std::io::{self, ErrorKind};
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
/// The version of the log's format.
const LOG_VERSION: u32 = 3_007_000;
/// The first bytes of the log, except for the last bit: the byte order of its checksums.
const LOG_MAGIC: u32 = 0x377f_0682;
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

/// A checksum of the log: two sums.
type Checksum = (u32, u32);

/// Continues a checksum over some bytes, a multiple of eight. The bytes are read as numbers in one of the two orders.
fn checksum(before: Checksum, bytes: &[u8], is_big_endian: bool) -> Checksum {
    if is_big_endian { sums(before, bytes, u32::from_be_bytes) } else { sums(before, bytes, u32::from_le_bytes) }
}

fn sums((mut first, mut second): Checksum, bytes: &[u8], number: impl Fn([u8; 4]) -> u32) -> Checksum {
    for [one, other] in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
        first = first.wrapping_add(number(*one)).wrapping_add(second);
        second = second.wrapping_add(number(*other)).wrapping_add(first);
    }
    (first, second)
}

/// The number at a place in the log.
fn number_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(number)
}

/// The checksum at a place in the log.
fn checksum_at(bytes: &[u8], at: usize) -> Checksum {
    (number_at(bytes, at), number_at(bytes, at + 4))
}

impl Header {
    fn number(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        u32::from_ne_bytes(bytes)
    }

    fn is_valid(&self) -> bool {
        let is_initialized = self.0[12] != 0;
        let sum = checksum((0, 0), &self.0[..40], cfg!(target_endian = "big"));
        self.number(0) == INDEX_VERSION && is_initialized && sum == (self.number(40), self.number(44))
    }

    /// The byte order of the log's checksums.
    fn is_big_endian(&self) -> bool {
        self.0[13] != 0
    }

    /// The size of the database in pages.
    fn pages(&self) -> u32 {
        self.number(20)
    }

    /// The checksum of the last committed frame.
    fn last_checksum(&self) -> Checksum {
        (self.number(24), self.number(28))
    }

    fn frames(&self) -> u64 {
        u64::from(self.number(16))
    }

    fn page_bytes(&self) -> u32 {
        // The size 65,536 is stored as 1.
        match u16::from_ne_bytes([self.0[14], self.0[15]]) {
            1 => 65_536,
            bytes => u32::from(bytes),
        }
    }

    fn frame_bytes(&self) -> u64 {
        FRAME_HEADER_BYTES + u64::from(self.page_bytes())
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

    /// Whether the log begins like a log. After it was copied, it may be empty.
    pub(super) fn is_log(&self) -> bool {
        let mut magic = [0; 4];
        self.log.read_exact_at(&mut magic, 0).is_err() || u32::from_be_bytes(magic) & !1 == LOG_MAGIC
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

    /// Whether the log holds what was committed, as far as its length, its header and its last frame show. An index that
    /// cannot be read shows nothing.
    pub(super) fn is_intact(&self) -> bool {
        let Some(mut index) = self.header() else { return true };
        for _ in 0..TRIES {
            match self.is_described_by(&index) {
                Ok(false) => {}
                Ok(true) => return true,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
                // The log cannot be read at the moment. Its content may be right.
                Err(_) => return true,
            }
            // If SQLite truncated or restarted the log meanwhile, it changed the index before.
            match self.header() {
                Some(again) if again == index => return false,
                Some(again) => index = again,
                None => return true,
            }
        }
        true
    }

    /// Whether the log is as the index says. The error is `UnexpectedEof` if it is too short.
    fn is_described_by(&self, index: &Header) -> io::Result<bool> {
        if index.frames() == 0 {
            return Ok(true);
        }
        let mut head = [0; LOG_HEADER_BYTES as usize];
        self.log.read_exact_at(&mut head, 0)?;
        let magic = LOG_MAGIC | u32::from(index.is_big_endian());
        let first = [number_at(&head, 0), number_at(&head, 4), number_at(&head, 8)];
        let sum = checksum((0, 0), &head[..24], index.is_big_endian());
        if first != [magic, LOG_VERSION, index.page_bytes()]
            || head[16..24] != index.salts()
            || sum != checksum_at(&head, 24)
        {
            return Ok(false);
        }
        let at = index.end() - index.frame_bytes();
        let before = match index.frames() {
            1 => sum,
            _ => {
                let mut header = [0; FRAME_HEADER_BYTES as usize];
                self.log.read_exact_at(&mut header, at - index.frame_bytes())?;
                checksum_at(&header, 16)
            }
        };
        let mut frame = vec![0; FRAME_HEADER_BYTES as usize + index.page_bytes() as usize];
        self.log.read_exact_at(&mut frame, at)?;
        let (header, page) = frame.split_at(FRAME_HEADER_BYTES as usize);
        let sum = checksum(before, &header[..8], index.is_big_endian());
        let sum = checksum(sum, page, index.is_big_endian());
        Ok(number_at(header, 4) == index.pages()
            && header[8..16] == index.salts()
            && checksum_at(header, 16) == index.last_checksum()
            && sum == index.last_checksum())
    }

    /// The number of committed frames; 0 if the index cannot be read.
    pub(super) fn pages(&self) -> i64 {
        self.header().and_then(|header| i64::try_from(header.frames()).ok()).unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::connection::{open_checkpointer, open_writer};
    use rusqlite::Connection;
    use std::fs::OpenOptions;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct DatabaseWithLog {
        log: File,
        log_file: LogFile,
        writer: Connection,
        path: PathBuf,
        _folder: tempfile::TempDir,
    }

    /// A database with some commits in its log.
    fn book() -> DatabaseWithLog {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("daybook.db");
        let writer = open_writer(path.to_str().unwrap()).unwrap();
        writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (7)").unwrap();
        let log = OpenOptions::new().read(true).write(true).open(path.with_file_name("daybook.db-wal")).unwrap();
        let index = Arc::new(File::open(path.with_file_name("daybook.db-shm")).unwrap());
        let log_file = LogFile::new(log.try_clone().unwrap(), index);
        let book = DatabaseWithLog { log, log_file, writer, path, _folder: folder };
        book.commit();
        book
    }

    impl DatabaseWithLog {
        fn commit(&self) {
            self.writer.execute("INSERT INTO t VALUES (zeroblob(20000))", []).unwrap();
            assert!(self.log_file.is_intact());
        }

        fn length(&self) -> u64 {
            self.log.metadata().unwrap().len()
        }

        /// Changes one byte.
        fn change(&self, at: u64) {
            let mut byte = [0];
            self.log.read_exact_at(&mut byte, at).unwrap();
            self.log.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
        }
    }

    #[test]
    fn an_overwritten_log_is_found() {
        const FRAME: u64 = FRAME_HEADER_BYTES + 4_096;
        let another_header = |book: &DatabaseWithLog| {
            let mut head = [0; LOG_HEADER_BYTES as usize];
            book.log.read_exact_at(&mut head, 0).unwrap();
            head[16] ^= 1;
            let (first, second) = checksum((0, 0), &head[..24], cfg!(target_endian = "big"));
            head[24..28].copy_from_slice(&first.to_be_bytes());
            head[28..].copy_from_slice(&second.to_be_bytes());
            book.log.write_all_at(&head, 0).unwrap();
        };
        let cut_and_grown = |book: &DatabaseWithLog, to: u64| {
            let length = book.length();
            book.log.set_len(to).unwrap();
            book.log.set_len(length).unwrap();
        };
        type Damage<'a> = (&'a str, &'a dyn Fn(&DatabaseWithLog));
        let damages: [Damage<'_>; 11] = [
            ("a salt of the header", &|book| book.change(17)),
            ("the page size of the header", &|book| book.change(10)),
            ("the checksum of the header", &|book| book.change(30)),
            ("another header", &another_header),
            ("the last frame", &|book| book.log.write_all_at(&[0; FRAME as usize], book.length() - FRAME).unwrap()),
            ("the commit mark of the last frame", &|book| book.change(book.length() - FRAME + 7)),
            ("a salt of the last frame", &|book| book.change(book.length() - FRAME + 9)),
            ("the page of the last frame", &|book| book.change(book.length() - 2_000)),
            ("cut to nothing and grown", &|book| cut_and_grown(book, 0)),
            ("cut to half and grown", &|book| cut_and_grown(book, book.length() / 2)),
            ("cut by a byte", &|book| book.log.set_len(book.length() - 1).unwrap()),
        ];
        for (what, damage) in damages {
            let book = book();
            damage(&book);
            assert!(!book.log_file.is_intact(), "{what}");
        }
    }

    /// A single frame continues the checksum of the header, and a log that was restarted keeps old frames behind the new
    /// ones.
    #[test]
    fn the_first_frame_is_checked_too() {
        let book = book();
        book.writer.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        book.writer.execute("UPDATE t SET a = 8 WHERE a = 7", []).unwrap();
        assert_eq!(book.log_file.header().unwrap().frames(), 1);
        assert!(book.log_file.is_intact());
        book.change(LOG_HEADER_BYTES + FRAME_HEADER_BYTES + 4_000);
        assert!(!book.log_file.is_intact());
    }

    /// All that SQLite does to a log while other threads compare it: frames of a transaction that does not fit into the
    /// cache and is rolled back or committed, its frames written again, copies in parallel, restarts, truncation.
    #[test]
    fn what_sqlite_does_to_a_log_is_fine() {
        let book = book();
        book.writer.pragma_update(None, "cache_size", 10).unwrap();
        book.writer.pragma_update(None, "synchronous", "OFF").unwrap();
        let checkpointer = open_checkpointer(&book.path).unwrap();
        let copy = |connection: &Connection, how: &str| {
            connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |_| Ok(())).unwrap();
        };
        let (is_over, log_file) = (AtomicBool::new(false), &book.log_file);
        let repeat = |work: &dyn Fn()| {
            while !is_over.load(Ordering::Relaxed) {
                work();
            }
        };
        std::thread::scope(|scope| {
            let looking: Vec<_> = (0..2).map(|_| scope.spawn(|| repeat(&|| assert!(log_file.is_intact())))).collect();
            let copying = scope.spawn(move || {
                for _ in 0..100 {
                    copy(&checkpointer, "PASSIVE");
                }
            });
            for number in 0..120 {
                book.writer.execute_batch("BEGIN").unwrap();
                for _ in 0..2 {
                    book.writer.execute("INSERT INTO t VALUES (zeroblob(100000))", []).unwrap();
                    book.writer.execute("UPDATE t SET a = randomblob(length(a)) WHERE rowid % 3 = 0", []).unwrap();
                }
                book.writer.execute_batch(if number % 4 == 0 { "ROLLBACK" } else { "COMMIT" }).unwrap();
                assert!(log_file.is_intact());
                book.writer.execute("DELETE FROM t WHERE rowid > 3", []).unwrap();
                if number % 3 == 0 {
                    copy(&book.writer, ["TRUNCATE", "RESTART", "PASSIVE"][number / 3 % 3]);
                }
                assert!(log_file.is_intact());
            }
            copying.join().unwrap();
            is_over.store(true, Ordering::Relaxed);
            looking.into_iter().for_each(|one| one.join().unwrap());
        });
    }
}
