//! A minimal HTTP client for calls to a server on this machine.

use super::{Failure, Order, PATH, TOKEN_HEADER};
use crate::instance::RunningServer;
use daybook_operations::Operation;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Rolling an account through years takes a while.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// Longer than a server takes to find out that its database accepts no write.
const READY_TIMEOUT: Duration = Duration::from_secs(10);
/// Larger than any response.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// Sends an order to a server and returns the result.
pub fn ask(server: &RunningServer, order: &Order) -> Result<Value, Failure> {
    let url = server.control_url.as_deref().or(server.url.as_deref()).unwrap_or_default();
    let failed = |why: &dyn std::fmt::Display| {
        Failure::Failed(format!("the server on {url} (process {}) does not respond: {why}", server.pid))
    };
    let body = serde_json::to_vec(order).map_err(|error| failed(&error))?;
    let token = server.control_token.as_deref().unwrap_or_default();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\n{TOKEN_HEADER}: {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    let answer = exchange(url, &head, &body, ANSWER_TIMEOUT).map_err(|error| failed(&error))?;
    let (status, body) = split(&answer).ok_or_else(|| failed(&"its response is not HTTP"))?;
    let value: Option<Value> = serde_json::from_slice(body).ok();
    match (status, value) {
        (200, Some(value)) => Ok(value),
        (_, Some(value)) if value["error"].is_string() => {
            Err(Failure::Failed(value["error"].as_str().unwrap_or_default().to_owned()))
        }
        _ => Err(failed(&format!("it answered with status {status}"))),
    }
}

/// Asks a server whether it is ready. The error is the reason why not.
pub fn check_ready(server: &RunningServer) -> Result<(), String> {
    let url = server.url.as_deref().unwrap_or_default();
    let ready = Operation::Readyz.request([]);
    let answer = exchange(url, &format!("{ready} HTTP/1.1\r\n"), &[], READY_TIMEOUT);
    let answer = answer.map_err(|error| format!("it does not respond: {error}"))?;
    match split(&answer) {
        Some((200, _)) => Ok(()),
        Some((status, body)) => {
            let body: Value = serde_json::from_slice(body).unwrap_or_default();
            let reason = body["error"]["message"].as_str().map(str::to_owned);
            Err(reason.unwrap_or_else(|| format!("{} returns status {status}", ready.target())))
        }
        None => Err("its response is not HTTP".to_owned()),
    }
}

/// Sends a request, whose head lacks its last lines, and reads until the connection closes.
fn exchange(url: &str, head: &str, body: &[u8], timeout: Duration) -> io::Result<Vec<u8>> {
    let address = url.strip_prefix("http://").and_then(|address| address.parse::<SocketAddr>().ok());
    let address = address.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "its address is invalid"))?;
    let mut stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(CONNECT_TIMEOUT))?;
    stream.write_all(format!("{head}host: {address}\r\nconnection: close\r\n\r\n").as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(answer)
}

/// The status and the body of a response. The body ends with the connection.
fn split(answer: &[u8]) -> Option<(u16, &[u8])> {
    let head_end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&answer[..head_end]).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    Some((status, &answer[head_end + 4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_split() {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(split(answer), Some((200, &b"{}"[..])));
        assert_eq!(split(b"HTTP/1.1 422 Unprocessable Entity\r\n\r\n"), Some((422, &b""[..])));
        for answer in [&b""[..], b"SSH-2.0-x\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 \xff\r\n\r\n"] {
            assert_eq!(split(answer), None);
        }
    }

    #[test]
    fn a_server_that_is_gone_is_told() {
        let (url, token) = (Some("http://127.0.0.1:1".to_owned()), Some("t".to_owned()));
        let server = RunningServer { pid: 7, url, public_url: None, control_url: None, control_token: token };
        let failure = ask(&server, &Order::ListOrganizations).expect_err("no server listens on port 1");
        assert!(failure.to_string().starts_with("the server on http://127.0.0.1:1 (process 7) does not respond: "));
        let reason = check_ready(&server).expect_err("no server listens on port 1");
        assert!(reason.starts_with("it does not respond: "), "{reason}");
    }
}
