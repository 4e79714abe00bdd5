//! TLS to the server, configured by the address parameters that `psql` understands too.
//!
//! | `sslmode` | the connection is encrypted | the server's certificate |
//! |---|---|---|
//! | `disable` | never | |
//! | `prefer`, the default | if the server can | is not checked |
//! | `require` | always | is checked only if `sslrootcert` is given, as with `verify-ca` |
//! | `verify-ca` | always | must come from a trusted authority |
//! | `verify-full` | always | must come from a trusted authority and name the host |
//!
//! `sslrootcert` names a PEM file with the trusted authorities; `system` or no value means those of this machine.
//! `sslcert` and `sslkey` name PEM files with the client's certificate and key.

use crate::Result;
use crate::address::{ENCODING_RULE, is_encoded};
use crate::error::StoreError;
use percent_encoding::percent_decode_str;
use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    self, AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// The parameters of an address that the driver understands, except `sslmode`.
const OF_DRIVER: [&str; 18] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "sslnegotiation",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// The TLS parameters of an address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TlsParameters {
    mode: TlsMode,
    roots: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TlsMode {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl TlsMode {
    fn parse(text: &str) -> Result<TlsMode> {
        match text {
            "disable" => Ok(TlsMode::Disable),
            "prefer" => Ok(TlsMode::Prefer),
            "require" => Ok(TlsMode::Require),
            "verify-ca" => Ok(TlsMode::VerifyCa),
            "verify-full" => Ok(TlsMode::VerifyFull),
            _ => Err(wrong("sslmode must be disable, prefer, require, verify-ca or verify-full")),
        }
    }

    /// The mode to give to the driver.
    fn for_driver(self) -> &'static str {
        match self {
            TlsMode::Disable => "disable",
            TlsMode::Prefer => "prefer",
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => "require",
        }
    }
}

impl TlsParameters {
    /// Splits an address into the part that the driver understands and the TLS parameters.
    pub fn split(address: &str) -> Result<(String, TlsParameters)> {
        if !is_encoded(address) {
            return Err(wrong(ENCODING_RULE));
        }
        let Some((address, query)) = address.split_once('?') else {
            return Ok((address.to_owned(), TlsParameters::default()));
        };
        let mut wanted = TlsParameters::default();
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = || percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => wanted.mode = TlsMode::parse(&value())?,
                "sslrootcert" => wanted.roots = Some(value().into()).filter(|path| path != Path::new("system")),
                "sslcert" => wanted.certificate = Some(value().into()),
                "sslkey" => wanted.key = Some(value().into()),
                _ if OF_DRIVER.contains(&name) => others.push(pair.to_owned()),
                // The name is not quoted: it may be the rest of a password with an `&`.
                _ => return Err(wrong("it has an unknown parameter; write & in a value as %26")),
            }
        }
        others.push(format!("sslmode={}", wanted.mode.for_driver()));
        Ok((format!("{address}?{}", others.join("&")), wanted))
    }

    /// Whether an attacker on the network could read the traffic or impersonate the server.
    pub fn is_open_to_others(&self) -> bool {
        matches!(self.mode, TlsMode::Disable | TlsMode::Prefer)
    }

    /// Makes the TLS connector.
    pub fn connector(&self) -> Result<MakeRustlsConnect> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(self.verifier(provider)?);
        let config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("sslkey", key, error))?;
                let chain = certificates("sslcert", certificate)?;
                builder.with_client_auth_cert(chain, key).map_err(|error| wrong(format!("sslkey: {error}")))?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err(wrong("sslcert and sslkey must be given together")),
        };
        Ok(MakeRustlsConnect::new(config))
    }

    fn verifier(&self, provider: Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
        let checks = match self.mode {
            TlsMode::VerifyCa | TlsMode::VerifyFull => true,
            TlsMode::Require => self.roots.is_some(),
            TlsMode::Disable | TlsMode::Prefer => false,
        };
        if !checks {
            return Ok(Arc::new(Lenient { provider, authority: None }));
        }
        let roots = Arc::new(self.roots()?);
        let built = WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build();
        let verifier = built.map_err(|error| wrong(format!("sslrootcert: {error}")))?;
        let is_full = self.mode == TlsMode::VerifyFull;
        Ok(if is_full { verifier } else { Arc::new(Lenient { provider, authority: Some(verifier) }) })
    }

    fn roots(&self) -> Result<RootCertStore> {
        let mut store = RootCertStore::empty();
        match &self.roots {
            Some(path) => {
                for certificate in certificates("sslrootcert", path)? {
                    store.add(certificate).map_err(|error| unreadable("sslrootcert", path, error))?;
                }
            }
            None => drop(store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        if store.is_empty() {
            return Err(wrong("sslrootcert is not given, and this machine has no trusted certificate authorities"));
        }
        Ok(store)
    }
}

fn certificates(parameter: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unreadable(parameter, path, error))?;
    if certificates.is_empty() {
        Err(unreadable(parameter, path, "it contains no certificate"))
    } else {
        Ok(certificates)
    }
}

