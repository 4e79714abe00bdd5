//! A write-ahead log that is overwritten in place while the server runs: its length stays the same, and the process goes
//! on reading its own index of it; but a start after a crash would ignore everything after the damage.

use super::{AFTER, BEFORE, Trial, all_are_in, lose};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The size of a frame: a page and its header.
const FRAME_BYTES: u64 = 24 + 4_096;

fn log_of(trial: &Trial) -> File {
    fs::OpenOptions::new().read(true).write(true).open(trial.path("daybook.db-wal")).expect("it opens")
}

/// The readiness says what happened and what to do.
#[track_caller]
fn is_reported(trial: &Trial) {
    let ready = trial.client.get("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.text);
    assert!(ready.text.contains("daybook.db-wal was truncated or overwritten"), "{}", ready.text);
    assert!(ready.text.contains("stop it and restore a backup"), "{}", ready.text);
}

#[test]
fn a_salt_in_its_header() {
    let mut trial = Trial::new();
    lose(&trial, |trial| {
        let log = log_of(trial);
        let mut salt = [0];
        log.read_exact_at(&mut salt, 17).expect("a header");
        log.write_all_at(&[!salt[0]], 17).expect("it is ours");
    });
    is_reported(&trial);
    trial.kill();
}

#[test]
fn cut_and_grown_back_with_zeros() {
    let mut trial = Trial::new();
    lose(&trial, |trial| {
        let log = log_of(trial);
        let length = log.metadata().expect("its length").len();
        log.set_len(0).expect("it can be cut short");
        log.set_len(length).expect("it can grow");
    });
    is_reported(&trial);
    trial.kill();
}

/// No payments run meanwhile, so that the last frame of the index is the last of the log.
#[test]
fn its_last_frame_with_zeros() {
    let mut trial = Trial::new();
    let acknowledged: Vec<String> = (0..BEFORE).map(|number| format!("before-{number}")).collect();
    for id in &acknowledged {
        assert_eq!(trial.pay(id), 200);
    }
    let (log, index) = (log_of(&trial), File::open(trial.path("daybook.db-shm")).expect("it opens"));
    let mut frames = [0; 4];
    index.read_exact_at(&mut frames, 16).expect("a header");
    let last_frame_at = 32 + (u64::from(u32::from_ne_bytes(frames)) - 1) * FRAME_BYTES;
    let mut frame = vec![0; FRAME_BYTES as usize];
    log.read_exact_at(&mut frame, last_frame_at).expect("a frame");
    log.write_all_at(&vec![0; FRAME_BYTES as usize], last_frame_at).expect("it is ours");
    let refused = (0..AFTER).map(|number| trial.pay(&format!("after-{number}"))).collect::<Vec<_>>();
    assert_eq!(refused, [503; AFTER], "nothing is acknowledged once the log is overwritten");
    is_reported(&trial);
    trial.kill();
    // Nothing was written behind the frame: with it, the log is whole.
    log.write_all_at(&frame, last_frame_at).expect("it is ours");
    all_are_in(&trial.path("daybook.db"), &acknowledged);
}
