//! What a first start or a command shows only once is shown to the user and never logged; a JSON log contains only
//! JSON.

use crate::support::fresh;
use daybook_testkit::server::{Daybook, Server};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Stops a server and returns its stderr and stdout.
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
    assert!(reminded.contains("are still in this file"), "{reminded}");
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
    assert!(stderr.contains("all its secrets were given as settings") && !stderr.contains(secret), "{stderr}");
    assert!(!folder.path().join("daybook.db.first-start").exists());
}

/// The lines of a JSON log.
fn lines_of(stderr: &str) -> Vec<Value> {
    stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line:?} in {stderr}"))).collect()
}

#[test]
fn a_json_log_is_json_alone() {
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

    // A start that fails reports this in the same format.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let (code, stderr) = daybook.failure_of(&["serve", "--log-format", "json", "--listen", &address]);
    let lines = lines_of(&stderr);
    assert_eq!((code, lines.len()), (1, 1), "{stderr}");
    assert!(lines[0]["message"].as_str().is_some_and(|said| said.contains("cannot listen on")), "{stderr}");
}

#[test]
fn settings_that_are_wrong_are_told_in_json_too() {
    let (folder, daybook) = fresh();
    let told = |daybook: &Daybook, args: &[&str]| {
        let (code, stderr) = daybook.failure_of(args);
        let lines = lines_of(&stderr);
        assert_eq!((code, lines.len()), (2, 1), "{stderr}");
        assert!(lines[0]["message"].as_str().is_some_and(|said| said.contains("rate-limit")), "{stderr}");
    };
    told(&daybook, &["serve", "--log-format", "json", "--rate-limit", "fast"]);
    told(&daybook.clone().with("DAYBOOK_LOG_FORMAT", "json"), &["serve", "--rate-limit", "fast"]);
    fs::write(folder.path().join("settings.toml"), "log-format = \"json\"\nrate-limit = \"fast\"\n").expect("a file");
    told(&daybook, &["keys", "list", "--config", "settings.toml"]);
    // A flag overrides the file.
    let args = ["keys", "list", "--config", "settings.toml", "--log-format", "text"];
    let (_, stderr) = daybook.failure_of(&args);
    assert!(stderr.starts_with("daybook: "), "{stderr}");
}

#[test]
fn a_command_line_that_is_wrong_is_told_in_json_too() {
    let (folder, daybook) = fresh();
    fs::write(folder.path().join("settings.toml"), "log-format = \"json\"\n").expect("a file");
    let by_variable = daybook.clone().with("DAYBOOK_LOG_FORMAT", "json");
    let wrong: [(&Daybook, &[&str]); 5] = [
        (&daybook, &["serve", "--log-format", "json", "--unknown"]),
        (&daybook, &["serve", "--unknown", "--log-format=json"]),
        (&daybook, &["serve", "--unknown", "--config", "settings.toml"]),
        (&by_variable, &["serve", "--unknown"]),
        (&by_variable, &["unknown"]),
    ];
    for (daybook, args) in wrong {
        let (code, stderr) = daybook.failure_of(args);
        let lines = lines_of(&stderr);
        assert_eq!((code, lines.len()), (2, 1), "{args:?}: {stderr}");
        assert!(lines[0]["message"].as_str().is_some_and(|said| said.contains("unknown")), "{stderr}");
    }
    let (code, stderr) = daybook.failure_of(&["serve", "--unknown"]);
    assert!(code == 2 && stderr.starts_with("error: unexpected argument '--unknown' found"), "{stderr}");
    let help = by_variable.stdout_of(&["serve", "--help"]);
    assert!(help.contains("--log-format <FORMAT>"), "{help}");
}

/// Commands that show a secret once, and its JSON pointer in their output.
const SHOWING: [(&[&str], &str); 4] = [
    (&["keys", "create", "--role", "READ_ONLY", "--json"], "/client_secret"),
    (&["people", "link", "--json"], "/link"),
    (&["people", "reset", "ana@lender.example", "--json"], "/password"),
    (&["org", "create", "Another", "--json"], "/client_secret"),
];

#[test]
fn what_commands_show_once_is_on_their_stdout_alone() {
    let (_folder, daybook) = fresh();
    let daybook = daybook
        .with("DAYBOOK_BOOTSTRAP_EMAIL", "ana@lender.example")
        .with("DAYBOOK_BOOTSTRAP_PASSWORD", "a-password-of-ana")
        .with("DAYBOOK_LOG_LEVEL", "trace");
    let server = daybook.serve(&["--dev"]);
    let mut secrets = vec![server.first_secret()];
    let mut said = String::new();
    // For users, the secret is on stdout, and the message about it is a line of JSON.
    let output = daybook.clone().with("DAYBOOK_LOG_LEVEL", "info").run(&[
        "keys",
        "create",
        "--role",
        "ADMIN",
        "--log-format",
        "json",
    ]);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let secret = stdout.lines().find_map(|line| line.strip_prefix("client_secret")).expect("a secret").trim();
    secrets.push(secret.to_owned());
    assert!(
        lines_of(&stderr).iter().any(|line| line["message"] == "Store the secret: it is shown only once."),
        "{stderr}"
    );
    said.push_str(&stderr);
    for (command, place) in SHOWING {
        for format in ["text", "json"] {
            let mut args = [command, &["--log-format", format]].concat();
            if format == "json" && command[0] == "org" {
                args[2] = "Yet another";
            }
            let output = daybook.run(&args);
            let stderr = String::from_utf8(output.stderr).expect("text");
            assert!(output.status.success(), "{args:?}: {stderr}");
            let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let secret = shown.pointer(place).and_then(Value::as_str).unwrap_or_else(|| panic!("{shown}"));
            secrets.push(secret.rsplit('/').next().unwrap_or_default().to_owned());
            if format == "json" {
                lines_of(&stderr);
            }
            said.push_str(&stderr);
        }
    }
    let (stdout, stderr) = all_said(server);
    let said = [said, stdout, stderr].concat();
    assert_eq!(secrets.len(), 2 + 2 * SHOWING.len());
    for secret in secrets {
        assert!(secret.len() >= 10 && !said.contains(&secret), "{secret} in {said}");
    }
}
