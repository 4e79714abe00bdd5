//! https: which certificates are accepted.

use crate::support::{GENEROUS, Prepared, message, sender_with};
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::guard::{Guard, System};
use daybook_webhooks::sender::{CertificateDer, ConnectionPool, Fault, Roots, SenderSettings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use std::sync::Arc;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate"))
    }

    fn root(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A receiver with a certificate for a name, valid until a year.
    fn receiver(&self, name: &str, until_year: i32) -> Receiver {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(until_year, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key fits");
        Receiver::start_secure(Behaviour::status(200), Arc::new(config))
    }
}

fn door_to(receiver: &Receiver, name: &str, roots: Roots) -> ConnectionPool {
    let guard = Guard { dev: true, networks: Vec::new() };
    let settings = SenderSettings { guard, timeout: GENEROUS, roots, ..SenderSettings::default() };
    let sender = sender_with(settings, Prepared::new(vec![vec![receiver.address()]]));
    sender.pool(&format!("https://{name}:{}/", receiver.address().port()))
}

fn assert_refused(reply: daybook_webhooks::sender::Reply, receiver: &Receiver, word: &str) {
    assert!(matches!(&reply.fault, Some(Fault::Tls(why)) if why.contains(word)), "{reply:?}");
    assert_eq!(receiver.counts().requests, 0, "nothing was said to a stranger");
}

#[tokio::test]
async fn a_certificate_of_a_trusted_authority_is_accepted_and_the_connection_kept() {
    let authority = Authority::new();
    let receiver = authority.receiver("hooks.example", 2100);
    let roots = Roots::Only(vec![authority.root()]);
    for name in ["hooks.example", "hooks.example."] {
        let pool = door_to(&receiver, name, roots.clone());
        for _ in 0..3 {
            let reply = pool.post(message(b"{}")).await;
            assert_eq!(reply.status, Some(200), "{reply:?}");
        }
    }
    assert_eq!((receiver.counts().requests, receiver.counts().accepted), (6, 2));
    let by_address = authority.receiver("127.0.0.1", 2100);
    assert_eq!(door_to(&by_address, "127.0.0.1", roots).post(message(b"{}")).await.status, Some(200));
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_refused() {
    let receiver = Authority::new().receiver("hooks.example", 2100);
    let roots = Roots::Only(vec![Authority::new().root()]);
    assert_refused(door_to(&receiver, "hooks.example", roots).post(message(b"{}")).await, &receiver, "certificate");
    let reply = door_to(&receiver, "hooks.example", Roots::System).post(message(b"{}")).await;
    assert_refused(reply, &receiver, "by an authority that this machine does not trust");
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let authority = Authority::new();
    let receiver = authority.receiver("hooks.example", 2100);
    let roots = Roots::Only(vec![authority.root()]);
    let reply = door_to(&receiver, "other.example", roots.clone()).post(message(b"{}")).await;
    assert_refused(reply, &receiver, "the receiver's certificate is for another name");
    let reply = door_to(&receiver, "127.0.0.1", roots).post(message(b"{}")).await;
    assert_refused(reply, &receiver, "the receiver's certificate is for another name");
}

#[tokio::test]
async fn a_certificate_that_has_run_out_is_refused() {
    let authority = Authority::new();
    let receiver = authority.receiver("hooks.example", 2001);
    let roots = Roots::Only(vec![authority.root()]);
    assert_refused(
        door_to(&receiver, "hooks.example", roots).post(message(b"{}")).await,
        &receiver,
        "the receiver's certificate has expired",
    );
}

/// An invalid certificate, sent by a receiver with the key of another one.
#[derive(Debug)]
struct Garbage(Arc<CertifiedKey>);

impl ResolvesServerCert for Garbage {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

#[tokio::test]
async fn a_certificate_that_cannot_be_read_is_told_in_a_sentence() {
    let key = KeyPair::generate().expect("a key");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let key = ring::sign::any_supported_type(&key).expect("a key for signing");
    let garbage = CertifiedKey::new(vec![CertificateDer::from(b"no certificate".to_vec())], key);
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Garbage(Arc::new(garbage))));
    let receiver = Receiver::start_secure(Behaviour::status(200), Arc::new(config));
    let reply =
        door_to(&receiver, "hooks.example", Roots::Only(vec![Authority::new().root()])).post(message(b"{}")).await;
    let said = reply.fault.expect("no answer").to_string();
    let expected = "no secure connection could be made (the receiver's certificate cannot be read: its encoding is damaged or \
                    not supported";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(receiver.counts().requests, 0);
}

/// Like the certificates that `openssl req -x509` makes.
#[tokio::test]
async fn a_self_signed_certificate_of_an_authority_is_told_in_a_sentence() {
    let mut params = CertificateParams::new(vec!["hooks.example".to_owned()]).expect("a name");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("the key fits");
    let receiver = Receiver::start_secure(Behaviour::status(200), Arc::new(config));
    for roots in [vec![Authority::new().root()], vec![certificate.der().clone()]] {
        let reply = door_to(&receiver, "hooks.example", Roots::Only(roots)).post(message(b"{}")).await;
        let said = reply.fault.expect("no answer").to_string();
        let expected =
            "no secure connection could be made (the receiver's certificate is that of an authority (CA:TRUE)";
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(receiver.counts().requests, 0);
}

#[tokio::test]
async fn an_answer_in_plain_http_is_no_secure_connection() {
    // A raw socket: no HTTP request ever arrives.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let guard = Guard { dev: true, networks: Vec::new() };
    let settings =
        SenderSettings { guard, timeout: GENEROUS, roots: Roots::Only(Vec::new()), ..SenderSettings::default() };
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    let pool = sender_with(settings, Arc::new(System::default())).pool(&url);
    let receive = async {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.readable().await.expect("a greeting");
        stream.try_write(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("written");
        stream
    };
    let (reply, _stream) = tokio::join!(pool.post(message(b"{}")), receive);
    assert!(
        matches!(&reply.fault, Some(Fault::Tls(why)) if why.contains("is it a server for plain http?")),
        "{reply:?}"
    );
}
