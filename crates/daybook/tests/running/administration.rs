//! Organizations, keys and rolls, with a running server and without one.

use crate::support::{fresh, lend};
use daybook_testkit::server::ServerResponse;
use serde_json::{Value, json};

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} of {value}"))
}

#[test]
fn keys_are_made_and_revoked_through_the_running_server() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let key = daybook.json_of(&["keys", "create", "--role", "READ_ONLY", "--name", "reports", "--json"]);
    let secret = text(&key, "client_secret");
    assert_eq!((text(&key, "role"), text(&key, "name")), ("READ_ONLY", "reports"));
    assert_eq!(server.get("/products", secret).status, 200);
    assert_eq!(server.post("/customers", secret, &json!({ "customer_id": "x" })).status, 403);

    let output = daybook.run(&["keys", "revoke", text(&key, "client_id")]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert_eq!(server.get("/products", secret).status, 401, "at once");
    let listed = daybook.stdout_of(&["keys", "list"]);
    let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["client_id", "name", "role", "created_at", "last_used_at", "revoked_at"]);
    assert_eq!(lines.len(), 3, "{listed}");
    assert!(!listed.contains(secret), "{listed}");
    let all = daybook.json_of(&["keys", "list", "--json"]);
    let revoked = all["results"].as_array().expect("a list").iter().find(|row| row["name"] == "reports");
    assert!(revoked.expect("it is listed")["revoked_at"].is_string());

    let (code, stderr) = daybook.failure_of(&["keys", "revoke", "nobody"]);
    assert_eq!((code, stderr.as_str()), (1, "daybook: there is no key \"nobody\"\n"));
}

#[test]
fn keys_are_made_without_a_server_too() {
    let (_folder, daybook) = fresh();
    daybook.serve(&[]).stop();
    let shown = daybook.stdout_of(&["keys", "create", "--role", "ADMIN"]);
    let secret = shown.lines().find_map(|line| line.strip_prefix("client_secret")).expect("a secret").trim();
    let server = daybook.serve(&[]);
    assert_eq!(server.get("/products", secret).status, 200);
}

#[test]
fn organizations_do_not_see_each_other() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let first = server.first_secret();
    lend(&server, &first, "loan-1");
    let made = daybook.json_of(&["org", "create", "Prairie Lending", "--environment", "LIVE", "--json"]);
    let second = text(&made, "client_secret");
    assert_eq!(server.get("/products", second).good()["results"], json!([]));
    assert_eq!(server.get("/accounts/loan-1", second).status, 404);
    let listed = daybook.stdout_of(&["org", "list"]);
    assert!(listed.contains("Prairie Lending  LIVE"), "{listed}");
    let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["number", "name", "environment", "created_at"]);
    assert_eq!((lines[1][0], lines[2][0]), ("1", "2"), "{listed}");
    let listed = daybook.json_of(&["org", "list", "--json"]);
    let numbers = listed["results"].as_array().expect("a list").iter().map(|one| one["number"].clone());
    assert_eq!(numbers.collect::<Vec<_>>(), [json!(1), json!(2)]);

    let (code, stderr) = daybook.failure_of(&["keys", "list"]);
    assert!(code == 1 && stderr.contains("there are several organizations"), "{stderr}");
    let keys = daybook.json_of(&["keys", "list", "--org", "Prairie Lending", "--json"]);
    assert_eq!(keys["results"].as_array().map(Vec::len), Some(1));
    let (code, stderr) = daybook.failure_of(&["org", "create", "Prairie Lending"]);
    assert!(code == 1 && stderr.contains("Prairie Lending"), "{stderr}");
    let (code, _) = daybook.failure_of(&["org", "create", "X", "--environment", "PLAY"]);
    assert_eq!(code, 2, "asked for something that makes no sense");
}

/// One year after the time up to which an account is processed.
fn a_year_later(account: &ServerResponse) -> String {
    let account = account.good();
    let (year, rest) = text(&account, "processed_through").split_at(4);
    // Any offset will do, and every year has this date.
    format!("{}{}-28T00:00:00Z", year.parse::<i32>().expect("a year") + 1, &rest[..3])
}

#[test]
fn an_account_is_rolled_with_a_server_and_without() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    lend(&server, &secret, "loan-1");
    let to = a_year_later(&server.get("/accounts/loan-1", &secret));
    let rolled = daybook.json_of(&["roll", "loan-1", "--to", &to, "--webhooks", "--json"]);
    assert_eq!((text(&rolled, "account_id"), &rolled["failed_events"]), ("loan-1", &json!(0)));
    let then = a_year_later(&server.get("/accounts/loan-1", &secret));
    assert!(then > to, "the account is a year further: {then}");
    server.stop();

    let said = daybook.stdout_of(&["roll", "loan-1", "--to", &then]);
    assert!(said.starts_with("loan-1 is processed through "), "{said}");
    let (code, stderr) = daybook.failure_of(&["roll", "loan-9", "--to", &then]);
    assert!(code == 1 && stderr.contains("loan-9"), "{stderr}");
    let (code, stderr) = daybook.failure_of(&["roll", "loan-1", "--to", "tomorrow"]);
    assert!(code == 1 && stderr.contains("effective_at") && stderr.contains("RFC 3339"), "{stderr}");
}

#[test]
fn control_is_for_the_token_only() {
    let (folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    let order = json!({ "order": "list_organizations" });
    assert_eq!(server.post("/admin/control", &secret, &order).status, 403, "a key of the API is not enough");
    let openapi = server.get("/openapi.json", &secret).good();
    assert!(openapi["paths"]["/admin/roll/account"].is_object() && openapi["paths"]["/admin/control"].is_null());
    let lock = std::fs::read_to_string(folder.path().join("daybook.db.lock")).expect("the lock file is readable");
    let lock: Value = serde_json::from_str(&lock).expect("JSON");
    assert_eq!(text(&lock, "url"), server.url());
    assert!(text(&lock, "control_token").len() >= 43, "256 bits");
    server.stop();
    let lock = std::fs::read_to_string(folder.path().join("daybook.db.lock")).expect("the lock file is readable");
    assert_eq!(lock, "", "the token is not left lying");
}

#[test]
fn commands_say_when_there_is_no_database() {
    let (folder, daybook) = fresh();
    for args in [
        &["keys", "list"][..],
        &["org", "create", "X"],
        &["people", "link"],
        &["verify"],
        &["backup", "--to", "copy.db"],
        &["roll", "a", "--to", "2025-01-01T00:00:00Z"],
    ] {
        let (code, stderr) = daybook.failure_of(args);
        assert_eq!(code, 1, "{args:?}");
        assert!(stderr.starts_with("daybook: there is no database at daybook.db"), "{args:?}: {stderr}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is there").count(), 0, "nothing was made");
}
