//! The memory of request bodies and unsent responses: concurrent calls share a budget for each organization and each
//! address.

use crate::caller::{Caller, SITE};
use crate::support::fresh;
use daybook_testkit::authority::Authority;
use daybook_testkit::server::Server;
use serde_json::json;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use tokio::runtime::Runtime;

const SLOW: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const TOKEN_REQUEST: &str = r#"{"client_id": "unknown", "client_secret": "none"}"#;
const CUSTOMER_LINE: &str = r#"{"method": "POST", "path": "/customers", "body": {"name_last": "Lovelace"}}"#;

fn address_of(server: &Server) -> SocketAddr {
    server.url().split_once("://").expect("a URL").1.parse().expect("an address")
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

/// A call whose body has this length, of which some bytes are sent.
fn held_back(server: &Server, head: &str, bytes: usize, sent: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address_of(server)).expect("the server is there");
    write!(stream, "{head}\r\nhost: x\r\ncontent-length: {bytes}\r\n\r\n").expect("it is sent");
    stream.write_all(&vec![b' '; sent]).expect("it is sent");
    stream
}

fn bulk_of(secret: &str) -> String {
    format!("POST /bulk HTTP/1.1\r\nauthorization: Bearer {secret}\r\ncontent-type: application/x-ndjson")
}

fn metric(server: &Server, name: &str) -> u64 {
    metric_on(&server.get("/metrics", "").text, name)
}

fn metric_on(page: &str, name: &str) -> u64 {
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
    let head = bulk_of(&first);
    let slow: Vec<TcpStream> = (0..4).map(|_| held_back(&server, &head, 16 << 20, (16 << 20) - 1)).collect();
    until("four bodies are counted", || metric(&server, "daybook_request_bodies_bytes"), |bytes| *bytes == 64 << 20);
    let send = |secret: &str| server.post_lines("/bulk", secret, CUSTOMER_LINE);
    let refused = send(&first);
    assert_eq!(refused.status, 503, "{}", refused.text);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "unavailable");
    let message = error["message"].as_str().expect("a message");
    let limit = "the limit of 67108864 bytes for the bodies of concurrent requests of this organization is reached";
    assert!(message.starts_with(limit), "{message}");
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
    let head = "POST /auth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 65536\r\n";
    let begun = format!("{head}\r\n{}", " ".repeat(65_535));
    let held: Vec<_> = (0..128).map(|_| slow.begin(&begun)).collect();
    let ask = |caller: &Caller| caller.call("POST", "/auth/token", &json, TOKEN_REQUEST);
    until("128 bodies are counted", || metric(&server, "daybook_request_bodies_bytes"), |bytes| *bytes == 8 << 20);
    let refused = ask(&slow);
    assert_eq!(refused.status(), 503, "{}", refused.body());
    assert_eq!(refused.headers()["retry-after"], "1");
    let limit = "the limit of 8388608 bytes for the bodies of concurrent requests of this address is reached";
    assert!(refused.body().contains(limit), "{}", refused.body());
    let form = slow.send_form("/console/sign-in", "a=b", "email=x&password=y");
    assert_eq!(form.status(), 503, "a form of the console is counted too: {}", form.body());
    assert_eq!(ask(&other).status(), 401, "another address");
    let known = slow.clone().with("authorization", &format!("Bearer {secret}"));
    let made = known.call("POST", "/customers", &json, &json!({ "name_last": "Lovelace" }).to_string());
    assert_eq!(made.status(), 200, "a call with a key is counted for its organization: {}", made.body());
    drop(held);
    until("the bytes are given back", || ask(&slow), |answer| answer.status() == 401);
}

/// Five organizations and an address announce more than the limit of all bodies, and send almost none of it.
#[test]
fn announced_bodies_take_no_memory_of_others() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let first = server.first_secret();
    let attackers = ["One", "Two", "Three", "Four"].map(|name| {
        let made = daybook.json_of(&["org", "create", name, "--json"]);
        made["client_secret"].as_str().expect("a secret").to_owned()
    });
    let slow = Caller::plain(SLOW, address_of(&server));
    let token =
        "POST /auth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 65536\r\n\r\n{";
    let mut held: Vec<TcpStream> = (0..10).map(|_| slow.begin(token)).collect();
    for secret in &attackers {
        let head = bulk_of(secret);
        held.extend((0..4).map(|_| held_back(&server, &head, 16 << 20, 100)));
    }
    let bodies = || metric(&server, "daybook_request_bodies_bytes");
    // Up to twice the bytes that have arrived.
    until("all bodies have begun", bodies, |bytes| *bytes == 10 * 2 + 16 * 200);
    let made = server.post("/customers", &first, &json!({ "name_last": "Lovelace" }));
    assert_eq!(made.status, 200, "another organization: {}", made.text);
    let made = server.post_lines("/bulk", &attackers[0], CUSTOMER_LINE);
    assert_eq!(made.status, 200, "the same organization: {}", made.text);
    let signed_in = slow.call("POST", "/auth/token", &[("content-type", "application/json")], TOKEN_REQUEST);
    assert_eq!(signed_in.status(), 401, "the same address: {}", signed_in.body());
}

