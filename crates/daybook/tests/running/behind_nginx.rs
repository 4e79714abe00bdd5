//! The server behind a real nginx, configured as in the manual: lockouts, links and cookies, refused requests, and
//! unreachable paths.

use crate::caller::{Caller, SITE, cookie_of, token_of, whole_cookie_of};
use crate::nginx::{self, Nginx, Onward};
use crate::support::fresh;
use daybook_testkit::authority::Authority;
use daybook_testkit::server::{Daybook, Server};
use hyper::{Response, Version};
use rustix::process::getuid;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use tempfile::TempDir;

const EMAIL: &str = "ana@lender.example";
const PASSWORD: &str = "a-password-of-ana";
const ANA: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const URL: &str = "https://books.example.com";

fn with_ana() -> (TempDir, Daybook) {
    let (folder, daybook) = fresh();
    (folder, daybook.with("DAYBOOK_BOOTSTRAP_EMAIL", EMAIL).with("DAYBOOK_BOOTSTRAP_PASSWORD", PASSWORD))
}

fn address_of(server: &Server) -> SocketAddr {
    server.url().split_once("://").expect("a URL").1.parse().expect("an address")
}

/// The client address that sends wrong passwords.
fn guesser(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, last)
}

fn is_locked_out(answer: &Response<String>) -> bool {
    answer.body().contains("too many failed attempts")
}

/// Guesses passwords of different users, with a new client for each try, until the client address is locked out: after
/// five.
fn guess_until_locked_out(case: &str, caller: impl Fn(usize) -> Caller) {
    for number in 0..=5 {
        let email = format!("guess-{number}-{}@lender.example", case.len());
        let answer = caller(number).sign_in(&email, "a-wrong-password");
        assert_eq!(is_locked_out(&answer), number == 5, "{case}, try {}: {answer:?}", number + 1);
    }
}

/// The response when Ana signs in.
fn ana_signs_in(nginx: &Nginx) -> Response<String> {
    nginx.caller(ANA).sign_in(EMAIL, PASSWORD)
}

fn assert_signed_in(case: &str, answer: &Response<String>) {
    assert_eq!(answer.status(), 303, "{case}: {answer:?}");
    cookie_of(answer, "daybook_session");
}

#[test]
fn who_guesses_behind_nginx_waits_alone_whatever_headers_say() {
    let Some(program) = nginx::program() else { return };
    let (_folder, daybook) = with_ana();
    let server = daybook.serve(&["--trust-proxy", "127.0.0.1/32", "--public-url", URL]);
    let nginx = Nginx::before(&program, &Onward::Plain(address_of(&server)));
    guess_until_locked_out("a guesser", |_| nginx.caller(guesser(2)));
    assert_signed_in("after a guesser", &ana_signs_in(&nginx));
    if getuid().is_root() {
        assert_eq!(nginx.users_of_workers(), [65_534], "nginx's workers run as an unprivileged user");
    }

    let ana = ANA.to_string();
    guess_until_locked_out("one who claims to be Ana", |_| nginx.caller(guesser(4)).with("x-forwarded-for", &ana));
    assert_signed_in("after one who claimed to be Ana", &ana_signs_in(&nginx));

    guess_until_locked_out("one who claims to be another each time", |number| {
        let another = format!("203.0.113.{number}");
        let caller = nginx.caller(guesser(5)).with("x-forwarded-for", &format!("{another}, 127.0.0.1"));
        caller.with("forwarded", &format!("for={another}")).with("x-real-ip", &another)
    });
    assert_signed_in("after one who claimed to be others", &ana_signs_in(&nginx));

    let past_nginx = Caller::plain(guesser(6), address_of(&server)).with("x-forwarded-for", &ana);
    guess_until_locked_out("one who goes past nginx", |_| past_nginx.clone());
    assert_signed_in("after one who went past nginx", &ana_signs_in(&nginx));

    let forging = nginx.caller(guesser(7)).with("x-forwarded-for", "127.0.0.1").with("forwarded", "for=203.0.113.9");
    assert_eq!(forging.get("/healthz").status(), 200);
    let log = server.stop();
    assert!(log.contains("client=127.0.0.7") && !log.contains("203.0.113."), "{log}");
    assert!(!log.lines().any(|line| line.ends_with("client=127.0.0.1")), "no call counts as nginx's own: {log}");
}