fn unreadable(parameter: &str, path: &Path, why: impl std::fmt::Display) -> StoreError {
    wrong(format!("{parameter}: {} cannot be used: {why}", path.display()))
}

fn wrong(what: impl Into<String>) -> StoreError {
    StoreError::Broken(format!("its address is invalid: {}", what.into()))
}

/// The reason, if a connection failed because of either side's certificate: a retry cannot succeed.
pub(super) fn distrust(error: &tokio_postgres::Error) -> Option<String> {
    let broken = error.source()?.downcast_ref::<io::Error>()?;
    match broken.get_ref()?.downcast_ref::<rustls::Error>()? {
        rustls::Error::InvalidCertificate(reason) => Some(of_server(reason)),
        rustls::Error::AlertReceived(alert) if is_about_certificate(*alert) => {
            Some(format!("the database server does not accept the certificate in sslcert ({alert:?})"))
        }
        _ => None,
    }
}

fn of_server(reason: &CertificateError) -> String {
    use CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext,
        UnknownIssuer,
    };
    let plainly = match reason {
        UnknownIssuer => "no trusted authority has signed it; sslrootcert names the trusted ones",
        NotValidForName | NotValidForNameContext { .. } => "it is not valid for the host in the address",
        Expired | ExpiredContext { .. } => "it has expired",
        NotValidYet | NotValidYetContext { .. } => "it is not valid yet",
        _ => "it does not pass the checks of sslmode",
    };
    format!("Daybook does not trust the database server's certificate: {plainly} ({reason})")
}

fn is_about_certificate(alert: AlertDescription) -> bool {
    use AlertDescription::{
        BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked, CertificateUnknown, UnknownCA,
        UnsupportedCertificate,
    };
    [
        BadCertificate,
        CertificateExpired,
        CertificateRequired,
        CertificateRevoked,
        CertificateUnknown,
        UnknownCA,
        UnsupportedCertificate,
    ]
    .contains(&alert)
}

/// Checks less than name and authority: the authority alone, or only that the connection is encrypted.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Checks the authority; if absent, any certificate is accepted.
    authority: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        use rustls::Error::InvalidCertificate;
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        match authority.verify_server_cert(certificate, chain, name, ocsp, now) {
            // The name is checked last, so the authority is valid.
            Err(InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_concerns_tls_is_taken_out_of_an_address() {
        let (address, wanted) = TlsParameters::split(
            "postgres://me:p%3Fw@host/base?application_name=x&sslmode=verify-full&sslrootcert=%2Fetc%2Fca%20.pem&sslcert=a&sslkey=b",
        )
        .expect("it is understood");
        assert_eq!(address, "postgres://me:p%3Fw@host/base?application_name=x&sslmode=require");
        let expected = TlsParameters {
            mode: TlsMode::VerifyFull,
            roots: Some("/etc/ca .pem".into()),
            certificate: Some("a".into()),
            key: Some("b".into()),
        };
        assert_eq!(wanted, expected);
    }

    #[test]
    fn without_a_word_about_tls_it_is_preferred() {
        let (address, wanted) = TlsParameters::split("postgres://host/base").expect("it is understood");
        assert_eq!((address.as_str(), wanted), ("postgres://host/base", TlsParameters::default()));
        assert!(TlsParameters::default().is_open_to_others());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let said = |address: &str| match TlsParameters::split(address).and_then(|(_, wanted)| wanted.connector()) {
            Ok(_) => "nothing".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(said("postgres://h/b?sslmode=yes").contains("sslmode must be disable, prefer"));
        let hushed = ["postgres://me:pw&hush=1@h/b", "postgres://h/b?password=pw&hush=1", "postgres://me?hush@h/b"];
        for said in hushed.map(said) {
            assert!(!said.contains("hush"), "{said}");
        }
        assert!(said("postgres://h/b?password=pw&hush").contains("it has an unknown parameter"));
        assert!(said("postgres://me?hush@h/b").contains("in USER and PASSWORD, write / ? # @ as %2F %3F %23 %40"));
        assert!(said("postgres://h/b?sslmode=require&sslcert=a").contains("sslcert and sslkey must be given together"));
        let missing = said("postgres://h/b?sslmode=verify-ca&sslrootcert=/nowhere.pem");
        assert!(missing.contains("sslrootcert: /nowhere.pem cannot be used"), "{missing}");
    }
}
