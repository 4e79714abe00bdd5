//! Random histories, sent to the service request by request: live, held, rolled, replayed. Afterwards the account must
//! equal what the engine makes of the same timeline, its events must explain every cent, and `verify` must find
//! nothing.
//!
//! `DAYBOOK_HISTORIES` sets the number (default 200; a tenth of that on PostgreSQL), `DAYBOOK_SEED` the first seed.

use crate::reading::adds_up;
use crate::support::{Home, Trial, balances, form_of, json_of, standing, view_of};
use bytes::Bytes;
use daybook_engine::calendar::Interval;
use daybook_engine::item::{Component, ItemId, ItemStatus, LineItem};
use daybook_engine::notify::When;
use daybook_engine::replay::replay;
use daybook_engine::time::Time;
use daybook_engine::timeline::{FeeClass, Input};
use daybook_service::problem::Problem;
use daybook_testkit::book::Book;
use daybook_testkit::history::{self, Life};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How an input of the history is sent.
#[derive(Clone, Copy, Debug)]
struct SendingMode {
    /// Migration mode is turned on or off before it.
    toggles: bool,
    /// The account is rolled to its moment; otherwise real time passes.
    rolls: bool,
    /// Timers run before it.
    settles: bool,
}

#[derive(Clone, Debug)]
struct Story {
    product: Value,
    life: Life,
    sendings: Vec<SendingMode>,
}

fn policies() -> impl Strategy<Value = Value> {
    let cycle = (
        select(vec!["1 month", "1 month", "14 days", "7 days"]),
        select(vec!["0 days", "0 days", "10 days", "-5 days"]),
        select(vec!["23:59:59", "17:00:00"]),
        select(vec!["America/New_York", "America/New_York", "Europe/London", "Asia/Kathmandu"]),
    );
    let late = (
        select(vec!["0 days", "0 days", "5 days", "15 days"]),
        select(vec![1, 1, 2]),
        select(vec![99_999, 99_999, 3]),
        select(vec![0, 1_500]),
        select(vec![0, 2_500]),
    );
    let money = (
        select(vec!["LEVEL", "LEVEL", "EQUAL_PRINCIPAL", "FLAT"]),
        select(vec!["PERIODIC", "DAILY"]),
        select(vec!["THIRTY_360", "ACTUAL_365"]),
        select(vec!["LAST_INSTALLMENT", "NEXT_INSTALLMENT", "REDUCE_PRINCIPAL"]),
        select(vec!["AS_POSTED", "REPLAY"]),
    );
    (cycle, late, money).prop_map(|(cycle, late, money)| {
        json!({
            "billing_cycle_policies": {
                "cycle_interval": cycle.0, "cycle_due_interval": cycle.1, "close_of_business_time": cycle.2,
                "product_time_zone": cycle.3,
            },
            "fee_policies": { "late_fee_grace": late.0 },
            "payment_due_policies": {
                "delinquent_on_n_consecutive_late_fees": late.1, "charge_off_on_n_consecutive_late_fees": late.2,
            },
            "default_attributes": { "default_late_fee_cents": late.3, "default_payment_reversal_fee_cents": late.4 },
            "amortization_policies": { "method": money.0 },
            "interest_policies": { "interest_calc_method": money.1, "day_count": money.2 },
            "payment_pouring_policies": { "surplus": money.3 },
            "backdating_policy": money.4,
        })
    })
}

fn story() -> impl Strategy<Value = Story> {
    let rate = select(vec!["0", "12", "7.25", "29.9"]);
    let product = (policies(), 1..=9_u32, rate).prop_map(|(policies, count, rate)| {
        json!({
            "product_id": "p",
            "product_overview": { "product_name": "Any", "product_type": "INSTALLMENT" },
            "post_promotional_policies": {
                "post_promo_len": count,
                "post_promo_default_interest_rate_percent": serde_json::from_str::<Value>(rate).expect("a number"),
            },
            "product_lifecycle_policies": policies,
        })
    });
    let day = (0..2_000_i64).prop_map(|days| Time::from_seconds(1_600_000_000 + days * 86_400));
    let principal = prop_oneof![4 => 10_000..2_000_000_i64, 1 => 1..500_i64];
    let sending = (prop::bool::weighted(0.15), prop::bool::weighted(0.3), any::<bool>());
    let sending = sending.prop_map(|(toggles, rolls, settles)| SendingMode { toggles, rolls, settles });
    (product, day, principal, history::life(), prop::collection::vec(sending, 16)).prop_filter_map(
        "terms that can be agreed",
        |(product, day, principal, life, sendings)| {
            let account = account(day, principal);
            let terms = daybook_testkit::product::terms(&product, &account).ok()?;
            Some(Story { product, life: Life { terms, acts: life.acts }, sendings })
        },
    )
}