/// The control: all clients of an untrusted proxy count as one.
#[test]
fn behind_nginx_that_is_not_trusted_one_who_guesses_locks_out_all() {
    let Some(program) = nginx::program() else { return };
    let (_folder, daybook) = with_ana();
    let server = daybook.serve(&["--trust-proxy", "10.0.0.0/8", "--public-url", URL]);
    let nginx = Nginx::before(&program, &Onward::Plain(address_of(&server)));
    guess_until_locked_out("a guesser", |_| nginx.caller(guesser(2)));
    assert!(is_locked_out(&ana_signs_in(&nginx)));
}

/// Ana signs in and creates an invite. Returns the invite link and the text of all responses.
fn invited_by(caller: &Caller) -> (String, String) {
    let signed_in = caller.sign_in(EMAIL, PASSWORD);
    assert_signed_in("to invite", &signed_in);
    let cookie = cookie_of(&signed_in, "daybook_session");
    let people = caller.call("GET", "/console/people", &[("cookie", &cookie)], "");
    assert_eq!(people.status(), 200, "{people:?}");
    let form = format!("csrf={}&role=READ_ONLY", token_of(&people));
    let invited = caller.send_form("/console/people/invite", &cookie, &form);
    let link = invited.body().split("data-copy-text>").nth(1).and_then(|rest| rest.split('<').next());
    let link = link.unwrap_or_else(|| panic!("{invited:?}")).to_owned();
    (link, format!("{signed_in:?}{people:?}{invited:?}"))
}

#[test]
fn links_follow_the_public_url_whatever_host_is_called() {
    let Some(program) = nginx::program() else { return };
    let (_folder, daybook) = with_ana();
    let evil = |nginx: &Nginx| nginx.caller(ANA).calling("evil.example").with("x-forwarded-host", "evil.example");
    let server = daybook.serve(&["--trust-proxy", "127.0.0.1/32", "--public-url", URL]);
    let nginx = Nginx::before(&program, &Onward::Plain(address_of(&server)));
    let (link, answers) = invited_by(&evil(&nginx));
    assert!(link.starts_with(&format!("{URL}/console/welcome/")), "{link}");
    assert!(!answers.contains("evil.example"), "{answers}");
    let link = daybook.stdout_of(&["people", "link"]);
    assert!(link.starts_with(&format!("{URL}/console/welcome/")), "{link}");
    drop(nginx);
    server.stop();
    // The control: without the setting, links use the host of the request.
    let server = daybook.serve(&["--trust-proxy", "127.0.0.1/32"]);
    let nginx = Nginx::before(&program, &Onward::Plain(address_of(&server)));
    let (link, _) = invited_by(&evil(&nginx));
    assert!(link.starts_with("https://evil.example/console/welcome/"), "{link}");
}

/// Whether a cookie is sent to its own host only, by https only, and is hidden from scripts.
fn is_strict(cookie: &str) -> bool {
    let attributes: Vec<&str> = cookie.split("; ").skip(1).collect();
    ["Path=/", "Secure", "HttpOnly"].iter().all(|wanted| attributes.contains(wanted))
}

#[test]
fn browsers_behind_nginx_speak_http_2_by_https_only_with_strict_cookies() {
    let Some(program) = nginx::program() else { return };
    let (_folder, daybook) = with_ana();
    let server = daybook.serve(&["--trust-proxy", "127.0.0.1/32", "--public-url", URL]);
    let nginx = Nginx::before(&program, &Onward::Plain(address_of(&server)));
    for caller in [nginx.caller(ANA), nginx.caller(ANA).by_http_2()] {
        let page = caller.get("/console/sign-in");
        let strict: Vec<_> = page.headers().get_all("strict-transport-security").iter().collect();
        assert_eq!(strict, ["max-age=31536000"], "{page:?}");
        let cookie = whole_cookie_of(&page, "daybook_door");
        assert!(cookie.starts_with("__Host-daybook_door=") && is_strict(&cookie), "{cookie}");
        let signed_in = caller.sign_in(EMAIL, PASSWORD);
        assert_signed_in("a browser", &signed_in);
        let cookie = whole_cookie_of(&signed_in, "daybook_session");
        assert!(cookie.starts_with("__Host-daybook_session=") && is_strict(&cookie), "{cookie}");
        assert!(!cookie.to_lowercase().contains("domain="), "{cookie}");
    }
    assert_eq!(nginx.caller(ANA).by_http_2().get("/healthz").version(), Version::HTTP_2);
}

