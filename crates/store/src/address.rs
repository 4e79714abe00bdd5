//! Database addresses: how much of one may be shown, and whether its credentials are written correctly.

/// Replaces what is hidden.
const HIDDEN: &str = "(set)";
/// Parameters of an address that hold no secret.
const SHOWN_PARAMETERS: [&str; 7] =
    ["application_name", "connect_timeout", "sslcert", "sslkey", "sslmode", "sslrootcert", "target_session_attrs"];
/// The rule for credentials in an address.
pub const ENCODING_RULE: &str = "in USER and PASSWORD, write / ? # @ as %2F %3F %23 %40";

/// An address for messages and the log, such as `postgres://(set)@host/name`.
///
/// A mistyped address may hold a password in an unexpected place. So only the scheme, what follows the last `@`, and
/// harmless parameters are shown; a text that is not an address is not shown at all.
pub fn shown(address: &str) -> String {
    let is_path = address.starts_with("sqlite:") && !address.starts_with("sqlite://");
    if is_path {
        return address.to_owned();
    }
    let Some((scheme, rest)) = address.split_once("://").filter(|(scheme, _)| is_word(scheme)) else {
        return HIDDEN.to_owned();
    };
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => (format!("{HIDDEN}@"), rest),
        None => (String::new(), rest),
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let hosts = place.split_once('/').map_or(place, |(hosts, _)| hosts);
    if !hosts.split(',').all(is_host) {
        return format!("{scheme}://{HIDDEN}");
    }
    let is_harmless = |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| SHOWN_PARAMETERS.contains(&name));
    let parameters: Vec<&str> = query.split('&').filter(is_harmless).collect();
    let mark = if parameters.is_empty() { "" } else { "?" };
    format!("{scheme}://{credentials}{place}{mark}{}", parameters.join("&"))
}

/// Whether the credentials of an address contain no character that ends them too early.
pub fn is_encoded(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.rsplit_once('@').is_none_or(|(credentials, _)| !credentials.contains(['/', '?', '#', '@']))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphabetic())
}

/// Whether a text is a host, with or without a port. A password that was taken for a port is none.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (text, ""),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._%".contains(letter);
    let is_name = host.chars().all(|letter| is_plain(letter) || (is_bracketed && ":[]".contains(letter)));
    is_name && (port.is_empty() || port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let cases = [
            ("sqlite:daybook.db", "sqlite:daybook.db"),
            ("sqlite:/home/ana@lender/daybook.db", "sqlite:/home/ana@lender/daybook.db"),
            ("sqlite:///var/lib/daybook.db", "sqlite:///var/lib/daybook.db"),
            ("postgres://host/name", "postgres://host/name"),
            ("postgres://[::1]:5432,other/name", "postgres://[::1]:5432,other/name"),
            ("postgres:///name?host=/run", "postgres:///name"),
            ("postgres://user@host/name", "postgres://(set)@host/name"),
            ("postgres://user:hush@host:5432/name", "postgres://(set)@host:5432/name"),
            ("postgres://user:hu@sh@host/name", "postgres://(set)@host/name"),
            ("postgres://user:hu/sh@host/name", "postgres://(set)@host/name"),
            ("postgres://rehearsal?hush@host/name", "postgres://(set)@host/name"),
            ("postgres://user:hu#sh@host/name?sslmode=require", "postgres://(set)@host/name?sslmode=require"),
            ("postgres://host/name?user=u&password=hush&sslmode=require", "postgres://host/name?sslmode=require"),
            ("postgres://host/name?PASSWORD=hush", "postgres://host/name"),
            ("postgres://user:hush", "postgres://(set)"),
            ("postgres://user:hush:5432/name", "postgres://(set)"),
            ("mysql://user:hush@host/name", "mysql://(set)@host/name"),
            ("postgres:/user:hush@host/name", "(set)"),
            ("user:hush@postgres://host/name", "(set)"),
            ("host=db user=me password=hush", "(set)"),
            ("hush", "(set)"),
            ("", "(set)"),
        ];
        for (address, expected) in cases {
            assert_eq!(shown(address), expected, "{address}");
        }
    }

    #[test]
    fn credentials_are_encoded() {
        for address in ["sqlite:a", "postgres://host", "postgres://user:p%40w@host/name", "postgres://u@h/n?sslkey=/k"]
        {
            assert!(is_encoded(address), "{address}");
        }
        for password in ["hu/sh", "hu?sh", "hu#sh", "hu@sh"] {
            assert!(!is_encoded(&format!("postgres://user:{password}@host/name")), "{password}");
        }
    }
}
