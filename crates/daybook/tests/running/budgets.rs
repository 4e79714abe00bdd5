//! The memory of request bodies: concurrent calls share a budget for each organization and each address.

use crate::caller::Caller;
use crate::support::fresh;
use daybook_testkit::server::Server;
use serde_json::json;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

const SLOW: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const TOKEN_REQUEST: &str = r#"{"client_id": "unknown", "client_secret": "none"}"#;
const CUSTOMER_LINE: &str = r#"{"method": "POST", "path": "/customers", "body": {"name_last": "Lovelace"}}"#;

fn address_of(server: &Server) -> SocketAddr {
    server.url().strip_prefix("http://").expect("a URL").parse().expect("an address")
}

/// Repeats a call until it has the wanted outcome: the server notices other callers' bytes and disconnections in its
/// own time.
fn until<T>(what: &str, mut call: impl FnMut() -> T, is_so: impl Fn(&T) -> bool) -> T {
    for _ in 0..1_000 {
        let got = call();
        if is_so(&got) {
            return got;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it has not come about: {what}")
}

/// A call whose body begins and does not end.
fn held_back(server: &Server, head: &str, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address_of(server)).expect("the server is there");
    write!(stream, "{head}\r\nhost: x\r\ncontent-length: {bytes}\r\n\r\n{{").expect("it is sent");
    stream
}

fn metric(server: &Server, name: &str) -> u64 {
    let page = server.get("/metrics", "").text;
    let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {page}")).parse().expect("a number")
}

#[test]
fn bodies_of_an_organization_leave_room_for_others_and_are_refused_at_once() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let first = server.first_secret();
    let made = daybook.json_of(&["org", "create", "Prairie Lending", "--json"]);
    let second = made["client_secret"].as_str().expect("a secret");
    let head = format!("POST /bulk HTTP/1.1\r\nauthorization: Bearer {first}\r\ncontent-type: application/x-ndjson");
    let slow: Vec<TcpStream> = (0..4).map(|_| held_back(&server, &head, 16 << 20)).collect();
    until("four bodies are counted", || metric(&server, "daybook_request_bodies_bytes"), |bytes| *bytes == 64 << 20);
    let send = |secret: &str| server.post_lines("/bulk", secret, CUSTOMER_LINE);
    let refused = send(&first);
    assert_eq!(refused.status, 503, "{}", refused.text);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "unavailable");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("at most 67108864 bytes of memory for this organization"), "{message}");
    assert_eq!(metric(&server, "daybook_connections_refused_total{reason=\"bodies\"}"), 1);
    // A body of unknown length is counted piece by piece.
    let caller = Caller::plain(OTHER, address_of(&server));
    let length = CUSTOMER_LINE.len();
    let chunked = caller.send_as_it_is(&format!(
        "{head}\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n\
         {length:x}\r\n{CUSTOMER_LINE}\r\n0\r\n\r\n"
    ));
    assert!(chunked.starts_with("HTTP/1.1 503 ") && chunked.contains("\r\nretry-after: 1\r\n"), "{chunked}");
    // Too large stays too large, whatever the others hold.
    let large = caller.send_as_it_is(&format!(
        "{head}\r\nhost: x\r\nconnection: close\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        1_u64 << 40
    ));
    assert!(large.starts_with("HTTP/1.1 413 "), "{large}");
    assert_eq!(send(second).status, 200, "another organization");
    assert_eq!(server.get("/products", &first).status, 200, "a call without a body");
    drop(slow);
    until("closed connections give their bytes back", || send(&first), |answer| answer.status == 200);
}

#[test]
fn bodies_without_a_key_are_counted_by_address() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    let to = address_of(&server);
    let (slow, other) = (Caller::plain(SLOW, to), Caller::plain(OTHER, to));
    let json = [("content-type", "application/json")];
    let head = "POST /auth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1048576\r\n";
    let held: Vec<_> = (0..16).map(|_| slow.begin(&format!("{head}\r\n{{"))).collect();
    let ask = |caller: &Caller| caller.call("POST", "/auth/token", &json, TOKEN_REQUEST);
    until("16 bodies are counted", || metric(&server, "daybook_request_bodies_bytes"), |bytes| *bytes == 16 << 20);
    let refused = ask(&slow);
    assert_eq!(refused.status(), 503, "{}", refused.body());
    assert_eq!(refused.headers()["retry-after"], "1");
    assert!(refused.body().contains("at most 16777216 bytes of memory for this address"), "{}", refused.body());
    let form = slow.send_form("/console/sign-in", "a=b", "email=x&password=y");
    assert_eq!(form.status(), 503, "a form of the console is counted too: {}", form.body());
    assert_eq!(ask(&other).status(), 401, "another address");
    let known = slow.clone().with("authorization", &format!("Bearer {secret}"));
    let made = known.call("POST", "/customers", &json, &json!({ "name_last": "Lovelace" }).to_string());
    assert_eq!(made.status(), 200, "a call with a key is counted for its organization: {}", made.body());
    drop(held);
    until("the bytes are given back", || ask(&slow), |answer| answer.status() == 401);
}
