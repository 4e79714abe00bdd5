//! A certificate authority for tests: its own certificate and the certificates it signs, as PEM files.

use daybook_engine::time::Time;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// An authority that signs certificates.
#[derive(Debug)]
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// A new authority.
    pub fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a certificate"))
    }

    /// Writes its certificate.
    pub fn write(&self, path: &Path) {
        fs::write(path, self.0.pem()).expect("a file");
    }

    /// Its certificate in DER form.
    pub fn der(&self) -> Vec<u8> {
        self.0.der().to_vec()
    }

    /// Writes a certificate for a name, and its key.
    pub fn sign(&self, name: &str, certificate: &Path, key: &Path) {
        self.sign_with(name, CertificateParams::default(), certificate, key);
    }

    /// Writes a certificate for a name that is valid between two times, and its key.
    pub fn sign_between(&self, name: &str, (from, until): (Time, Time), certificate: &Path, key: &Path) {
        let moment = |time: Time| {
            let seconds = u64::try_from(time.seconds()).expect("a time after 1970");
            rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
        };
        let mut params = CertificateParams::default();
        (params.not_before, params.not_after) = (moment(from), moment(until));
        self.sign_with(name, params, certificate, key);
    }

    fn sign_with(&self, name: &str, mut params: CertificateParams, certificate: &Path, key: &Path) {
        let own = KeyPair::generate().expect("a key");
        params.subject_alt_names = CertificateParams::new(vec![name.to_owned()]).expect("a name").subject_alt_names;
        params.distinguished_name.push(DnType::CommonName, name);
        fs::write(certificate, params.signed_by(&own, &self.0).expect("a certificate").pem()).expect("a file");
        fs::write(key, own.serialize_pem()).expect("a file");
    }
}
