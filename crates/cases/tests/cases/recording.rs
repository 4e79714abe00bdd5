//! A case written from an account can be read, and passes.

use crate::support::case;
use daybook_cases::scenario::ProcessingMode;
use daybook_cases::submit::{read, submit};
use daybook_cases::{Scenario, builtin, from_account, run};
use daybook_clock::Manual;
use daybook_engine::time::Time;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::changes::ChangeRequest;
use serde_json::{Value, json};
use std::sync::Arc;

/// A service like a server's, with an account on which a case was played.
struct Server {
    service: Service,
    clock: Arc<Manual>,
    who: Caller,
}

impl Server {
    async fn new() -> Server {
        let clock = Arc::new(Manual::default());
        let service = Service::open("sqlite::memory:", clock.clone(), &[7; 32]).await.expect("it starts");
        service.create_organization("lender", "TEST").await.expect("an organization");
        let who = service.operator(Some("lender")).await.expect("it is there");
        Server { service, clock, who }
    }

    async fn go_to(&self, now: Time) {
        self.clock.set(now);
        self.service.settle_due().await.expect("what is due is done");
    }

    async fn hold(&self, product: &str, on: bool) {
        let form = read(&json!({ "migration_mode": on })).expect("a form");
        self.service.set_migration_mode(&self.who, None, product, form).await.expect("the mode is set");
    }

    /// Plays the whole case, and returns the account's id.
    async fn live_through(&self, case: &Scenario) -> String {
        let (product, account) = self.load(case).await;
        self.hold(&product, false).await;
        self.go_to(case.ends_at().time).await;
        account
    }

    /// Plays the case up to the release of held events; returns product and account.
    async fn load(&self, case: &Scenario) -> (String, String) {
        let holds = case.mode == ProcessingMode::Migration;
        self.clock.set(if holds { case.ends_at().time } else { case.account_effective_at.time });
        let product = read(&case.product).expect("a product");
        let product = self.service.create_product(&self.who, None, product).await.expect("it is made");
        let product = text(&product, "product_id");
        self.hold(&product, holds).await;
        let mut account = case.account.clone();
        account["product_id"] = Value::from(product.as_str());
        if let Some(customer) = &case.customer {
            self.service
                .create_customer(&self.who, None, read(customer).expect("a customer"))
                .await
                .expect("it is made");
            account["assign_customers"] = json!([{ "customer_id": customer["customer_id"] }]);
        }
        let account = read(&account).expect("an account");
        let account =
            text(&self.service.create_account(&self.who, None, account).await.expect("it opens"), "account_id");
        for event in &case.events {
            if !holds {
                self.clock.set(event.comes_in_at().time);
            }
            let done = submit(&self.service, &self.who, &account, &event.input, &event.effective_at.text).await;
            done.unwrap_or_else(|problem| panic!("{}:{}: {problem}", case.file.display(), event.line));
        }
        (product, account)
    }

    async fn pay(&self, account: &str, body: &Value) {
        let form = read(body).expect("a form");
        self.service.change_account(&self.who, None, account, ChangeRequest::Payment(form)).await.expect("it is taken");
    }

    /// Checks that the case written from an account passes. Returns its text.
    async fn check(&self, account: &str) -> String {
        let written = self.written(account).await;
        let outcome = run(&case("written.toml", &written)).await;
        assert!(outcome.passed, "{outcome}\n{written}");
        written
    }

    async fn written(&self, account: &str) -> String {
        from_account(&self.service, &self.who, account).await.expect("it is written")
    }
}

fn text(answer: &[u8], field: &str) -> String {
    let answer: Value = serde_json::from_slice(answer).expect("JSON");
    answer[field].as_str().expect("text").to_owned()
}

