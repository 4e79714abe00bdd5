//! The portfolio, search, and lists of accounts by words and days past due.

use crate::support::{Home, LEVEL, Trial, code_of, form_of, json_of, list, on_both, view_of, whole};
use daybook_service::find::FoundKind;
use daybook_service::paging::Paging;
use daybook_service::portfolio::{Counting, Portfolio};
use daybook_service::view::time::Utc;
use daybook_service::{AccountQuery, CustomerQuery};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

on_both!(
    lists_by_lateness_agree_with_what_accounts_show,
    a_late_list_is_paged,
    money_is_summed_by_local_day,
    balances_are_summed_by_status_and_kept_for_a_while,
    accounts_of_a_large_portfolio_are_counted_with_its_sums,
    few_accounts_are_waited_for,
    things_are_found_by_words_and_ids,
    what_needs_attention_is_counted,
);

/// Products in zones that never all share a date, with different closes of business.
const ZONES: [(&str, &str, &str); 4] = [
    ("east", "Pacific/Kiritimati", "23:59:59"),
    ("west", "Pacific/Pago_Pago", "00:00:00"),
    ("york", "America/New_York", "17:00:00"),
    ("delhi", "Asia/Kolkata", "23:59:59"),
];

async fn made_in_zones(trial: &Trial) {
    for (id, zone, close) in ZONES {
        let cycle = json!({ "product_time_zone": zone, "close_of_business_time": close });
        trial.product(id, json!({ "billing_cycle_policies": cycle })).await;
    }
}

async fn listed(trial: &Trial, query: AccountQuery) -> Vec<String> {
    let page = view_of(trial.service.list_accounts(&trial.who, whole(), query).await);
    list(page).iter().map(|account| account["account_id"].as_str().expect("an id").to_owned()).collect()
}

fn days(at_least: Option<u32>, at_most: Option<u32>) -> AccountQuery {
    AccountQuery { days_past_due_at_least: at_least, days_past_due_at_most: at_most, ..AccountQuery::default() }
}

async fn shown(trial: &Trial) -> Vec<Value> {
    list(view_of(trial.service.list_accounts(&trial.who, whole(), AccountQuery::default()).await))
}

fn days_of(account: &Value) -> u32 {
    account["delinquency"]["days_past_due"].as_u64().and_then(|days| u32::try_from(days).ok()).expect("days")
}

async fn lists_by_lateness_agree_with_what_accounts_show(home: Home) {
    let trial = Trial::at(home, "2026-01-20T12:00:00Z").await;
    made_in_zones(&trial).await;
    for (product, _, _) in ZONES {
        for (name, opened) in
            [("a", "2025-11-15T12:00:00Z"), ("b", "2025-12-16T02:00:00Z"), ("c", "2026-01-10T23:30:00Z")]
        {
            trial.account(product, &format!("{product}-{name}"), opened).await;
        }
        // One that is rolled ahead of the clock, one that was closed with debt, one that is paid in time.
        for name in ["rolled", "ended", "paid"] {
            trial.account(product, &format!("{product}-{name}"), "2026-01-05T12:00:00Z").await;
        }
        json_of(trial.roll(&format!("{product}-rolled"), "2026-05-20T10:00:00Z", false).await);
        let ended = json!({ "account_status": "CLOSED", "account_substatus": "CUSTOMER_REQUEST" });
        json_of(trial.status(&format!("{product}-ended"), &ended).await);
        json_of(trial.pay(&format!("{product}-paid"), "p", 12 * LEVEL, "2026-01-19T12:00:00Z").await);
    }
    let mut most = 0;
    for now in ["2026-01-20T12:00:00Z", "2026-02-20T10:30:00Z", "2026-03-08T23:59:59Z", "2026-04-01T00:00:00Z"] {
        trial.go_to(now).await;
        agree(&trial, now).await;
        most = most.max(shown(&trial).await.iter().map(days_of).max().expect("there are accounts"));
    }
    assert!(most > 90, "{most}");
    // While its product holds events, it shows its state of when the holding began.
    trial.migration_mode("york", true).await;
    trial.go_to("2026-04-25T12:00:00Z").await;
    agree(&trial, "held back").await;
}

