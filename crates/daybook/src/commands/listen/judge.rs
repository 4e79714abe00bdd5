//! Checks a message: its signatures, its attempt number, and whether it changed since the last attempt.

use daybook_receiver::Request;
use daybook_webhooks::signature::SigningKey;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;

/// A message. `data` is kept unparsed, because its exact bytes are signed.
#[derive(Deserialize)]
struct WebhookMessage<'a> {
    event: String,
    #[serde(borrow)]
    data: &'a RawValue,
    hmac_signature: String,
}

/// The result of the checks.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The event's name.
    pub event: String,
    /// `data`, parsed.
    pub data: Value,
    /// The message's id.
    pub id: String,
    /// The attempt number of this message, from 1.
    pub attempt: usize,
    /// Whether `hmac_signature` is valid.
    pub body_is_signed: bool,
    /// Whether the Standard Webhooks header is valid.
    pub header_is_signed: bool,
    /// Whether it has the same `hmac_signature` as the previous attempt; `None` for the first.
    pub is_same_as_before: Option<bool>,
}

impl Finding {
    /// Whether all signatures are valid.
    pub fn is_signed(&self) -> bool {
        self.body_is_signed && self.header_is_signed
    }
}

/// The known keys and the messages received so far.
#[derive(Debug)]
pub struct Judge {
    /// The newest first.
    keys: Vec<SigningKey>,
    /// By message: the number of attempts, and the last signature.
    seen: HashMap<String, (usize, String)>,
}

impl Judge {
    /// Starts with the current signing key.
    pub fn new(key: SigningKey) -> Judge {
        Judge { keys: vec![key], seen: HashMap::new() }
    }

    /// Adds a new signing key. Messages recorded before it keep the signature of the old one.
    pub fn learn(&mut self, key: SigningKey) {
        if !self.keys.contains(&key) {
            self.keys.insert(0, key);
        }
    }

    /// Whether the signatures of a request are valid under the known keys. Does not record the request.
    pub fn knows_who_signed(&self, request: &Request) -> bool {
        let body_is_signed = read(&request.body).is_ok_and(|message| self.signed_body(&message));
        body_is_signed && self.signed_header(request)
    }

    /// Checks a request, or returns why it is not a webhook.
    pub fn judge(&mut self, request: &Request) -> Result<Finding, String> {
        let message = read(&request.body)
            .map_err(|error| format!("its body must have event, data and hmac_signature: {error}"))?;
        let data = serde_json::from_str(message.data.get()).map_err(|error| format!("data is not JSON: {error}"))?;
        let (body_is_signed, header_is_signed) = (self.signed_body(&message), self.signed_header(request));
        // Without the header, the signature is the only identification of a message.
        let id = request.header("webhook-id").filter(|id| !id.is_empty());
        let id = id.unwrap_or(&message.hmac_signature).to_owned();
        let (attempts, last) = self.seen.entry(id.clone()).or_default();
        let is_same_as_before = (*attempts > 0).then(|| *last == message.hmac_signature);
        *attempts += 1;
        let attempt = *attempts;
        *last = message.hmac_signature;
        Ok(Finding { event: message.event, data, id, attempt, body_is_signed, header_is_signed, is_same_as_before })
    }

    fn signed_body(&self, message: &WebhookMessage<'_>) -> bool {
        let data = message.data.get().as_bytes();
        self.keys.iter().any(|key| key.verify(data, &message.hmac_signature))
    }

    fn signed_header(&self, request: &Request) -> bool {
        let header = |name: &str| request.header(name).unwrap_or_default();
        let Ok(timestamp_s) = header("webhook-timestamp").parse() else { return false };
        let is_right = |key: &SigningKey| {
            let expected = key.standard().sign(header("webhook-id"), timestamp_s, &request.body);
            header("webhook-signature").split(' ').any(|signature| signature == expected)
        };
        self.keys.iter().any(is_right)
    }
}

fn read(body: &[u8]) -> Result<WebhookMessage<'_>, serde_json::Error> {
    serde_json::from_slice(body)
}

/// The response, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered {
    /// The status.
    pub status: u16,
    /// Whether it is the response of the other server.
    pub is_forwarded: bool,
    /// Why the other server did not respond.
    pub trouble: Option<String>,
}

/// One line of text.
pub fn line(finding: &Finding, answered: &Answered) -> String {
    let data = &finding.data;
    let time = data["effective_at"].as_str().unwrap_or("no time");
    let signature = match (finding.body_is_signed, finding.header_is_signed) {
        (true, true) => "signature ok",
        (false, true) => "signature NOT OK (hmac_signature)",
        (true, false) => "signature NOT OK (webhook-signature)",
        (false, false) => "signature NOT OK (hmac_signature, webhook-signature)",
    };
    let again = match finding.is_same_as_before {
        None => "",
        Some(true) => ", same signature as before",
        Some(false) => ", NOT the same signature as before!",
    };
    let from = if answered.is_forwarded { "forwarded, " } else { "" };
    let trouble = answered.trouble.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    format!(
        "{time}  {}  {}  {signature}  attempt {}{again}  {from}answered {}{trouble}\n",
        finding.event,
        account_of(data).unwrap_or("-"),
        finding.attempt,
        answered.status
    )
}

