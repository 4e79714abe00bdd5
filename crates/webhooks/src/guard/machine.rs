//! The machine's own name settings: `/etc/hosts` and `/etc/resolv.conf`, read as hosts(5) and resolv.conf(5) describe
//! them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The most name servers that are queried, as in resolv.conf(5).
const MOST_NAME_SERVERS: usize = 3;
/// The longest time for one query to a name server.
const MOST_SECONDS: u64 = 5;
/// The most times that one query is sent.
const MOST_ATTEMPTS: usize = 3;

/// The contents of `/etc/resolv.conf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvConf {
    /// The name servers to query.
    pub name_servers: Vec<IpAddr>,
    /// Domains in which a short name is searched.
    pub search: Vec<String>,
    /// A name with at least this many dots is tried as it is first.
    pub dots: usize,
    /// How long one query waits for its response.
    pub timeout: Duration,
    /// How many times a query is sent.
    pub attempts: usize,
}

impl ResolvConf {
    /// Parses the text. Unknown options are skipped; if there is no name server, uses the one on this machine.
    pub fn read(text: &str) -> ResolvConf {
        let mut conf = ResolvConf {
            name_servers: Vec::new(),
            search: Vec::new(),
            dots: 1,
            timeout: Duration::from_secs(MOST_SECONDS),
            attempts: 2,
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    conf.name_servers.extend(words.next().and_then(|word| word.parse::<IpAddr>().ok()))
                }
                // The last one counts.
                Some("search" | "domain") => conf.search = words.map(str::to_owned).collect(),
                Some("options") => words.for_each(|option| conf.option(option)),
                _ => {}
            }
        }
        conf.name_servers.truncate(MOST_NAME_SERVERS);
        if conf.name_servers.is_empty() {
            conf.name_servers.push(Ipv4Addr::LOCALHOST.into());
        }
        conf
    }

    fn option(&mut self, option: &str) {
        let Some((name, number)) = option.split_once(':') else { return };
        let Ok(number) = number.parse::<u32>() else { return };
        match name {
            "ndots" => self.dots = usize::try_from(number.min(15)).unwrap_or(1),
            "timeout" => self.timeout = Duration::from_secs(u64::from(number).clamp(1, MOST_SECONDS)),
            "attempts" => self.attempts = usize::try_from(number).unwrap_or(MOST_ATTEMPTS).clamp(1, MOST_ATTEMPTS),
            _ => {}
        }
    }
}

/// The contents of `/etc/hosts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(HashMap<String, Vec<IpAddr>>);

impl Hosts {
    /// Parses the text: an address and its names on each line.
    pub fn read(text: &str) -> Hosts {
        let mut hosts: HashMap<String, Vec<IpAddr>> = HashMap::new();
        for line in text.lines() {
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(address) = words.next().and_then(|word| word.parse().ok()) else { continue };
            for name in words {
                hosts.entry(bare(name)).or_default().push(address);
            }
        }
        Hosts(hosts)
    }

    /// The addresses of a name; empty if the file does not have it.
    pub fn addresses(&self, name: &str) -> &[IpAddr] {
        self.0.get(&bare(name)).map_or(&[], Vec::as_slice)
    }
}

/// A name in the form used for comparison: in lower case, without a trailing dot.
pub fn bare(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

/// Distinguishes one version of a file from another without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edition {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl Edition {
    /// The edition of a file as it is now; `None` if the file does not exist.
    pub fn of(path: &Path) -> Option<Edition> {
        let found = fs::metadata(path).ok()?;
        Some(Edition { modified: found.modified().ok(), bytes: found.len(), inode: found.ino() })
    }
}

/// The text of a file; empty if the file does not exist.
pub fn text_of(path: &Path) -> io::Result<String> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolv_conf_is_read_as_its_manual_says() {
        let text = "# by hand\nnameserver 10.0.0.53\nnameserver fd00::53 ; the other\nnameserver nonsense\n\
                    domain old.example\nsearch a.example b.example\noptions ndots:5 timeout:2 attempts:4 rotate edns0\n";
        let expected = ResolvConf {
            name_servers: vec!["10.0.0.53".parse().expect("an address"), "fd00::53".parse().expect("an address")],
            search: vec!["a.example".to_owned(), "b.example".to_owned()],
            dots: 5,
            timeout: Duration::from_secs(2),
            attempts: 3,
        };
        assert_eq!(ResolvConf::read(text), expected);
        let long = ResolvConf::read("nameserver 10.0.0.1\noptions timeout:30 attempts:0 ndots:x\n");
        assert_eq!((long.timeout, long.attempts, long.dots), (Duration::from_secs(5), 1, 1));
    }

    #[test]
    fn without_a_name_server_it_is_this_machine() {
        assert_eq!(ResolvConf::read("").name_servers, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }

    #[test]
    fn hosts_are_found_in_any_case_with_all_their_addresses() {
        let hosts = Hosts::read(
            "127.0.0.1 localhost\n::1 localhost ip6-localhost # both\n10.1.0.7\tInside inside.example\nx y\n",
        );
        let both: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into(), "::1".parse().expect("an address")];
        assert_eq!(hosts.addresses("LocalHost."), both);
        assert_eq!(hosts.addresses("inside"), ["10.1.0.7".parse::<IpAddr>().expect("an address")]);
        assert_eq!(hosts.addresses("outside"), [] as [IpAddr; 0]);
    }
}
