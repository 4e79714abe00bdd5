//! Parses the values of settings: one function per kind of value, with an error message that states its rule.

pub use daybook_webhooks::guard::Network;

use crate::durations;
use daybook_service::people::{PASSWORD_LONGEST, PASSWORD_SHORTEST};
use daybook_store::address::{ENCODING_RULE, is_encoded};
use daybook_webhooks::guard::NAME_SERVER_PORT;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

/// A text that must not be shown. Its `Debug` output hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(set)")
    }
}

/// Whether an organization's accounts may be rolled through time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Accounts may be rolled.
    Test,
    /// Accounts are in real time only.
    Live,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text.
    Text,
    /// One JSON object per line.
    Json,
}

/// A value, or the rule that its text breaks.
pub type Read<T> = Result<T, &'static str>;

/// Reads an address such as `127.0.0.1:8080`.
pub fn address(text: &str) -> Read<SocketAddr> {
    text.parse().map_err(|_| "must be an IP address and a port, such as 127.0.0.1:8080 or [::1]:0")
}

/// Reads a path.
pub fn path(text: &str) -> Read<PathBuf> {
    if text.is_empty() { Err("must be a path") } else { Ok(PathBuf::from(text)) }
}

/// Reads the public URL of the server.
pub fn public_url(text: &str) -> Read<String> {
    let rule = "must be http:// or https:// and a host, with a port if it is not the default one, and no path";
    let rest = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme)).ok_or(rule)?;
    let host = rest.strip_suffix('/').unwrap_or(rest);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    let is_good = !host.is_empty() && !host.starts_with(':') && host.chars().all(is_plain);
    if is_good { Ok(text.trim_end_matches('/').to_owned()) } else { Err(rule) }
}

/// The host of a public URL, without its port and without the brackets of an address.
pub fn host_of(public_url: &str) -> &str {
    let authority = public_url.split_once("://").map_or(public_url, |(_, rest)| rest);
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or(authority),
    }
}

/// Reads a database: a SQLite file or a PostgreSQL address.
pub fn database(text: &str) -> Read<String> {
    let is_file = text.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty());
    let is_server = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    if is_file || (is_server && is_encoded(text)) {
        Ok(text.to_owned())
    } else if is_server {
        Err(ENCODING_RULE)
    } else {
        Err("must be sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME")
    }
}

/// Reads `true` or `false`.
pub fn switch(text: &str) -> Read<bool> {
    text.parse().map_err(|_| "must be true or false")
}

/// Reads a duration, which may be 0.
pub fn length(text: &str) -> Read<Duration> {
    durations::parse(text).ok_or(durations::RULE)
}

/// Reads a duration, which must not be 0.
pub fn positive_length(text: &str) -> Read<Duration> {
    match length(text)? {
        Duration::ZERO => Err("must be longer than 0"),
        length => Ok(length),
    }
}

/// Reads a positive integer.
pub fn count(text: &str) -> Read<u32> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or("must be a whole number from 1 to 4294967295")
}

/// Reads `off` or a number of requests per second.
pub fn rate(text: &str) -> Read<Option<u32>> {
    if text == "off" {
        return Ok(None);
    }
    count(text).map(Some).map_err(|_| "must be off, or a whole number of requests per second, at least 1")
}

/// Reads `off` or a number of accounts verified per second.
pub fn verify_rate(text: &str) -> Read<Option<NonZeroU32>> {
    if text == "off" {
        return Ok(None);
    }
    let rate = count(text).ok().and_then(NonZeroU32::new);
    rate.map(Some).ok_or("must be off, or a whole number of accounts per second, at least 1")
}

/// Reads `TEST` or `LIVE`.
pub fn environment(text: &str) -> Read<Environment> {
    match text {
        "TEST" => Ok(Environment::Test),
        "LIVE" => Ok(Environment::Live),
        _ => Err("must be TEST or LIVE"),
    }
}

/// Reads `text` or `json`.
pub fn log_format(text: &str) -> Read<LogFormat> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be text or json"),
    }
}

/// Reads a level, or levels by module such as `info,daybook_store=debug`.
pub fn log_level(text: &str) -> Read<String> {
    let rule = "must be error, warn, info, debug or trace, or levels by module such as info,daybook_store=debug";
    let is_level = |text: &str| matches!(text, "off" | "error" | "warn" | "info" | "debug" | "trace");
    let is_directive = |part: &str| match part.split_once('=') {
        Some((module, level)) => !module.is_empty() && is_level(level),
        None => is_level(part),
    };
    if text.split(',').all(is_directive) { Ok(text.to_owned()) } else { Err(rule) }
}

/// Reads the address of a name server; the port is optional.
pub fn name_server(text: &str) -> Read<SocketAddr> {
    let rule = "must be an IP address, with a port if it is not 53, such as 10.0.0.53 or [fd00::53]:5353";
    let alone = || text.parse().ok().map(|ip: IpAddr| SocketAddr::new(ip, NAME_SERVER_PORT));
    text.parse().ok().or_else(alone).filter(|address| address.port() != 0).ok_or(rule)
}

