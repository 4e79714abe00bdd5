//! A log that is truncated and pages that are overwritten while the server runs: payments get 503, never 500, and
//! `/readyz` gives the reason.

use super::{AFTER, BEFORE, Trial, lose};
use crate::common::api_client::until;
use std::fs;
use std::os::unix::fs::FileExt;

/// The size of a page of the database.
const PAGE_BYTES: usize = 4_096;

/// Truncates the log until it hurts: a log that was just copied has restarted from its beginning.
#[test]
fn its_log_cut_to_half() {
    let mut trial = Trial::new();
    lose(&trial, |trial| {
        let log = fs::OpenOptions::new().write(true).open(trial.path("daybook.db-wal")).expect("it opens");
        let mut number = 0;
        until("a cut through commits", || {
            log.set_len(log.metadata().expect("its length").len() / 2).expect("it can be cut short");
            number += 1;
            if trial.pay(&format!("cut-{number}")) == 503 { Ok(()) } else { Err("it was acknowledged".to_owned()) }
        });
    });
    let ready = trial.client.get("/readyz").text;
    assert!(ready.contains("daybook.db-wal was truncated or overwritten"), "{ready}");
    trial.kill();
}

/// Overwrites all pages but the first, until a payment comes upon one of them.
#[test]
fn its_pages_overwritten_with_zeros() {
    let mut trial = Trial::new();
    for number in 0..BEFORE {
        assert_eq!(trial.pay(&format!("before-{number}")), 200);
    }
    let file = fs::OpenOptions::new().write(true).open(trial.path("daybook.db")).expect("it opens");
    let mut number = 0;
    until("damage", || {
        let length = usize::try_from(file.metadata().expect("its length").len()).expect("a small file");
        file.write_all_at(&vec![0; length - PAGE_BYTES], PAGE_BYTES as u64).expect("it is ours");
        number += 1;
        match trial.pay(&format!("zeros-{number}")) {
            503 => Ok(()),
            200 => Err("it was acknowledged".to_owned()),
            other => panic!("a payment was answered with {other}"),
        }
    });
    let ready = trial.client.get("/readyz");
    assert_eq!(ready.status, 503, "{}", ready.text);
    assert!(ready.text.contains("daybook.db") && ready.text.contains("restore a backup"), "{}", ready.text);
    let refused = (0..AFTER).map(|number| trial.pay(&format!("after-{number}"))).collect::<Vec<_>>();
    assert_eq!(refused, [503; AFTER], "nothing is acknowledged once damage is known");
    assert_eq!(trial.client.get("/readyz").status, 503, "it does not pass");
    trial.kill();
}

#[test]
fn verify_lists_damage() {
    let mut trial = Trial::new();
    for number in 0..BEFORE {
        assert_eq!(trial.pay(&format!("before-{number}")), 200);
    }
    trial.stop();
    let mut bytes = fs::read(trial.path("daybook.db")).expect("it is ours");
    let id = b"before-7";
    for page in bytes.chunks_mut(PAGE_BYTES).filter(|page| page.windows(id.len()).any(|text| text == id)) {
        page.fill(0);
    }
    fs::write(trial.path("daybook.db"), bytes).expect("it is ours");
    let output = trial.daybook.run(&["verify"]);
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("database: ") && said.contains(": btreeInitPage() returns error code"), "{said}");
    assert!(said.contains("the data cannot be verified: "), "{said}");
    assert!(said.contains("restore a backup (docs/operating/lost-files.md)"), "{said}");
    assert!(!said.contains("daybook verify"), "verify does not advise to run itself: {said}");
}