/// One line of JSON.
pub fn json_line(finding: &Finding, answered: &Answered) -> String {
    let line = json!({
        "effective_at": finding.data["effective_at"],
        "event": finding.event,
        "account_id": account_of(&finding.data),
        "webhook_id": finding.id,
        "attempt": finding.attempt,
        "signature_ok": finding.is_signed(),
        "hmac_signature_ok": finding.body_is_signed,
        "webhook_signature_ok": finding.header_is_signed,
        "same_signature_as_before": finding.is_same_as_before,
        "answered": answered.status,
        "forwarded": answered.is_forwarded,
        "forward_trouble": answered.trouble,
        "data": finding.data,
    });
    format!("{line}\n")
}

fn account_of(data: &Value) -> Option<&str> {
    data["account_id"].as_str().or_else(|| data["object"]["account_id"].as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_webhooks::envelope;

    const DATA: &str = r#"{"effective_at":"2025-02-15T23:59:59-05:00","object":{"account_id":"loan-1","name":"Zoë"}}"#;

    fn request(key: &SigningKey, id: &str, data: &str) -> Request {
        let body = envelope::body("payment_missed", data.as_bytes(), &key.sign(data.as_bytes())).to_vec();
        let signatures = format!("v1,other {}", key.standard().sign(id, 1_700_000_000, &body));
        let headers = [("webhook-id", id), ("webhook-timestamp", "1700000000"), ("webhook-signature", &signatures)];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        Request { line: String::new(), headers, body }
    }

    fn answered(status: u16) -> Answered {
        Answered { status, is_forwarded: false, trouble: None }
    }

    #[test]
    fn a_retry_is_the_second_attempt_with_the_same_signature() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut judge = Judge::new(key.clone());
        let first = judge.judge(&request(&key, "evt_1", DATA)).expect("a message");
        assert_eq!(
            line(&first, &answered(500)),
            "2025-02-15T23:59:59-05:00  payment_missed  loan-1  signature ok  attempt 1  answered 500\n"
        );
        judge.judge(&request(&key, "evt_2", DATA)).expect("another message");
        let again = judge.judge(&request(&key, "evt_1", DATA)).expect("a message");
        assert!(line(&again, &answered(200)).contains("attempt 2, same signature as before  answered 200"));
        let changed = judge.judge(&request(&key, "evt_1", "{}")).expect("a message");
        assert!(line(&changed, &answered(200)).contains("attempt 3, NOT the same signature as before!"));
    }

    #[test]
    fn a_wrong_signature_is_told_and_which() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let mut judge = Judge::new(key.clone());
        let mut found = |request: &Request| {
            let finding = judge.judge(request).expect("a message");
            (finding.body_is_signed, finding.header_is_signed)
        };
        let good = request(&key, "evt_1", DATA);
        assert_eq!(found(&good), (true, true));
        // The JSON is equal but the signed bytes differ; and the header signs the whole body.
        let spaced = String::from_utf8(good.body.clone()).expect("text").replace("\"object\":", "\"object\": ");
        assert_eq!(found(&Request { body: spaced.into_bytes(), ..good.clone() }), (false, false));
        let mut later = good.clone();
        later.headers[1].1 = "1700000001".to_owned();
        assert_eq!(found(&later), (true, false));
        assert_eq!(found(&request(&SigningKey::from_bytes(&[8; 32]), "evt_2", DATA)), (false, false));
    }

    #[test]
    fn another_key_is_learned_and_the_one_before_still_counts() {
        let (before, after) = (SigningKey::from_bytes(&[7; 32]), SigningKey::from_bytes(&[8; 32]));
        let mut judge = Judge::new(before.clone());
        assert!(!judge.knows_who_signed(&request(&after, "evt_1", DATA)));
        judge.learn(after.clone());
        assert!(judge.knows_who_signed(&request(&after, "evt_1", DATA)));
        assert!(judge.knows_who_signed(&request(&before, "evt_2", DATA)));
    }

    #[test]
    fn what_is_no_webhook_is_told() {
        let mut judge = Judge::new(SigningKey::from_bytes(&[7; 32]));
        let stranger = Request { line: String::new(), headers: Vec::new(), body: b"{}".to_vec() };
        let why = judge.judge(&stranger).expect_err("no webhook");
        assert!(why.starts_with("its body must have event, data and hmac_signature: missing field"), "{why}");
    }
}
