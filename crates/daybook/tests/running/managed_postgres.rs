//! A server on PostgreSQL as set up by a cloud provider: TLS only, with a private authority, and a client certificate
//! for one user.

use crate::support::{fresh, lend};
use daybook_testkit::authority::Authority;
use daybook_testkit::postgres;
use tempfile::TempDir;

/// The PostgreSQL server, and the files of its clients.
struct Managed {
    server: postgres::Server,
    folder: TempDir,
}

impl Managed {
    fn start() -> Managed {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let (authority, stranger) = (Authority::named("authority"), Authority::named("stranger"));
        authority.write(&path("ca.crt"));
        stranger.write(&path("stranger.crt"));
        authority.sign("localhost", &path("server.crt"), &path("server.key"));
        authority.sign("carded", &path("ours.crt"), &path("ours.key"));
        authority.sign("another", &path("another.crt"), &path("another.key"));
        stranger.sign("carded", &path("forged.crt"), &path("forged.key"));
        Managed { server: postgres::Server::start_tls(folder.path()), folder }
    }

    /// The address of a new database, for a user and a host name.
    fn address(&self, user: &str, host: &str, parameters: &str) -> String {
        let address = self.server.database().replace("daybook@127.0.0.1", &format!("{user}@{host}"));
        let parameters = parameters.replace("FOLDER", self.folder.path().to_str().expect("a plain name"));
        format!("{address}?{parameters}")
    }
}

const FULL: &str = "sslmode=verify-full&sslrootcert=FOLDER/ca.crt";

fn with_card(name: &str) -> String {
    format!("{FULL}&sslcert=FOLDER/{name}.crt&sslkey=FOLDER/{name}.key")
}

#[test]
fn a_server_takes_payments_over_tls_as_each_mode_says() {
    let managed = Managed::start();
    let ours = with_card("ours");
    for (user, host, parameters) in [
        ("daybook", "localhost", FULL),
        ("carded", "localhost", ours.as_str()),
        ("daybook", "127.0.0.1", "sslmode=verify-ca&sslrootcert=FOLDER/ca.crt"),
        ("daybook", "127.0.0.1", "sslmode=require"),
        // The server accepts only TLS: a client that connects without requesting it has used it.
        ("daybook", "127.0.0.1", "sslmode=prefer"),
        ("daybook", "127.0.0.1", ""),
    ] {
        let (_folder, daybook) = fresh();
        let address = managed.address(user, host, parameters);
        let server = daybook.serve(&["--database", &address]);
        let secret = server.first_secret();
        lend(&server, &secret, "loan-1");
        let paid = server.get("/accounts/loan-1/line_items/p1", &secret).good();
        assert_eq!(paid["line_item_id"], "p1", "{parameters}");
        server.stop();
        let verified = daybook.stdout_of(&["verify", "--database", &address]);
        assert!(verified.ends_with(": 0 differences\n"), "{parameters}: {verified}");
    }
}

#[test]
fn what_cannot_be_trusted_ends_the_start_at_once_with_a_sentence() {
    let managed = Managed::start();
    let (forged, another) = (with_card("forged"), with_card("another"));
    for (user, host, parameters, sentence) in [
        ("daybook", "127.0.0.1", "sslmode=disable", "no encryption"),
        (
            "daybook",
            "localhost",
            "sslmode=verify-full&sslrootcert=FOLDER/stranger.crt",
            "cannot be opened: Daybook does not trust the database server's certificate: no trusted authority has signed it",
        ),
        (
            "daybook",
            "127.0.0.1",
            FULL,
            "Daybook does not trust the database server's certificate: it is not valid for the host in the address",
        ),
        ("daybook", "localhost", "sslmode=verify-full&sslrootcert=FOLDER/none.crt", "none.crt cannot be used"),
        ("carded", "localhost", FULL, "connection requires a valid client certificate"),
        ("carded", "localhost", forged.as_str(), "the database server does not accept the certificate in sslcert"),
        ("carded", "localhost", another.as_str(), "authentication failed for user \"carded\""),
    ] {
        let (folder, daybook) = fresh();
        let address = managed.address(user, host, parameters);
        let started = daybook.try_serve(&["--database", &address]);
        let (status, stderr) = started.err().unwrap_or_else(|| panic!("{parameters}: it serves"));
        assert_eq!(status.code(), Some(1), "{parameters}: {stderr}");
        assert!(stderr.contains(sentence), "{parameters}: {stderr}");
        assert!(stderr.lines().count() == 1 && !stderr.contains("waiting"), "{parameters}: {stderr}");
        let made = std::fs::read_dir(folder.path()).expect("the folder is there").count();
        assert_eq!(made, 0, "{parameters}: nothing is made");
    }
}
