//! From a name to addresses.

use async_trait::async_trait;
use std::fmt;
use std::io;
use std::net::SocketAddr;

/// Finds the addresses of a name. What it finds is checked by the [`Guard`](crate::guard::Guard) before anything
/// connects, and nothing resolves the name again between the check and the connection.
#[async_trait]
pub trait Resolve: Send + Sync + fmt::Debug {
    /// The addresses of a host, with the port to connect to.
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The machine's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

#[async_trait]
impl Resolve for System {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }
}
