//! A network of addresses, as an operator writes it: `10.1.0.0/16`.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// All addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// An address of the network.
    pub address: IpAddr,
    /// The length of the common prefix.
    pub prefix_bits: u8,
}

impl Network {
    /// Whether an address is in the network. An address of the other IP version never is.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.prefix_bits.into())).unwrap_or(0);
                (ours.to_bits() ^ theirs.to_bits()) & mask == 0
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.prefix_bits.into())).unwrap_or(0);
                (ours.to_bits() ^ theirs.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

/// Why a text is not a network; follows the name of the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoNetwork;

impl fmt::Display for NoNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be an IP address or a network, such as 10.1.0.0/16 or fd00::/8")
    }
}

impl std::error::Error for NoNetwork {}

/// A single address is a network of one address.
impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Network, NoNetwork> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NoNetwork)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match bits {
            None => most,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse().map_err(|_| NoNetwork)?,
            Some(_) => return Err(NoNetwork),
        };
        if prefix_bits > most {
            return Err(NoNetwork);
        }
        Ok(Network { address, prefix_bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(network: &str, address: &str) -> bool {
        network.parse::<Network>().expect("a network").contains(address.parse().expect("an address"))
    }

    #[test]
    fn the_first_bits_decide() {
        assert!(contains("10.1.0.0/16", "10.1.255.255"));
        assert!(!contains("10.1.0.0/16", "10.2.0.0"));
        assert!(contains("10.1.2.3/31", "10.1.2.2"));
        assert!(!contains("10.1.2.3", "10.1.2.2"));
        assert!(contains("0.0.0.0/0", "255.1.2.3"));
        assert!(contains("fd00::/8", "fdff::1"));
        assert!(!contains("fd00::/8", "fe00::1"));
        assert!(contains("::/0", "ffff::"));
        assert!(contains("::1", "::1"));
    }

    #[test]
    fn the_versions_do_not_mix() {
        assert!(!contains("0.0.0.0/0", "::1"));
        assert!(!contains("::/0", "127.0.0.1"));
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for text in
            ["", "10", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10.0.0.0/8/8", "a/8", "10.0.0.0/999"]
        {
            assert_eq!(text.parse::<Network>(), Err(NoNetwork), "{text}");
        }
    }

    #[test]
    fn it_is_shown_as_it_is_written() {
        for text in ["10.1.0.0/16", "fd00::/8", "::1/128"] {
            assert_eq!(text.parse::<Network>().expect("a network").to_string(), text);
        }
    }
}
