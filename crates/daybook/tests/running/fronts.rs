//! Proxies, trusted and untrusted; links, cookies, and the separate listener.

use crate::support::fresh;
use daybook_testkit::authority::Authority;
use daybook_testkit::server::{Daybook, Server};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use tokio::net::TcpSocket;

const EMAIL: &str = "ana@lender.example";
const PASSWORD: &str = "a-password-of-ana";

/// A connection from one of this machine's loopback addresses.
fn connect(from: Ipv4Addr, to: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let stream = runtime.block_on(async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((from, 0).into()).expect("a loopback address");
        socket.connect(to).await.expect("the other side is there").into_std().expect("a stream")
    });
    stream.set_nonblocking(false).expect("it waits");
    stream
}

fn address_of(url: &str) -> SocketAddr {
    url.split_once("://").expect("a URL").1.parse().expect("an address")
}

/// Sends a request unchanged and returns the whole response.
fn exchange(from: Ipv4Addr, to: SocketAddr, request: &str) -> String {
    let mut stream = connect(from, to);
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer is text");
    answer
}

fn get(from: Ipv4Addr, to: SocketAddr, path: &str, headers: &str) -> String {
    exchange(from, to, &format!("GET {path} HTTP/1.1\r\nhost: inside:8080\r\nconnection: close\r\n{headers}\r\n"))
}

