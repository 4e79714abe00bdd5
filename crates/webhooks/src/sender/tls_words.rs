//! Why a connection is not secure, as people can read it: each follows "no secure connection could be made".

use tokio_rustls::rustls::{CertificateError, Error};

/// What an error of TLS means.
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::InvalidCertRevocationList(_) => "a list of revoked certificates cannot be read".to_owned(),
        Error::NoCertificatesPresented => "the receiver sent no certificate".to_owned(),
        Error::AlertReceived(alert) => format!("the receiver refused with the alert {alert:?}"),
        Error::PeerIncompatible(why) => format!("the receiver and we have no version or cipher in common: {why:?}"),
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            format!("the receiver's answer is not TLS; is it a server for plain http? {error}")
        }
        other => other.to_string(),
    }
}

fn certificate(why: &CertificateError) -> String {
    use CertificateError as E;
    let sentence = match why {
        E::BadEncoding => "the receiver's certificate cannot be read: its encoding is damaged or not supported",
        E::Expired | E::ExpiredContext { .. } => "the receiver's certificate has expired",
        E::NotValidYet | E::NotValidYetContext { .. } => "the receiver's certificate is not valid yet",
        E::Revoked => "the receiver's certificate is revoked",
        E::UnknownIssuer => {
            "the receiver's certificate is by an authority that this machine does not trust, or an intermediate certificate is missing"
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => "the receiver's certificate is for another name",
        E::BadSignature => "the signature of the receiver's certificate is wrong",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "the receiver's certificate is not for servers",
        E::UnhandledCriticalExtension => "the receiver's certificate has a critical extension that is not supported",
        _ => return format!("the receiver's certificate is not accepted: {why}"),
    };
    format!("{sentence} ({why})")
}