/// Every list by days past due has the accounts that show these days, and the portfolio has the same counts.
async fn agree(trial: &Trial, when: &str) {
    let accounts = shown(trial).await;
    for bound in [0, 1, 2, 5, 15, 29, 30, 31, 44, 45, 46, 59, 60, 75, 76, 90] {
        let of = |fits: &dyn Fn(u32) -> bool| -> Vec<&str> {
            let fitting = accounts.iter().filter(|account| fits(days_of(account)));
            fitting.map(|account| account["account_id"].as_str().expect("an id")).collect()
        };
        assert_eq!(listed(trial, days(Some(bound), None)).await, of(&|days| days >= bound), "{when}: from {bound}");
        assert_eq!(listed(trial, days(None, Some(bound))).await, of(&|days| days <= bound), "{when}: up to {bound}");
        let between = days(Some(bound), Some(bound + 3));
        assert_eq!(listed(trial, between).await, of(&|days| (bound..=bound + 3).contains(&days)), "{when}: at {bound}");
    }
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for account in accounts.iter().filter(|account| account["account_overview"]["account_status"] != "CLOSED") {
        let bucket = match days_of(account) {
            0 => "current",
            1..=29 => "1-29",
            30..=59 => "30-59",
            60..=89 => "60-89",
            _ => "90+",
        };
        *expected.entry(bucket).or_default() += 1;
    }
    let counted = portfolio(trial).await.past_due;
    assert_eq!(counted.iter().map(|of| of.bucket).collect::<Vec<_>>(), ["current", "1-29", "30-59", "60-89", "90+"]);
    for of in counted {
        assert_eq!(of.count, expected.get(of.bucket).copied().unwrap_or(0), "{when}: {}", of.bucket);
    }
}

async fn portfolio(trial: &Trial) -> Portfolio {
    trial.service.portfolio(&trial.who).await.expect("it answers").expect("there is a portfolio")
}

async fn a_late_list_is_paged(home: Home) {
    let trial = Trial::at(home, "2026-03-01T12:00:00Z").await;
    trial.product("loan", json!({})).await;
    for number in 0..9 {
        // Every third fell due a day or two later: near enough for the query to return it, but not past due enough.
        let opened = if number % 3 == 1 { "2026-01-02T12:00:00Z" } else { "2025-12-31T12:00:00Z" };
        trial.account("loan", &format!("a{number}"), opened).await;
    }
    let least = shown(&trial).await.iter().map(days_of).max();
    let all = listed(&trial, days(least, None)).await;
    assert_eq!(all, ["a0", "a2", "a3", "a5", "a6", "a8"]);
    let page = async |paging: Paging| {
        let page = view_of(trial.service.list_accounts(&trial.who, paging, days(least, None)).await);
        let ids: Vec<String> = list(page.clone())
            .iter()
            .map(|account| account["account_id"].as_str().expect("an id").to_owned())
            .collect();
        (ids, page["paging"].clone())
    };
    let mark = |paging: &Value, name: &str| paging[name].as_str().map(str::to_owned);
    let (first, paging) = page(Paging::read(Some("4"), None, None).expect("right")).await;
    assert_eq!((&first[..], &paging["has_more"]), (&all[..4], &json!(true)));
    let next = Paging::read(Some("4"), mark(&paging, "starting_after").as_deref(), None).expect("the mark leads on");
    let (second, paging) = page(next).await;
    assert_eq!((&second[..], &paging["has_more"]), (&all[4..], &json!(false)));
    let back = Paging::read(Some("3"), None, mark(&paging, "ending_before").as_deref()).expect("the mark leads back");
    let (third, paging) = page(back).await;
    assert_eq!((&third[..], &paging["has_more"]), (&all[1..4], &json!(true)));

    let at = AccountQuery { as_of: Some(trial.clock_now()), ..days(Some(1), None) };
    assert_eq!(code_of(trial.service.list_accounts(&trial.who, whole(), at).await), "invalid_request");
}

