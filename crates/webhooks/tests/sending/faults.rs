//! Receivers that do not respond, in various ways.

use crate::support::{GENEROUS, Prepared, SHORT, dev_sender, message, send, sender_with};
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_webhooks::guard::Guard;
use daybook_webhooks::sender::{Fault, SenderSettings};
use std::time::Duration;

#[tokio::test]
async fn a_receiver_that_never_answers_times_out() {
    let receiver = Receiver::start(Behaviour::Silent);
    let reply = send(&dev_sender(SHORT), &receiver.url()).await;
    assert_eq!((reply.status, reply.fault), (None, Some(Fault::TimedOut)));
    assert!(reply.latency >= SHORT);
    assert_eq!(receiver.counts().requests, 1, "the message had arrived");
    receiver.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn a_slow_head_times_out() {
    let receiver = Receiver::start(Behaviour::SlowHead);
    let reply = send(&dev_sender(SHORT), &receiver.url()).await;
    assert_eq!(reply.fault, Some(Fault::TimedOut));
    receiver.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn informational_answers_alone_are_told_apart() {
    for status in [100, 102, 103, 199] {
        let receiver = Receiver::start(Behaviour::OnlyInformational(status));
        let reply = send(&dev_sender(SHORT), &receiver.url()).await;
        assert_eq!((reply.status, reply.fault), (None, Some(Fault::OnlyInformational)), "{status}");
    }
}

#[tokio::test]
async fn an_endless_body_does_not_hold_up_the_status() {
    for status in [200, 500] {
        let receiver = Receiver::start(Behaviour::EndlessBody(status));
        let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
        assert_eq!((reply.status, reply.fault), (Some(status), None));
        assert!(reply.body_start.iter().all(|byte| *byte == b'x'));
        assert_eq!(reply.body_start.len(), if status == 200 { 0 } else { 512 });
        // The connection cannot be reused and is closed.
        receiver.until(|counts| counts.open == 0).await;
    }
}

/// The status is known when the head is there, and the body has its own short limit, so a long timeout is not used up.
#[tokio::test]
async fn a_body_that_never_comes_does_not_hold_up_the_status() {
    let half = b"HTTP/1.1 500 Any\r\ncontent-length: 10\r\n\r\nhalf";
    let receiver = Receiver::start(Behaviour::Stalls(half.to_vec()));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    let reply = pool.post(message(b"{}")).await;
    assert_eq!((reply.status, reply.body_start.as_slice()), (Some(500), b"half".as_slice()));
    assert!(reply.latency < Duration::from_secs(30));
    assert_eq!(pool.idle(), 0);
}

#[tokio::test]
async fn a_reset_connection_is_a_reset() {
    for behaviour in [Behaviour::Reset, Behaviour::ResetAfterReading] {
        let receiver = Receiver::start(behaviour);
        let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
        assert_eq!((reply.status, reply.fault), (None, Some(Fault::Reset)));
        assert_eq!(receiver.counts().accepted, 1, "a new connection is not tried twice");
    }
}

#[tokio::test]
async fn a_connection_closed_without_an_answer_is_a_reset() {
    for bytes in [&b""[..], b"HTTP/1.1 20", b"HTTP/1.1 200 OK\r\ncontent-le"] {
        let receiver = Receiver::start(Behaviour::Raw(bytes.to_vec()));
        let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
        assert_eq!((reply.status, reply.fault), (None, Some(Fault::Reset)), "{bytes:?}");
    }
}

/// On a new connection, and on one that was used before: there the message must not be sent again.
#[tokio::test]
async fn an_informational_answer_before_the_connection_closes_is_told_apart() {
    for bytes in [&b"HTTP/1.1 100 Continue\r\n\r\n"[..], b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 2"] {
        let receiver = Receiver::start(Behaviour::Raw(bytes.to_vec()));
        let pool = dev_sender(GENEROUS).pool(&receiver.url());
        let reply = pool.post(message(b"{}")).await;
        assert_eq!((reply.status, reply.fault), (None, Some(Fault::OnlyInformational)), "{bytes:?}");
        receiver.behave(Behaviour::status(200));
        assert_eq!(pool.post(message(b"{}")).await.status, Some(200));
        assert_eq!(pool.idle(), 1);
        receiver.behave(Behaviour::Raw(bytes.to_vec()));
        let reply = pool.post(message(b"{}")).await;
        assert_eq!((reply.status, reply.fault), (None, Some(Fault::OnlyInformational)), "{bytes:?}");
        assert_eq!(receiver.counts().requests, 3, "{bytes:?}");
    }
}

#[tokio::test]
async fn garbage_is_malformed() {
    let mut many_headers = b"HTTP/1.1 200 OK\r\n".to_vec();
    many_headers.extend(b"a: b\r\n".repeat(1_000));
    many_headers.extend(b"\r\n");
    let mut long_header = b"HTTP/1.1 200 OK\r\na: ".to_vec();
    long_header.extend(vec![b'b'; 1_000_000]);
    let cases = [
        b"\x16\x03\x01 this is not HTTP \x00\xff\r\n\r\n".to_vec(),
        b"HTTP/1.1 2000 OK\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n".to_vec(),
        many_headers,
        long_header,
    ];
    for bytes in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let receiver = Receiver::start(Behaviour::Raw(bytes));
        let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
        assert!(matches!(reply.fault, Some(Fault::Malformed(_))), "{shown}: {reply:?}");
    }
}

#[tokio::test]
async fn too_large_a_head_is_told_in_a_sentence() {
    let mut many_headers = b"HTTP/1.1 200 OK\r\n".to_vec();
    many_headers.extend(b"a: b\r\n".repeat(101));
    many_headers.extend(b"\r\n");
    let mut long_header = b"HTTP/1.1 200 OK\r\na: ".to_vec();
    long_header.extend(vec![b'b'; 100_000]);
    for bytes in [many_headers, long_header] {
        let receiver = Receiver::start(Behaviour::Raw(bytes));
        let said = send(&dev_sender(GENEROUS), &receiver.url()).await.fault.expect("no answer").to_string();
        assert_eq!(said, "the response was not valid HTTP (its head has more than 100 headers, or more than 64 KiB)");
    }
    let mut enough = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n".to_vec();
    enough.extend(b"a: b\r\n".repeat(99));
    enough.extend(b"\r\n");
    let receiver = Receiver::start(Behaviour::Raw(enough));
    assert_eq!(send(&dev_sender(GENEROUS), &receiver.url()).await.status, Some(200));
}

#[tokio::test]
async fn nothing_listening_is_refused() {
    let receiver = Receiver::start(Behaviour::Silent);
    let url = receiver.url();
    drop(receiver);
    assert_eq!(send(&dev_sender(GENEROUS), &url).await.fault, Some(Fault::Refused));
}

#[tokio::test]
async fn a_name_without_addresses_is_not_found() {
    let guard = Guard { dev: true, networks: Vec::new() };
    let settings = SenderSettings { guard, ..SenderSettings::default() };
    let sender = sender_with(settings.clone(), Prepared::new(Vec::new()));
    assert!(matches!(send(&sender, "http://nowhere.example/").await.fault, Some(Fault::NameNotFound(_))));
    let sender = sender_with(settings, Prepared::new(vec![Vec::new()]));
    assert!(matches!(send(&sender, "http://nowhere.example/").await.fault, Some(Fault::NameNotFound(_))));
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_refuses() {
    let gone = Receiver::start(Behaviour::Silent).address();
    let receiver = Receiver::start(Behaviour::status(200));
    let guard = Guard { dev: true, networks: Vec::new() };
    let resolver = Prepared::new(vec![vec![gone, receiver.address()]]);
    let sender = sender_with(SenderSettings { guard, ..SenderSettings::default() }, resolver);
    assert_eq!(send(&sender, "http://two.example/").await.status, Some(200));
}

#[tokio::test]
async fn what_is_no_header_is_not_sent() {
    let receiver = Receiver::start(Behaviour::status(200));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    let mut post = message(b"{}");
    post.id = "a\r\nx: y";
    assert_eq!(pool.post(post).await.fault, Some(Fault::Unsendable));
    assert_eq!(receiver.counts().requests, 0);
}

#[test]
fn each_fault_is_a_sentence_for_people() {
    let refusal = Guard::default().check_url("https://10.0.0.1/").expect_err("private");
    let said = [
        (Fault::Forbidden(refusal), "not sent: the URL must not point to a private address (10.0.0.1)"),
        (Fault::Refused, "the connection was refused"),
        (Fault::Reset, "the connection was closed before a response"),
        (Fault::TimedOut, "there was no response in time"),
        (Fault::OnlyInformational, "there were only informational responses (1XX)"),
    ];
    for (fault, sentence) in said {
        assert_eq!(fault.to_string(), sentence);
    }
}
