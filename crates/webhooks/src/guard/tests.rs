//! The guard's rules, without a network.

use super::*;
use async_trait::async_trait;
use std::io;
use std::net::SocketAddr;

fn strict() -> Guard {
    Guard::default()
}

fn dev() -> Guard {
    Guard { dev: true, networks: Vec::new() }
}

fn allowing(network: &str) -> Guard {
    Guard { dev: false, networks: vec![network.parse().expect("a network")] }
}

/// A resolver with one fixed result.
#[derive(Debug)]
struct Answers(Option<Vec<&'static str>>);

#[async_trait]
impl Resolve for Answers {
    async fn addresses(&self, _: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let addresses = self.0.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(addresses.iter().map(|text| SocketAddr::new(text.parse().expect("an address"), port)).collect())
    }
}

#[test]
fn a_public_https_url_is_taken_apart() {
    let target = strict().check_url("HTTPS://Example.COM:8443/a/b?c=d").expect("allowed");
    assert!(target.is_tls);
    assert_eq!(target.host, Host::Name("example.com".to_owned()));
    assert_eq!(target.port, 8443);
    assert_eq!(target.uri.to_string(), "/a/b?c=d");
    assert_eq!(target.authority, "example.com:8443");
    let target = strict().check_url("https://[2606:4700::1111]:443").expect("allowed");
    assert_eq!((target.port, target.uri.to_string().as_str()), (443, "/"));
    assert_eq!(target.authority, "[2606:4700::1111]");
}

#[test]
fn each_refusal_says_what_to_do() {
    let long = format!("https://example.com/{}", "a".repeat(MOST_URL_BYTES));
    let said = [
        (long.as_str(), "must not be longer than 2048 bytes"),
        ("https://exam\tple.com", "must not contain whitespace or control characters"),
        (" https://example.com", "must not contain whitespace or control characters"),
        ("example.com/hooks", "must be a complete URL that begins with https://, such as https://example.com/hooks"),
        ("ftp://example.com", "must begin with https:// (not ftp:)"),
        ("file:///etc/passwd", "must begin with https:// (not file:)"),
        ("https://me:secret@example.com", "must not contain a user name or a password"),
        ("https://me@example.com", "must not contain a user name or a password"),
        ("https://example.com/#top", "must not have a part after #"),
        ("https://example.com:0/", "must not use port 0"),
        ("http://example.com/", "must begin with https:// (plain http is only for allowed networks)"),
        ("http://8.8.8.8/", "must begin with https:// (plain http is only for allowed networks)"),
        ("https://localhost/", "must not point to a loopback address (localhost)"),
        ("https://a.localhost./", "must not point to a loopback address (a.localhost.)"),
        ("https://2130706433/", "must not point to a loopback address (127.0.0.1)"),
        ("https://[::ffff:a00:1]/", "must not point to a private address (::ffff:10.0.0.1)"),
        ("https://169.254.169.254/latest", "must not point to a link-local address (169.254.169.254)"),
        ("https://0/", "must not point to an unspecified address (0.0.0.0)"),
        ("https://[ff02::1]/", "must not point to a multicast address (ff02::1)"),
        ("https://[2002:7f00:1::]/", "must not point to a reserved address (2002:7f00:1::)"),
    ];
    for (url, sentence) in said {
        assert_eq!(strict().check_url(url).expect_err(url).to_string(), sentence, "{url}");
    }
    assert!(matches!(strict().check_url("https://"), Err(UrlRefusal::NotAUrl(_))));
}

#[test]
fn dev_allows_loopback_and_plain_http_and_nothing_else() {
    for url in [
        "http://127.0.0.1:80/",
        "http://localhost:3000",
        "https://[::1]/",
        "http://[::ffff:7f00:1]/",
        "http://example.com",
    ] {
        assert!(dev().check_url(url).is_ok(), "{url}");
    }
    for url in ["http://10.0.0.1/", "http://0.0.0.0/", "https://169.254.169.254/", "http://[fe80::1]/"] {
        assert!(dev().check_url(url).is_err(), "{url}");
    }
}

#[test]
fn an_allowed_network_allows_its_addresses_with_plain_http_too() {
    let guard = allowing("10.1.0.0/16");
    for url in ["http://10.1.2.3/", "https://10.1.2.3/", "http://[::ffff:10.1.2.3]/", "http://[64:ff9b::10.1.2.3]/"] {
        assert!(guard.check_url(url).is_ok(), "{url}");
    }
    for url in ["http://10.2.0.1/", "https://10.2.0.1/", "http://8.8.8.8/", "http://127.0.0.1/", "http://localhost/"] {
        assert!(guard.check_url(url).is_err(), "{url}");
    }
    // For a name, its addresses decide.
    assert!(guard.check_url("http://inside.example/").is_ok());
    let public = "8.8.8.8".parse().expect("an address");
    assert_eq!(guard.check_address(public, false), Err(UrlRefusal::PlainHttp));
    assert_eq!(guard.check_address(public, true), Ok(()));
    assert!(allowing("127.0.0.0/8").check_url("http://localhost/").is_ok());
}

#[tokio::test]
async fn subscribing_asks_for_every_address_of_the_name() {
    let refused =
        |address: &str, kind| Err(UrlRefusal::Address { address: address.parse().expect("an address"), kind });
    let check = async |answer: Option<Vec<&'static str>>, guard: Guard, url: &str| {
        guard.check_at_subscribing(url, &Answers(answer)).await
    };
    let url = "https://example.com/";
    assert_eq!(check(Some(vec!["8.8.8.8", "2606:4700::1"]), strict(), url).await, Ok(()));
    assert_eq!(
        check(Some(vec!["8.8.8.8", "10.0.0.1"]), strict(), url).await,
        refused("10.0.0.1", AddressKind::Private)
    );
    assert_eq!(check(Some(vec!["::1"]), strict(), url).await, refused("::1", AddressKind::Loopback));
    assert_eq!(check(Some(vec!["::1"]), dev(), "http://example.com").await, Ok(()));
    // No address is known now: it is checked again at each connection.
    assert_eq!(check(None, strict(), url).await, Ok(()));
    // Plain http: every address must be in an allowed network.
    let inside = "http://inside.example/";
    assert_eq!(check(Some(vec!["10.1.0.1"]), allowing("10.1.0.0/16"), inside).await, Ok(()));
    assert_eq!(
        check(Some(vec!["10.1.0.1", "8.8.8.8"]), allowing("10.1.0.0/16"), inside).await,
        Err(UrlRefusal::PlainHttp)
    );
}

/// A resolver that never responds.
#[derive(Debug)]
struct Silent;

#[async_trait]
impl Resolve for Silent {
    async fn addresses(&self, _: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn subscribing_does_not_wait_for_a_silent_name_server() {
    assert_eq!(strict().check_at_subscribing("https://example.com/", &Silent).await, Ok(()));
}
