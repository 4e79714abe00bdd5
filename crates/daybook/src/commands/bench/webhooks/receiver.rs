//! The receiver of webhooks: a process that reads complete requests and responds.
//!
//! | path | response |
//! |---|---|
//! | `/take/N` | responds |
//! | `/note/N` | responds, and records the time of arrival |
//! | `/hang/N` | never responds |
//!
//! It prints its port on stdout. For each line on stdin it prints, as a line of JSON, its processor time and the
//! arrivals since the last line. It exits at the end of stdin.

use crate::commands::Failure;
use crate::commands::bench::processor_time;
use daybook_clock::{Clock, System};
use daybook_receiver::{PreparedResponse, ReceiverConnection, Request};
use serde::{Deserialize, Serialize};
use std::future::pending;
use std::io::{BufRead, Write};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// The length of the accept queue; the system may allow less.
const QUEUE: u32 = 4_096;

/// The receiver's report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Said {
    /// Processor time since its start, in microseconds.
    pub processor_us: u64,
    /// The arrivals since the last report.
    pub arrivals: Vec<Arrival>,
}

/// An arrived message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Arrival {
    /// The number of its URL.
    pub url: u64,
    /// The number at the end of the message's id.
    pub message: u64,
    /// The time of arrival, in microseconds.
    pub at_us: i64,
}

type Noted = Arc<Mutex<Vec<Arrival>>>;

/// Receives messages until stdin ends.
pub async fn run() -> Result<(), Failure> {
    let listener = listen().map_err(Failure::Output)?;
    let port = listener.local_addr().map_err(Failure::Output)?.port();
    let noted = Noted::default();
    let notes = noted.clone();
    tokio::spawn(daybook_receiver::accept(listener, pending(), move |stream| serve(stream, noted.clone())));
    let answering = tokio::task::spawn_blocking(move || answer(port, &notes));
    answering.await.map_err(|error| Failure::Failed(error.to_string()))?.map_err(Failure::Output)
}

/// Listens with a queue long enough for all connections at once. A connection that does not fit waits for a second, and
/// the benchmark would then measure this queue.
fn listen() -> std::io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
    socket.listen(QUEUE)
}

fn answer(port: u16, noted: &Noted) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{port}")?;
    stdout.flush()?;
    for line in std::io::stdin().lock().lines() {
        line?;
        let arrivals = std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner));
        let said = Said { processor_us: processor_time().as_micros() as u64, arrivals };
        serde_json::to_writer(&mut stdout, &said)?;
        writeln!(stdout)?;
        stdout.flush()?;
    }
    Ok(())
}

async fn serve(stream: TcpStream, noted: Noted) -> std::io::Result<()> {
    let taken = PreparedResponse::status(200).with("content-type", "text/plain").saying("ok");
    let mut connection = ReceiverConnection::new(stream);
    while let Some(request) = connection.next().await? {
        if let Some(arrival) = arrival(&request) {
            noted.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
        }
        if !request.path().starts_with("/hang/") {
            connection.respond(&taken).await?;
        }
    }
    Ok(())
}

/// The message's arrival, if it is to be recorded.
fn arrival(request: &Request) -> Option<Arrival> {
    let url = request.path().strip_prefix("/note/")?.parse().ok()?;
    let (_, message) = request.header("webhook-id")?.rsplit_once('_')?;
    Some(Arrival { url, message: message.parse().ok()?, at_us: System.now().micros() })
}

#[cfg(test)]
mod tests {
    use super::{Request, arrival};

    #[test]
    fn the_path_and_the_messages_id_say_what_arrived() {
        let headers = vec![("webhook-id".to_owned(), "dbk_evt_bench_000042".to_owned())];
        let mut request = Request { line: "POST /note/7 HTTP/1.1".to_owned(), headers, body: Vec::new() };
        let noted = arrival(&request).expect("it is noted");
        assert_eq!((noted.url, noted.message), (7, 42));
        request.line = "POST /take/7 HTTP/1.1".to_owned();
        assert!(arrival(&request).is_none());
    }
}
