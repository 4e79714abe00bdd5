//! Connections that are kept open between messages.

use crate::support::{GENEROUS, SHORT, dev_sender, message, send, sender_with};
use daybook_clock::Stopwatch;
use daybook_testkit::receiver::{Behaviour, PreparedResponse, Receiver};
use daybook_webhooks::guard::{Guard, System};
use daybook_webhooks::sender::{Fault, SenderSettings};
use futures_util::StreamExt;
use futures_util::stream::{self, FuturesUnordered};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[tokio::test]
async fn one_connection_serves_message_after_message() {
    for status in [200, 204, 404, 500] {
        let receiver = Receiver::start(Behaviour::answers(move |_, _| PreparedResponse::status(status).saying("body")));
        let pool = dev_sender(GENEROUS).pool(&receiver.url());
        for _ in 0..20 {
            assert_eq!(pool.post(message(b"{}")).await.status, Some(status));
        }
        // A 204 response has no body: bytes that follow it are noise, and the connection is not reused.
        let expected = if status == 204 { 20 } else { 1 };
        assert_eq!(receiver.counts().accepted, expected, "{status}");
    }
}

#[tokio::test]
async fn as_many_connections_as_messages_in_flight_and_no_more() {
    let receiver = Receiver::start(Behaviour::status(200));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    for _ in 0..5 {
        let posts: FuturesUnordered<_> = (0..16).map(|_| pool.post(message(b"{}"))).collect();
        assert!(posts.all(async |reply| reply.status == Some(200)).await);
    }
    assert!(receiver.counts().accepted <= 16, "{:?}", receiver.counts());
    assert!(pool.idle() <= 16);
}

#[tokio::test]
async fn no_more_than_64_connections_are_put_away() {
    let (arrived, one_more) = (Mutex::new(0), Condvar::new());
    let receiver = Receiver::start(Behaviour::slowly(move |_, _| {
        let mut count = arrived.lock().expect("no test panics while it counts");
        *count += 1;
        one_more.notify_all();
        let _ = one_more.wait_timeout_while(count, Duration::from_secs(30), |count| *count < 100);
        PreparedResponse::status(200)
    }));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    let posts: FuturesUnordered<_> = (0..100).map(|_| pool.post(message(b"{}"))).collect();
    for reply in posts.collect::<Vec<_>>().await {
        assert_eq!(reply.status, Some(200), "{reply:?}");
    }
    assert_eq!(pool.idle(), 64);
}

