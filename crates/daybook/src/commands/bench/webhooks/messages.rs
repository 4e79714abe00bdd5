//! Messages to send: about as long as those of a loan, with several in a row for one account.

use crate::commands::Failure;
use axum::body::Bytes;
use daybook_clock::{Clock, System};
use daybook_engine::time::Time;
use daybook_store::Store;
use daybook_store::batch::{Batch, Unit};
use daybook_store::records::{MessageRow, OrgId};
use daybook_webhooks::envelope;
use daybook_webhooks::signature::SigningKey;
use std::sync::Arc;

/// The number of messages written in one transaction.
const STEP: u64 = 5_000;
const EVENTS: [&str; 3] = ["payment_posted", "instalment_paid", "balances_changed"];

/// Writes messages numbered from `first`, with `in_a_row` consecutive messages per account.
pub async fn write(store: &dyn Store, org: OrgId, first: u64, count: u64, in_a_row: u64) -> Result<(), Failure> {
    let now = System.now();
    let mut number = first;
    while number < first + count {
        let end = (number + STEP).min(first + count);
        let messages = (number..end).map(|number| (org, message(number, number / in_a_row, now))).collect();
        store.commit(Batch { units: vec![Unit { messages, ..Unit::default() }] }).await?;
        number = end;
    }
    Ok(())
}

/// One message.
pub fn message(number: u64, account: u64, now: Time) -> MessageRow {
    let account = format!("loan-{account:07}");
    let data = data(number, &account, now);
    let signature = SigningKey::from_bytes(&[7; 32]).sign(data.as_bytes());
    MessageRow {
        position: None,
        due_at: None,
        cancelled_at: None,
        account: Some(Arc::from(account)),
        sequence: number as i64 + 1,
        event: EVENTS[(number % 3) as usize].to_owned(),
        event_id: format!("dbk_evt_bench_{number:09}"),
        cause: format!("input:{number}"),
        subject: format!("payment-{number:09}"),
        effective_at: now,
        recorded_at: now,
        data: Bytes::from(data),
        signature,
    }
}

/// The request of a message, without its first line.
pub fn request_after_first_line(host: &str) -> Arc<[u8]> {
    let now = System.now();
    let row = message(0, 0, now);
    let body = envelope::body(&row.event, &row.data, &row.signature);
    let signature = SigningKey::from_bytes(&[7; 32]).standard().sign(&row.event_id, now.seconds(), &body);
    let mut request = format!(
        "host: {host}\r\ncontent-type: application/json\r\nuser-agent: daybook/0.0.0\r\nwebhook-id: {}\r\n\
         webhook-timestamp: {}\r\nwebhook-signature: {signature}\r\ncontent-length: {}\r\n\r\n",
        row.event_id,
        now.seconds(),
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(&body);
    Arc::from(request)
}

/// About 1,200 bytes, like the data of a loan's events.
fn data(number: u64, account: &str, now: Time) -> String {
    let balances = [
        "principal_cents",
        "interest_balance_cents",
        "am_interest_balance_cents",
        "deferred_interest_balance_cents",
        "am_deferred_interest_balance_cents",
        "fees_balance_cents",
        "total_payoff_cents",
        "open_to_buy_cents",
    ];
    let of = |salt: u64| {
        let figures = balances.iter().enumerate();
        let fields =
            figures.map(|(at, name)| format!("\"{name}\":{}", (number * 37 + at as u64 * 1_009 + salt) % 1_000_000));
        fields.collect::<Vec<_>>().join(",")
    };
    format!(
        "{{\"event_id\":\"dbk_evt_bench_{number:09}\",\"account_id\":\"{account}\",\"product_id\":\"bench-36\",\
         \"effective_at\":\"2026-11-15T09:00:00-05:00\",\"recorded_at_us\":{},\
         \"line_item\":{{\"line_item_id\":\"payment-{number:09}\",\"line_item_type\":\"PAYMENT\",\"line_item_status\":\"POSTED\",\
         \"original_amount_cents\":{},\"description\":\"Paiement reçu, merci – n° {number}\",\"components\":{{{}}},\
         \"splits\":[{{\"to\":\"INTEREST\",\"amount_cents\":1000}},{{\"to\":\"PRINCIPAL\",\"amount_cents\":2321}}]}},\
         \"balances_before\":{{{}}},\"balances_after\":{{{}}},\"status\":\"ACTIVE\",\"days_past_due\":0}}",
        now.micros(),
        number % 100_000,
        of(1),
        of(2),
        of(3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_json_of_a_usual_length_about_accounts_in_turn() {
        let row = message(123_456, 41_152, Time::from_seconds(1_800_000_000));
        let data: serde_json::Value = serde_json::from_slice(&row.data).expect("JSON");
        assert_eq!((&data["account_id"], row.account.as_deref()), (&"loan-0041152".into(), Some("loan-0041152")));
        assert!((1_000..1_400).contains(&row.data.len()), "{}", row.data.len());
    }
}