/// Reads a network; a single address is a network of one.
pub fn network(text: &str) -> Read<Network> {
    let rule = "must be a range of addresses in CIDR form, such as 10.0.0.0/8 or fd00::/8";
    let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let address: IpAddr = address.parse().map_err(|_| rule)?;
    let (bits, width): (u128, u8) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let prefix_bits = match prefix {
        None => width,
        Some(prefix) => prefix.parse().ok().filter(|bits| *bits <= width).ok_or(rule)?,
    };
    let host_bits = u32::from(width - prefix_bits);
    let host_mask = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
    if bits & host_mask != 0 {
        return Err("must have no bits set after its prefix: write 10.0.0.0/8, not 10.1.2.3/8");
    }
    Ok(Network { address, prefix_bits })
}

/// Reads the id of the first key: an id that callers may choose.
pub fn client_id(text: &str) -> Read<String> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._:~-".contains(c);
    if (1..=128).contains(&text.len()) && text.chars().all(is_allowed) && !text.starts_with("dbk_") {
        Ok(text.to_owned())
    } else {
        Err("must be 1 to 128 characters of A-Z a-z 0-9 . _ : ~ - and must not start with dbk_")
    }
}

/// Reads the secret of the first key.
pub fn client_secret(text: &str) -> Read<Secret> {
    if text.chars().count() >= 32 { Ok(Secret::new(text)) } else { Err("must have at least 32 characters") }
}

/// Reads an email address: text on both sides of one `@`.
pub fn email(text: &str) -> Read<String> {
    let sides = text.split_once('@');
    let is_address = sides.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
    if is_address && !text.contains(char::is_whitespace) {
        Ok(text.to_owned())
    } else {
        Err("must be an e-mail address")
    }
}

/// Reads the password of the first console user.
pub fn password(text: &str) -> Read<Secret> {
    let is_good = (PASSWORD_SHORTEST..=PASSWORD_LONGEST).contains(&text.chars().count());
    if is_good { Ok(Secret::new(text)) } else { Err("must have 10 to 200 characters") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_shown() {
        for text in ["10.0.0.0/8", "192.168.1.7/32", "0.0.0.0/0", "fd00::/8", "::/0", "::1/128"] {
            assert_eq!(network(text).map(|network| network.to_string()), Ok(text.to_owned()));
        }
        assert_eq!(network("127.0.0.1").map(|network| network.to_string()), Ok("127.0.0.1/32".to_owned()));
    }

    #[test]
    fn networks_that_are_none_are_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "localhost", "10.1.2.3/8", "fd00::1/8"] {
            assert!(network(text).is_err(), "{text}");
        }
    }

    #[test]
    fn name_servers_are_addresses_with_or_without_a_port() {
        let cases = [
            ("10.0.0.53", "10.0.0.53:53"),
            ("10.0.0.53:5353", "10.0.0.53:5353"),
            ("fd00::53", "[fd00::53]:53"),
            ("[fd00::53]:5353", "[fd00::53]:5353"),
        ];
        for (text, expected) in cases {
            assert_eq!(name_server(text).map(|address| address.to_string()), Ok(expected.to_owned()));
        }
        for text in ["", "dns.example", "10.0.0.53:", "10.0.0.53:0", "[fd00::53]", "10.0.0.0/8"] {
            assert!(name_server(text).is_err(), "{text}");
        }
    }

    #[test]
    fn credentials_of_a_database_are_encoded() {
        assert!(database("postgres://user:p%2Fw@host/name?sslmode=require").is_ok());
        for text in ["postgres://rehearsal?hush@host/name", "postgres://u:p/w@h/n", "host=db password=hush", "sqlite:"]
        {
            assert!(database(text).is_err_and(|rule| !rule.contains("hush")), "{text}");
        }
    }

    #[test]
    fn public_urls_have_no_path() {
        assert_eq!(public_url("https://books.example.com/").as_deref(), Ok("https://books.example.com"));
        assert_eq!(public_url("http://[::1]:8080").as_deref(), Ok("http://[::1]:8080"));
        for text in [
            "",
            "books.example.com",
            "ftp://x",
            "https://",
            "https://a/b",
            "https://u:p@a",
            "https://a b",
            "https://:80",
        ] {
            assert!(public_url(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_host_of_a_public_url_has_no_port_and_no_brackets() {
        let cases = [
            ("https://books.example.com", "books.example.com"),
            ("https://localhost:8443", "localhost"),
            ("http://127.0.0.1:8080", "127.0.0.1"),
            ("https://[::1]:8443", "::1"),
            ("https://[fd00::2]", "fd00::2"),
        ];
        for (url, host) in cases {
            assert_eq!(host_of(url), host);
        }
    }

    #[test]
    fn rates_and_levels() {
        assert_eq!(rate("off"), Ok(None));
        assert_eq!(rate("250"), Ok(Some(250)));
        assert_eq!(verify_rate("off"), Ok(None));
        assert_eq!(verify_rate("5"), Ok(NonZeroU32::new(5)));
        assert!(verify_rate("0").is_err() && verify_rate("slow").is_err());
        assert!(rate("0").is_err() && rate("fast").is_err() && rate("-1").is_err());
        assert!(log_level("info,daybook_store=debug").is_ok());
        assert!(log_level("loud").is_err() && log_level("=info").is_err() && log_level("").is_err());
    }

    #[test]
    fn a_secret_does_not_tell() {
        assert_eq!(format!("{:?}", Secret::new("swordfish")), "(set)");
    }
}