/// Checks that the case written from an account passes and has every kind of expectation. Returns its text.
async fn check(name: &str, original: &Scenario) -> String {
    let server = Server::new().await;
    let account = server.live_through(original).await;
    let written = server.check(&account).await;
    let again = case(name, &written);
    assert!(!again.expect.account.is_empty() && !again.expect.line_items.is_empty(), "{written}");
    assert!(!again.expect.schedule.is_empty() && !again.expect.webhooks.is_empty(), "{written}");
    written
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cases_written_from_the_accounts_of_cases_pass() {
    for (file, text) in builtin() {
        let original = case(file, text);
        let written = check(file, &original).await;
        let again = case(file, &written);
        assert_eq!(again.mode, original.mode, "{written}");
        assert_eq!(again.ends_at().time, original.ends_at().time, "{written}");
        let customer = original.customer.expect("a customer");
        let name = customer["name_last"].as_str().expect("a name");
        assert!(!written.contains(name), "nobody's name is in it: {written}");
        // The account's results are the ones that the original case expects, so the comparison had something to
        // compare.
        let expected = |expect: &[daybook_cases::scenario::Field], path: &[&str]| {
            expect.iter().find(|field| field.path == path).map(|field| field.value.clone())
        };
        for path in [["summary", "principal_cents"], ["account_overview", "account_status"]] {
            let value = expected(&original.expect.account, &path);
            assert!(value.is_some() && value == expected(&again.expect.account, &path), "{path:?}: {written}");
        }
    }
}

/// Every kind of input, ids generated by the service, and terms specific to the account.
const EVERYTHING: &str = r#"
title = "Everything that can be asked"
mode = "live"

[product]
product_overview = { product_name = "A \"special\" loan", product_type = "INSTALLMENT" }
product_lifecycle_policies.billing_cycle_policies = { product_time_zone = "Europe/Berlin", close_of_business_time = "17:00:00" }
product_lifecycle_policies.interest_policies = { interest_calc_method = "DAILY" }
product_lifecycle_policies.fee_policies = { late_fee_grace = "3 days" }
product_lifecycle_policies.default_attributes = { default_late_fee_cents = 1500, default_payment_reversal_fee_cents = 700 }
post_promotional_policies = { post_promo_len = 12, post_promo_default_interest_rate_percent = 12.5 }

[account]
effective_at = "2025-01-15T09:00:00+01:00"
summary = { initial_principal_cents = 500000, origination_fee_cents = 2500, late_fee_cents = 900, late_fee_cap_percent = 5.5, payment_reversal_fee_cents = 800 }
cycle_type = { first_cycle_interval = "20 days", late_fee_grace = "4 days" }
post_promo_overview = { post_promo_len = 18, post_promo_impl_interest_rate_percent = 9.25 }
external_fields = [{ key = "crm", value = "Zora Neale" }]

[[event]]
notification_config = { notification_type = "payment_due_date", time_offset = "-1 days", time = "08:30:00" }
effective_at = "2025-01-16T09:00:00+01:00"

[[event]]
notification_config = { notification_type = "account_summary", interval = "1 month" }
effective_at = "2025-01-16T10:00:00+01:00"

[[event]]
payment = { line_item_id = "p1", original_amount_cents = 40000, line_item_status = "PENDING" }
effective_at = "2025-01-30T09:00:00+01:00"

[[event]]
payment_status = { payment = "p1", line_item_status = "VALID" }
effective_at = "2025-02-02T09:00:00+01:00"

[[event]]
manual_fee = { original_amount_cents = 3000, fee_class = "PENALTY" }
effective_at = "2025-02-10T09:00:00+01:00"

[[event]]
payment = { line_item_id = "p2", original_amount_cents = 5000, allocation = "FEE", external_fields = [{ key = "a", value = "Zora Neale" }] }
effective_at = "2025-02-11T09:00:00+01:00"

[[event]]
credit_offset = { original_amount_cents = 1000, allocation = "INTEREST" }
effective_at = "2025-02-12T09:00:00+01:00"

[[event]]
debit_offset = { line_item_id = "goodwill", original_amount_cents = 500 }
effective_at = "2025-02-13T09:00:00+01:00"

[[event]]
payment_reversal = { payment = "p2" }
effective_at = "2025-02-20T09:00:00+01:00"
recorded_at = "2025-03-20T09:00:00+01:00"

[[event]]
status = { account_status = "ACTIVE", account_substatus = "HARDSHIP/EXEMPTIONS" }
effective_at = "2025-04-01T09:00:00+02:00"

[[event]]
notification_config = { notification_type = "account_summary", interval = "1 month", enabled = false }
effective_at = "2025-04-02T09:00:00+02:00"

[[event]]
payment = { line_item_id = "p3", original_amount_cents = 30000, line_item_status = "AUTHORIZED" }
effective_at = "2025-04-03T09:00:00+02:00"

[[event]]
payment_status = { payment = "p3", line_item_status = "INVALID" }
effective_at = "2025-04-04T09:00:00+02:00"

[[event]]
roll = true
effective_at = "2025-06-01T00:00:00+02:00"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_input_is_written() {
    let written = check("everything.toml", &case("everything.toml", EVERYTHING)).await;
    for part in [
        "late_fee_cap_percent = 5.5",
        "first_cycle_interval = \"20 days\"",
        "post_promo_impl_interest_rate_percent = 9.25",
        "fee_class = \"PENALTY\"",
        "line_item_id = \"manual_fee-",
        "recorded_at = \"2025-03-20T09:00:00+01:00\"",
        "account_substatus = \"HARDSHIP/EXEMPTIONS\"",
        "enabled = false",
        "event = \"payment_due_date\"",
    ] {
        assert!(written.contains(part), "{part} is missing: {written}");
    }
    assert!(!written.contains("Zora Neale"), "external fields are left out: {written}");
}

/// A backdated payment that recalculates the account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_that_was_recalculated_is_written() {
    let (file, text) = builtin()[2];
    let replay = "product_lifecycle_policies.backdating_policy = \"REPLAY\"\n\n[customer]";
    let written = check(file, &case(file, &text.replace("[customer]", replay))).await;
    assert!(written.contains("event = \"account_recalculated\""), "{written}");
}

