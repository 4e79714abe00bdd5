//! Start and stop.

use crate::support::{fresh, lend};
use daybook_testkit::server::Daybook;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

#[test]
fn the_first_start_tells_the_key_and_the_next_does_not() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&["--dev"]);
    let secret = server.first_secret();
    assert_eq!(server.get("/products", &secret).good()["results"], json!([]));
    assert_eq!(server.get("/products", "wrong").status, 401);
    let url = server.url().to_owned();
    let told = server.keepsakes();
    assert!(!server.stop().contains(&secret), "a log is no place for it");
    assert_eq!(told.matches(&secret).count(), 2, "in the list and in the example: {told}");
    for line in [format!("API            {url}"), format!("{url}/docs"), format!("{url}/openapi.json")] {
        assert!(told.contains(&line), "{told}");
    }

    let again = daybook.serve(&[]);
    assert_eq!(again.get("/products", &secret).status, 200);
    let told = again.stop();
    assert!(!told.contains("this is the first start") && !told.contains(&secret), "{told}");
}

#[test]
fn the_example_that_is_told_works() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&["--dev"]);
    let secret = server.first_secret();
    let curl = format!("curl -H \"Authorization: Bearer {secret}\" {}/products", server.url());
    let path = curl.rsplit_once(server.url()).expect("the example has the address").1.to_owned();
    assert_eq!(server.get(&path, &secret).status, 200);
    let told = server.keepsakes();
    assert!(told.lines().any(|line| line.trim() == curl), "{told}");
}

#[test]
fn a_chosen_key_works_and_is_not_told() {
    let (_folder, daybook) = fresh();
    let secret = "chosen-chosen-chosen-chosen-chosen";
    let daybook = daybook.with("DAYBOOK_BOOTSTRAP_CLIENT_ID", "mine").with("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", secret);
    let server = daybook.serve(&["--environment", "LIVE", "--dev"]);
    let token = server.post("/auth/token", "", &json!({ "client_id": "mine", "client_secret": secret })).good();
    let token = token["access_token"].as_str().expect("a token is text");
    assert_eq!(server.get("/products", token).status, 200);
    let told = server.keepsakes();
    assert!(told.contains("Client id      mine") && !told.contains(secret), "{told}");
    assert!(!server.stop().contains(secret));
    assert_eq!(daybook.json_of(&["org", "list", "--json"])["results"][0]["environment"], "LIVE");
}

#[test]
fn what_it_makes_is_for_its_owner_alone() {
    let (folder, daybook) = fresh();
    let _server = daybook.serve(&[]);
    for file in ["daybook.db", "daybook.db-wal", "daybook.db.lock", "daybook.key"] {
        let mode = fs::metadata(folder.path().join(file)).expect(file).permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600, "{file} has mode {mode:o}");
    }
}

#[test]
fn a_second_server_on_the_same_file_is_refused() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let (status, stderr) = daybook.try_serve(&[]).expect_err("the file is in use");
    assert_eq!(status.code(), Some(1));
    assert!(
        stderr.starts_with(&format!("daybook: the database is in use by the server on {}", server.url())),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    server.kill();
    daybook.serve(&[]).stop();
}

#[test]
fn another_secrets_key_is_refused() {
    let (folder, daybook) = fresh();
    daybook.serve(&[]).stop();
    let other = daybook.clone().with("DAYBOOK_SECRETS_KEY", &"5a".repeat(32));
    let (status, stderr) = other.try_serve(&[]).expect_err("it is another key");
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("the secrets key does not belong to this database"), "{stderr}");

    let key = folder.path().join("daybook.key");
    fs::rename(&key, folder.path().join("elsewhere.key")).expect("the key can be moved");
    let (status, stderr) = daybook.try_serve(&[]).expect_err("the key is missing");
    assert_eq!(status.code(), Some(1));
    assert!(stderr.contains("restore the file from your backup"), "{stderr}");
    assert!(!key.exists(), "no other key was made");
    daybook.serve(&["--secrets-key-file", "elsewhere.key"]).stop();
}

#[test]
fn a_start_that_cannot_be_is_one_sentence() {
    let (folder, daybook) = fresh();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let cases: [(&[&str], i32, &str); 4] = [
        (&["serve", "--listen", &address], 1, "cannot listen on 127.0.0.1:"),
        (&["serve", "--database", "sqlite:/nowhere/at/all.db"], 1, "/nowhere/at/all.db.lock"),
        (&["serve", "--rate-limit", "fast"], 2, "rate-limit = \"fast\" (flag --rate-limit): must be "),
        (&["serve", "--database", "postgres://u:hush@127.0.0.1:x/n"], 1, "cannot be opened"),
    ];
    for (args, expected, sentence) in cases {
        let (code, stderr) = daybook.failure_of(args);
        assert_eq!(code, expected, "{args:?}: {stderr}");
        assert!(stderr.starts_with("daybook: ") && stderr.contains(sentence), "{args:?}: {stderr}");
        assert!(stderr.lines().count() == 1 && !stderr.contains("hush"), "{args:?}: {stderr}");
    }
    assert!(!folder.path().join("daybook.db").exists(), "nothing was made");
}

