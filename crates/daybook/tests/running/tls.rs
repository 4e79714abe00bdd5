//! The server's own TLS: both versions of HTTP, a replaced certificate, and commands on the same machine.

use crate::support::{free_address, fresh, in_days, make_pipe, metrics_at};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use daybook_engine::time::Time;
use daybook_testkit::authority::Authority;
use daybook_testkit::server::Server;
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

fn make_certificate() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["books.example.com".to_owned()]).expect("a certificate")
}

/// Bytes in PEM form.
fn pem(kind: &str, der: &[u8]) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", STANDARD.encode(der))
}

fn cert_of(pair: &CertifiedKey<KeyPair>) -> String {
    pem("CERTIFICATE", pair.cert.der())
}

fn key_of(pair: &CertifiedKey<KeyPair>) -> String {
    pem("PRIVATE KEY", &pair.signing_key.serialize_der())
}

fn write(folder: &Path, pair: &CertifiedKey<KeyPair>) {
    fs::write(folder.join("cert.pem"), cert_of(pair)).expect("a file");
    fs::write(folder.join("key.pem"), key_of(pair)).expect("a file");
}

const FLAGS: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

/// A connection that trusts only one certificate and offers these protocols.
async fn connect(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    protocols: &[&[u8]],
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("versions");
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|one| one.to_vec()).collect();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("books.example.com").expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

fn request(address: SocketAddr) -> hyper::Request<Empty<Bytes>> {
    let uri = format!("https://books.example.com:{}/healthz", address.port());
    hyper::Request::builder().uri(uri).header("host", "books.example.com").body(Empty::new()).expect("a request")
}

/// The response to a call over TLS, and its version of HTTP.
async fn ask(address: SocketAddr, trusted: &CertificateDer<'static>, protocols: &[&[u8]]) -> (hyper::Version, String) {
    let stream = connect(address, trusted, protocols).await.expect("hands are shaken");
    let is_2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let answer = if is_2 {
        let (mut sender, driver) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("HTTP/2");
        tokio::spawn(driver);
        sender.send_request(request(address)).await.expect("an answer")
    } else {
        let (mut sender, driver) = http1::handshake(TokioIo::new(stream)).await.expect("HTTP/1");
        tokio::spawn(driver);
        sender.send_request(request(address)).await.expect("an answer")
    };
    let version = answer.version();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (version, String::from_utf8(bytes.to_vec()).expect("text"))
}

fn address_of(url: &str) -> SocketAddr {
    url.strip_prefix("https://").expect("a URL of https").parse().expect("an address")
}

#[test]
fn both_versions_of_http_are_spoken_and_commands_find_the_server() {
    let (folder, daybook) = fresh();
    let pair = make_certificate();
    write(folder.path(), &pair);
    let server = daybook.serve(&FLAGS);
    let (address, trusted) = (address_of(server.url()), pair.cert.der().clone());
    let runtime = Runtime::new().expect("a runtime");
    let (h2, h1): (&[u8], &[u8]) = (b"h2", b"http/1.1");
    for (protocols, version) in
        [(&[h2, h1][..], hyper::Version::HTTP_2), (&[h1], hyper::Version::HTTP_11), (&[], hyper::Version::HTTP_11)]
    {
        assert_eq!(runtime.block_on(ask(address, &trusted, protocols)), (version, "ok\n".to_owned()));
    }
    let stranger = make_certificate().cert.der().clone();
    assert!(runtime.block_on(connect(address, &stranger, &[])).is_err(), "another certificate is not trusted");
    assert_eq!(daybook.json_of(&["org", "list", "--json"])["results"].as_array().map(Vec::len), Some(1));
    let link = daybook.stdout_of(&["people", "link"]);
    assert!(link.starts_with(&format!("{}/console/welcome/", server.url())), "{link}");
    server.stop();
}