/// A proxy: it appends its client's address to the header and forwards everything.
fn proxy_before(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.expect("a client");
            thread::spawn(move || {
                let peer = client.peer_addr().expect("an address").ip();
                let mut reader = BufReader::new(client.try_clone().expect("the other half"));
                let (mut head, mut length) = (String::new(), 0);
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).expect("a line");
                    if line.trim().is_empty() {
                        break;
                    }
                    if let Some((name, value)) = line.split_once(':')
                        && name.eq_ignore_ascii_case("content-length")
                    {
                        length = value.trim().parse().expect("a length");
                    }
                    head.push_str(&line);
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).expect("the body");
                let mut onward = TcpStream::connect(server).expect("the server is there");
                write!(onward, "{head}x-forwarded-for: {peer}\r\nx-forwarded-proto: https\r\n\r\n").expect("the head");
                onward.write_all(&body).expect("the body");
                std::io::copy(&mut onward, &mut client).expect("the answer");
                // The client may have disconnected.
                let _ = client.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

fn with_ana() -> (tempfile::TempDir, Daybook) {
    let (folder, daybook) = fresh();
    (folder, daybook.with("DAYBOOK_BOOTSTRAP_EMAIL", EMAIL).with("DAYBOOK_BOOTSTRAP_PASSWORD", PASSWORD))
}

/// Tries to sign in and returns the response.
fn sign_in(from: Ipv4Addr, to: SocketAddr, email: &str, password: &str) -> String {
    let page = get(from, to, "/console/sign-in", "");
    let cookie = page.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let cookie = cookie.split(';').next().expect("its pair");
    let token = page.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
    let form = format!("csrf={token}&email={}&password={password}", email.replace('@', "%40"));
    exchange(
        from,
        to,
        &format!(
            "POST /console/sign-in HTTP/1.1\r\nhost: inside:8080\r\nconnection: close\r\ncookie: {cookie}\r\n\
             sec-fetch-site: same-origin\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: {}\r\n\r\n{form}",
            form.len()
        ),
    )
}

const GUESSER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const ANA: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// Guesses passwords of different users until the client is locked out; then Ana signs in through the same proxy.
fn ana_after_guesses(flags: &[&str]) -> String {
    let (_folder, daybook) = with_ana();
    let server = daybook.serve(flags);
    let proxy = proxy_before(address_of(server.url()));
    for number in 0.. {
        let answer = sign_in(GUESSER, proxy, &format!("guess-{number}@lender.example"), "a-wrong-password");
        if answer.contains("too many failed attempts") {
            break;
        }
        assert!(number < 6, "nothing is counted: {answer}");
    }
    sign_in(ANA, proxy, EMAIL, PASSWORD)
}

#[test]
fn behind_a_trusted_proxy_who_guesses_waits_alone() {
    let answer = ana_after_guesses(&["--trust-proxy", "127.0.0.1"]);
    assert!(answer.starts_with("HTTP/1.1 303 ") && answer.contains("daybook_session="), "{answer}");
    // The control: all clients of an untrusted proxy count as one.
    let answer = ana_after_guesses(&[]);
    assert!(answer.contains("too many failed attempts"), "{answer}");
}

#[test]
fn only_a_trusted_proxy_is_believed_about_its_client() {
    let log_of = |flags: &[&str]| {
        let (_folder, daybook) = fresh();
        let server = daybook.serve(flags);
        let proxy = proxy_before(address_of(server.url()));
        get(ANA, proxy, "/healthz", "x-forwarded-for: 203.0.113.9\r\n");
        server.stop()
    };
    let log = log_of(&["--trust-proxy", "10.0.0.0/8", "--trust-proxy", "127.0.0.1/32"]);
    assert!(log.contains("client=127.0.0.3") && !log.contains("203.0.113.9"), "{log}");
    let log = log_of(&["--trust-proxy", "10.0.0.0/8"]);
    assert!(log.contains("client=127.0.0.1") && !log.contains("127.0.0.3"), "{log}");
}

#[test]
fn a_public_url_is_in_links_and_makes_cookies_and_browsers_strict() {
    let (_folder, daybook) = with_ana();
    let server = daybook.serve(&["--public-url", "https://books.example.com/"]);
    let address = address_of(server.url());
    let page = get(ANA, address, "/console/sign-in", "");
    assert!(page.contains("\r\nstrict-transport-security: max-age=31536000\r\n"), "{page}");
    let cookie = page.lines().find(|line| line.starts_with("set-cookie: __Host-daybook_door=")).unwrap_or_default();
    let attributes: Vec<&str> = cookie.trim_end().split("; ").skip(1).collect();
    assert!(["Path=/", "Secure", "HttpOnly"].iter().all(|wanted| attributes.contains(wanted)), "{page}");
    let signed_in = sign_in(ANA, address, EMAIL, PASSWORD);
    let session = signed_in.lines().find_map(|line| line.strip_prefix("set-cookie: __Host-daybook_session="));
    let session = session.and_then(|rest| rest.split(';').next()).unwrap_or_else(|| panic!("{signed_in}"));
    let with = |name: &str| get(ANA, address, "/console", &format!("cookie: {name}={session}\r\n"));
    assert!(with("__Host-daybook_session").starts_with("HTTP/1.1 200 "));
    assert!(with("daybook_session").starts_with("HTTP/1.1 303 "), "a cookie that any host could have set");
    let link = daybook.stdout_of(&["people", "link"]);
    assert!(link.starts_with("https://books.example.com/console/welcome/"), "{link}");
    server.stop();
    let link = daybook.stdout_of(&["people", "link"]);
    assert!(link.starts_with("http://127.0.0.1:8080/"), "without the setting, as the address says: {link}");
    let plain = daybook.serve(&[]);
    let page = get(ANA, address_of(plain.url()), "/console/sign-in", "");
    assert!(!page.contains("strict-transport") && page.contains("set-cookie: daybook_door="), "{page}");
}

#[test]
fn a_length_said_in_two_ways_is_refused() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let address = address_of(server.url());
    let hidden = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for lengths in
        ["content-length: 5\r\ntransfer-encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5"]
    {
        let request = format!("POST /auth/token HTTP/1.1\r\nhost: x\r\n{lengths}\r\n\r\n0\r\n\r\n{hidden}");
        let answer = exchange(ANA, address, &request);
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("Transfer-Encoding"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "nothing hidden is answered: {answer}");
    }
    let chunked =
        format!("POST /auth/token HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}");
    let answer = exchange(ANA, address, &chunked);
    assert!(answer.ends_with("ok\n") && answer.matches("HTTP/1.1 ").count() == 2, "{answer}");
}

/// A caller whose key is unknown sends the head first and a small body later. It gets the response, and the connection
/// stays open for the next request.
#[test]
fn a_refused_caller_whose_small_body_is_late_gets_its_answer() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let mut stream = connect(ANA, address_of(server.url()));
    stream
        .write_all(b"POST /customers HTTP/1.1\r\nhost: x\r\nauthorization: Bearer unknown\r\ncontent-length: 2\r\n\r\n")
        .expect("the head is sent");
    // A server that does not wait for the body closes the connection meanwhile.
    thread::sleep(Duration::from_millis(300));
    stream.write_all(b"{}GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("the body is sent");
    let mut answers = String::new();
    stream.read_to_string(&mut answers).expect("the server answers");
    assert!(answers.starts_with("HTTP/1.1 401 "), "{answers}");
    assert!(answers.ends_with("ok\n"), "the next request is answered: {answers}");
}

