//! A name server on loopback with configured answers, or one that never answers.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the thread checks whether it should end.
const LOOK: Duration = Duration::from_millis(50);
const A: u16 = 1;
const AAAA: u16 = 28;

/// A name server.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    /// A server that never answers.
    pub fn silent() -> NameServer {
        NameServer::start(None)
    }

    /// A server that knows only these names.
    pub fn knowing(names: &[(&str, &[&str])]) -> NameServer {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("an address")).collect();
        NameServer::start(Some(names.iter().map(|(name, texts)| ((*name).to_owned(), addresses(texts))).collect()))
    }

    fn start(names: Option<HashMap<String, Vec<IpAddr>>>) -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(LOOK)).expect("a timeout");
        let address = socket.local_addr().expect("an address");
        let (asked, is_over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = thread::spawn({
            let (asked, is_over) = (asked.clone(), is_over.clone());
            move || serve(&socket, names.as_ref(), &asked, &is_over)
        });
        NameServer { address, asked, is_over, thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of queries received.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, names: Option<&HashMap<String, Vec<IpAddr>>>, asked: &AtomicUsize, is_over: &AtomicBool) {
    let mut buffer = [0; 1_500];
    while !is_over.load(Ordering::SeqCst) {
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        asked.fetch_add(1, Ordering::SeqCst);
        if let Some(names) = names {
            socket.send_to(&answer(&buffer[..length], names), from).expect("an answer is sent");
        }
    }
}

/// The response to a query, in the format of RFC 1035.
fn answer(question: &[u8], names: &HashMap<String, Vec<IpAddr>>) -> Vec<u8> {
    let mut labels = Vec::new();
    let mut at = 12;
    while question[at] != 0 {
        let length = usize::from(question[at]);
        labels.push(String::from_utf8_lossy(&question[at + 1..at + 1 + length]).to_lowercase());
        at += 1 + length;
    }
    let kind = u16::from_be_bytes([question[at + 1], question[at + 2]]);
    let known = names.get(&labels.join("."));
    let wanted = |ip: &&IpAddr| matches!((ip, kind), (IpAddr::V4(_), A) | (IpAddr::V6(_), AAAA));
    let found: Vec<&IpAddr> = known.into_iter().flatten().filter(wanted).collect();
    let mut answer = question[..2].to_vec();
    // A response, recursion available; code 3 means there is no such name.
    answer.extend([0x81, if known.is_some() { 0x80 } else { 0x83 }]);
    answer.extend([0, 1, 0, u8::try_from(found.len()).expect("few"), 0, 0, 0, 0]);
    answer.extend(&question[12..at + 5]);
    for ip in found {
        let bytes = match ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        // A pointer to the query's name, its type, class IN, TTL 30 seconds.
        answer.extend([0xc0, 12]);
        answer.extend(kind.to_be_bytes());
        answer.extend([0, 1, 0, 0, 0, 30, 0, u8::try_from(bytes.len()).expect("short")]);
        answer.extend(bytes);
    }
    answer
}
