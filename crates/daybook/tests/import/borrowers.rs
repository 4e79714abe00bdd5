//! Many concurrent borrowers share transactions, and each is still accepted or refused separately.

use crate::common::installation::Installation;
use crate::common::loans::line;
use serde_json::{Value, json};

on_both!(borrowers_who_come_at_once_are_each_taken_by_themselves);

const BORROWERS: usize = 150;

fn borrowers_who_come_at_once_are_each_taken_by_themselves(installation: &Installation) {
    let (server, client) = installation.open();
    let borrower = |number: usize, name: &str| {
        line("/customers", &json!({ "customer_id": format!("c-{number}"), "name_last": name }))
    };
    // Each borrower twice in one call, and one of them also under another name.
    let mut calls: Vec<Value> = (0..2 * BORROWERS).map(|call| borrower(call % BORROWERS, "Lovelace")).collect();
    calls.push(borrower(7, "Byron"));
    let body: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let reply = client.try_call("POST", "/bulk", "application/x-ndjson", body).expect("an answer");
    let answers: Vec<Value> =
        reply.text.lines().map(|answer| serde_json::from_str(answer).expect("a line is JSON")).collect();
    let refused: Vec<usize> = (0..answers.len()).filter(|call| answers[*call]["status"] != 200).collect();
    assert_eq!(refused, [2 * BORROWERS], "the other name, and nobody else");
    assert_eq!(answers[2 * BORROWERS]["body"]["error"]["code"], "id_taken");
    let made = client.all("/customers");
    assert_eq!(made.len(), BORROWERS);
    assert!(made.iter().all(|customer| customer["name_last"] == "Lovelace"));
    server.stop();
}