#[test]
fn what_is_hidden_or_apart_is_not_reached_through_nginx() {
    let Some(program) = nginx::program() else { return };
    let (_folder, daybook) = with_ana();
    let apart = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address");
    let flags = ["--trust-proxy", "127.0.0.1/32", "--public-url", URL, "--admin-listen", &apart.to_string()];
    let server = daybook.serve(&flags);
    let nginx = Nginx::before(&program, &Onward::Plain(address_of(&server)));
    let (by_nginx, inside) = (nginx.caller(ANA), Caller::plain(Ipv4Addr::LOCALHOST, apart));
    let seen = ["/metrics", "/admin/control", "/healthz", "/products"]
        .map(|path| (path, by_nginx.get(path).status().as_u16(), inside.get(path).status().as_u16()));
    let expected =
        [("/metrics", 404, 200), ("/admin/control", 404, 405), ("/healthz", 200, 200), ("/products", 401, 404)];
    assert_eq!(seen, expected);
    for path in ["//metrics", "/./metrics", "/%6detrics", "/x/../metrics", "/metrics/", "/METRICS"] {
        assert_eq!(by_nginx.get(path).status(), 404, "{path}");
    }
    assert_eq!(by_nginx.call("POST", "/admin/control", &[], "{}").status(), 404);

    let hidden = format!("GET /readyz HTTP/1.1\r\nhost: {SITE}\r\nconnection: close\r\n\r\n");
    for lengths in
        ["content-length: 5\r\ntransfer-encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 5"]
    {
        let request = format!("POST /auth/token HTTP/1.1\r\nhost: {SITE}\r\n{lengths}\r\n\r\n0\r\n\r\n{hidden}");
        let answer = by_nginx.send_as_it_is(&request);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "nothing hidden is answered: {answer}");
    }
    let log = server.stop();
    assert!(log.contains("/healthz") && !log.contains("/readyz"), "nothing hidden has arrived: {log}");
}

/// A server with a certificate of an authority, for a host name.
fn serve_by_tls(daybook: &Daybook, authority: &Authority, name: &str) -> Server {
    let file = |name: &str| daybook.folder().join(name);
    authority.sign(name, &file("cert.pem"), &file("key.pem"));
    let flags = ["--trust-proxy", "127.0.0.1/32", "--public-url", URL];
    daybook.serve(&[&flags[..], &["--tls-cert", "cert.pem", "--tls-key", "key.pem"]].concat())
}

#[test]
fn nginx_reaches_the_server_by_tls_and_only_the_right_one() {
    let Some(program) = nginx::program() else { return };
    let (_folder, daybook) = with_ana();
    let (authority, stranger) = (Authority::named("of the server"), Authority::named("a stranger"));
    let server = serve_by_tls(&daybook, &authority, "daybook.internal");
    let address = address_of(&server);
    let before = |authority: &Authority, name: &str| Nginx::before(&program, &Onward::Tls(address, authority, name));
    let nginx = before(&authority, "daybook.internal");
    guess_until_locked_out("a guesser", |_| nginx.caller(guesser(2)));
    assert_signed_in("after a guesser", &ana_signs_in(&nginx));
    assert_eq!(nginx.caller(ANA).by_http_2().get("/healthz").status(), 200);
    for (authority, name) in [(&stranger, "daybook.internal"), (&authority, "another.internal")] {
        let nginx = before(authority, name);
        assert_eq!(nginx.caller(ANA).get("/healthz").status(), 502, "{name}: {}", nginx.said());
    }
    server.stop();
}
