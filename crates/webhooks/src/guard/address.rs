//! Which addresses are public.
//!
//! Every range that is reserved for another purpose has a kind with a display name; an address without a kind is
//! public. An IPv6 address that embeds an IPv4 address counts as that IPv4 address, because a gateway or the system
//! itself would connect there.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The purpose of an address that is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    /// This machine.
    Loopback,
    /// An organization's own network.
    Private,
    /// The local network segment.
    LinkLocal,
    /// Many receivers at once.
    Multicast,
    /// No address: `0.0.0.0` and its network, `::`.
    Unspecified,
    /// Documentation, tests, providers' own use, relays, future use.
    Reserved,
}

impl fmt::Display for AddressKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressKind::Loopback => "a loopback address",
            AddressKind::Private => "a private address",
            AddressKind::LinkLocal => "a link-local address",
            AddressKind::Multicast => "a multicast address",
            AddressKind::Unspecified => "an unspecified address",
            AddressKind::Reserved => "a reserved address",
        })
    }
}

/// IPv4 addresses that are not public: the first address, the prefix length, the purpose.
const NOT_PUBLIC_V4: &[(Ipv4Addr, u32, AddressKind)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8, AddressKind::Unspecified),
    (Ipv4Addr::new(10, 0, 0, 0), 8, AddressKind::Private),
    (Ipv4Addr::new(100, 64, 0, 0), 10, AddressKind::Private),
    (Ipv4Addr::new(127, 0, 0, 0), 8, AddressKind::Loopback),
    (Ipv4Addr::new(169, 254, 0, 0), 16, AddressKind::LinkLocal),
    (Ipv4Addr::new(172, 16, 0, 0), 12, AddressKind::Private),
    (Ipv4Addr::new(192, 0, 0, 0), 24, AddressKind::Reserved),
    (Ipv4Addr::new(192, 0, 2, 0), 24, AddressKind::Reserved),
    (Ipv4Addr::new(192, 88, 99, 0), 24, AddressKind::Reserved),
    (Ipv4Addr::new(192, 168, 0, 0), 16, AddressKind::Private),
    (Ipv4Addr::new(198, 18, 0, 0), 15, AddressKind::Reserved),
    (Ipv4Addr::new(198, 51, 100, 0), 24, AddressKind::Reserved),
    (Ipv4Addr::new(203, 0, 113, 0), 24, AddressKind::Reserved),
    (Ipv4Addr::new(224, 0, 0, 0), 4, AddressKind::Multicast),
    (Ipv4Addr::new(240, 0, 0, 0), 4, AddressKind::Reserved),
];

/// IPv6 addresses with a special purpose; all others outside of 2000::/3 are reserved.
const NOT_PUBLIC_V6: &[(Ipv6Addr, u32, AddressKind)] = &[
    (Ipv6Addr::UNSPECIFIED, 128, AddressKind::Unspecified),
    (Ipv6Addr::LOCALHOST, 128, AddressKind::Loopback),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, AddressKind::Private),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, AddressKind::LinkLocal),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, AddressKind::Private),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, AddressKind::Multicast),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, AddressKind::Reserved),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, AddressKind::Reserved),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, AddressKind::Reserved),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, AddressKind::Reserved),
];

/// The purpose of an address; `None` if it is public. Pass only [`reached`] addresses.
pub fn kind(address: IpAddr) -> Option<AddressKind> {
    match address {
        IpAddr::V4(address) => {
            let differs = |other: &Ipv4Addr, bits: u32| (address.to_bits() ^ other.to_bits()) >> (32 - bits) != 0;
            NOT_PUBLIC_V4.iter().find(|(first, bits, _)| !differs(first, *bits)).map(|(_, _, kind)| *kind)
        }
        IpAddr::V6(address) => {
            let differs = |other: &Ipv6Addr, bits: u32| (address.to_bits() ^ other.to_bits()) >> (128 - bits) != 0;
            let listed = NOT_PUBLIC_V6.iter().find(|(first, bits, _)| !differs(first, *bits)).map(|(_, _, kind)| *kind);
            let is_global_unicast = address.segments()[0] >> 13 == 1;
            listed.or((!is_global_unicast).then_some(AddressKind::Reserved))
        }
    }
}

/// The address that a connection to this one reaches: for IPv4 in IPv6 (mapped `::ffff:a.b.c.d`, compatible
/// `::a.b.c.d`, NAT64 `64:ff9b::a.b.c.d`) the IPv4 address; for any other the address itself.
pub fn reached(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, high, low] = v6.segments();
    let embeds = match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => true,
        // `::` and `::1` have their own meanings.
        [0, 0, 0, 0, 0, 0] => v6 != Ipv6Addr::UNSPECIFIED && v6 != Ipv6Addr::LOCALHOST,
        _ => false,
    };
    if embeds { IpAddr::V4(Ipv4Addr::from_bits((u32::from(high) << 16) | u32::from(low))) } else { address }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> Option<AddressKind> {
        kind(reached(text.parse().expect("an address")))
    }

    /// The first and the last address of each range that is not public.
    const CLOSED: &[&str] = &[
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.0",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.0",
        "192.0.0.255",
        "192.0.2.0",
        "192.0.2.255",
        "192.88.99.0",
        "192.88.99.255",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.0",
        "198.51.100.255",
        "203.0.113.0",
        "203.0.113.255",
        "224.0.0.0",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "1fff:ffff::",
        "2001::",
        "2001:1ff:ffff::",
        "2001:db8::",
        "2001:db8:ffff::",
        "2002::",
        "2002:ffff::",
        "3fff::",
        "3fff:fff:ffff::",
        "4000::",
        "64:ff9b:1::1",
        "100::1",
        "fc00::",
        "fdff::",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "5f00::1",
    ];

    /// Their public neighbours.
    const OPEN: &[&str] = &[
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2000::",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2003::",
        "3ffe:ffff::",
        "3fff:1000::",
        "2606:4700::1111",
    ];

    #[test]
    fn ranges_begin_and_end_where_they_should() {
        for text in CLOSED {
            assert!(kind_of(text).is_some(), "{text} is not public");
        }
        for text in OPEN {
            assert_eq!(kind_of(text), None, "{text} is public");
        }
    }

    #[test]
    fn ipv4_in_ipv6_is_judged_as_ipv4() {
        for prefix in ["::ffff:", "::", "64:ff9b::"] {
            assert_eq!(kind_of(&format!("{prefix}127.0.0.1")), Some(AddressKind::Loopback), "{prefix}");
            assert_eq!(kind_of(&format!("{prefix}10.1.2.3")), Some(AddressKind::Private), "{prefix}");
            assert_eq!(kind_of(&format!("{prefix}169.254.169.254")), Some(AddressKind::LinkLocal), "{prefix}");
            assert_eq!(kind_of(&format!("{prefix}8.8.8.8")), None, "{prefix}");
        }
        // 6to4 and Teredo go through relays: not public, whatever they embed.
        assert_eq!(kind_of("2002:808:808::1"), Some(AddressKind::Reserved));
        assert_eq!(kind_of("2001:0:808:808::1"), Some(AddressKind::Reserved));
    }
}
