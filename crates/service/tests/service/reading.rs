//! Reading accounts as of any moment, and their timelines.

use crate::support::{Home, LEVEL, PLAN, Trial, balances, code_of, json_of, list, on_both, standing, view_of, whole};
use daybook_service::accounts::AccountQuery;
use daybook_service::paging::Paging;
use serde_json::{Value, json};

on_both!(
    an_account_can_be_read_as_of_any_moment,
    a_schedule_can_be_read_as_of_any_moment,
    line_items_can_be_read_as_of_any_moment,
    the_timeline_explains_every_cent,
    the_timeline_shows_interest_that_a_payment_posts_and_pays,
    a_bounced_payment_names_its_reversal,
    the_status_trail_tells_when,
    a_read_brings_the_account_up_to_its_clock,
    lists_are_paged_in_a_stable_order,
    line_items_are_filtered,
);

const OPENING: &str = "2026-03-15T00:00:00-04:00";

/// April paid on time, May missed, both May and June paid late on 20 June.
async fn lived(home: Home) -> Trial {
    let trial = Trial::at(home, "2026-04-15T09:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    json_of(trial.pay("a1", "p1", LEVEL, "2026-04-15T09:00:00-04:00").await);
    trial.go_to("2026-06-20T12:00:00-04:00").await;
    // Two late fees of 15.00; interest of May and June, 11.05 each on 1,105.38, and of July's period, also 11.05.
    json_of(trial.pay("a1", "p2", 2 * LEVEL + 3_000, "2026-06-20T12:00:00-04:00").await);
    trial
}

async fn an_account_can_be_read_as_of_any_moment(home: Home) {
    let trial = lived(home).await;
    let expected = [
        ("2026-03-15T00:00:00-04:00", [120_000, 0, 0, 0], "ACTIVE"),
        ("2026-04-15T08:59:59-04:00", [120_000, 0, 0, 0], "ACTIVE"),
        ("2026-04-15T09:00:00-04:00", [PLAN[1], 0, 0, 0], "ACTIVE"),
        ("2026-05-15T23:59:58-04:00", [PLAN[1], 0, 0, 0], "ACTIVE"),
        ("2026-05-15T23:59:59-04:00", [PLAN[1], 1_105, 1_500, 0], "SUSPENDED/DELINQUENT"),
        ("2026-06-16T00:00:00-04:00", [PLAN[1], 2_210, 3_000, 0], "SUSPENDED/DELINQUENT"),
    ];
    for (at, cents, status) in expected {
        let account = trial.read_at("a1", at).await;
        assert_eq!((balances(&account), standing(&account).as_str()), (cents, status), "{at}");
    }
    // 243.24 paid: May and June, 22.10 of interest and 191.14 of principal; 30.00 goes to July, whose interest is
    // 11.05.
    let now = trial.read("a1").await;
    assert_eq!(balances(&now), [PLAN[1] - (2 * LEVEL - 2 * 1_105) - (3_000 - 1_105), 0, 3_000, 0]);
    assert_eq!(trial.read_at("a1", "2026-06-20T12:00:00-04:00").await["summary"], now["summary"]);
    // As it will be if nothing else happens; nothing is stored.
    let later = trial.read_at("a1", "2026-08-16T00:00:00-04:00").await;
    // July's late fee is spared: payments received in its period cover it. August is missed.
    assert_eq!(later["summary"]["fees_balance_cents"], 3_000 + 1_500);
    assert_eq!(trial.read("a1").await, now);
    trial.verify().await;
}

async fn a_schedule_can_be_read_as_of_any_moment(home: Home) {
    let trial = lived(home).await;
    let first = trial.schedule("a1", Some(OPENING)).await;
    assert_eq!(first.len(), 12);
    let column = |rows: &[Value], name: &str| -> Vec<i64> {
        rows.iter().map(|row| row[name].as_i64().expect("cents")).collect()
    };
    assert_eq!(column(&first, "am_interest_cents")[..4], [1_200, 1_105, 1_010, 913]);
    assert_eq!(column(&first, "am_end_principal_balance_cents")[..8], PLAN[1..]);
    assert_eq!(column(&first, "am_min_pay_cents")[..11], [LEVEL; 11]);
    assert_eq!(first[11]["am_end_principal_balance_cents"], 0);
    assert_eq!(first[0]["min_pay_due_at"], "2026-04-15T23:59:59-04:00");
    let june = trial.schedule("a1", Some("2026-06-16T00:00:00-04:00")).await;
    let on_time: Vec<&Value> = june.iter().map(|row| &row["paid_on_time"]).collect();
    assert_eq!(on_time[..3], [&json!(true), &json!(false), &json!(false)]);
    assert_eq!(column(&june, "paid_cents")[..3], [LEVEL, 0, 0]);
    assert_eq!(column(&june, "am_fees_cents")[..3], [0, 1_500, 1_500]);
    trial.verify().await;
}

async fn line_items_can_be_read_as_of_any_moment(home: Home) {
    let trial = lived(home).await;
    let ids = |items: Vec<Value>| -> Vec<String> {
        items.iter().map(|item| item["line_item_id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(trial.all_items("a1", Some("2026-04-15T08:00:00-04:00")).await), ["dbk_loan"]);
    let may = trial.all_items("a1", Some("2026-05-16T00:00:00-04:00")).await;
    let interest = may.iter().find(|item| item["line_item_id"] == "dbk_interest_2").expect("it is there");
    assert_eq!(interest["line_item_summary"]["balance_cents"], 1_105);
    assert_eq!(trial.item("a1", "dbk_interest_2").await["line_item_summary"]["balance_cents"], 0);
    let now = trial.all_items("a1", None).await;
    let mut then = trial.all_items("a1", Some("2026-06-20T12:00:00-04:00")).await;
    for (then, now) in then.iter_mut().zip(&now) {
        (then["created_at"], then["updated_at"]) = (now["created_at"].clone(), now["updated_at"].clone());
    }
    assert_eq!(then, now);
    let at = Some(crate::support::time("2026-05-16T00:00:00-04:00"));
    assert_eq!(code_of(trial.service.get_line_item(&trial.who, "a1", "p2", at).await), "not_found");
    trial.verify().await;
}

/// Checks that the effects of all processed events add up to the balances, that each event starts with the balances of
/// the previous one, and that moments and inputs are in order. The postings of each event must add up to its effect.
pub fn adds_up(events: &[Value], account: &Value) {
    let names = ["principal_cents", "interest_cents", "fees_cents", "surplus_cents"];
    let mut sum = [0_i64; 4];
    for event in events.iter().filter(|event| event["state"] == "PROCESSED") {
        for (sum, name) in sum.iter_mut().zip(names) {
            *sum += event["effect"][name].as_i64().expect("cents");
        }
        for (component, name) in ["PRINCIPAL", "INTEREST", "FEE", "SURPLUS"].into_iter().zip(names) {
            let postings = event["postings"].as_array().expect("a list").iter();
            let of_component = postings.filter(|posting| posting["component"] == component);
            let posted: i64 = of_component.map(|posting| posting["amount_cents"].as_i64().expect("cents")).sum();
            assert_eq!(Some(posted), event["effect"][name].as_i64(), "the postings of {component} in {event}");
        }
        for (sum, name) in sum.iter().zip(names) {
            assert_eq!(event["balance_after"][name].as_i64(), Some(*sum), "{name} after {event}");
        }
    }
    assert_eq!(sum, balances(account));
}

async fn the_timeline_explains_every_cent(home: Home) {
    let trial = lived(home).await;
    json_of(trial.reverse("a1", "p1", &json!({})).await);
    json_of(trial.pay("a1", "later", 500, "2026-07-01T00:00:00-04:00").await);
    json_of(trial.roll("a1", "2026-06-25T00:00:00-04:00", false).await);
    let events = trial.events("a1").await;
    adds_up(&events, &trial.read("a1").await);
    let scheduled: Vec<&Value> = events.iter().filter(|event| event["state"] == "SCHEDULED").collect();
    assert_eq!((scheduled.len(), &scheduled[0]["effect"]), (1, &Value::Null));
    let payment =
        events.iter().find(|event| event["event"] == "payment" && event["state"] == "PROCESSED").expect("one");
    assert_eq!(payment["effect"]["principal_cents"], PLAN[1] - PLAN[0]);
    assert_eq!(payment["line_items"][0], "p1");
    assert_eq!(payment["webhooks"][0]["event"], "line_item_create");
    // Every message belongs to exactly one event.
    let mut explained: Vec<&Value> = events
        .iter()
        .flat_map(|event| event["webhooks"].as_array().expect("a list"))
        .map(|webhook| &webhook["event_id"])
        .collect();
    explained.sort_by_key(|id| id.to_string());
    let mut sent: Vec<Value> = trial.messages("a1").await.iter().map(|message| json!(message.event_id)).collect();
    sent.sort_by_key(Value::to_string);
    assert_eq!(explained, sent.iter().collect::<Vec<_>>());
    trial.verify().await;
}

/// Paid on the due date, before the period closes: 12.00 of interest is posted and paid in one step.
async fn the_timeline_shows_interest_that_a_payment_posts_and_pays(home: Home) {
    let trial = lived(home).await;
    let events = trial.events("a1").await;
    let payment = events.iter().find(|event| event["event"] == "payment").expect("one");
    assert_eq!(payment["effect"]["interest_cents"], 0);
    let line = |item: &str, kind: &str, component: &str, cents: i64, paid: Option<&str>| {
        json!({ "line_item_id": item, "line_item_type": kind, "component": component, "amount_cents": cents,
                "paid_down_line_item_id": paid })
    };
    let expected = [
        line("dbk_interest_1.1", "INTEREST", "INTEREST", 1_200, None),
        line("p1", "PAYMENT", "INTEREST", -1_200, Some("dbk_interest_1.1")),
        line("p1", "PAYMENT", "PRINCIPAL", 1_200 - LEVEL, Some("dbk_loan")),
    ];
    assert_eq!(payment["postings"], json!(expected));
    let sentence = "A payment of 106.62 was recorded as VALID. It paid 12.00 of interest and 94.62 of principal.";
    assert_eq!(payment["description"], sentence);
    let due = events.iter().find(|event| event["event"] == "period_end").expect("one");
    let sentence = "Instalment 1 fell due. Interest of 12.00 for the period was charged already on 2026-04-15.";
    assert_eq!(due["description"], sentence);
    // The postings contain all interest that was ever paid.
    let lines = events.iter().flat_map(|event| event["postings"].as_array().expect("a list"));
    let paid = lines.filter(|line| line["component"] == "INTEREST" && line["line_item_type"] == "PAYMENT");
    let paid: i64 = paid.map(|line| line["amount_cents"].as_i64().expect("cents")).sum();
    assert_eq!(-paid, trial.read("a1").await["summary"]["total_interest_paid_to_date_cents"].as_i64().expect("cents"));
    assert!(paid < 0);
}

/// A bounced payment can be distinguished from a good one, in a list and alone, under both backdating policies.
async fn a_bounced_payment_names_its_reversal(home: Home) {
    for policy in ["AS_POSTED", "REPLAY"] {
        let trial = Trial::at(home, "2026-04-15T09:00:00-04:00").await;
        trial.product("auto-12", json!({ "backdating_policy": policy })).await;
        trial.account("auto-12", "a1", OPENING).await;
        json_of(trial.pay("a1", "bad", LEVEL, "2026-04-15T09:00:00-04:00").await);
        json_of(trial.pay("a1", "good", 500, "2026-04-15T09:00:00-04:00").await);
        trial.go_to("2026-04-18T09:00:00-04:00").await;
        json_of(trial.reverse("a1", "bad", &json!({ "line_item_id": "bounce" })).await);
        for (item, expected) in [("bad", json!("bounce")), ("good", Value::Null), ("bounce", Value::Null)] {
            let shown = view_of(trial.service.get_line_item(&trial.who, "a1", item, None).await);
            assert_eq!(shown["reversed_by_line_item_id"], expected, "{item} under {policy}");
        }
        let all = trial.all_items("a1", None).await;
        let marked = all.iter().filter(|item| !item["reversed_by_line_item_id"].is_null()).count();
        assert_eq!(marked, 1, "{policy}");
        adds_up(&trial.events("a1").await, &trial.read("a1").await);
        trial.verify().await;
    }
}

async fn the_status_trail_tells_when(home: Home) {
    let trial = lived(home).await;
    let expected = [("2026-03-15T00:00:00-04:00", "ACTIVE"), ("2026-05-15T23:59:59-04:00", "SUSPENDED/DELINQUENT")];
    let trail = trial.trail("a1").await;
    assert_eq!(trail[..2], expected.map(|(at, status)| (at.to_owned(), status.to_owned())));
    trial.verify().await;
}

async fn a_read_brings_the_account_up_to_its_clock(home: Home) {
    let trial = Trial::at(home, "2026-04-10T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    let told = trial.announced("a1").await.len();
    // No timer has run yet.
    trial.clock.set(crate::support::time("2026-04-20T12:00:00-04:00"));
    assert_eq!(balances(&trial.read("a1").await), [120_000, 1_200, 1_500, 0]);
    let listed = list(view_of(trial.service.list_accounts(&trial.who, whole(), AccountQuery::default()).await));
    assert_eq!(balances(&listed[0]), [120_000, 1_200, 1_500, 0]);
    adds_up(&trial.events("a1").await, &listed[0]);
    assert_eq!(trial.announced("a1").await.len(), told, "a read writes nothing");
    // A request before the timer: everything due is processed first, then the request.
    json_of(trial.pay("a1", "p", 1_500, "2026-04-20T12:00:00-04:00").await);
    assert_eq!(balances(&trial.read("a1").await), [120_000 - 300, 0, 1_500, 0]);
    trial.verify().await;
}

async fn lists_are_paged_in_a_stable_order(home: Home) {
    let trial = Trial::at(home, "2026-04-10T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    for number in 0..7 {
        trial.account("auto-12", &format!("a{number}"), OPENING).await;
    }
    json_of(trial.status("a3", &json!({ "account_status": "SUSPENDED", "account_substatus": "FRAUD" })).await);
    let mut seen = Vec::new();
    let mut paging = Paging { limit: 3, ..Paging::default() };
    let mut pages = 0;
    loop {
        let page = view_of(trial.service.list_accounts(&trial.who, paging, AccountQuery::default()).await);
        pages += 1;
        seen.extend(list(page.clone()).iter().map(|account| account["account_id"].as_str().expect("an id").to_owned()));
        if page["paging"]["has_more"] == false {
            break;
        }
        paging = Paging::read(Some("3"), page["paging"]["starting_after"].as_str(), None).expect("the mark leads on");
    }
    assert_eq!((pages, seen), (3, (0..7).map(|number| format!("a{number}")).collect()));
    let query = AccountQuery { account_status: Some("SUSPENDED".to_owned()), ..AccountQuery::default() };
    assert_eq!(list(view_of(trial.service.list_accounts(&trial.who, whole(), query).await)).len(), 1);
    let query = AccountQuery { product_id: Some("other".to_owned()), ..AccountQuery::default() };
    assert_eq!(list(view_of(trial.service.list_accounts(&trial.who, whole(), query).await)).len(), 0);
    let query = AccountQuery { account_status: Some("LATE".to_owned()), ..AccountQuery::default() };
    assert_eq!(code_of(trial.service.list_accounts(&trial.who, whole(), query).await), "invalid_request");
}

async fn line_items_are_filtered(home: Home) {
    use daybook_service::line_items::ItemQuery;
    let trial = lived(home).await;
    let time = |text: &str| Some(crate::support::time(text));
    let count = async |query: ItemQuery| {
        list(view_of(trial.service.list_line_items(&trial.who, "a1", whole(), query).await)).len()
    };
    let of = |kind: &str| ItemQuery { line_item_type: Some(kind.to_owned()), ..ItemQuery::default() };
    assert_eq!((count(of("PAYMENT")).await, count(of("LATE_FEE")).await, count(of("LOAN")).await), (2, 2, 1));
    // "After" and "before" exclude the moment itself.
    let at = "2026-06-20T12:00:00-04:00";
    assert_eq!(count(ItemQuery { effective_at_after: time(at), ..of("PAYMENT") }).await, 0);
    assert_eq!(count(ItemQuery { effective_at_before: time(at), ..of("PAYMENT") }).await, 1);
    let wrong = trial.service.list_line_items(&trial.who, "a1", whole(), of("PAYMENTS")).await;
    assert_eq!(code_of(wrong), "invalid_request");
    assert_eq!(
        code_of(trial.service.list_line_items(&trial.who, "nobody", whole(), ItemQuery::default()).await),
        "not_found"
    );
}