/// A fee without a caller's id can also be waived in the written case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_that_the_service_made_are_renamed_wherever_they_are() {
    let server = Server::new().await;
    let (file, text) = builtin()[0];
    let account = server.live_through(&case(file, text.split("[[event]]").next().expect("a beginning"))).await;
    let (service, who) = (&server.service, &server.who);
    let fee = read(&json!({ "original_amount_cents": 900 })).expect("a form");
    let fee = service.change_account(who, None, &account, ChangeRequest::Fee(fee)).await.expect("it is charged");
    let fee = self::text(&fee, "line_item_id");
    let waiver = read(&json!({})).expect("a form");
    service
        .change_account(who, None, &account, ChangeRequest::Waiver(fee.clone(), waiver))
        .await
        .expect("it is waived");
    let written = server.check(&account).await;
    assert!(!written.contains(&fee), "{written}");
    assert!(written.contains("fee_waiver = { fee = \"manual_fee-"), "{written}");
}

/// Scheduled and failed events are left out, and the file notes that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_had_no_effect_is_left_out() {
    let server = Server::new().await;
    let (file, text) = builtin()[0];
    let account = server.live_through(&case(file, text.split("[[event]]").next().expect("a beginning"))).await;
    let ahead = json!({ "line_item_id": "ahead", "original_amount_cents": 5, "effective_at": "2025-03-01T00:00:00Z" });
    server.pay(&account, &ahead).await;
    let written = server.check(&account).await;
    let left_out = "# Left out: payment \"ahead\" of 2025-03-01T00:00:00Z is scheduled for later.";
    assert!(written.contains(left_out), "{written}");
}

/// A held account is written as it will be after its release.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_held_is_written_as_its_release_will_show_it() {
    let server = Server::new().await;
    let (file, text) = builtin()[1];
    let (_, account) = server.load(&case(file, text)).await;
    let written = server.check(&account).await;
    assert!(written.contains("mode = \"migration\"") && written.contains("LATE_FEE = 2"), "{written}");
    assert!(!written.contains("[[expect.webhook]]"), "nothing was announced yet: {written}");
}

/// Migrated first, and then used live.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life_after_migration_is_written() {
    let server = Server::new().await;
    let (file, text) = builtin()[3];
    let account = server.live_through(&case(file, text)).await;
    server.go_to(Time::parse("2025-05-20T12:00:00Z").expect("a time")).await;
    server
        .pay(
            &account,
            &json!({ "line_item_id": "may", "original_amount_cents": 10_662, "effective_at": "2025-05-14T12:00:00Z" }),
        )
        .await;
    server.go_to(Time::parse("2025-06-20T12:00:00.25Z").expect("a time")).await;
    let written = server.check(&account).await;
    for part in ["mode = \"live\"", "recorded_at = \"2025-05-20T08:00:00-04:00\"", "LATE_FEE = 1", "[[expect.webhook]]"]
    {
        assert!(written.contains(part), "{part}: {written}");
    }
}

/// The case of an account whose clock was rolled is written in the account's own time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolled_account_is_written_in_its_own_time() {
    let server = Server::new().await;
    let (file, text) = builtin()[0];
    let account = server.live_through(&case(file, text.split("[[event]]").next().expect("a beginning"))).await;
    let roll = json!({ "account_id": account, "effective_at": "2025-04-20T00:00:00-04:00", "roll_webhooks": false });
    let roll = read(&roll).expect("a form");
    server.service.roll_account(&server.who, None, roll).await.expect("it is rolled");
    server.pay(&account, &json!({ "line_item_id": "p1", "original_amount_cents": 5_000 })).await;
    let written = server.check(&account).await;
    assert!(
        written.contains("LATE_FEE = 3") && written.contains("effective_at = \"2025-04-20T00:00:00-04:00\""),
        "{written}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_is_not_there_is_a_problem() {
    let server = Server::new().await;
    let problem = from_account(&server.service, &server.who, "nobody").await.expect_err("there is none");
    assert_eq!(problem.code, "not_found");
}
