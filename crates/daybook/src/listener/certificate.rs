//! The dates and names of the server's certificate.
//!
//! The server presents the certificate that it is given, even if it has expired: clients check the dates and names and
//! refuse the connection. So that an operator knows before the clients do, the dates are a metric, and a certificate
//! that needs attention is logged ([`super::tls`]) and found by `daybook doctor`.
//!
//! All of this is about the first certificate of the file. An intermediate one may have expired on purpose: clients
//! find other paths.

use daybook_engine::time::Time;
use std::fmt;
use std::net::IpAddr;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

/// A certificate that expires within this number of days is due for renewal. The alert uses the same number.
const RENEWAL_DAYS: i64 = 14;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A certificate: when it is valid, and for which names.
#[derive(Clone, Debug)]
pub struct Certificate {
    der: CertificateDer<'static>,
    not_before: Time,
    not_after: Time,
    names: Vec<String>,
}

/// Whether a certificate is valid at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateValidity {
    /// It is valid until this moment, which is not near.
    Valid(Time),
    /// It is valid until this moment, which is near.
    RenewalDue(Time),
    /// It was valid until this moment.
    Expired(Time),
    /// It will be valid from this moment.
    NotYetValid(Time),
}

impl fmt::Display for CertificateValidity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateValidity::Valid(until) => write!(f, "the certificate is valid until {until}"),
            CertificateValidity::RenewalDue(until) => {
                write!(f, "the certificate expires within {RENEWAL_DAYS} days, at {until}: renew it")
            }
            CertificateValidity::Expired(at) => write!(f, "the certificate expired at {at}: clients refuse it"),
            CertificateValidity::NotYetValid(from) => {
                write!(f, "the certificate is not valid before {from}: clients refuse it")
            }
        }
    }
}

impl Certificate {
    /// Reads a certificate in DER form.
    pub fn read(der: &CertificateDer<'_>) -> Result<Certificate, String> {
        let read = x509_cert::Certificate::from_der(der)
            .map_err(|error| format!("the dates of the certificate cannot be read: {error}"))?;
        let fields = &read.tbs_certificate;
        let moment = |time: x509_cert::time::Time| {
            Time::from_seconds(i64::try_from(time.to_unix_duration().as_secs()).unwrap_or(i64::MAX / 1_000_000))
        };
        // The names are only shown; `is_for` reads them for itself.
        let names = fields.get::<SubjectAltName>().ok().flatten().map(|(_, names)| names.0).unwrap_or_default();
        Ok(Certificate {
            der: der.clone().into_owned(),
            not_before: moment(fields.validity.not_before),
            not_after: moment(fields.validity.not_after),
            names: names.iter().filter_map(shown).collect(),
        })
    }

    /// The last moment at which it is valid.
    pub fn not_after(&self) -> Time {
        self.not_after
    }

    /// The hosts and addresses that it is for.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether it is valid at a moment.
    pub fn validity_at(&self, now: Time) -> CertificateValidity {
        if now < self.not_before {
            CertificateValidity::NotYetValid(self.not_before)
        } else if now > self.not_after {
            CertificateValidity::Expired(self.not_after)
        } else if now.plus_micros(RENEWAL_DAYS * MICROS_PER_DAY) > self.not_after {
            CertificateValidity::RenewalDue(self.not_after)
        } else {
            CertificateValidity::Valid(self.not_after)
        }
    }

    /// Whether a client that calls this host, which may be an IP address, accepts its names.
    pub fn is_for(&self, host: &str) -> bool {
        let Ok(name) = ServerName::try_from(host) else { return false };
        ParsedCertificate::try_from(&self.der).is_ok_and(|parsed| verify_server_name(&parsed, &name).is_ok())
    }
}

/// A name of a server as text; `None` for other kinds of names, such as e-mail addresses.
fn shown(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(bytes) => match *bytes.as_bytes() {
            [a, b, c, d] => Some(IpAddr::from([a, b, c, d]).to_string()),
            ref bytes => <[u8; 16]>::try_from(bytes).ok().map(|bytes| IpAddr::from(bytes).to_string()),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const DAY: u64 = 86_400;

    /// A certificate that is valid from day 100 to day 200 of 1970.
    fn certificate(names: &[&str]) -> Certificate {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = rcgen::CertificateParams::new(names).expect("names");
        params.not_before = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(100 * DAY);
        params.not_after = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(200 * DAY);
        let made = params.self_signed(&rcgen::KeyPair::generate().expect("a key")).expect("a certificate");
        Certificate::read(made.der()).expect("it can be read")
    }

    #[test]
    fn both_ends_belong_to_the_time_in_which_it_is_valid() {
        let certificate = certificate(&["localhost"]);
        let day = |number: i64| Time::from_micros(number * MICROS_PER_DAY);
        let (from, until) = (day(100), day(200));
        let cases = [
            (from.plus_micros(-1), CertificateValidity::NotYetValid(from)),
            (from, CertificateValidity::Valid(until)),
            (day(186), CertificateValidity::Valid(until)),
            (day(186).plus_micros(1), CertificateValidity::RenewalDue(until)),
            (until, CertificateValidity::RenewalDue(until)),
            (until.plus_micros(1), CertificateValidity::Expired(until)),
        ];
        for (now, standing) in cases {
            assert_eq!(certificate.validity_at(now), standing, "{now}");
        }
    }

    #[test]
    fn names_are_hosts_addresses_and_whole_labels() {
        let certificate = certificate(&["books.example.com", "*.example.org", "127.0.0.1", "::1"]);
        assert_eq!(certificate.names(), ["books.example.com", "*.example.org", "127.0.0.1", "::1"]);
        for host in ["books.example.com", "BOOKS.example.com", "a.example.org", "127.0.0.1", "::1"] {
            assert!(certificate.is_for(host), "{host}");
        }
        for host in ["example.com", "a.b.example.org", "example.org", "127.0.0.2", "not a name", ""] {
            assert!(!certificate.is_for(host), "{host}");
        }
    }

    #[test]
    fn one_that_never_expires_can_be_read() {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.not_after = rcgen::date_time_ymd(9999, 12, 31) + Duration::from_secs(DAY - 1);
        let made = params.self_signed(&rcgen::KeyPair::generate().expect("a key")).expect("a certificate");
        let certificate = Certificate::read(made.der()).expect("it can be read");
        assert_eq!(certificate.not_after().seconds(), 253_402_300_799);
        assert!(Certificate::read(&CertificateDer::from(&b"letters"[..])).is_err());
    }
}
