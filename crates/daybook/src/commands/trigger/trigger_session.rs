//! The setup for causing an event: unused ids, and calls that are printed before they are made.

use crate::commands::{Failure, print};
use daybook_client::{Client, Trouble};
use daybook_clock::{Clock, System};
use daybook_engine::time::Time;
use daybook_operations::{Operation, RequestLine};
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// The pause between two checks and their number: together longer than a batch of messages takes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
const LOOKS: u32 = 900;
/// Later than anything that has happened to the account so far.
const A_MOMENT_MICROS: i64 = 120_000_000;

/// The fields of a response that are printed, by path.
const TELLING: [&str; 20] = [
    "product_id",
    "customer_id",
    "account_id",
    "line_item_id",
    "event_id",
    "webhook_uuid",
    "effective_at",
    "account_overview.account_status",
    "account_overview.account_status_subtype",
    "line_item_overview.line_item_type",
    "line_item_overview.line_item_status",
    "status",
    "paused_reason",
    "migration_mode",
    "state",
    "held_events",
    "accounts_done",
    "rolled_to",
    "successful_events",
    "webhooks_sent",
];

/// A server, and the id of a product, a customer and an account.
#[derive(Debug)]
pub struct TriggerSession {
    client: Client,
    /// The id of the product, the customer, the account and everything else that is created.
    pub id: String,
}

/// The created account.
#[derive(Debug)]
pub struct TriggeredAccount {
    /// When it was opened.
    pub opened_at: String,
    /// When its first instalment falls due.
    pub first_due_at: String,
}

impl TriggerSession {
    /// Chooses the id and prints how to use the following lines.
    pub fn set(client: Client) -> Result<TriggerSession, Failure> {
        let id = format!("trigger-{:x}", System.now().micros());
        print(
            "# The client secret of an ADMIN key: `daybook keys create --role ADMIN` makes one.\n\
             # export DAYBOOK_TOKEN=...\n",
        )?;
        Ok(TriggerSession { client, id })
    }

    /// The URL of the server.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Makes a call, and prints it with its response.
    pub fn call(&self, request: &RequestLine, body: Option<Value>) -> Result<Value, Trouble> {
        let line = curl(request.method(), &format!("{}{}", self.client.url(), request.target()), body.as_ref());
        // The reader of stdout may have gone away, but the event should still happen.
        let _ = print(&format!("\n{line}\n"));
        let answer = self.client.call(request, body.as_ref());
        let _ = match &answer {
            Ok(answer) => print(&format!("# ok: {}\n", in_short(answer))),
            Err(trouble) => print(&format!("# refused: {}\n", trouble.to_string().replace('\n', " "))),
        };
        answer
    }

    /// Requests the product, the customer or the account that was created.
    pub fn call_own(&self, operation: Operation, body: Value) -> Result<Value, Trouble> {
        self.call(&operation.request([&self.id]), Some(body))
    }

    /// Requests the line item that was created.
    pub fn call_own_item(&self, operation: Operation, body: Value) -> Result<Value, Trouble> {
        self.call(&operation.request([&self.id, &self.id]), Some(body))
    }

    /// Repeats a request that reads until its response is as wanted; printed once.
    pub fn wait(&self, what: &str, request: &RequestLine, is_there: impl Fn(&Value) -> bool) -> Result<(), Failure> {
        let mut answer = self.call(request, None)?;
        for _ in 0..LOOKS {
            if is_there(&answer) {
                return Ok(());
            }
            thread::sleep(BETWEEN_LOOKS);
            answer = self.client.call(request, None)?;
        }
        Err(Failure::Failed(format!("{what} did not happen within {} seconds", LOOKS / 5)))
    }

    /// Creates a product: 12 monthly instalments at 12 %, with a late fee.
    pub fn make_product(&self) -> Result<(), Failure> {
        self.make_product_with(12, json!({}))
    }

    /// Creates a product with this many instalments and some policies.
    pub fn make_product_with(&self, instalments: u32, policies: Value) -> Result<(), Failure> {
        let mut all = json!({ "default_attributes": { "default_late_fee_cents": 1500 } });
        if let (Some(all), Value::Object(own)) = (all.as_object_mut(), policies) {
            all.extend(own);
        }
        let form = json!({
            "product_id": self.id,
            "product_overview": { "product_name": format!("Made by daybook trigger ({})", self.id), "product_type": "INSTALLMENT" },
            "product_lifecycle_policies": all,
            "post_promotional_policies":
                { "post_promo_len": instalments, "post_promo_default_interest_rate_percent": 12 },
        });
        self.call(&Operation::CreateProduct.request([]), Some(form))?;
        Ok(())
    }