async fn money_is_summed_by_local_day(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("loan", json!({})).await;
    trial.account("loan", "a", "2026-02-01T12:00:00-05:00").await;
    // 4 March in New York, which is 5 March in UTC; clocks went forward on the 8th.
    json_of(trial.pay("a", "p1", 1_000, "2026-03-04T23:30:00-05:00").await);
    json_of(trial.pay("a", "p2", 250, "2026-03-04T00:00:00-05:00").await);
    json_of(trial.pay("a", "p3", 7, "2026-03-20T00:00:00-04:00").await);
    let declined = json!({ "line_item_id": "declined", "original_amount_cents": 90_000,
                           "line_item_status": "PENDING", "effective_at": "2026-03-10T12:00:00-04:00" });
    json_of(trial.pay_with("a", &declined).await);
    json_of(trial.change("a", "declined", &json!({ "line_item_status": "INVALID" })).await);
    json_of(trial.pay("a", "bounced", 80_000, "2026-03-11T12:00:00-04:00").await);
    json_of(trial.reverse("a", "bounced", &json!({})).await);
    trial.account("loan", "late", "2026-02-01T12:00:00-05:00").await;
    let seen = portfolio(&trial).await;
    assert_eq!((seen.zone.as_str(), seen.payments_by_day.len()), ("America/New_York", 30));
    let edges = [&seen.payments_by_day[0].day, &seen.payments_by_day[29].day];
    assert_eq!(edges, ["2026-02-19", "2026-03-20"]);
    let money = |of: &[daybook_service::portfolio::DayFigure]| -> Vec<(String, u64, i64)> {
        let some = of.iter().filter(|day| day.count > 0);
        some.map(|day| (day.day.clone(), day.count, day.amount_cents)).collect()
    };
    let expected = [("2026-03-04".to_owned(), 2, 1_250), ("2026-03-20".to_owned(), 1, 7)];
    assert_eq!(money(&seen.payments_by_day), expected);
    // Due on 1 March, late when the day is over: each of the two costs 15.00.
    let fees = money(&seen.late_fees_by_day);
    let (count, amount) = fees.iter().fold((0, 0), |(count, amount), of| (count + of.1, amount + of.2));
    assert_eq!((count, amount), (2, 3_000), "{fees:?}");
}

