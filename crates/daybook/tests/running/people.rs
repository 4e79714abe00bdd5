//! How users get access to the console: the link of the first start, later invites, a user set up in advance.

use crate::support::fresh;
use daybook_testkit::server::Server;
use serde_json::{Value, json};

/// The token at the end of a link.
fn token_of<'a>(link: &'a str, url: &str) -> &'a str {
    let token = link.strip_prefix(&format!("{url}/console/welcome/")).unwrap_or_else(|| panic!("{link}"));
    assert_eq!(token.len(), 43, "256 bits: {link}");
    token
}

/// What the server showed only once, at its first start.
fn told(server: Server) -> String {
    server.first_secret();
    let kept = server.keepsakes();
    assert!(!server.stop().contains("/console/welcome/"), "the link is no line of the log");
    kept
}

fn link_in(told: &str) -> &str {
    let line = told.lines().find_map(|line| line.trim().strip_prefix("Console"));
    line.unwrap_or_else(|| panic!("no link was told: {told}")).trim()
}

#[test]
fn the_first_start_tells_a_link_and_the_next_does_not() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let url = server.url().to_owned();
    let first = told(server);
    let token = token_of(link_in(&first), &url);
    assert_eq!(first.matches(token).count(), 1, "{first}");
    let again = daybook.serve(&[]).stop();
    assert!(!again.contains("/console/welcome/"), "the link still waits for somebody: {again}");
}

#[test]
fn links_are_made_with_a_server_and_without() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let link = daybook.stdout_of(&["people", "link"]);
    let first = token_of(link.trim(), server.url()).to_owned();
    let made = daybook.json_of(&["people", "link", "--role", "READ_ONLY", "--json"]);
    assert_eq!(made["role"], "READ_ONLY");
    assert!(made["expires_at"].is_string());
    assert_ne!(token_of(made["link"].as_str().expect("a link"), server.url()), first);
    server.stop();
    let link = daybook.stdout_of(&["people", "link", "--role", "SERVICING"]);
    token_of(link.trim(), "http://127.0.0.1:8080");

    let (code, stderr) = daybook.failure_of(&["people", "link", "--org", "Nowhere"]);
    assert_eq!((code, stderr.as_str()), (1, "daybook: there is no organization \"Nowhere\"\n"));
    let (code, _) = daybook.failure_of(&["people", "link", "--role", "OWNER"]);
    assert_eq!(code, 2, "asked for something that makes no sense");
}

#[test]
fn an_organization_made_later_gets_its_own_people() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    daybook.json_of(&["org", "create", "Prairie Lending", "--json"]);
    let (code, stderr) = daybook.failure_of(&["people", "link"]);
    assert!(code == 1 && stderr.contains("there are several organizations"), "{stderr}");
    let link = daybook.stdout_of(&["people", "link", "--org", "Prairie Lending"]);
    token_of(link.trim(), server.url());
}

#[test]
fn a_chosen_user_is_made_and_told() {
    let (_folder, daybook) = fresh();
    assert_eq!(people(&daybook.serve(&[]), &daybook), json!([]), "a link is no person");

    let (_folder, daybook) = fresh();
    let password = "hush-hush-hush";
    let daybook =
        daybook.with("DAYBOOK_BOOTSTRAP_EMAIL", "Ana@lender.example").with("DAYBOOK_BOOTSTRAP_PASSWORD", password);
    let server = daybook.serve(&[]);
    let people = people(&server, &daybook);
    let url = server.url().to_owned();
    assert_eq!(people.as_array().map(Vec::len), Some(1));
    assert_eq!((&people[0]["email"], &people[0]["role"]), (&json!("Ana@lender.example"), &json!("ADMIN")));
    assert!(!people.to_string().contains("argon2"), "{people}");
    let first = told(server);
    assert_eq!(link_in(&first), format!("{url}/console"));
    assert!(first.contains("Ana@lender.example") && !first.contains(password), "{first}");
    assert!(!first.contains("/console/welcome/"), "{first}");

    let again = daybook.serve(&[]).stop();
    assert!(!again.contains("Ana@lender.example") && !again.contains("/console/"), "{again}");
    let listed = daybook.stdout_of(&["people", "list"]);
    let lines: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["person_id", "name", "email", "role", "created_at", "last_seen_at", "disabled_at"]);
    assert_eq!((lines.len(), lines[1][2]), (2, "Ana@lender.example"), "{listed}");
}

#[test]
fn a_forgotten_password_is_replaced() {
    let (_folder, daybook) = fresh();
    let daybook = daybook
        .with("DAYBOOK_BOOTSTRAP_EMAIL", "ana@lender.example")
        .with("DAYBOOK_BOOTSTRAP_PASSWORD", "hush-hush-hush");
    let server = daybook.serve(&[]);
    let first = daybook.stdout_of(&["people", "reset", "Ana@lender.example"]);
    server.stop();
    let second = daybook.json_of(&["people", "reset", "ana@lender.example", "--json"]);
    assert_eq!(second["email"], "ana@lender.example");
    let second = second["password"].as_str().expect("a password");
    assert!(first.trim().len() == 43 && second.len() == 43 && first.trim() != second, "{first}, {second}");
    let (code, stderr) = daybook.failure_of(&["people", "reset", "ben@lender.example"]);
    assert!(code == 1 && stderr.contains("ben@lender.example"), "{stderr}");
}

fn people(_running: &Server, daybook: &daybook_testkit::server::Daybook) -> Value {
    daybook.json_of(&["people", "list", "--json"])["results"].clone()
}