    /// Creates a customer.
    pub fn make_customer(&self) -> Result<(), Failure> {
        let form = json!({ "customer_id": self.id, "name_first": "Ana", "name_last": "Torres" });
        self.call(&Operation::CreateCustomer.request([]), Some(form))?;
        Ok(())
    }

    /// Opens an account of 1,200.00 for the customer, under the product.
    pub fn make_account(&self) -> Result<String, Failure> {
        let form = json!({
            "account_id": self.id, "product_id": self.id,
            "summary": { "initial_principal_cents": 120_000 },
            "assign_customers": [{ "customer_id": self.id }],
        });
        let made = self.call(&Operation::CreateAccount.request([]), Some(form))?;
        text_of(&made["effective_at"], "effective_at of an account")
    }

    /// Creates a product and a customer, and opens an account.
    pub fn lend(&self) -> Result<TriggeredAccount, Failure> {
        self.make_product()?;
        self.make_customer()?;
        let opened_at = self.make_account()?;
        Ok(TriggeredAccount { first_due_at: self.first_due_at()?, opened_at })
    }

    /// When the account's first instalment falls due.
    pub fn first_due_at(&self) -> Result<String, Failure> {
        let schedule = self.call(&Operation::GetAmortizationSchedule.request([&self.id]), None)?;
        text_of(&schedule["results"][0]["min_pay_due_at"], "min_pay_due_at of the first instalment")
    }

    /// Records a payment on the account.
    pub fn pay(&self, fields: Value) -> Result<(), Failure> {
        let mut form = json!({ "line_item_id": self.id, "original_amount_cents": 10_662 });
        if let (Some(form), Value::Object(own)) = (form.as_object_mut(), fields) {
            form.extend(own);
        }
        self.call_own(Operation::RecordPayment, form)?;
        Ok(())
    }

    /// Rolls the account to a time and sends all webhooks up to it at once.
    pub fn roll_to(&self, moment: &str) -> Result<(), Failure> {
        let request = Operation::RollAccount.request([]).with("account_id", &self.id);
        self.call(&request.with("effective_at", moment).with("roll_webhooks", true), None)?;
        Ok(())
    }

    /// Sends all webhooks of an account that was just opened at once.
    pub fn send(&self, opened_at: &str) -> Result<(), Failure> {
        let opened = Time::parse(opened_at);
        let opened =
            opened.ok_or_else(|| Failure::Failed(format!("the server returned {opened_at}, which is not a time")))?;
        self.roll_to(&opened.plus_micros(A_MOMENT_MICROS).to_string())
    }
}

fn text_of(value: &Value, what: &str) -> Result<String, Failure> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Failed(format!("the server did not return the {what}")))
}

/// A call as a curl command.
fn curl(method: &str, url: &str, body: Option<&Value>) -> String {
    let mut line = format!("curl -sS -X {method} {} -H \"Authorization: Bearer $DAYBOOK_TOKEN\"", quoted(url));
    if let Some(body) = body {
        line.push_str(&format!(" -H 'Content-Type: application/json' -d {}", quoted(&body.to_string())));
    }
    line
}

/// Quotes a text for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The main fields of a response; the length, if it is a list.
fn in_short(answer: &Value) -> String {
    if let Some(results) = answer["results"].as_array() {
        return format!("results={}", results.len());
    }
    let mut said = Vec::new();
    for path in TELLING {
        let value = path.split('.').fold(answer, |value, field| &value[field]);
        match value {
            Value::Null | Value::Array(_) | Value::Object(_) => {}
            Value::String(text) => said.push(format!("{path}={text}")),
            other => said.push(format!("{path}={other}")),
        }
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_can_be_pasted_into_a_shell() {
        let body = json!({ "name_last": "O'Hara $HOME" });
        assert_eq!(
            curl("POST", "http://127.0.0.1:8080/customers", Some(&body)),
            "curl -sS -X POST 'http://127.0.0.1:8080/customers' -H \"Authorization: Bearer $DAYBOOK_TOKEN\" \
             -H 'Content-Type: application/json' -d '{\"name_last\":\"O'\\''Hara $HOME\"}'"
        );
    }

    #[test]
    fn an_answer_is_told_in_short() {
        let answer = json!({ "account_id": "a", "account_overview": { "account_status": "ACTIVE" }, "held_events": 0 });
        assert_eq!(in_short(&answer), "account_id=a, account_overview.account_status=ACTIVE, held_events=0");
        assert_eq!(in_short(&json!({ "results": [1, 2] })), "results=2");
    }
}