fn account(at: Time, principal: i64) -> Value {
    json!({
        "product_id": "p", "account_id": "a", "effective_at": at.to_string(),
        "summary": { "initial_principal_cents": principal },
    })
}

fn component(component: Component) -> &'static str {
    match component {
        Component::Principal => "PRINCIPAL",
        Component::Interest => "INTEREST",
        Component::Fee => "FEE",
    }
}

fn interval(interval: Interval) -> String {
    match (interval.months, interval.days) {
        (0, days) => format!("{days} days"),
        (1, _) => "1 month".to_owned(),
        (months, _) => format!("{months} months"),
    }
}

/// Sends an input to the service.
async fn tell(trial: &Trial, name: &str, at: Time, input: &Input) -> Result<Bytes, Problem> {
    let at = at.to_string();
    match input {
        Input::Open => unreachable!("an account is opened once"),
        Input::Payment { amount, status, allocation } => {
            let mut body = json!({ "line_item_id": name, "original_amount_cents": amount.0, "effective_at": at });
            body["line_item_status"] = json!(status.name());
            if let Some(allocation) = allocation {
                body["allocation"] = json!(component(*allocation));
            }
            trial.pay_with("a", &body).await
        }
        Input::PaymentStatus { payment, valid } => {
            let status = if *valid { "VALID" } else { "INVALID" };
            trial.change("a", payment, &json!({ "line_item_status": status, "effective_at": at })).await
        }
        Input::Reversal { payment } => {
            trial.reverse("a", payment, &json!({ "line_item_id": name, "effective_at": at })).await
        }
        Input::Fee { amount, class } => {
            let class = if *class == FeeClass::Fee { "FEE" } else { "PENALTY" };
            let body = json!({ "line_item_id": name, "original_amount_cents": amount.0, "fee_class": class, "effective_at": at });
            trial.fee("a", &body).await
        }
        Input::Waiver { fee } => {
            trial.waive("a", &fee.to_string(), &json!({ "line_item_id": name, "effective_at": at })).await
        }
        Input::Credit { amount, component: of } | Input::Debit { amount, component: of } => {
            let body = json!({
                "line_item_id": name, "original_amount_cents": amount.0, "allocation": component(*of), "effective_at": at,
            });
            match input {
                Input::Credit { .. } => trial.credit("a", &body).await,
                _ => trial.debit("a", &body).await,
            }
        }
        Input::Status(status) => {
            let mut body = json!({ "account_status": status.standing().name(), "effective_at": at });
            if let Some(reason) = status.reason() {
                body["account_substatus"] = json!(reason.name());
            }
            trial.status("a", &body).await
        }
        Input::Notify(setting) => {
            let mut body =
                json!({ "notification_type": setting.kind.name(), "enabled": setting.enabled, "effective_at": at });
            match setting.when {
                When::Offset(days) => body["time_offset"] = json!(format!("{days} days")),
                When::Every(every) => body["interval"] = json!(interval(every)),
            }
            if let Some(time) = setting.time {
                body["time"] = json!(time.to_string());
            }
            trial.notify("a", &body).await
        }
        Input::Change(_) | Input::CancelChange { .. } | Input::Refund { .. } | Input::RefundReversal { .. } => {
            unreachable!("{name} is left out: {input:?}")
        }
    }
}

/// Whether an input changes the status of a payment that was recorded with a final status.
fn was_final_from_the_start(model: &Book, input: &Input) -> bool {
    let Input::PaymentStatus { payment, .. } = input else { return false };
    model.entries.iter().any(|entry| {
        let is_final = matches!(entry.input, Input::Payment { status: ItemStatus::Valid | ItemStatus::Invalid, .. });
        entry.name == *payment && is_final
    })
}

