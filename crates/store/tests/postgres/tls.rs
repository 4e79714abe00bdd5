//! TLS to a server that rejects plain connections: which certificates are accepted, for each `sslmode`.

use crate::block_on;
use daybook_store::error::StoreError;
use daybook_testkit::authority::Authority;
use daybook_testkit::postgres::Server;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A server whose certificate is for `localhost`, and the files of its clients.
struct TlsServer {
    server: Server,
    folder: TempDir,
}

impl TlsServer {
    fn new() -> TlsServer {
        let folder = TempDir::new().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let (authority, stranger) = (Authority::named("authority"), Authority::named("stranger"));
        authority.write(&path("ca.crt"));
        stranger.write(&path("stranger.crt"));
        authority.sign("localhost", &path("server.crt"), &path("server.key"));
        authority.sign("carded", &path("client.crt"), &path("client.key"));
        stranger.sign("carded", &path("forged.crt"), &path("forged.key"));
        authority.sign("another", &path("another.crt"), &path("another.key"));
        TlsServer { server: Server::start_tls(folder.path()), folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Opens a new database of the server with these parameters, by this host name, as a user.
    fn open(&self, user: &str, host: &str, parameters: &str) -> Result<(), StoreError> {
        let address = self.server.database().replace("daybook@127.0.0.1", &format!("{user}@{host}"));
        let parameters = parameters.replace("FOLDER", self.folder.path().to_str().expect("a plain name"));
        block_on(async { daybook_store::open(&format!("{address}?{parameters}")).await.map(drop) })
    }

    fn assert_refused(&self, user: &str, host: &str, parameters: &str, word: &str) {
        let error = self.open(user, host, parameters).expect_err(parameters);
        assert!(matches!(error, StoreError::Broken(_) | StoreError::Untrusted(_)), "it is not tried again: {error:?}");
        let error = error.to_string();
        assert!(error.contains(word), "{host} {parameters}: {error}");
    }
}

#[test]
fn each_mode_checks_what_it_says() {
    let tls_server = TlsServer::new();
    // Encrypted, without any check.
    for parameters in ["", "sslmode=prefer", "sslmode=require"] {
        tls_server.open("daybook", "127.0.0.1", parameters).expect(parameters);
    }
    tls_server.assert_refused("daybook", "127.0.0.1", "sslmode=disable", "no encryption");
    // The authority is checked, the name is not.
    for mode in ["require", "verify-ca"] {
        tls_server.open("daybook", "127.0.0.1", &format!("sslmode={mode}&sslrootcert=FOLDER/ca.crt")).expect(mode);
        let strange = format!("sslmode={mode}&sslrootcert=FOLDER/stranger.crt");
        tls_server.assert_refused("daybook", "127.0.0.1", &strange, "no trusted authority has signed it");
    }
    // Both are checked.
    let full = "sslmode=verify-full&sslrootcert=FOLDER/ca.crt";
    tls_server.open("daybook", "localhost", full).expect("the certificate names localhost");
    tls_server.assert_refused("daybook", "127.0.0.1", full, "it is not valid for the host in the address");
    tls_server.assert_refused(
        "daybook",
        "localhost",
        "sslmode=verify-full&sslrootcert=FOLDER/stranger.crt",
        "no trusted authority has signed it",
    );
    // This machine's authorities did not sign it.
    if rustls_native_certs::load_native_certs().certs.is_empty() {
        println!("this machine knows no certificate authority: sslmode=verify-full without sslrootcert is not tried");
    } else {
        tls_server.assert_refused("daybook", "localhost", "sslmode=verify-full", "no trusted authority has signed it");
    }
}

#[test]
fn a_client_shows_its_own_certificate() {
    let tls_server = TlsServer::new();
    let full = "sslmode=verify-full&sslrootcert=FOLDER/ca.crt";
    let with = |name: &str| format!("{full}&sslcert=FOLDER/{name}.crt&sslkey=FOLDER/{name}.key");
    tls_server.open("carded", "localhost", &with("client")).expect("the authority signed it");
    tls_server.assert_refused("carded", "localhost", full, "certificate");
    tls_server.assert_refused("carded", "localhost", &with("forged"), "certificate");
    tls_server.assert_refused("carded", "localhost", &with("another"), "carded");
    fs::write(tls_server.path("client.key"), "nothing").expect("a file");
    tls_server.assert_refused("carded", "localhost", &with("client"), "sslkey");
}
