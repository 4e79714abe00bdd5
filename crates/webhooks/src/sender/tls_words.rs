//! Why TLS failed, as readable text: each follows "no secure connection could be made".

use std::fmt::Debug;
use tokio_rustls::rustls::{CertificateError, Error};

/// The text for a TLS error.
pub(super) fn of(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => certificate(why),
        Error::InvalidCertRevocationList(_) => "a list of revoked certificates cannot be read".to_owned(),
        Error::NoCertificatesPresented => "the receiver sent no certificate".to_owned(),
        Error::AlertReceived(alert) => format!("the receiver refused the connection with the alert: {}", words(alert)),
        Error::PeerIncompatible(why) => {
            format!("the receiver and Daybook have no TLS version or cipher in common: {}", words(why))
        }
        Error::PeerMisbehaved(why) => format!("the receiver violated the TLS protocol: {}", words(why)),
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "the receiver's response is not TLS; is it a server for plain http?".to_owned()
        }
        Error::General(why) => why.clone(),
        other => words(other),
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
            "the receiver's certificate was issued by an authority that this machine does not trust, or an intermediate \
             certificate is missing"
        }
        E::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            let names: Vec<&str> = presented.iter().map(|name| quoted(name)).collect();
            return format!("the receiver's certificate is for another name: it is for {}", names.join(", "));
        }
        E::NotValidForName | E::NotValidForNameContext { .. } => "the receiver's certificate is for another name",
        E::BadSignature => "the signature of the receiver's certificate is wrong",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "the receiver's certificate is not for servers",
        E::UnhandledCriticalExtension => "the receiver's certificate has a critical extension that is not supported",
        other => return other_certificate(innermost(&format!("{other:?}"))),
    };
    sentence.to_owned()
}

/// The text for certificate errors whose names are not part of a public interface.
fn other_certificate(name: &str) -> String {
    let sentence = match name {
        "CaUsedAsEndEntity" => {
            "the receiver's certificate is that of an authority (CA:TRUE), like many self-signed ones; a server needs \
             its own certificate, signed by an authority"
        }
        "UnsupportedCertVersion" => "the receiver's certificate is of an old version: only version 3 is accepted",
        _ if name.starts_with("UnsupportedSignatureAlgorithm") => {
            "the receiver's certificate is signed with an unsupported algorithm, or not with its authority's key"
        }
        _ => return format!("the receiver's certificate is not accepted: {}", words_of(name)),
    };
    sentence.to_owned()
}

/// An identifier, as words.
fn words(name: &impl Debug) -> String {
    words_of(innermost(&format!("{name:?}")))
}

/// The innermost name: `A` of `Other(OtherError(A))` and of `A { b: 1 }`.
fn innermost(text: &str) -> &str {
    let head = text.split([' ', '{', ')']).next().unwrap_or(text);
    head.rsplit('(').find(|name| !name.is_empty()).unwrap_or(head)
}

/// `AbcDef` as `abc def`.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// The text between quotes, if there are any.
fn quoted(text: &str) -> &str {
    text.split('"').nth(1).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio_rustls::rustls::{AlertDescription, InvalidMessage, OtherError, PeerIncompatible, PeerMisbehaved};

    /// An error that is recognized only by its name.
    #[derive(Debug, Clone, Copy)]
    #[expect(dead_code, reason = "the names are read")]
    enum Strange {
        UnsupportedCertVersion,
        CaUsedAsEndEntity,
        MaximumPathDepthExceeded,
        SomethingNew { inside: u8 },
    }

    impl std::fmt::Display for Strange {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{self:?}")
        }
    }

    impl std::error::Error for Strange {}

    fn strange(strange: Strange) -> Error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(strange))))
    }

    #[test]
    fn what_went_wrong_is_told_in_words() {
        for (error, expected) in [
            (strange(Strange::CaUsedAsEndEntity), "the receiver's certificate is that of an authority (CA:TRUE)"),
            (strange(Strange::UnsupportedCertVersion), "the receiver's certificate is of an old version"),
            (
                strange(Strange::MaximumPathDepthExceeded),
                "the receiver's certificate is not accepted: maximum path depth exceeded",
            ),
            (strange(Strange::SomethingNew { inside: 1 }), "the receiver's certificate is not accepted: something new"),
            (
                Error::InvalidCertificate(CertificateError::UnknownIssuer),
                "the receiver's certificate was issued by an authority",
            ),
            (
                Error::InvalidMessage(InvalidMessage::InvalidContentType),
                "the receiver's response is not TLS; is it a server",
            ),
            (
                Error::AlertReceived(AlertDescription::HandshakeFailure),
                "the receiver refused the connection with the alert: handshake failure",
            ),
            (
                Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon),
                "the receiver and Daybook have no TLS version or cipher in common: no cipher suites in common",
            ),
            (
                Error::PeerMisbehaved(PeerMisbehaved::IllegalTlsInnerPlaintext),
                "the receiver violated the TLS protocol: illegal tls inner plaintext",
            ),
            (Error::PeerSentOversizedRecord, "peer sent oversized record"),
        ] {
            let said = of(&error);
            assert!(said.starts_with(expected), "{said}");
            let own_names = ["Other", "Error", "Invalid", "::", "{", "_"];
            assert!(own_names.iter().all(|name| !said.contains(name)), "{said}");
        }
    }
}
