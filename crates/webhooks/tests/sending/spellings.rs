//! Spellings of addresses that are not public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses to which no message may be sent.
const INTERNAL: &[[u8; 4]] = &[
    [127, 0, 0, 1],
    [127, 1, 2, 3],
    [0, 0, 0, 0],
    [10, 0, 0, 1],
    [100, 64, 0, 1],
    [169, 254, 169, 254],
    [172, 16, 0, 1],
    [192, 168, 1, 1],
    [255, 255, 255, 255],
];

/// Hosts that mean internal addresses.
pub fn hosts() -> Vec<String> {
    let mut hosts: Vec<String> = INTERNAL.iter().flat_map(|octets| ipv4(*octets)).collect();
    hosts.extend(INTERNAL.iter().flat_map(|octets| ipv4_in_ipv6(Ipv4Addr::from(*octets))));
    let ipv6 = [
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[0000:0000:0000:0000:0000:0000:0000:0001]",
        "[::0001]",
        "[0::1]",
        "[::0.0.0.1]",
        "[fe80::1]",
        "[FE80::1]",
        "[febf::1]",
        "[fc00::1]",
        "[fd12:3456:789a::1]",
        "[fec0::1]",
        "[ff02::1]",
        "[ff01::1]",
        "[2001:db8::1]",
        "[2001::1]",
        "[3fff::1]",
        "[100::1]",
        "[64:ff9b:1::7f00:1]",
        "[5f00::1]",
        "[::ffff:0:7f00:1]",
    ];
    hosts.extend(ipv6.map(str::to_owned));
    let names = [
        "localhost",
        "LOCALHOST",
        "LocalHost.",
        "a.localhost",
        "a.b.localhost.",
        "%6c%6f%63%61%6c%68%6f%73%74",
        "ｌｏｃａｌｈｏｓｔ",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "local\u{ad}host",
        "lo\u{200b}calhost",
    ];
    hosts.extend(names.map(str::to_owned));
    hosts
}

/// Spellings that URL parsers read as an IPv4 address.
fn ipv4([a, b, c, d]: [u8; 4]) -> Vec<String> {
    let (a, b, c, d) = (u32::from(a), u32::from(b), u32::from(c), u32::from(d));
    let whole = (a << 24) | (b << 16) | (c << 8) | d;
    let (low24, low16) = (whole & 0xff_ffff, whole & 0xffff);
    let dotted = format!("{a}.{b}.{c}.{d}");
    let ascii = vec![
        dotted.clone(),
        format!("{dotted}."),
        format!("{whole}"),
        format!("{whole}."),
        format!("0x{whole:x}"),
        format!("0X{whole:08X}"),
        format!("0x{whole:020x}"),
        format!("0{whole:o}"),
        format!("000{whole:o}"),
        format!("{a}.{low24}"),
        format!("{a}.{b}.{low16}"),
        format!("0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}"),
        format!("0X{a:02X}.0X{b:02X}.0X{c:02X}.0X{d:02X}."),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0{a:04o}.0{b:04o}.0{c:04o}.0{d:04o}"),
        format!("0x{a:x}.{b}.0{c:o}.{d}"),
        format!("0{a:o}.{low24}"),
        format!("0x{a:x}.0x{low24:x}"),
        format!("{a}.0{b:o}.0x{low16:x}"),
    ];
    let disguised = [
        percent_encoded(&dotted),
        dotted.replace('.', "%2e"),
        dotted.replace('.', "%E3%80%82"),
        dotted.replace('.', "\u{3002}"),
        dotted.replace('.', "\u{ff0e}"),
        dotted.replace('.', "\u{ff61}"),
        digits_from(&dotted, 0xff10),
        digits_from(&format!("{whole}"), 0xff10),
        digits_from(&dotted, 0x1d7ce),
        digits_from(&dotted.replace('.', "\u{3002}"), 0x1d7d8),
        dotted.replace('1', "①").replace('2', "②").replace('9', "⑨"),
        dotted.replacen('.', ".\u{ad}", 1),
        dotted.replacen('.', "\u{200b}.", 1),
    ];
    ascii.into_iter().chain(disguised).collect()
}