async fn balances_are_summed_by_status_and_kept_for_a_while(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("loan", json!({})).await;
    let owed = |seen: &Portfolio| -> Vec<(String, Option<String>, u64, i64)> {
        let of = seen.accounts.iter();
        of.map(|of| (of.status.clone(), of.substatus.clone(), of.count, of.balance_cents)).collect()
    };
    let active = |count, balance| ("ACTIVE".to_owned(), None, count, balance);
    trial.account("loan", "a", "2026-03-15T12:00:00-04:00").await;
    trial.account("loan", "b", "2026-03-15T12:00:00-04:00").await;
    assert_eq!(owed(&portfolio(&trial).await), [active(2, 240_000)]);

    // Counts are current, sums may be a few seconds old.
    trial.account("loan", "c", "2026-03-15T12:00:00-04:00").await;
    assert_eq!(owed(&portfolio(&trial).await), [active(3, 240_000)]);
    // After some seconds the sums are counted again, for this request or for the next one.
    trial.clock.set(crate::support::time("2026-03-20T12:00:10-04:00"));
    let next = counted_since(&trial, "2026-03-20T12:00:10-04:00").await;
    assert_eq!(owed(&next), [active(3, 360_000)]);
    json_of(trial.status("c", &json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD" })).await);
    trial.clock.set(crate::support::time("2026-03-20T12:05:00-04:00"));
    let suspended = ("SUSPENDED".to_owned(), Some("FRAUD".to_owned()), 1, 120_000);
    let later = counted_since(&trial, "2026-03-20T12:05:00-04:00").await;
    assert_eq!(owed(&later), [active(2, 240_000), suspended]);
    assert!(!later.is_outdated());
    assert!(Portfolio { as_of: Utc(crate::support::time("2026-03-20T12:06:01-04:00")), ..later }.is_outdated());
}

/// The portfolio, once its sums are of this moment.
async fn counted_since(trial: &Trial, moment: &str) -> Portfolio {
    loop {
        let seen = trial.service.portfolio(&trial.who).await.expect("it answers");
        if let Some(seen) = seen.filter(|seen| seen.summed_at == Utc(crate::support::time(moment))) {
            return seen;
        }
        tokio::task::yield_now().await;
    }
}

/// The same service with these limits, and without patience for counts.
fn counting(trial: &Trial, large: u32, many: u32) -> Trial {
    let service = trial.service.clone().counting(Counting { large, many, patience: Duration::ZERO });
    Trial { service, ..trial.clone() }
}

async fn accounts_of_a_large_portfolio_are_counted_with_its_sums(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("loan", json!({})).await;
    trial.account("loan", "a", "2026-02-15T12:00:00-05:00").await;
    trial.account("loan", "b", "2026-03-15T12:00:00-04:00").await;
    let (large, small) = (counting(&trial, 3, 9), counting(&trial, 4, 9));
    trial.account("loan", "c", "2026-03-15T12:00:00-04:00").await;
    let seen = |of: &Portfolio| (of.count(), of.past_due[0].count, of.past_due[1].count);
    assert_eq!(seen(&counted_since(&large, "2026-03-20T12:00:00-04:00").await), (3, 2, 1));
    assert_eq!(seen(&portfolio(&small).await), (3, 2, 1));
    trial.account("loan", "d", "2026-03-15T12:00:00-04:00").await;
    assert_eq!(seen(&portfolio(&large).await), (3, 2, 1), "they are not counted for everybody who asks");
    assert_eq!(seen(&portfolio(&small).await), (4, 3, 1), "there were few when their sums were counted");
    trial.clock.set(crate::support::time("2026-03-20T12:00:10-04:00"));
    assert_eq!(seen(&counted_since(&large, "2026-03-20T12:00:10-04:00").await), (4, 3, 1));
}

async fn few_accounts_are_waited_for(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("loan", json!({})).await;
    trial.account("loan", "a", "2026-03-15T12:00:00-04:00").await;
    assert_eq!(portfolio(&counting(&trial, 2, 2)).await.count(), 1, "though nobody has patience");
}

/// A person who opens the console right after a start does not wait for slow counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_count_of_many_accounts_is_not_waited_for() {
    let trial = counting(&Trial::at(Home::Postgres, "2026-03-20T12:00:00-04:00").await, 2, 1);
    trial.product("loan", json!({})).await;
    trial.account("loan", "a", "2026-03-15T12:00:00-04:00").await;
    let (client, connection) =
        tokio_postgres::connect(&trial.address, tokio_postgres::NoTls).await.expect("it connects");
    tokio::spawn(connection);
    // Money by day cannot be summed up while another transaction locks the line items.
    client.batch_execute("BEGIN; LOCK TABLE line_items").await.expect("it begins");
    for _ in 0..2 {
        assert_eq!(trial.service.portfolio(&trial.who).await.expect("it answers"), None);
    }
    client.batch_execute("COMMIT").await.expect("it ends");
    assert_eq!(counted_since(&trial, "2026-03-20T12:00:00-04:00").await.count(), 1);
}

async fn things_are_found_by_words_and_ids(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    let customer = async |body: Value| json_of(trial.service.create_customer(&trial.who, None, form_of(&body)).await);
    customer(json!({ "customer_id": "c1", "name_first": "Jane", "name_last": "Doe", "email": "jane.doe@example.com",
        "ssn": "123-45-6789", "external_fields": [{ "key": "crm", "value": "CRM-77" }] }))
    .await;
    customer(json!({ "customer_id": "c2", "business_details": { "business_name": "Doe & Sons" } })).await;
    let opened = "2026-03-15T12:00:00-04:00";
    trial
        .account_with(json!({ "product_id": "auto-12", "account_id": "loan-1", "effective_at": opened,
            "assign_customers": [{ "customer_id": "c1" }],
            "external_fields": [{ "key": "vin", "value": "WVW zzz 1J" }] }))
        .await;
    trial.account("auto-12", "loan-2", opened).await;

    let found = async |text: &str| -> Vec<(FoundKind, String, String, String)> {
        let found = trial.service.find(&trial.who, text, 10).await.expect("it is searched");
        found.into_iter().map(|of| (of.kind, of.id, of.title, of.detail)).collect()
    };
    let of = |kind, id: &str, title: &str, detail: &str| (kind, id.to_owned(), title.to_owned(), detail.to_owned());
    let jane = of(FoundKind::Customer, "c1", "Jane Doe", "jane.doe@example.com");
    let her_loan = of(FoundKind::Account, "loan-1", "Jane Doe", "auto-12 · ACTIVE");
    let sons = of(FoundKind::Customer, "c2", "Doe & Sons", "");
    for text in ["jane", "Jane DOE", "jane.doe@example.com", "crm-77", " JAN ", "c1"] {
        assert_eq!(found(text).await, [her_loan.clone(), jane.clone()], "{text}");
    }
    assert_eq!(found("doe").await, [her_loan.clone(), jane.clone(), sons.clone()]);
    assert_eq!(found("sons").await, std::slice::from_ref(&sons));
    assert_eq!(found("zzz wvw").await, std::slice::from_ref(&her_loan));
    assert_eq!(found("loan-2").await, [of(FoundKind::Account, "loan-2", "loan-2", "auto-12 · ACTIVE")]);
    assert_eq!(found("auto").await, [of(FoundKind::Product, "auto-12", "Auto 12", "auto-12")]);
    for text in ["", "  ", "***", "jane sons", "6789", "123-45-6789", "nobody"] {
        assert_eq!(found(text).await, [], "{text}");
    }

    let accounts = async |text: &str| {
        listed(&trial, AccountQuery { text: Some(text.to_owned()), ..AccountQuery::default() }).await
    };
    assert_eq!(accounts("doe").await, ["loan-1"]);
    assert_eq!(accounts("loan").await, ["loan-1", "loan-2"]);
    assert_eq!(accounts(" ").await, ["loan-1", "loan-2"]);
    assert_eq!(accounts("***").await, [""; 0]);
    let customers = async |text: &str| -> Vec<String> {
        let query = CustomerQuery { text: Some(text.to_owned()) };
        let page = view_of(trial.service.list_customers(&trial.who, whole(), query).await);
        list(page).iter().map(|customer| customer["customer_id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(customers("doe").await, ["c1", "c2"]);
    assert_eq!(customers("exam doe").await, ["c1"]);

    // A new name replaces the old one, and an account that the customer is assigned to is found too.
    let update = form_of(&json!({ "name_last": "Roe", "assign_to_accounts": [{ "account_id": "loan-2" }] }));
    json_of(trial.service.update_customer(&trial.who, None, "c1", update).await);
    assert_eq!(customers("doe").await, ["c1", "c2"], "the address still has it");
    assert_eq!(customers("roe").await, ["c1"]);
    assert_eq!(accounts("roe").await, ["loan-1", "loan-2"]);
    let update = form_of(&json!({ "email": null }));
    json_of(trial.service.update_customer(&trial.who, None, "c1", update).await);
    assert_eq!(customers("doe").await, ["c2"]);
    trial.verify().await;
}

async fn what_needs_attention_is_counted(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    assert_eq!(portfolio(&trial).await.attention, daybook_service::portfolio::Attention::default());
    trial.product("loan", json!({})).await;
    trial.product("held", json!({})).await;
    trial.migration_mode("held", true).await;
    let seen = portfolio(&trial).await;
    assert_eq!((seen.attention.products_holding, seen.attention.products_releasing), (1, 0));
    assert_eq!((seen.deliveries_by_hour.len(), seen.as_of), (24, Utc(trial.clock_now())));
    assert_eq!(seen.deliveries_by_hour[23].hour, Utc(crate::support::time("2026-03-20T16:00:00Z")));
}