fn status_at(address: SocketAddr, path: &str) -> u16 {
    let answer = get(Ipv4Addr::LOCALHOST, address, path, "");
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn metrics_and_control_have_a_listener_of_their_own_if_asked_for() {
    let (_folder, daybook) = fresh();
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let server: Server = daybook.serve(&["--admin-listen", &free.to_string()]);
    let main = address_of(server.url());
    let seen = ["/metrics", "/admin/control", "/healthz", "/readyz", "/products", "/console/sign-in"]
        .map(|path| (path, status_at(main, path), status_at(free, path)));
    assert_eq!(
        seen,
        [
            ("/metrics", 404, 200),
            ("/admin/control", 404, 405),
            ("/healthz", 200, 200),
            ("/readyz", 200, 200),
            ("/products", 401, 404),
            ("/console/sign-in", 200, 404),
        ]
    );
    assert_eq!(daybook.json_of(&["org", "list", "--json"])["results"].as_array().map(Vec::len), Some(1));
    server.stop();
    let server = daybook.serve(&[]);
    assert_eq!(status_at(address_of(server.url()), "/metrics"), 200);
}

#[test]
fn a_live_organization_in_the_open_is_warned_about() {
    let (folder, daybook) = fresh();
    let all = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0).to_string();
    let warning = "a LIVE organization is served to other machines without TLS";
    let log_of = |daybook: &Daybook, flags: &[&str]| daybook.serve(flags).stop();
    assert!(!log_of(&daybook, &["--environment", "LIVE"]).contains(warning));
    assert!(log_of(&daybook, &["--listen", &all]).contains(warning));
    assert!(!log_of(&daybook, &["--listen", &all, "--trust-proxy", "10.0.0.0/8"]).contains(warning));
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    Authority::named("authority").sign("books.example.com", &cert, &key);
    let by_tls = ["--listen", &all, "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    assert!(!log_of(&daybook, &by_tls).contains(warning));
    let (_folder, test) = fresh();
    assert!(!log_of(&test, &["--listen", &all]).contains(warning));
}

#[test]
fn links_that_follow_the_host_of_a_request_are_warned_about() {
    let all = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0).to_string();
    let cases: [(&[&str], bool); 5] = [
        (&[], false),
        (&["--listen", &all], true),
        (&["--trust-proxy", "127.0.0.1/32"], true),
        (&["--listen", &all, "--public-url", "https://books.example.com"], false),
        (&["--trust-proxy", "127.0.0.1/32", "--public-url", "https://books.example.com"], false),
    ];
    let (_folder, daybook) = fresh();
    for (flags, is_warned_about) in cases {
        let log = daybook.serve(flags).stop();
        assert_eq!(log.contains("invite links begin with the host that a request names"), is_warned_about, "{log}");
        let listen: &[&str] = if flags.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let found = daybook.json_of(&[&["doctor", "--json"], listen, flags].concat());
        let warning = found.as_array().expect("a list").iter().find(|row| row["check"] == "public-url");
        assert_eq!(warning.is_some_and(|row| row["verdict"] == "warn"), is_warned_about, "{found}");
    }
}

#[test]
fn a_request_of_http_1_1_names_one_host() {
    let (_folder, daybook) = fresh();
    let server = daybook.serve(&[]);
    let ask = |version: &str, target: &str, hosts: &str| {
        let request = format!("GET {target} HTTP/{version}\r\nconnection: close\r\n{hosts}\r\n");
        exchange(Ipv4Addr::LOCALHOST, address_of(server.url()), &request)
    };
    for (target, hosts, why) in [
        ("/healthz", "", "no Host header"),
        ("http://books.example.com/healthz", "", "no Host header"),
        ("/healthz", "host: x\r\nhost: y\r\n", "more than one Host header"),
        ("/console/sign-in", "host: x/y\r\n", "the Host header is not a host"),
    ] {
        let answer = ask("1.1", target, hosts);
        assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(why), "{target} {hosts}: {answer}");
        assert!(answer.contains("\"code\":\"malformed_request\""), "{answer}");
    }
    assert!(ask("1.1", "/healthz", "host: x\r\n").starts_with("HTTP/1.1 200 "));
    assert!(ask("1.0", "/healthz", "").starts_with("HTTP/1.0 200 "));
}
