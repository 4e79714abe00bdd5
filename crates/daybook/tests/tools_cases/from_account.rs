//! `daybook case from-account`: an account of a server becomes a case, which passes.

use crate::folder::{fresh, said};
use daybook_testkit::postgres;
use std::fs;

#[test]
fn accounts_of_a_demo_server_become_cases_that_pass() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&["--demo"]);
    fs::create_dir(folder.path().join("cases")).expect("a folder");
    let accounts = ["loan-01-ana", "loan-02-ben", "loan-03-chloe", "loan-05-elena"];
    for account in accounts {
        let file = format!("cases/{account}.toml");
        let (code, stdout, stderr) = said(daybook.run(&["case", "from-account", account, "--to", &file]));
        assert_eq!((code, stdout.as_str()), (0, ""), "{stderr}");
        assert_eq!(stderr, format!("Wrote {file}. Review it, then run `daybook test {file}`.\n"));
    }
    let text = daybook.stdout_of(&["test", "cases"]);
    assert!(text.ends_with("\n4 cases: 4 passed\n"), "{text}");

    let (code, stderr) = daybook.failure_of(&["case", "from-account", accounts[0], "--to", "cases/loan-01-ana.toml"]);
    assert_eq!(
        (code, stderr.as_str()),
        (1, "daybook: cases/loan-01-ana.toml already exists: remove it, or name another file\n")
    );
    let (code, stderr) = daybook.failure_of(&["case", "from-account", "nobody"]);
    assert!(code == 1 && stderr.contains("nobody"), "{stderr}");
    server.stop();
    let printed = daybook.stdout_of(&["case", "from-account", "loan-08-hugo"]);
    assert!(printed.starts_with("# Written from account loan-08-hugo as of "), "{printed}");
}

#[test]
fn it_works_on_postgresql_too() {
    let (_folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", &postgres::Server::shared().migrated_database());
    let server = daybook.serve(&["--demo"]);
    let output = daybook.stdout_of(&["case", "from-account", "loan-03-chloe"]);
    crate::folder::write(daybook.folder(), "case.toml", &output);
    server.stop();
    let text = daybook.stdout_of(&["test", "case.toml"]);
    assert!(text.ends_with("\n1 case: 1 passed\n"), "{text}");
}
