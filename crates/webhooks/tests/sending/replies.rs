//! Responses, and what they result in.

use crate::support::{GENEROUS, dev_sender, message, send};
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::sender::RetryAfter;

#[tokio::test]
async fn every_final_status_is_reported_as_it_came() {
    let sender = dev_sender(GENEROUS);
    for status in [101, 200, 201, 202, 204, 301, 304, 400, 401, 404, 410, 418, 429, 500, 502, 503, 599] {
        let receiver = Receiver::start(Behaviour::status(status));
        let reply = send(&sender, &receiver.url()).await;
        assert_eq!((reply.status, &reply.fault), (Some(status), &None), "{status}");
        assert_eq!(receiver.counts().requests, 1, "{status}");
    }
}

#[tokio::test]
async fn the_request_carries_the_message_as_it_stands() {
    let receiver = Receiver::start(Behaviour::status(200));
    let url = receiver.url().replace("/hooks", "/a%20b/c?d=e&f");
    let body = "{\"name\":\"Zoë \u{1F600}\",\"n\":1}".as_bytes();
    let reply = dev_sender(GENEROUS).pool(&url).post(message(body)).await;
    assert_eq!(reply.status, Some(200));
    let request = &receiver.requests()[0];
    assert_eq!(request.line, "POST /a%20b/c?d=e&f HTTP/1.1");
    assert_eq!(request.body, body);
    let address = receiver.address().to_string();
    let length = body.len().to_string();
    let expected = [
        ("host", address.as_str()),
        ("content-type", "application/json"),
        ("user-agent", concat!("daybook/", env!("CARGO_PKG_VERSION"))),
        ("webhook-id", "msg_1"),
        ("webhook-timestamp", "1700000000"),
        ("webhook-signature", "v1,c2lnbmF0dXJl"),
        ("content-length", length.as_str()),
    ];
    for (name, value) in expected {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.headers.len(), expected.len(), "nothing else is sent: {:?}", request.headers);
}

#[tokio::test]
async fn a_large_body_arrives_whole() {
    let receiver = Receiver::start(Behaviour::status(200));
    let mut post = message(b"");
    post.body = vec![b'x'; 3_000_000].into();
    assert_eq!(dev_sender(GENEROUS).pool(&receiver.url()).post(post).await.status, Some(200));
    assert_eq!(receiver.requests()[0].body, vec![b'x'; 3_000_000]);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Receiver::start(Behaviour::status(200));
    for status in [301, 302, 303, 307, 308] {
        let receiver = Receiver::start(Behaviour::redirect(status, &elsewhere.url()));
        let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
        assert_eq!(reply.status, Some(status));
    }
    assert_eq!(elsewhere.counts().accepted, 0);
}

#[tokio::test]
async fn the_start_of_a_body_is_kept_when_it_is_no_delivery() {
    let long: Vec<u8> = (0..2_000_u32).map(|n| b'a' + (n % 26) as u8).collect();
    for (status, kept) in [(400, 512), (201, 512), (500, 512), (200, 0), (202, 0)] {
        let body = long.clone();
        let receiver =
            Receiver::start(Behaviour::answers(move |_, _| PreparedResponse::status(status).saying(body.clone())));
        let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
        assert_eq!(reply.status, Some(status));
        assert_eq!(reply.body_start, &long[..kept], "{status}");
    }
    let receiver = Receiver::start(Behaviour::answers(|_, _| PreparedResponse::status(400).saying("no")));
    assert_eq!(send(&dev_sender(GENEROUS), &receiver.url()).await.body_start, b"no");
}

/// The beginning of `printf 'no room' | gzip`.
#[tokio::test]
async fn a_compressed_body_is_shown_as_a_sentence() {
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\xcb\x57\x28\xca\xcf\xcf\x05\x00".to_vec();
    let receiver = Receiver::start(Behaviour::answers(move |_, _| {
        PreparedResponse::status(500).with("Content-Encoding", "gzip").saying(gzip.clone())
    }));
    let reply = send(&dev_sender(GENEROUS), &receiver.url()).await;
    assert_eq!(reply.status, Some(500));
    assert_eq!(String::from_utf8_lossy(&reply.body_start), "(the body is compressed with gzip and is not shown)");
}

#[tokio::test]
async fn retry_after_is_read() {
    let cases = [
        ("17", Some(RetryAfter::Seconds(17))),
        ("Fri, 13 Feb 2009 23:31:30 GMT", Some(RetryAfter::At(1_234_567_890))),
        ("later", None),
    ];
    for (text, expected) in cases {
        let receiver =
            Receiver::start(Behaviour::answers(move |_, _| PreparedResponse::status(429).with("Retry-After", text)));
        assert_eq!(send(&dev_sender(GENEROUS), &receiver.url()).await.retry_after, expected, "{text}");
    }
}

#[tokio::test]
async fn an_informational_answer_before_the_final_one_is_passed_over() {
    let bytes = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 202 Any\r\ncontent-length: 0\r\n\r\n";
    let receiver = Receiver::start(Behaviour::Raw(bytes.to_vec()));
    assert_eq!(send(&dev_sender(GENEROUS), &receiver.url()).await.status, Some(202));
}