/// Whether the line item that an input refers to exists.
fn refers_to_something(model: &Book, input: &Input) -> bool {
    if let Input::Waiver { fee: ItemId::Input(fee) } = input {
        let is_fee = |input: &Input| matches!(input, Input::Fee { .. } | Input::Credit { .. });
        return model.entries.iter().any(|entry| entry.name == *fee && is_fee(&entry.input));
    }
    let (Input::PaymentStatus { payment, .. } | Input::Reversal { payment }) = input else { return true };
    model.entries.iter().any(|entry| entry.name == *payment && matches!(entry.input, Input::Payment { .. }))
}

/// The service and the model.
struct Both {
    trial: Trial,
    model: Book,
    holding: bool,
    held_since: u64,
}

/// A release that failed and changed nothing.
struct Failed;

impl Both {
    async fn toggle(&mut self) -> Result<(), Failed> {
        self.holding = !self.holding;
        if self.holding {
            self.trial.settle().await;
            self.trial.migration_mode("p", true).await;
            self.model.held = true;
            self.held_since = self.model.entries.iter().map(|entry| entry.place.seq).max().unwrap_or(0);
            return Ok(());
        }
        self.trial.release("p").await;
        self.model.release(self.model.clock);
        let refused = self.model.outcome().refused;
        let failed = !self.trial.progress("p").await["failed_accounts"].as_array().expect("a list").is_empty();
        assert_eq!(
            failed,
            refused.iter().any(|(seq, _)| *seq > self.held_since),
            "whether the release fails: {refused:?}"
        );
        if failed { Err(Failed) } else { Ok(()) }
    }

    async fn go_to(&mut self, to: Time, sending: SendingMode) {
        if sending.rolls && !self.holding && to > self.model.clock {
            json_of(self.trial.roll("a", &to.to_string(), sending.settles).await);
        } else {
            self.trial.clock.set(to);
            if sending.settles {
                self.trial.settle().await;
            }
        }
        self.model.roll(to);
    }

    async fn tell(&mut self, name: &str, at: Time, input: &Input) {
        let held_before = self.trial.read("a").await["held_events"].clone();
        let told = tell(&self.trial, name, at, input).await;
        if let Err(problem) = &told {
            assert_ne!(problem.code, "internal_error", "{problem}");
        }
        if !refers_to_something(&self.model, input) {
            assert!(told.is_err(), "{name} refers to nothing");
            return;
        }
        if was_final_from_the_start(&self.model, input) {
            // Refused, or returned unchanged: either way the account does not change.
            return;
        }
        let decides = matches!(input, Input::PaymentStatus { .. });
        if self.holding && decides && self.trial.read("a").await["held_events"] == held_before {
            // The service finds at once what the engine would find at the release: the payment's status is already
            // decided.
            return;
        }
        let modelled = self.model.submit(name, at, input.clone());
        // A status that already is the requested one is returned unchanged.
        if !matches!((input, &modelled), (Input::PaymentStatus { .. }, Err(_))) {
            assert_eq!(told.is_ok(), modelled.is_ok(), "{name}: the engine says {modelled:?}, the service {told:?}");
        }
    }

    async fn compare(&self) {
        let account = self.trial.read("a").await;
        let expected = self.model.state.balances();
        let expected = [expected.principal.0, expected.interest.0, expected.fees.0, expected.surplus.0];
        assert_eq!(balances(&account), expected, "balances");
        let status = self.model.state.status;
        let reason = status.reason().map(|reason| format!("/{}", reason.name())).unwrap_or_default();
        assert_eq!(standing(&account), format!("{}{reason}", status.standing().name()));
        assert_eq!(self.items().await, modelled_items(self.model.ledger.items()), "line items");
        adds_up(&self.trial.events("a").await, &account);
        let sequences: Vec<i64> = self.trial.messages("a").await.iter().map(|message| message.sequence).collect();
        assert_eq!(sequences, (1..=sequences.len() as i64).collect::<Vec<_>>());
        self.trial.verify().await;
    }