/// Waits until a server has logged a sentence, which takes a second or two.
fn wait_until_said(server: &Server, sentence: &str) {
    for _ in 0..600 {
        if server.stderr().contains(sentence) {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the server has not said \"{sentence}\", but: {}", server.stderr());
}

#[test]
fn a_certificate_is_replaced_while_serving() {
    let (folder, daybook) = fresh();
    let (first, second) = (make_certificate(), make_certificate());
    write(folder.path(), &first);
    let server = daybook.serve(&FLAGS);
    let address = address_of(server.url());
    let runtime = Runtime::new().expect("a runtime");
    // A connection that stays open throughout.
    let kept = runtime.block_on(connect(address, first.cert.der(), &[b"http/1.1"])).expect("hands are shaken");
    let (mut kept, driver) = runtime.block_on(http1::handshake(TokioIo::new(kept))).expect("HTTP/1");
    runtime.spawn(driver);
    let shared = runtime.block_on(connect(address, first.cert.der(), &[b"h2"])).expect("hands are shaken");
    let shaking = http2::handshake(TokioExecutor::new(), TokioIo::new(shared));
    let (mut shared, driver) = runtime.block_on(shaking).expect("HTTP/2");
    runtime.spawn(driver);

    // Unusable files: the first certificate stays in use, and the log states the reason.
    let path = |name: &str| folder.path().join(name);
    let breaks: [(&dyn Fn(), &str); 4] = [
        (&|| fs::write(path("cert.pem"), cert_of(&second)).expect("a file"), "do not match"),
        (&|| fs::write(path("cert.pem"), "nothing").expect("a file"), "it holds no certificate in PEM form"),
        (&|| fs::remove_file(path("cert.pem")).expect("a file"), "it cannot be read"),
        (
            &|| {
                write(folder.path(), &first);
                fs::write(path("key.pem"), "nothing").expect("a file");
            },
            "it holds no private key in PEM form",
        ),
    ];
    for (make, sentence) in breaks {
        make();
        wait_until_said(&server, sentence);
        let log = server.stderr();
        let said = log.lines().find(|line| line.contains(sentence)).unwrap_or_default();
        assert!(said.contains("the earlier one stays in use") && said.contains(".pem"), "{said}");
        assert_eq!(runtime.block_on(ask(address, first.cert.der(), &[])).1, "ok\n", "{sentence}");
    }

    write(folder.path(), &second);
    wait_until_said(&server, "the certificate was replaced");
    assert_eq!(runtime.block_on(ask(address, second.cert.der(), &[])).1, "ok\n");
    assert!(runtime.block_on(connect(address, first.cert.der(), &[])).is_err(), "the first is no longer shown");
    let still = runtime.block_on(kept.send_request(request(address))).expect("an answer");
    assert_eq!(still.status(), 200, "a connection that was open goes on");
    let still = runtime.block_on(shared.send_request(request(address))).expect("an answer");
    assert_eq!(still.status(), 200, "and one of HTTP/2");
    server.stop();
}

/// Opening a pipe waits for a process that writes to it. Neither a later certificate nor the exit waits with it.
#[test]
fn a_pipe_in_place_of_a_certificate_blocks_nothing() {
    let (folder, daybook) = fresh();
    let (first, second) = (make_certificate(), make_certificate());
    write(folder.path(), &first);
    let server = daybook.serve(&FLAGS);
    let (address, cert) = (address_of(server.url()), folder.path().join("cert.pem"));
    let replace_by_pipe = || {
        fs::remove_file(&cert).expect("a file");
        make_pipe(&cert);
    };
    replace_by_pipe();
    wait_until_said(&server, "it is not a regular file");
    let runtime = Runtime::new().expect("a runtime");
    assert_eq!(runtime.block_on(ask(address, first.cert.der(), &[])).1, "ok\n", "the first certificate stays in use");
    fs::remove_file(&cert).expect("a pipe");
    write(folder.path(), &second);
    wait_until_said(&server, "the certificate was replaced");
    assert_eq!(runtime.block_on(ask(address, second.cert.der(), &[])).1, "ok\n");
    replace_by_pipe();
    for _ in 0..600 {
        if server.stderr().matches("it is not a regular file").count() == 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let log = server.stop();
    assert_eq!(log.matches("it is not a regular file").count(), 2, "{log}");
}

const NOT_AFTER: &str = "daybook_tls_certificate_not_after_timestamp_seconds";

/// Waits until a server has logged a warning, and checks that its metric is the end of the certificate's validity.
fn is_warned_of(server: &Server, admin: SocketAddr, sentence: &str, until: Time) {
    wait_until_said(server, sentence);
    let log = server.stderr();
    let line = log.lines().find(|line| line.contains(sentence)).unwrap_or_default();
    assert!(line.contains("WARN") && line.contains("cert.pem"), "{line}");
    is_exported(admin, until);
}

fn is_exported(admin: SocketAddr, until: Time) {
    let page = metrics_at(admin);
    assert!(page.contains(&format!("\n{NOT_AFTER} {}\n", until.seconds())), "{until}: {page}");
}

#[test]
fn the_dates_of_the_certificate_in_use_are_a_metric_and_the_log_warns_of_them() {
    let (folder, daybook) = fresh();
    let (authority, admin) = (Authority::named("authority"), free_address());
    let sign = |from: Time, until: Time| {
        let path = |name: &str| folder.path().join(name);
        authority.sign_between("books.example.com", (from, until), &path("cert.pem"), &path("key.pem"));
        until
    };
    let until = sign(in_days(-30), in_days(-1));
    let server = daybook.serve(&[&FLAGS[..], &["--admin-listen", &admin.to_string()]].concat());
    is_warned_of(&server, admin, &format!("the certificate expired at {until}: clients refuse it"), until);

    let until = sign(in_days(-30), in_days(13));
    let sentence = format!("the certificate expires within 14 days, at {until}: renew it");
    is_warned_of(&server, admin, &sentence, until);

    let until = sign(in_days(-30), in_days(-2));
    is_warned_of(&server, admin, &format!("the certificate expired at {until}: clients refuse it"), until);

    let (from, until) = (in_days(1), in_days(90));
    sign(from, until);
    let sentence = format!("the certificate is not valid before {from}: clients refuse it");
    is_warned_of(&server, admin, &sentence, until);

    let until = sign(in_days(-30), in_days(60));
    for _ in 0..600 {
        if server.stderr().matches("the certificate was replaced").count() == 4 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    is_exported(admin, until);
    let log = server.stop();
    assert_eq!(log.matches("the certificate was replaced").count(), 4, "{log}");
    let warnings = log.lines().filter(|line| line.contains("WARN") && line.contains("the certificate"));
    assert_eq!(warnings.count(), 4, "no warning of a valid one: {log}");

    let server = daybook.serve(&["--admin-listen", &admin.to_string()]);
    assert!(!metrics_at(admin).contains(NOT_AFTER), "no certificate, no metric");
    server.stop();
}

#[test]
fn a_certificate_that_cannot_be_used_is_one_sentence() {
    let (folder, daybook) = fresh();
    write(folder.path(), &make_certificate());
    fs::write(folder.path().join("key.pem"), key_of(&make_certificate())).expect("a file");
    let (code, stderr) = daybook.failure_of(&[&["serve"][..], &FLAGS].concat());
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("tls-cert = \"cert.pem\" and tls-key = \"key.pem\" do not match"), "{stderr}");
    assert!(stderr.lines().count() == 1 && !folder.path().join("daybook.db").exists(), "{stderr}");
}
