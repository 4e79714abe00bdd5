//! The same payment sent many times concurrently counts once.

use crate::common::api_client::Reply;
use crate::common::dates::{ZONE, moment, now_in};
use crate::common::installation::Installation;
use crate::common::loans::{items, loan, make_product, payment, payments_of};
use serde_json::json;
use std::thread;

on_both!(fifty_equal_payments_at_once_are_one, fifty_different_payments_under_one_id_are_one);

const CALLERS: i64 = 50;

/// Sends a payment of each amount under one id, all concurrently.
fn at_once(
    installation: &Installation,
    amounts: impl Iterator<Item = i64>,
) -> (Vec<Reply>, Vec<serde_json::Value>, i64) {
    let (server, client) = installation.open();
    make_product(&client, "auto", json!({}), json!({}));
    let opened = moment(&now_in(ZONE));
    client.post("/accounts", &loan("auto", "loan", &opened)).good();
    let callers: Vec<_> = amounts
        .map(|cents| {
            let (client, body) = (client.another(), payment("p1", cents, &opened));
            thread::spawn(move || client.post(&payments_of("loan"), &body))
        })
        .collect();
    let replies = callers.into_iter().map(|caller| caller.join().expect("the caller gets an answer")).collect();
    let paid = client.get("/accounts/loan").good()["summary"]["total_paid_to_date_cents"].as_i64().expect("an amount");
    let items = items(&client, "loan", "PAYMENT");
    assert_eq!(installation.verify(), 1);
    server.stop();
    (replies, items, paid)
}

fn fifty_equal_payments_at_once_are_one(installation: &Installation) {
    let (replies, items, paid) = at_once(installation, (0..CALLERS).map(|_| 5_000));
    assert_eq!(replies.len(), CALLERS as usize);
    for reply in &replies {
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(reply.text, replies[0].text);
    }
    assert_eq!((items.len(), paid), (1, 5_000));
}

fn fifty_different_payments_under_one_id_are_one(installation: &Installation) {
    let (replies, items, paid) = at_once(installation, (0..CALLERS).map(|number| 5_000 + number));
    let taken: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 200).collect();
    assert_eq!(taken.len(), 1, "{replies:?}");
    for other in replies.iter().filter(|reply| reply.status != 200) {
        assert_eq!(other.refused(409), "id_taken");
    }
    assert_eq!(items.len(), 1);
    assert_eq!(taken[0].json()["line_item_summary"]["original_amount_cents"], -paid);
}
