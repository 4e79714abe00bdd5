//! TLS: a certificate and its key from files, reloaded when they change, without interrupting connections.
//!
//! The files are regular files, or links to them: reading a pipe or a terminal might never end. Their contents are
//! compared once a second. While they do not match each other (one file is written before the other), the earlier
//! certificate stays in use; a mismatch that persists at the second check is logged.
//!
//! A certificate that has expired is used, with a warning. A server that refused it would also stop processing accounts
//! and sending webhooks, which need no certificate.

use super::certificate::{Certificate, CertificateValidity};
use daybook_clock::{Clock, System};
use daybook_engine::time::Time;
use daybook_metrics::{Families, Registry};
use rustix::fs::OFlags;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The interval between checks of the files.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// The name of HTTP/2 in ALPN.
pub const HTTP_2: &[u8] = b"h2";

/// The certificate in use, and its files.
#[derive(Debug)]
pub struct Tls {
    cert: PathBuf,
    key: PathBuf,
    /// The content of the files at the start.
    loaded: Pair,
    in_use: RwLock<InUse>,
}

/// A certificate, ready for connections. Its dates and names may be unreadable; TLS does not need them.
#[derive(Clone, Debug)]
struct InUse {
    config: Arc<ServerConfig>,
    certificate: Result<Certificate, String>,
}

/// The content of the two files.
#[derive(Clone, PartialEq, Eq)]
struct Pair {
    cert: Vec<u8>,
    key: Vec<u8>,
}

impl fmt::Debug for Pair {
    /// Does not show the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a certificate chain and its key, both in PEM form.
    pub fn load(cert: &Path, key: &Path) -> Result<Tls, String> {
        let loaded = Pair::read(cert, key)?;
        let in_use = RwLock::new(loaded.prepare(cert, key)?);
        Ok(Tls { cert: cert.to_owned(), key: key.to_owned(), loaded, in_use })
    }

    /// The configuration for the next connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        self.in_use.read().unwrap_or_else(PoisonError::into_inner).config.clone()
    }

    /// The dates and names of the certificate in use.
    pub fn certificate(&self) -> Result<Certificate, String> {
        self.in_use.read().unwrap_or_else(PoisonError::into_inner).certificate.clone()
    }

    /// Logs a warning if the certificate in use is not valid, or not for long.
    pub fn warn_of_dates(&self, now: Time) {
        let cert = self.cert.display();
        match self.certificate().map(|certificate| certificate.validity_at(now)) {
            Ok(CertificateValidity::Valid(_)) => {}
            Ok(validity) => tracing::warn!(%cert, "{validity}"),
            Err(sentence) => tracing::warn!(%cert, "{sentence}"),
        }
    }

    /// When the certificate in use expires; no metric if that cannot be read.
    pub fn metrics(&self) -> Families {
        let registry = Registry::default();
        if let Ok(certificate) = self.certificate() {
            registry.value(
                "daybook_tls_certificate_not_after_timestamp_seconds",
                "When the certificate in use expires, in seconds since 1970",
                certificate.not_after().seconds() as f64,
            );
        }
        registry.families()
    }

    /// Reloads the files whenever they change, until it is cancelled.
    pub async fn keep_up(self: Arc<Tls>) {
        // Not what the files hold now: they may have changed since the start.
        let mut used = Some(self.loaded.clone());
        let (mut seen, mut is_told) = (used.clone(), true);
        loop {
            tokio::time::sleep(BETWEEN_LOOKS).await;
            let tls = self.clone();
            let read = tokio::task::spawn_blocking(move || Pair::read(&tls.cert, &tls.key)).await;
            let Ok(read) = read else { continue };
            let now = read.clone().ok();
            if now.is_some() && now == used {
                (seen, is_told) = (now, true);
                continue;
            }
            let is_settled = now == seen;
            let prepared = read.and_then(|pair| pair.prepare(&self.cert, &self.key));
            match prepared {
                Ok(in_use) => {
                    *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = in_use;
                    tracing::info!(cert = %self.cert.display(), "the certificate was replaced");
                    self.warn_of_dates(System.now());
                    used = now.clone();
                    is_told = true;
                }
                Err(error) if is_settled && !is_told => {
                    tracing::error!(error, "the new certificate cannot be used; the earlier one stays in use");
                    is_told = true;
                }
                Err(_) if !is_settled => is_told = false,
                Err(_) => {}
            }
            seen = now;
        }
    }
}

impl Pair {
    fn read(cert: &Path, key: &Path) -> Result<Pair, String> {
        let read = |name: &str, path: &Path| {
            read_regular(path).map_err(|error| format!("{name} = {:?}: it cannot be read: {error}", path.display()))
        };
        Ok(Pair { cert: read("tls-cert", cert)?, key: read("tls-key", key)? })
    }

    fn prepare(&self, cert: &Path, key: &Path) -> Result<InUse, String> {
        let (cert, key) = (cert.display(), key.display());
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.cert).collect();
        let chain = chain.map_err(|error| format!("tls-cert = \"{cert}\": it is not in PEM form: {error}"))?;
        let Some(first) = chain.first() else {
            return Err(format!("tls-cert = \"{cert}\": it holds no certificate in PEM form"));
        };
        let certificate = Certificate::read(first);
        let secret = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| format!("tls-key = \"{key}\": it holds no private key in PEM form: {error}"))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        let mut config = builder
            .with_no_client_auth()
            .with_single_cert(chain, secret)
            .map_err(|error| format!("tls-cert = \"{cert}\" and tls-key = \"{key}\" do not match: {error}"))?;
        config.alpn_protocols = vec![HTTP_2.to_vec(), b"http/1.1".to_vec()];
        Ok(InUse { config: Arc::new(config), certificate })
    }
}

/// Reads a file, unless it is a folder, a pipe, a socket or a device.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    // Without this flag, opening a pipe waits until another process writes to it.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn files_that_are_no_pair_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a pair");
        let (one, other) = (made(), made());
        let pem = |kind: &str, der: &[u8]| {
            format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", STANDARD.encode(der))
        };
        let key_of = |key: &rcgen::KeyPair| pem("PRIVATE KEY", &key.serialize_der());
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            path
        };
        let (cert, key) = (write("cert", &pem("CERTIFICATE", one.cert.der())), write("key", &key_of(&one.signing_key)));
        let (strange, nothing) = (write("strange", &key_of(&other.signing_key)), write("nothing", "none"));
        assert!(Tls::load(&cert, &key).is_ok());
        let refused = |cert: &Path, key: &Path| Tls::load(cert, key).map(drop).expect_err("it is refused");
        assert!(refused(&cert, &strange).contains("do not match"));
        assert!(refused(&nothing, &key).contains("holds no certificate"));
        assert!(refused(&cert, &nothing).contains("holds no private key"));
        assert!(refused(&folder.path().join("missing"), &key).contains("tls-cert"));
        // Only regular files are read, and links to them.
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
        let not_regular: [(&Path, &Path, &str); 4] = [
            (&pipe, &key, "tls-cert"),
            (&cert, &pipe, "tls-key"),
            (folder.path(), &key, "tls-cert"),
            (&cert, Path::new("/dev/zero"), "tls-key"),
        ];
        for (cert, key, name) in not_regular {
            let sentence = refused(cert, key);
            assert!(sentence.starts_with(name) && sentence.ends_with("it is not a regular file"), "{sentence}");
        }
        let link = folder.path().join("link");
        symlink(&cert, &link).expect("a link");
        assert!(Tls::load(&link, &key).is_ok());
    }
}
