//! What a first start shows once goes to people, never into a log.

use crate::support::fresh;
use daybook_testkit::server::Server;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Stops a server and gives everything that it said, on stderr and on stdout.
fn all_said(server: Server) -> (String, String) {
    server.signal_stop();
    let (status, stdout, stderr) = server.wait();
    assert_eq!(status.code(), Some(0), "{stderr}");
    (stdout, stderr)
}

#[test]
fn without_a_terminal_first_secrets_go_into_a_file_for_its_owner() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    let kept = server.keepsakes();
    let token = kept.split("/console/welcome/").nth(1).and_then(|rest| rest.split_whitespace().next());
    let token = token.unwrap_or_else(|| panic!("{kept}")).to_owned();
    assert_eq!(server.get("/products", &secret).status, 200);
    let (stdout, stderr) = all_said(server);
    for hidden in [&secret, &token] {
        assert!(!stderr.contains(hidden.as_str()) && !stdout.contains(hidden.as_str()), "{stderr}{stdout}");
    }
    let file = folder.path().join("daybook.db.first-start");
    assert!(stderr.contains("daybook.db.first-start"), "{stderr}");
    let mode = fs::metadata(&file).expect("the file is there").permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600, "{mode:o}");

    let (_, reminded) = all_said(daybook.serve(&[]));
    assert!(reminded.contains("are still in a file"), "{reminded}");
    fs::remove_file(&file).expect("it can be deleted");
    let (_, quiet) = all_said(daybook.serve(&[]));
    assert!(!quiet.contains("first start") && !file.exists(), "{quiet}");
}

#[test]
fn what_was_chosen_needs_no_file() {
    let (folder, daybook) = fresh();
    let secret = "chosen-chosen-chosen-chosen-chosen";
    let daybook = daybook
        .with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", secret)
        .with("DAYBOOK_BOOTSTRAP_EMAIL", "ana@lender.example")
        .with("DAYBOOK_BOOTSTRAP_PASSWORD", "a-password-of-ana");
    let (_, stderr) = all_said(daybook.serve(&[]));
    assert!(stderr.contains("every secret was chosen") && !stderr.contains(secret), "{stderr}");
    assert!(!folder.path().join("daybook.db.first-start").exists());
}

#[test]
fn a_json_log_is_json_alone() {
    let lines_of = |stderr: &str| -> Vec<Value> {
        let lines =
            stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?} in {stderr}")));
        lines.collect()
    };
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&["--log-format", "json", "--demo", "--dev"]);
    let (url, secret) = (server.url().to_owned(), server.first_secret());
    assert_eq!(server.get("/products", &secret).status, 200);
    let (_, stderr) = all_said(server);
    let lines = lines_of(&stderr);
    let has =
        |field: &str, text: &str| lines.iter().any(|line| line[field].as_str().is_some_and(|said| said.contains(text)));
    assert!(has("message", "Loaded ") && has("url", &url) && has("file", "first-start"), "{stderr}");
    assert!(!stderr.contains(&secret), "{stderr}");

    // A start that fails says so in the same form.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, stderr) = daybook.failure_of(&["serve", "--log-format", "json", "--listen", &address]);
    let lines = lines_of(&stderr);
    assert_eq!((code, lines.len()), (1, 1), "{stderr}");
    assert!(lines[0]["message"].as_str().is_some_and(|said| said.contains("nothing can listen on")), "{stderr}");
}
