//! Resolves names to addresses.
//!
//! The [`System`] resolver reads the machine's `/etc/hosts` and `/etc/resolv.conf`, and queries the name servers
//! itself. No thread blocks on a lookup: ten thousand lookups at name servers that never respond cost ten thousand
//! small tasks and delay no other call. (The C library's `getaddrinfo` blocks one thread for each lookup, up to 30
//! seconds.) It does not read `/etc/nsswitch.conf`, so names known only to LDAP, NIS or multicast DNS are not found.
//!
//! [`LookupLimits`] limits how many names are looked up at once for one organization.

use super::machine::{Edition, Hosts, ResolvConf, bare, text_of};
use async_trait::async_trait;
use daybook_store::records::OrgId;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::rr::Name;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// How long one lookup may take, including all its queries.
pub const LOOKUP_LIMIT: Duration = Duration::from_secs(5);
/// The longest time that an address is cached, and that its absence is cached.
const KEPT_ADDRESS: Duration = Duration::from_secs(60);
const KEPT_ABSENCE: Duration = Duration::from_secs(5);
/// The most responses that are cached.
const MOST_KEPT: u64 = 4_096;
/// The port of name servers.
pub const NAME_SERVER_PORT: u16 = 53;

/// Finds the addresses of a name. The [`Guard`](crate::guard::Guard) checks the result before any connection, and the
/// name is not resolved again between the check and the connection.
#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug {
    /// The addresses of a host, with the port to connect to.
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's resolver: its hosts file, then its name servers.
#[derive(Debug)]
pub struct System {
    /// The name servers to query; if empty, those of `resolv_conf`.
    name_servers: Vec<SocketAddr>,
    resolv_conf: PathBuf,
    hosts: PathBuf,
    ready: Mutex<Option<LoadedResolver>>,
}

/// The parsed files of the machine, and the resolver made from them.
#[derive(Clone)]
struct LoadedResolver {
    editions: [Option<Edition>; 2],
    hosts: Arc<Hosts>,
    resolver: TokioResolver,
}

impl fmt::Debug for LoadedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("editions", &self.editions).finish_non_exhaustive()
    }
}

impl Default for System {
    fn default() -> System {
        System::asking(Vec::new())
    }
}

impl System {
    /// Queries these name servers; if there are none, those that `/etc/resolv.conf` names.
    pub fn asking(name_servers: Vec<SocketAddr>) -> System {
        System::reading(name_servers, "/etc/resolv.conf".into(), "/etc/hosts".into())
    }

    /// The same with other files instead of the machine's.
    pub fn reading(name_servers: Vec<SocketAddr>, resolv_conf: PathBuf, hosts: PathBuf) -> System {
        System { name_servers, resolv_conf, hosts, ready: Mutex::default() }
    }

    /// The files as they are now. They are read again when they have changed; checking that costs two system calls that
    /// do not block.
    fn ready(&self) -> io::Result<LoadedResolver> {
        let editions = [Edition::of(&self.resolv_conf), Edition::of(&self.hosts)];
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = ready.as_ref().filter(|known| known.editions == editions) {
            return Ok(known.clone());
        }
        let hosts = Arc::new(Hosts::read(&text_of(&self.hosts)?));
        let resolver = resolver(&self.name_servers, &ResolvConf::read(&text_of(&self.resolv_conf)?))?;
        Ok(ready.insert(LoadedResolver { editions, hosts, resolver }).clone())
    }
}

fn resolver(name_servers: &[SocketAddr], conf: &ResolvConf) -> io::Result<TokioResolver> {
    let (servers, search) = if name_servers.is_empty() {
        let servers = conf.name_servers.iter().map(|ip| name_server(SocketAddr::new(*ip, NAME_SERVER_PORT)));
        (servers.collect(), conf.search.iter().filter_map(|domain| Name::from_utf8(domain).ok()).collect())
    } else {
        (name_servers.iter().copied().map(name_server).collect(), Vec::new())
    };
    let config = ResolverConfig::from_parts(None, search, servers);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.ndots = conf.dots;
    options.timeout = conf.timeout;
    options.attempts = conf.attempts;
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = ResolveHosts::Never;
    options.cache_size = MOST_KEPT;
    options.positive_max_ttl = Some(KEPT_ADDRESS);
    options.negative_max_ttl = Some(KEPT_ABSENCE);
    builder.build().map_err(io::Error::other)
}

fn name_server(address: SocketAddr) -> NameServerConfig {
    let at_its_port = |mut connection: ConnectionConfig| {
        connection.port = address.port();
        connection
    };
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(at_its_port);
    NameServerConfig::new(address.ip(), true, connections.to_vec())
}

#[async_trait]
impl Resolve for System {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let at_port = |ip: IpAddr| SocketAddr::new(ip, port);
        let LoadedResolver { hosts, resolver, .. } = self.ready()?;
        let known = hosts.addresses(host);
        if !known.is_empty() {
            return Ok(known.iter().copied().map(at_port).collect());
        }
        if is_localhost(host) {
            return Ok([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()].map(at_port).to_vec());
        }
        match tokio::time::timeout(LOOKUP_LIMIT, resolver.lookup_ip(host)).await {
            Ok(Ok(found)) => Ok(found.iter().map(at_port).collect()),
            Ok(Err(error)) => Err(in_words(&error)),
            Err(_) => Err(in_words(&NetError::Timeout)),
        }
    }
}

/// Whether a name means this machine by the rule of RFC 6761, regardless of name servers.
pub(super) fn is_localhost(name: &str) -> bool {
    let bare = bare(name);
    bare == "localhost" || bare.ends_with(".localhost")
}

fn in_words(error: &NetError) -> io::Error {
    match error {
        NetError::Timeout => io::Error::new(io::ErrorKind::TimedOut, "the name server did not answer in time"),
        NetError::Dns(DnsError::NoRecordsFound(_)) => io::Error::new(io::ErrorKind::NotFound, "it has no address"),
        NetError::NoConnections => io::Error::new(io::ErrorKind::NotConnected, "no name server could be reached"),
        other => io::Error::other(other.to_string()),
    }
}

/// Limits how many names are looked up at once for one organization, so that an organization whose name servers do not
/// respond delays no other.
#[derive(Debug)]
pub struct LookupLimits {
    at_once: usize,
    turns: Mutex<HashMap<OrgId, Arc<Semaphore>>>,
}

impl LookupLimits {
    /// This many for each organization.
    pub fn new(at_once: usize) -> LookupLimits {
        LookupLimits { at_once, turns: Mutex::default() }
    }

    /// The permits of one organization.
    pub fn of(&self, org: OrgId) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.entry(org).or_insert_with(|| Arc::new(Semaphore::new(self.at_once))).clone()
    }
}
