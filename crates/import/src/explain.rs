//! Explains a balance: the timeline of an account, in sentences.

use crate::error::ImportError;
use daybook_client::Client;
use daybook_engine::time::Time;
use daybook_operations::Operation;
use serde_json::Value;

/// The longest explanation: a spreadsheet cell holds 32,767 characters.
const MOST_CHARS: usize = 30_000;
const JOINT: &str = " | ";

/// The events of an account up to a time, or up to now.
pub fn timeline(client: &Client, account: &str, as_of: Option<Time>) -> Result<String, ImportError> {
    let events = client.list(&Operation::ListAccountEvents.request([account]))?;
    let by_then = events.iter().filter(|event| {
        let at = event["applies_at"].as_str().and_then(Time::parse);
        as_of.is_none_or(|as_of| at.is_some_and(|at| at <= as_of))
    });
    Ok(abridged(by_then.map(tell).collect(), MOST_CHARS))
}

/// The whole timeline, or, if it is too long, its beginning and as much of its end as fits.
fn abridged(told: Vec<String>, most: usize) -> String {
    let whole = told.join(JOINT);
    if whole.len() <= most {
        return whole;
    }
    let Some((first, rest)) = told.split_first() else { return whole };
    let mut room = most.saturating_sub(first.len() + 80);
    let fits = |sentence: &&String| {
        let needed = sentence.len() + JOINT.len();
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    };
    let kept = rest.iter().rev().take_while(fits).count();
    let left_out = rest.len() - kept;
    let gap = format!("{JOINT}({left_out} events left out){JOINT}");
    format!("{first}{gap}{}", rest[left_out..].join(JOINT))
}

/// An event in a sentence: the date, a description, and the balance after it.
fn tell(event: &Value) -> String {
    let day: String = event["applies_at"].as_str().unwrap_or_default().chars().take(10).collect();
    let description = event["description"].as_str().unwrap_or_default();
    let description = description.strip_suffix('.').unwrap_or(description);
    match (event["balance_after"]["total_cents"].as_i64(), event["state"].as_str()) {
        (Some(owed), _) => format!("{day} {description}; balance {}", amount(owed)),
        (None, state) => format!("{day} {description} ({})", state.unwrap_or("unknown").to_lowercase()),
    }
}

/// Cents as an amount in dollars.
fn amount(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_told_with_what_was_owed_then() {
        let event = json!({
            "applies_at": "2025-02-15T09:00:00-05:00", "state": "PROCESSED", "description": "Payment of 106.62.",
            "balance_after": { "total_cents": 110_538 },
        });
        assert_eq!(tell(&event), "2025-02-15 Payment of 106.62; balance 1105.38");
        let told = |count: usize| (0..count).map(|number| format!("event {number:04}")).collect::<Vec<_>>();
        assert_eq!(abridged(told(3), 100), "event 0000 | event 0001 | event 0002");
        let cut = abridged(told(400), 120);
        assert_eq!(cut, "event 0000 | (397 events left out) | event 0398 | event 0399");
        assert!(abridged(told(9_999), MOST_CHARS).len() <= MOST_CHARS);
        assert_eq!([0, 5, -1_234].map(amount), ["0.00", "0.05", "-12.34"]);
    }
}