#[tokio::test]
async fn a_post_that_is_given_up_closes_its_connection() {
    let receiver = Receiver::start(Behaviour::Silent);
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    tokio::select! {
        _ = pool.post(message(b"{}")) => unreachable!("nothing answers"),
        () = receiver.until(|counts| counts.requests == 1) => {}
    }
    assert_eq!(pool.idle(), 0);
    receiver.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn a_message_on_a_connection_closed_meanwhile_is_sent_on_a_new_one() {
    let receiver = Receiver::start(Behaviour::answers(|_, _| PreparedResponse::status(200).closing()));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    for sent in 1..=20 {
        assert_eq!(pool.post(message(b"{}")).await.status, Some(200));
        assert_eq!(receiver.counts().requests, sent);
    }
}

/// The receiver reads the second request of a connection and closes it without a response.
#[tokio::test]
async fn a_request_swallowed_by_a_kept_connection_is_sent_once_more_at_once() {
    let receiver = Receiver::start(Behaviour::status(200));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    assert_eq!(pool.post(message(b"{}")).await.status, Some(200));
    receiver.behave(Behaviour::ResetAfterReading);
    let reply = pool.post(message(b"{}")).await;
    assert_eq!(reply.fault, Some(Fault::Reset), "once on the kept connection, once on a new one");
    assert_eq!((receiver.counts().requests, receiver.counts().accepted), (3, 2));
    receiver.behave(Behaviour::status(202));
    assert_eq!(pool.post(message(b"{}")).await.status, Some(202));
}

/// So many at once in one task that the runtime delays responses that have already arrived: none may be lost when its
/// connection ends.
#[tokio::test]
async fn answers_that_close_their_connection_are_not_lost() {
    let receiver = Receiver::start(Behaviour::answers(|_, _| {
        PreparedResponse::status(404).with("connection", "close").saying("no").closing()
    }));
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    let posts: FuturesUnordered<_> = (0..300).map(|_| pool.post(message(b"{}"))).collect();
    for reply in posts.collect::<Vec<_>>().await {
        assert_eq!((reply.status, reply.body_start.as_slice()), (Some(404), b"no".as_slice()), "{reply:?}");
    }
    assert_eq!((receiver.counts().requests, receiver.counts().accepted, pool.idle()), (300, 300, 0));
}

#[tokio::test]
async fn a_timeout_on_a_kept_connection_is_not_tried_again() {
    let receiver = Receiver::start(Behaviour::status(200));
    let pool = dev_sender(SHORT).pool(&receiver.url());
    assert_eq!(pool.post(message(b"{}")).await.status, Some(200));
    receiver.behave(Behaviour::Silent);
    assert_eq!(pool.post(message(b"{}")).await.fault, Some(Fault::TimedOut));
    assert_eq!((receiver.counts().requests, receiver.counts().accepted), (2, 1));
}

#[tokio::test]
async fn sweeping_closes_what_was_not_used_and_what_the_receiver_closed() {
    let receiver = Receiver::start(Behaviour::status(200));
    let guard = Guard { dev: true, networks: Vec::new() };
    let settings = SenderSettings { guard, timeout: GENEROUS, ..SenderSettings::default() };

    let pool = sender_with(settings.clone(), Arc::new(System::default())).pool(&receiver.url());
    assert_eq!(pool.post(message(b"{}")).await.status, Some(200));
    pool.sweep();
    assert_eq!(pool.idle(), 1, "it was used just now");

    let impatient = SenderSettings { idle_limit: Duration::ZERO, ..settings };
    let other = sender_with(impatient, Arc::new(System::default())).pool(&receiver.url());
    assert_eq!(other.post(message(b"{}")).await.status, Some(200));
    assert_eq!(other.post(message(b"{}")).await.status, Some(200));
    assert_eq!(receiver.counts().accepted, 3, "what was idle too long is not taken up");
    assert_eq!(other.idle(), 1);
    other.sweep();
    assert_eq!(other.idle(), 0);
    receiver.until(|counts| counts.open == 1).await;

    drop(receiver);
    // The closing takes time to pass through the kernel and the runtime's driver: check until it shows.
    while pool.idle() > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
        pool.sweep();
    }
}

/// Also prints how fast that was; the required speed is a matter for the benchmark.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn twenty_thousand_messages_from_one_task_all_arrive() {
    const MESSAGES: usize = 20_000;
    let receiver = Receiver::counting();
    let pool = dev_sender(GENEROUS).pool(&receiver.url());
    let stopwatch = Stopwatch::start();
    let body: &[u8] = &[b'x'; 600];
    let delivered = tokio::spawn(async move {
        let posts = stream::iter(0..MESSAGES).map(|_| pool.post(message(body)));
        posts.buffer_unordered(64).filter(|reply| std::future::ready(reply.status == Some(200))).count().await
    });
    assert_eq!(delivered.await.expect("no panic"), MESSAGES);
    assert_eq!(receiver.counts().requests, MESSAGES);
    assert!(receiver.counts().accepted <= 64);
    println!("{:.0} messages/s", MESSAGES as f64 / stopwatch.elapsed().as_secs_f64());
}

#[tokio::test]
async fn a_door_to_a_forbidden_url_says_so_every_time() {
    let receiver = Receiver::start(Behaviour::status(200));
    let sender = sender_with(SenderSettings::default(), Arc::new(System::default()));
    for _ in 0..2 {
        let reply = send(&sender, &receiver.url()).await;
        assert!(matches!(reply.fault, Some(Fault::Forbidden(_))), "{reply:?}");
    }
    assert_eq!(receiver.counts().accepted, 0);
}
