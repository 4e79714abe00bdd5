//! `daybook mute`, `daybook unmute`, `serve --muted` and what a server shows while the database is muted, on both
//! databases.

use crate::support::{fresh, lend};
use daybook_testkit::postgres;
use daybook_testkit::server::{Daybook, Server};
use std::thread;
use std::time::Duration;

/// The number of checks until a server has applied a change, and the pause between them: a minute.
const LOOKS: u32 = 600;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

fn is_muted(server: &Server) -> bool {
    let text = server.get("/metrics", "").text;
    let muted = text.lines().find_map(|line| line.strip_prefix("daybook_muted "));
    muted.unwrap_or_else(|| panic!("no such figure in {text}")) == "1"
}

fn follows(server: &Server, muted: bool) {
    for _ in 0..LOOKS {
        if is_muted(server) == muted {
            return;
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    panic!("the server did not follow: {}", server.stderr());
}

/// Checks for a log line. A separate thread writes the log, so the line may appear a moment later.
fn logs(server: &Server, line: &str) {
    for _ in 0..LOOKS {
        if server.stderr().contains(line) {
            return;
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    panic!("it does not say {line:?}: {}", server.stderr());
}

fn on(database: &str) -> (tempfile::TempDir, Daybook) {
    let (folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", database);
    (folder, daybook)
}

#[test]
fn a_sqlite_database_is_muted_and_unmuted_beside_its_server_and_without() {
    let (_folder, daybook) = on("sqlite:daybook.db");
    let server = daybook.serve(&[]);
    mutes_and_unmutes(&daybook, &[server]);
}

#[test]
fn all_nodes_of_a_postgresql_database_are_muted_and_unmuted() {
    let (_folder, daybook) = on(&postgres::Server::shared().database());
    let nodes = [daybook.serve(&[]), daybook.serve(&[])];
    mutes_and_unmutes(&daybook, &nodes);
}

fn mutes_and_unmutes(daybook: &Daybook, nodes: &[Server]) {
    assert_eq!(daybook.stdout_of(&["unmute"]), "the database is not muted\n");
    let output = daybook.run(&["mute"]);
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && said.starts_with("The database has been muted since 20"), "{said}");
    assert!(said.contains("`daybook mute` was run"), "{said}");
    let secret = nodes[0].first_secret();
    for node in nodes {
        follows(node, true);
        assert_eq!(node.get("/readyz", "").status, 200, "a muted server is ready");
    }
    // Calls are answered, and their changes are stored.
    lend(&nodes[0], &secret, "loan-1");
    assert_eq!(nodes[0].get("/accounts/loan-1/line_items/p1", &secret).status, 200);
    let page = nodes[0].get("/console/sign-in", "").text;
    assert!(page.contains("This server is muted since") && page.contains("`daybook mute` was run"), "{page}");
    let table = daybook.stdout_of(&["doctor", "--listen", "127.0.0.1:0"]);
    assert!(table.lines().any(|line| line.starts_with("muted") && line.contains("warn")), "{table}");
    let would = daybook.stdout_of(&["unmute", "--dry-run"]);
    assert!(would.contains("pending: 0 messages for 0 webhook URLs; due: 0 accounts\n"), "{would}");
    assert!(
        would.ends_with("nothing was changed; run `daybook unmute` to send the messages and process the accounts\n"),
        "{would}"
    );
    assert!(nodes.iter().all(is_muted), "a dry run changes nothing");
    let done = daybook.stdout_of(&["unmute"]);
    assert!(
        done.ends_with("servers now send the messages and process the accounts, and send the resulting messages\n"),
        "{done}"
    );
    for node in nodes {
        follows(node, false);
        logs(node, "no longer muted");
        node.signal_stop();
    }
}

#[test]
fn a_server_that_is_asked_to_be_muted_stays_so_after_a_restart() {
    for database in ["sqlite:daybook.db".to_owned(), postgres::Server::shared().database()] {
        let (_folder, daybook) = on(&database);
        let server = daybook.serve(&["--muted"]);
        assert!(is_muted(&server));
        let said = server.stop();
        assert!(said.contains("a server was started with `daybook serve --muted`"), "{said}");
        let server = daybook.serve(&[]);
        assert!(is_muted(&server), "the mark is the database's");
        let said = server.stop();
        assert!(said.contains("WARN") && said.contains("muted: no messages are sent"), "{said}");
        assert!(daybook.stdout_of(&["unmute"]).starts_with("the database had been muted since "));
        let server = daybook.serve(&[]);
        assert!(!is_muted(&server));
        assert!(!server.stop().contains("muted"));
    }
}