/// After a stop signal, a server accepts no new calls and answers the call whose body it is reading.
#[test]
fn a_call_in_flight_is_answered() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    let address = server.url().strip_prefix("http://").expect("an address").to_owned();
    let body = json!({ "customer_id": "ana", "name_first": "Ana", "name_last": "Torres" }).to_string();
    let mut caller = TcpStream::connect(&address).expect("the server listens");
    let head = format!(
        "POST /customers HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {secret}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    caller.write_all(head.as_bytes()).expect("the head is sent");
    let mut answer = BufReader::new(caller.try_clone().expect("the other half"));
    let mut line = String::new();
    answer.read_line(&mut line).expect("an interim answer");
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n", "the server waits for the body");

    server.signal_stop();
    while TcpStream::connect(&address).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    caller.write_all(body.as_bytes()).expect("the body is sent");
    let mut text = String::new();
    answer.read_to_string(&mut text).expect("an answer");
    assert!(text.contains("HTTP/1.1 200 OK") && text.contains("\"ana\""), "{text}");
    let (status, stdout, stderr) = server.wait();
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""), "{stderr}");

    let again = daybook.serve(&[]);
    assert_eq!(again.get("/customers/ana", &secret).good()["name_last"], "Torres");
}

#[test]
fn the_demo_is_an_account_for_each_case_without_dates_in_an_empty_database() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&["--demo"]);
    let secret = server.first_secret();
    let of = |id: &str| server.get(&format!("/accounts/{id}"), &secret).good();
    let status = |id: &str| of(id)["account_overview"]["account_status"].clone();
    let subtype = |id: &str| of(id)["account_overview"]["account_status_subtype"].clone();
    assert_eq!((status("loan-01-ana"), subtype("loan-01-ana")), (json!("CLOSED"), json!("PAID_OFF")));
    assert_eq!((status("loan-08-hugo"), subtype("loan-08-hugo")), (json!("CLOSED"), json!("CHARGE_OFF")));
    assert_eq!(of("loan-02-ben")["customers"][0]["customer_id"], "ben");
    let said = server.stop();
    let verified = daybook.json_of(&["verify", "--json"]);
    let accounts = verified["accounts"].as_u64().expect("a number");
    // Cases that name dates are left out.
    assert!((100..daybook_cases::builtin().len() as u64).contains(&accounts), "{accounts}");
    assert!(said.contains(&format!("Loaded {accounts} accounts of ")), "{said}");
    assert_eq!(verified["differences"], json!([]));

    let again = daybook.serve(&["--demo"]);
    assert!(again.stop().contains("The database is not empty: no demo data was loaded."));
}

#[test]
fn a_start_that_is_stopped_still_tells_the_first_secret() {
    let (folder, _daybook) = fresh();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_daybook"));
    command.env_clear().current_dir(folder.path()).args(["serve", "--listen", "127.0.0.1:0", "--demo", "--dev"]);
    let mut child =
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    // The demo data are being loaded: the key exists, and the server is not ready.
    let first = lines.next().expect("it says something").expect("text");
    assert!(first.contains("a release is complete"), "{first}");
    let killed = std::process::Command::new("kill").arg(child.id().to_string()).status().expect("kill(1) is there");
    assert!(killed.success());
    let told: Vec<String> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{told:?}");
    assert!(told.iter().any(|line| line.contains("Client secret  dbk_sk_")), "{told:?}");
}

#[test]
fn what_was_answered_survives_a_kill() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    lend(&server, &secret, "loan-1");
    server.kill();
    let again: Daybook = daybook.clone();
    let server = again.serve(&[]);
    let payment = server.get("/accounts/loan-1/line_items/p1", &secret).good();
    assert_eq!(payment["line_item_id"], "p1");
}

/// A pipe holds 64 KiB, far less than a thousand calls log at this level.
#[test]
fn a_log_that_is_not_read_stops_no_call() {
    let (folder, _daybook) = fresh();
    let mut server = Command::new(env!("CARGO_BIN_EXE_daybook"))
        .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--log-level", "trace"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let unread = server.stderr.take().expect("stderr is a pipe");
    let mut ready = String::new();
    BufReader::new(server.stdout.take().expect("stdout is a pipe")).read_line(&mut ready).expect("a line");
    let url = ready.trim_end().strip_prefix("daybook ready on ").expect("it is ready").to_owned();
    let agent = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(60))).build().new_agent();
    for _ in 0..1_000 {
        let answer = agent.get(format!("{url}/healthz")).call().expect("an answer");
        assert_eq!(answer.status(), 200);
    }
    kill_process(Pid::from_child(&server), Signal::TERM).expect("it can be told to stop");
    // Queued lines of a log that is not read are discarded.
    assert!(server.wait().expect("it ends").success());
    drop(unread);
}
