//! Runs every command of the manual, page by page, as an operator would.
//!
//! A page that needs PostgreSQL (it contains its port) starts with the first block of the page about PostgreSQL, which
//! creates a role and a database.

use crate::page::{Block, blocks, pages};
use crate::terminal::{Done, POSTGRES_PORT, TerminalSession};
use daybook_testkit::postgres;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The page that describes how to create a role and a database.
const ABOUT_POSTGRES: &str = "postgresql.md";

/// Pages without commands that can be run, with the reason.
const WITHOUT: [(&str, &str); 2] =
    [("README.md", "is the list of the pages"), ("performance.md", "is measurements, on a machine of their own")];

/// A private PostgreSQL server, and the folder of its programs.
struct Postgres {
    programs: PathBuf,
    port: String,
    _server: postgres::Server,
}

impl Postgres {
    fn start() -> Postgres {
        let server = postgres::Server::start();
        let address = server.database();
        let port = address.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("an address has a port");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/private-postgres");
        let found = Command::new(script).arg("--find").stdin(Stdio::null()).output().expect("the script runs");
        let programs = String::from_utf8(found.stdout).expect("a path is text");
        Postgres { programs: PathBuf::from(programs.trim_end()), port: port.to_owned(), _server: server }
    }

    fn session(&self) -> TerminalSession {
        TerminalSession::new(&self.programs, &self.port)
    }

    /// Removes the databases and roles created by pages.
    fn clear(&self) {
        let drops = ["DROP DATABASE IF EXISTS books WITH (FORCE)", "DROP DATABASE IF EXISTS rehearsal WITH (FORCE)"];
        for sql in drops.into_iter().chain(["DROP ROLE IF EXISTS books"]) {
            let mut command = Command::new(self.programs.join("psql"));
            command.args(["--host", "127.0.0.1", "--port", &self.port, "--username", "daybook"]);
            let output = command.args(["--dbname", "postgres", "--command", sql]).output().expect("psql starts");
            assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Runs a page, after the first block of the PostgreSQL page if it needs that.
fn follow(postgres: &Postgres, name: &str, text: &str, first: &Block) -> Result<Done, String> {
    let page = blocks(text)?;
    let mut wanted = page.clone();
    let needs_postgres = name != ABOUT_POSTGRES && text.contains(&format!(":{POSTGRES_PORT}"));
    if needs_postgres {
        wanted.insert(0, first.clone());
    }
    postgres.clear();
    let done = postgres.session().follow(&wanted)?;
    Ok(Done { run: done.run - usize::from(needs_postgres), ..done })
}

#[test]
fn every_command_of_the_manual_works() {
    let pages = pages();
    let postgres = Postgres::start();
    let about = pages.iter().find(|(name, _)| name == ABOUT_POSTGRES).expect("there is a page about PostgreSQL");
    let first = blocks(&about.1).expect("a good page").into_iter().next().expect("it makes a role and a database");
    let mut broken = Vec::new();
    for (name, text) in &pages {
        match follow(&postgres, name, text, &first) {
            Ok(Done { run, not_run }) => {
                println!("{name}: {run} blocks run, {not_run} not");
                let reason = WITHOUT.iter().find(|(without, _)| without == name);
                if (run == 0) != reason.is_some() {
                    broken.push(format!("{name}: {run} blocks were run, and the reason for none is {reason:?}"));
                }
            }
            Err(sentence) => broken.push(format!("{name}, {sentence}")),
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}

/// A session without a PostgreSQL server.
fn session() -> TerminalSession {
    TerminalSession::new(Path::new("/usr/bin"), "1")
}

#[test]
fn a_page_that_does_not_work_is_found() {
    let told = |text: &str| session().follow(&blocks(text).expect("a good page")).expect_err(text);
    let failing = told("```sh\necho before\nfalse\necho after\n```\n");
    assert!(failing.starts_with("line 1: the block ended with exit status: 1\nbefore\n"), "{failing}");
    let misspelt = told("text\n```sh\ndaybook config shw\n```\n");
    assert!(misspelt.starts_with("line 2: ") && misspelt.contains("unrecognized subcommand"), "{misspelt}");
    let piped = told("```sh\ndaybook nonsense | cat\n```\n");
    assert!(piped.contains("the block ended with"), "{piped}");
    let refused = told("```sh server\ndaybook serve --rate-limit fast\n```\n");
    assert!(refused.contains("before it was ready") && refused.contains("rate-limit"), "{refused}");
    let second = told("```sh server\ndaybook serve\n```\n```sh server second\ndaybook serve\n```\n");
    assert!(second.starts_with("line 4: ") && second.contains("in use by"), "{second}");
}

#[test]
fn what_is_exported_stays_and_a_server_serves() {
    let text = "```sh\nexport ANSWER=42\nmkdir sub\n```\n```sh server\ntest -z \"$ANSWER\"\ndaybook serve\n```\n\
                ```sh\ntest \"$ANSWER\" = 42 && test -d sub\ndaybook keys list\n```\n\
                ```sh no-run: needs something else\nfalse\n```\n";
    let done = session().follow(&blocks(text).expect("a good page")).expect("it works");
    assert_eq!(done, Done { run: 3, not_run: 1 });
}
