//! A gate in front of a server that closes at a certain call: the call goes through, but neither its response nor
//! anything after it. So a client can be killed at a well-defined point. Alternatively, the gate holds the call until
//! it is opened, so that something can happen between two calls.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

const CALLS: [&[u8]; 3] = [b"GET ", b"POST ", b"PUT "];

/// A gate.
#[derive(Debug)]
pub struct Gate {
    pub url: String,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    call: &'static str,
    /// The number of further calls that go through with their responses.
    left: Mutex<u32>,
    /// Whether it holds the call, and lets everything through once it is opened.
    halts: bool,
    closes: Condvar,
}

/// So many that it never closes.
const ALL: u32 = u32::MAX;

impl State {
    fn is_closed(&self) -> bool {
        !self.halts && *self.left.lock().expect("nobody panicked") == 0
    }

    /// Counts the calls of a client. Returns whether the bytes go through.
    fn lets_through(&self, sent: &[u8]) -> bool {
        let mut left = self.left.lock().expect("nobody panicked");
        if *left == ALL {
            return true;
        }
        if *left == 0 && !self.halts {
            return !CALLS.iter().any(|call| sent.starts_with(call));
        }
        if sent.starts_with(self.call.as_bytes()) {
            *left -= 1;
            self.closes.notify_all();
        }
        if self.halts {
            drop(self.closes.wait_while(left, |left| *left == 0).expect("nobody panicked"));
        }
        true
    }
}

impl Gate {
    /// A gate in front of the server at a URL, which closes at the `number`th call that begins with `call`
    /// (`POST /bulk`).
    pub fn before(url: &str, call: &'static str, number: u32) -> Gate {
        Gate::new(url, call, number, false)
    }

    /// The same, but the call waits until the gate is opened.
    pub fn halting(url: &str, call: &'static str, number: u32) -> Gate {
        Gate::new(url, call, number, true)
    }

    fn new(url: &str, call: &'static str, number: u32, halts: bool) -> Gate {
        let server = url.strip_prefix("http://").expect("a URL").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let own = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State { call, left: Mutex::new(number), halts, closes: Condvar::new() });
        let shared = state.clone();
        thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let behind = TcpStream::connect(&server).expect("the server is there");
                let (caller_too, behind_too) =
                    (caller.try_clone().expect("a copy"), behind.try_clone().expect("a copy"));
                let (there, back) = (shared.clone(), shared.clone());
                thread::spawn(move || pass(caller, behind, |sent| there.lets_through(sent)));
                thread::spawn(move || pass(behind_too, caller_too, |_| !back.is_closed()));
            }
        });
        Gate { url: own, state }
    }

    /// Lets everything through.
    pub fn open(&self) {
        *self.state.left.lock().expect("nobody panicked") = ALL;
        self.state.closes.notify_all();
    }

    /// Waits until it is closed.
    pub fn wait(&self) {
        let left = self.state.left.lock().expect("nobody panicked");
        drop(self.state.closes.wait_while(left, |left| *left > 0).expect("nobody panicked"));
    }
}

/// Passes bytes on while the gate is open; discards the others until the peer disconnects.
fn pass(mut from: TcpStream, mut to: TcpStream, lets_through: impl Fn(&[u8]) -> bool) {
    let mut bytes = vec![0; 1 << 16];
    let mut is_open = true;
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        is_open = is_open && lets_through(&bytes[..count]);
        if is_open && to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