/// Spellings of IPv6 addresses that embed an IPv4 address, or lead to it through a relay.
fn ipv4_in_ipv6(address: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = address.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    vec![
        format!("[::ffff:{address}]"),
        format!("[::FFFF:{address}]"),
        format!("[::ffff:{high:x}:{low:x}]"),
        format!("[0:0:0:0:0:ffff:{high:04X}:{low:04X}]"),
        format!("[0000:0000:0000:0000:0000:ffff:{address}]"),
        format!("[::{address}]"),
        format!("[::{high:x}:{low:x}]"),
        format!("[64:ff9b::{address}]"),
        format!("[64:ff9b::{high:x}:{low:x}]"),
        format!("[64:ff9b:0:0:0:0:{high:x}:{low:x}]"),
        format!("[2002:{high:x}:{low:x}::]"),
        format!("[2002:{high:x}:{low:x}::1]"),
    ]
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// The text with its digits replaced by the ten that begin at a code point.
fn digits_from(text: &str, zero: u32) -> String {
    let disguise = |c: char| c.to_digit(10).and_then(|digit| char::from_u32(zero + digit)).unwrap_or(c);
    text.chars().map(disguise).collect()
}

/// Whole URLs with tricks outside the host.
pub fn urls(port: u16) -> Vec<String> {
    let here = format!("127.0.0.1:{port}");
    vec![
        format!("https://example.com@{here}/"),
        format!("https://example.com:80@{here}/"),
        format!("https://example.com%40@{here}/"),
        format!("https://a@b@{here}/"),
        format!("https://:@{here}/"),
        format!("https://@{here}/"),
        format!("https://{here}\\@example.com/"),
        format!("https://{here}/@example.com/"),
        format!("https://{here}?@example.com/"),
        format!("https://{here}#@example.com/"),
        format!("https:{here}/"),
        format!("https:/{here}/"),
        format!("https:///{here}/"),
        format!("https://///{here}/"),
        format!("https:\\\\{here}\\"),
        format!("https:/\\{here}/"),
        format!("HTTPS://{here}/"),
        format!("hTtPs://{here}/"),
        format!("HTTP://{here}/"),
        format!("ht\ntps://{here}/"),
        format!("https://127.0\t.0.1:{port}/"),
        format!("https://127.\n0.0.1:{port}/"),
        format!("https://127.0.0.\r1:{port}/"),
        format!("https://127.0.0.1\t:{port}/"),
        format!(" https://{here}/"),
        format!("\u{0}https://{here}/"),
        format!("https://{here}/ "),
        format!("https://127.0.0.1 :{port}/"),
        format!("https://127.0.0.1%00:{port}/"),
        format!("https://127.0.0.1%0a:{port}/"),
        format!("https://127.0.0.1%20:{port}/"),
        format!("https://[::1%25lo]:{port}/"),
        format!("https://[::1%lo]:{port}/"),
        format!("https://[fe80::1%251]:{port}/"),
        format!("https://[fe80::1%25eth0]:{port}/"),
        format!("https://[127.0.0.1]:{port}/"),
        format!("https://[::1]:{port}@example.com/"),
        format!("https://::1:{port}/"),
        format!("https://127.0.0.1:0{port}/"),
        format!("https://127.0.0.1:000{port}/"),
        format!("//{here}/"),
        format!("{here}"),
        format!("ftp://{here}/"),
        format!("gopher://{here}/"),
        format!("file://{here}/"),
        format!("ws://{here}/"),
        format!("wss://{here}/"),
        format!("dict://{here}/"),
        format!("unix://{here}/"),
        format!("jar:http://{here}/!/"),
        format!("view-source:http://{here}/"),
        format!("data:text/html,http://{here}/"),
        format!("javascript:fetch('http://{here}/')"),
        format!("blob:http://{here}/x"),
        format!("http+unix://{here}/"),
        format!("https\u{ff1a}//{here}/"),
        format!("https://{}/", "1".repeat(3_000)),
    ]
}

/// Hosts that only look like addresses: a parser reads them as names, and their addresses show when they are resolved.
pub fn names() -> Vec<String> {
    let names = [
        "127.0.0.1..",
        "127.0.0.1.example.com",
        "127-0-0-1.example.com",
        "7f000001.example.com",
        "x127.0.0.1x",
        "internal",
        "metadata.google.internal",
        "router.local",
        "db",
        "localhost.localdomain",
        "localhost.example",
        "ip6-localhost",
        "broadcasthost",
        "1.0.0.127.in-addr.arpa",
        "xn--127-0-0-1-x.example",
    ];
    names.map(str::to_owned).to_vec()
}

#[test]
fn the_spellings_are_many_and_different() {
    let mut all: Vec<String> = [hosts(), urls(1234), names()].concat();
    let count = all.len();
    all.sort();
    all.dedup();
    assert!(all.len() >= 300, "{} different of {count}", all.len());
}

/// The spellings mean what they should: for spellings that this machine's own address parser knows, it agrees.
#[test]
fn plain_spellings_are_the_addresses_they_stand_for() {
    let mut plain: Vec<IpAddr> = hosts().iter().filter_map(|host| host.parse().ok()).collect();
    // Zeros are written in the same way in several bases.
    plain.dedup();
    assert_eq!(plain, INTERNAL.iter().map(|octets| IpAddr::from(*octets)).collect::<Vec<_>>());
    let bracketed = hosts().iter().filter_map(|host| host.trim_matches(['[', ']']).parse::<Ipv6Addr>().ok()).count();
    assert_eq!(bracketed, hosts().iter().filter(|host| host.starts_with('[')).count());
}