    /// The valid stored line items, with the fields that the engine determines.
    async fn items(&self) -> BTreeMap<String, Value> {
        let rows = self.trial.store.items(&self.trial.key("a")).await.expect("they can be read");
        let counted = rows.iter().filter(|row| row.status != "INVALID");
        let of = |row: &daybook_store::records::ItemRow| {
            json!([
                row.kind,
                row.status,
                row.effective_at.micros(),
                row.applied_at.micros(),
                row.amount,
                row.balance,
                row.principal,
                row.interest,
                row.fees,
            ])
        };
        counted.map(|row| (row.item_id.to_string(), of(row))).collect()
    }

    /// The account as of a moment must equal what the engine folds up to it.
    async fn compare_as_of(&self, at: Time) {
        let Ok(read) = self.trial.service.get_account(&self.trial.who, "a", Some(at)).await else { return };
        let read = view_of(Ok(read));
        let (state, _) = replay(&self.model.terms, &self.model.entries, at).expect("the timeline folds");
        let expected = state.balances();
        let expected = [expected.principal.0, expected.interest.0, expected.fees.0, expected.surplus.0];
        assert_eq!(balances(&read), expected, "as of {at}");
    }
}

fn modelled_items<'a>(items: impl Iterator<Item = &'a LineItem>) -> BTreeMap<String, Value> {
    let counted = items.filter(|item| item.status != ItemStatus::Invalid);
    let of = |item: &LineItem| {
        json!([
            item.kind.name(),
            item.status.name(),
            item.effective_at.micros(),
            item.applied_at.micros(),
            item.amount.0,
            item.balance.0,
            item.principal.0,
            item.interest.0,
            item.fees.0,
        ])
    };
    counted.map(|item| (item.id.to_string(), of(item))).collect()
}

async fn live_through(home: Home, story: Story) {
    let life = &story.life;
    let opening = life.terms.opening.clone();
    let trial = Trial::at(home, &opening.effective_at.to_string()).await;
    json_of(trial.service.create_product(&trial.who, None, form_of(&story.product)).await);
    trial.account_with(account(opening.effective_at, opening.principal.0)).await;
    let mut both = Both { trial, model: Book::open(life.terms.clone()), holding: false, held_since: 0 };
    let mut told = life.inputs();
    // `loan_changes` tests these: the service judges a change that arrives, and the model does not.
    told.retain(|(_, _, _, input)| {
        let is_change = matches!(input, Input::Change(_) | Input::CancelChange { .. });
        !is_change && !matches!(input, Input::Refund { .. } | Input::RefundReversal { .. })
    });
    told.sort_by_key(|(told_at, ..)| *told_at);
    for ((told_at, at, name, input), sending) in told.iter().zip(story.sendings.iter().cycle()) {
        both.go_to((*told_at).max(both.model.clock), *sending).await;
        if sending.toggles && both.toggle().await.is_err() {
            return both.trial.verify().await;
        }
        both.tell(name, *at, input).await;
    }
    if both.holding && both.toggle().await.is_err() {
        return both.trial.verify().await;
    }
    both.compare().await;
    let (now, end) = (both.model.clock, life.end().max(both.model.clock));
    let middle = Time::from_micros((opening.effective_at.micros() + end.micros()) / 2);
    both.compare_as_of(middle).await;
    both.compare_as_of(end).await;
    both.go_to(
        Time::from_micros((now.micros() + end.micros()) / 2).max(now),
        SendingMode { toggles: false, rolls: false, settles: true },
    )
    .await;
    both.go_to(end, SendingMode { toggles: false, rolls: false, settles: true }).await;
    both.compare().await;
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn campaign(home: Home, cases: u64) {
    let seed = setting("DAYBOOK_SEED", 1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: cases as u32,
        failure_persistence: None,
        max_shrink_iters: 400,
        max_global_rejects: 100_000,
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let result = runner.run(&story(), |story| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        runtime.block_on(live_through(home, story));
        Ok(())
    });
    if let Err(failure) = result {
        panic!("on {home:?}, seed {seed}: {failure}");
    }
}

#[test]
fn any_history_on_sqlite_is_what_the_engine_makes_of_it() {
    campaign(Home::Sqlite, setting("DAYBOOK_HISTORIES", 200));
}

#[test]
fn any_history_on_postgres_is_what_the_engine_makes_of_it() {
    campaign(Home::Postgres, setting("DAYBOOK_HISTORIES", 200) / 10);
}