#[test]
fn a_body_without_credentials_is_short_and_one_with_a_key_may_be_long() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let secret = server.first_secret();
    let caller = Caller::plain(OTHER, address_of(&server));
    let known = caller.clone().with("authorization", &format!("Bearer {secret}"));
    let json = [("content-type", "application/json")];
    let padded = |form: &str, bytes: usize| format!("{form}{}", " ".repeat(bytes - form.len()));
    let ask = |bytes: usize| caller.call("POST", "/auth/token", &json, &padded(TOKEN_REQUEST, bytes));
    let sentence = "the body of a request without credentials may have at most 65536 bytes";
    assert_eq!(ask(65_536).status(), 401);
    let refused = ask(65_537);
    assert_eq!(refused.status(), 413, "{}", refused.body());
    assert!(refused.body().contains("too_large") && refused.body().contains(sentence), "{}", refused.body());
    let head = "POST /auth/token HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n";
    let form = "POST /console/sign-in HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
                content-type: application/x-www-form-urlencoded\r\n";
    for head in [head, form] {
        let announced = caller.send_as_it_is(&format!("{head}expect: 100-continue\r\ncontent-length: 65537\r\n\r\n"));
        assert!(announced.starts_with("HTTP/1.1 413 ") && announced.contains(sentence), "at once: {announced}");
    }
    let chunk = format!("8001\r\n{}\r\n", " ".repeat(0x8001));
    let chunked = caller.send_as_it_is(&format!("{head}transfer-encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"));
    assert!(chunked.starts_with("HTTP/1.1 413 ") && chunked.contains(sentence), "{chunked}");
    let form = padded(&json!({ "name_last": "Lovelace" }).to_string(), 100_000);
    let made = known.call("POST", "/customers", &json, &form);
    assert_eq!(made.status(), 200, "{}", made.body());
}

/// Five addresses request more pages than fit into the limit of all responses, and read none of them.
#[test]
fn unread_pages_of_strangers_take_no_memory_of_others() {
    let (folder, daybook) = fresh();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let authority = Authority::named("authority");
    authority.sign(SITE, &cert, &key);
    let server = daybook.serve(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let (to, authority) = (address_of(&server), authority.der());
    let from = |address: Ipv4Addr| Caller::by_tls(address, to, &authority).by_http_2();
    let page_bytes = from(OTHER).get("/openapi.json").body().len();
    let connections = (64 << 20) / page_bytes / 32 + 1;
    let runtime = Runtime::new().expect("a runtime");
    let mut unread = Vec::new();
    let strangers = [11, 12, 13, 14, 15].map(|last| from(Ipv4Addr::new(127, 0, 0, last)));
    for stranger in &strangers {
        for _ in 0..connections {
            let mut connection = runtime.block_on(stranger.with_window(0));
            for _ in 0..32 {
                let request = stranger.request("GET", "/openapi.json", &[], "");
                unread.push(runtime.block_on(connection.send_request(request)).expect("the head of a response"));
            }
        }
    }
    assert!(unread.len() * page_bytes > 256 << 20);
    assert!(unread.iter().all(|response| response.status() == 200), "pages that all share take little memory");
    let bearer = format!("Bearer {}", server.first_secret());
    for (whose, caller) in [("another address", from(OTHER)), ("the same address", strangers[0].clone())] {
        let read = caller.clone().with("authorization", &bearer).get("/products");
        assert_eq!(read.status(), 200, "{whose}: {}", read.body());
        assert_eq!(caller.get("/console/sign-in").status(), 200, "{whose}");
        let metrics = caller.get("/metrics");
        assert_eq!(metrics.status(), 200, "{whose}");
        let unsent = metric_on(metrics.body(), "daybook_responses_unsent_bytes");
        assert!(unsent <= unread.len() as u64 * 1_024, "{unsent} bytes");
    }
}
