//! Changes made from the pages of an account: the form, the confirmation and the result.

use super::{account, act, assert_figure, at, ben, confirmation, elena, hidden, release, send, words};
use crate::setup::{ConsoleSetup, view_of};
use daybook_service::line_items::ItemQuery;
use daybook_service::paging::Paging;
use serde_json::{Value, json};

const ELENA: &str = "/console/accounts/loan-05-elena";
const BEN: &str = "/console/accounts/loan-02-ben";

async fn items(setup: &ConsoleSetup, id: &str) -> Vec<Value> {
    let list = setup.service.list_line_items(&setup.who, id, Paging::default(), ItemQuery::default()).await;
    view_of(list)["results"].as_array().expect("a list").clone()
}

fn of_type<'a>(items: &'a [Value], kind: &str) -> Vec<&'a Value> {
    items.iter().filter(|item| item["line_item_overview"]["line_item_type"] == kind).collect()
}

/// Test case 6, performed in the console.
#[tokio::test]
async fn a_late_fee_is_waived_and_the_rest_is_paid() {
    let setup = ConsoleSetup::new().await;
    setup.go_to("2025-01-15T09:00:00-05:00").await;
    setup.product("auto-12", json!({}), false).await;
    setup.account("farid", "auto-12", "2025-01-15T09:00:00-05:00", json!({})).await;
    let path = "/console/accounts/farid";

    let setup = at(&setup, "2025-02-17T10:00:00-05:00").await;
    let page = setup.get(&format!("{path}?tab=items")).await.page();
    assert!(page.contains(&format!("{path}/do/waive?item=dbk_late_fee_1")), "{page}");
    let form = setup.get(&format!("{path}/do/waive?item=dbk_late_fee_1")).await.page();
    assert!(form.contains("name=\"item\" value=\"dbk_late_fee_1\""), "{form}");
    let waive = format!("{path}/do/waive");
    let page = confirmation(&setup, &waive, &[("item", "dbk_late_fee_1")]).await;
    assert!(words(&page).contains("Fees $15.00 $0.00"), "{}", words(&page));
    assert!(page.contains("/line_items/fee_waiver/dbk_late_fee_1") && page.contains("curl -X POST"), "{page}");
    assert_eq!(send(&setup, &waive, &page).await.leads_to(), format!("{path}?tab=items"));

    let setup = at(&setup, "2025-02-18T10:00:00-05:00").await;
    let payment = format!("{path}/do/payment");
    let form = setup.get(&payment).await.page();
    assert!(form.contains("value=\"pay-"), "an id is proposed: {form}");
    let typed = [("original_amount_cents", "118.62"), ("line_item_id", "p1")];
    let page = confirmation(&setup, &payment, &typed).await;
    let text = words(&page);
    assert!(text.contains("A payment of $118.62 will be recorded on account farid"), "{text}");
    // 12.00 past due, 12.00 of the current month and 94.62 of principal, as in the test case.
    assert!(text.contains("$12.00 of interest") && text.contains("$94.62 of principal"), "{text}");
    assert!(text.contains("Past due $106.62 $0.00") && text.contains("Status Suspended, delinquent Active"), "{text}");
    assert!(page.contains("&#34;original_amount_cents&#34;:11862"), "the curl line sends cents: {page}");
    assert!(of_type(&items(&setup, "farid").await, "PAYMENT").is_empty(), "looking does nothing");
    send(&setup, &payment, &page).await.leads_to();

    let setup = at(&setup, "2025-03-14T10:00:00-04:00").await;
    act(&setup, &payment, &[("original_amount_cents", "$94.62"), ("line_item_id", "p2")]).await;
    let setup = at(&setup, "2025-03-20T00:00:00-04:00").await;
    let page = setup.get(path).await.page();
    assert_figure(&page, "Balance", "principal $1,010.76");
    assert_figure(&page, "Payoff", "$1,020.87");
    assert_figure(&page, "Past due", "0 days");
}

#[tokio::test]
async fn a_form_that_is_sent_twice_is_done_once() {
    let setup = elena().await;
    let count = async |kind: &str| of_type(&items(&setup, "loan-05-elena").await, kind).len();
    for (what, kind, fields) in [
        ("payment", "PAYMENT", vec![("original_amount_cents", "10"), ("line_item_id", "twice")]),
        ("fee", "MANUAL_FEE", vec![("original_amount_cents", "10")]),
        ("credit", "CREDIT_OFFSET", vec![("original_amount_cents", "10")]),
        ("debit", "DEBIT_OFFSET", vec![("original_amount_cents", "10")]),
    ] {
        let before = count(kind).await;
        let path = format!("{ELENA}/do/{what}");
        let page = confirmation(&setup, &path, &fields).await;
        let first = send(&setup, &path, &page).await.leads_to().to_owned();
        assert_eq!(send(&setup, &path, &page).await.leads_to(), first);
        assert_eq!(count(kind).await, before + 1, "{what}");
        // A second confirmation charges a second fee.
        if what == "fee" {
            act(&setup, &path, &fields).await;
            assert_eq!(count(kind).await, before + 2);
        }
    }
}

/// Test case 5: the payment bounces two weeks after its due date.
#[tokio::test]
async fn a_payment_bounces() {
    let setup = elena().await;
    let list = setup.get(&format!("{ELENA}?tab=items")).await.page();
    assert!(list.contains(&format!("{ELENA}/do/reverse?item=p1")), "{list}");
    let path = format!("{ELENA}/do/reverse");
    let page = confirmation(&setup, &path, &[("item", "p1")]).await;
    let text = words(&page);
    assert!(text.contains("Payment p1 will be reversed"), "{text}");
    assert!(text.contains("The fee for a bounced payment, $25.00, will be charged"), "{text}");
    assert!(text.contains("Principal $803.97 $1,200.00") && text.contains("Fees $0.00 $25.00"), "{text}");
    send(&setup, &path, &page).await.leads_to();
    let page = setup.get(&format!("{ELENA}?as_of=2025-03-10T00:00:00")).await.page();
    assert_figure(&page, "Payoff", "$1,245.04");
    let list = setup.get(&format!("{ELENA}?tab=items")).await.page();
    assert!(!list.contains("/do/reverse"), "it cannot bounce again");
    let text = words(&confirmation(&setup, &path, &[("item", "p1")]).await);
    assert!(text.contains("Nothing new is recorded: payment p1 was already reversed on"), "{text}");
    assert!(!text.contains("a different id"), "{text}");
    let again = setup.get(&format!("{path}/confirm?item=p1&line_item_id=other")).await;
    assert_eq!(again.status, 422);
    assert!(
        words(&again.body).contains("not_reversible") || words(&again.body).contains("already"),
        "{}",
        words(&again.body)
    );
}

/// A payment that has not taken effect is only called off: nothing is owed again, and no fee is charged.
#[tokio::test]
async fn a_scheduled_payment_is_called_off_without_a_fee() {
    let setup = elena().await;
    let payment = format!("{ELENA}/do/payment");
    let later = [("original_amount_cents", "10"), ("line_item_id", "later"), ("effective_at", "2025-04-01T09:00:00")];
    let page = confirmation(&setup, &payment, &[&later[..], &[("line_item_status", "AUTHORIZED")]].concat()).await;
    let text = words(&page);
    assert!(text.contains("It will not count until you confirm it."), "{text}");
    assert!(!text.contains("will take effect"), "{text}");
    act(&setup, &payment, &later).await;
    let path = format!("{ELENA}/do/reverse");
    let page = confirmation(&setup, &path, &[("item", "later")]).await;
    let text = words(&page);
    assert!(text.contains("has not taken effect, so it will become invalid, and no fee will be charged"), "{text}");
    send(&setup, &path, &page).await.leads_to();
    assert!(of_type(&items(&setup, "loan-05-elena").await, "RETURN_CHECK_FEE").is_empty());
    let timeline = words(&setup.get(&format!("{ELENA}?tab=timeline")).await.page());
    assert!(timeline.contains("Payment later was reversed. The payment had not taken effect"), "{timeline}");
}

#[tokio::test]
async fn balances_are_raised_and_lowered_by_hand() {
    let setup = elena().await;
    act(&setup, &format!("{ELENA}/do/fee"), &[("original_amount_cents", "10"), ("fee_class", "PENALTY")]).await;
    assert_figure(&setup.get(ELENA).await.page(), "Fees", "$10.00");
    act(&setup, &format!("{ELENA}/do/credit"), &[("original_amount_cents", "50"), ("allocation", "PRINCIPAL")]).await;
    assert_figure(&setup.get(ELENA).await.page(), "Balance", "principal $853.97");
    act(&setup, &format!("{ELENA}/do/debit"), &[("original_amount_cents", "10"), ("allocation", "FEE")]).await;
    let page = setup.get(ELENA).await.page();
    assert_figure(&page, "Fees", "$0.00");
    assert_figure(&page, "Balance", "principal $853.97");
}

#[tokio::test]
async fn a_status_is_set_and_leaves_a_trail() {
    let setup = elena().await;
    let path = format!("{ELENA}/do/status");
    const LATE: &str = "not from its date: this product does not recalculate the past";
    let backdated = [("pair", "SUSPENDED:RISK_REVIEW"), ("effective_at", "2025-02-20T09:00:00")];
    let page = confirmation(&setup, &path, &backdated).await;
    assert!(words(&page).contains(LATE), "{}", words(&page));
    let page = confirmation(&setup, &path, &[("pair", "SUSPENDED:RISK_REVIEW")]).await;
    assert!(words(&page).contains("Status Active Suspended, risk review"), "{}", words(&page));
    assert!(!words(&page).contains(LATE), "{}", words(&page));
    assert_eq!(send(&setup, &path, &page).await.leads_to(), format!("{ELENA}?tab=overview"));
    let text = words(&setup.get(ELENA).await.page());
    assert!(
        text.contains("Suspended Risk review since 1 Mar 2025") && text.contains("Active since 15 Jan 2025"),
        "{text}"
    );
    act(&setup, &path, &[("pair", "ACTIVE:")]).await;
    assert_eq!(account(&setup, "loan-05-elena").await["account_overview"]["account_status"], "ACTIVE");
}

#[tokio::test]
async fn a_pending_payment_is_decided_about() {
    let setup = elena().await;
    let payment = format!("{ELENA}/do/payment");
    let settle = format!("{ELENA}/do/settle");
    for (id, word, status) in [("good", "VALID", "VALID"), ("bad", "INVALID", "INVALID")] {
        let typed = [("original_amount_cents", "20"), ("line_item_id", id), ("line_item_status", "PENDING")];
        act(&setup, &payment, &typed).await;
        let list = setup.get(&format!("{ELENA}?tab=items&status=PENDING")).await.page();
        assert!(list.contains(&format!("{ELENA}/do/settle?item={id}")), "{list}");
        // The payment's own date, which has passed, is not told as that of the change.
        let text = words(&confirmation(&setup, &settle, &[("item", id), ("line_item_status", word)]).await);
        assert!(text.contains("effective now") && !text.contains("takes effect"), "{text}");
        act(&setup, &settle, &[("item", id), ("line_item_status", word)]).await;
        let item = view_of(setup.service.get_line_item(&setup.who, "loan-05-elena", id, None).await);
        assert_eq!(item["line_item_overview"]["line_item_status"], status);
        let other = if word == "VALID" { "INVALID" } else { "VALID" };
        let again = setup.get(&format!("{settle}/confirm?item={id}&line_item_status={other}")).await;
        assert_eq!(again.status, 422, "{}", again.body);
    }
}

#[tokio::test]
async fn what_is_held_is_taken_back() {
    let setup = ben().await;
    let list = setup.get(&format!("{BEN}?tab=items")).await.page();
    assert!(list.contains(&format!("{BEN}/do/withdraw?item=p2")), "{list}");
    let path = format!("{BEN}/do/withdraw");
    // There is no form to fill in: the first page is the confirmation.
    let page = setup.get(&format!("{path}?item=p2")).await.page();
    assert!(page.contains("curl -X DELETE"), "{page}");
    let answer = send(&setup, &path, &page).await;
    assert_eq!(send(&setup, &path, &page).await.leads_to(), answer.leads_to());
    assert_eq!(account(&setup, "loan-02-ben").await["held_events"], 2);
    // A payment changes nothing while the product holds its events.
    let page =
        confirmation(&setup, &format!("{BEN}/do/payment"), &[("original_amount_cents", "1"), ("line_item_id", "x")])
            .await;
    assert!(page.contains("It has no effect until the held events are released"), "{page}");
    release(&setup, "auto-12").await;
    let refused = setup.get(&format!("{path}?item=p1")).await;
    assert_eq!(refused.status, 422);
    assert!(refused.body.contains("is not held"), "{}", refused.body);
}

#[tokio::test]
async fn a_notice_is_set_for_its_next_moment() {
    let setup = elena().await;
    let path = format!("{ELENA}/do/notice");
    let typed = [("notification_type", "payment_due_date"), ("time_offset", "-3 days"), ("time", "09:00:00")];
    let page = confirmation(&setup, &path, &typed).await;
    assert!(page.contains("will be sent next on 12 Mar 2025, 09:00"), "{}", words(&page));
    assert_eq!(send(&setup, &path, &page).await.leads_to(), format!("{ELENA}?tab=notices"));
    let page = setup.get(&format!("{ELENA}?tab=notices")).await.page();
    assert!(page.contains("12 Mar 2025, 09:00") && page.contains("Change"), "{page}");
    act(&setup, &path, &[typed[0], typed[1], ("enabled", "false")]).await;
    let text = words(&setup.get(&format!("{ELENA}?tab=notices")).await.page());
    assert!(text.contains("Off never"), "{text}");
    act(&setup, &path, &[("notification_type", "account_summary"), ("interval", "1 month")]).await;
    let text = words(&setup.get(&format!("{ELENA}?tab=notices")).await.page());
    assert!(text.contains("every 1 month"), "{text}");
}

#[tokio::test]
async fn what_is_refused_says_why_beside_its_field() {
    let setup = elena().await;
    let before = items(&setup, "loan-05-elena").await.len();
    for (what, fields, reason) in [
        (
            "payment",
            vec![("original_amount_cents", "lots"), ("line_item_id", "x")],
            "“Amount”: must be an amount in dollars",
        ),
        ("payment", vec![("line_item_id", "x")], "“Amount”: is required"),
        ("payment", vec![("original_amount_cents", "1"), ("line_item_id", "dbk_x")], "“Id of the payment”: must"),
        (
            "payment",
            vec![("original_amount_cents", "1"), ("line_item_id", "p1")],
            "is already in use: the existing line item has other values than this request",
        ),
        (
            "payment",
            vec![("original_amount_cents", "1"), ("line_item_id", "x"), ("effective_at", "2024-01-01T00:00")],
            "“Effective at”: must not be before the account",
        ),
        (
            "fee",
            vec![("original_amount_cents", "-5")],
            "“Amount”: must be more than $0.00 and at most $100,000,000,000.00",
        ),
        ("fee", vec![("original_amount_cents", "15,00")], "commas only between thousands"),
        ("status", vec![("pair", "ACTIVE:FRAUD")], "with account_status ACTIVE"),
        ("notice", vec![("notification_type", "account_summary"), ("time_offset", "1 days")], "is not allowed for"),
        ("notice", vec![("notification_type", "late_fee_date")], "is required for late_fee_date"),
        ("waive", vec![("item", "nothing")], "nothing"),
        ("reverse", vec![], "must name a line item"),
    ] {
        let path = format!("{ELENA}/do/{what}");
        let page = setup.get(&format!("{path}/confirm?{}", crate::setup::encoded(&fields))).await;
        assert_eq!(page.status, 422, "{what} {fields:?}: {}", page.body);
        assert!(words(&page.body).contains(reason), "{what} {fields:?}: {}", words(&page.body));
        // Submitting the form without its confirmation page gets the same errors.
        let sent = setup.post(&path, &fields).await;
        assert_eq!(sent.status, 422, "{what} {fields:?}");
        assert!(!sent.body.contains("Go to the console"), "it is told inside the frame");
    }
    assert_eq!(items(&setup, "loan-05-elena").await.len(), before);
    assert_eq!(setup.get(&format!("{ELENA}/do/nonsense")).await.status, 404);
}

/// Test case 2 with the time machine: the account is rolled past two missed instalments.
#[tokio::test]
async fn an_account_is_rolled_to_where_the_time_machine_stands() {
    let setup = ConsoleSetup::new().await;
    setup.go_to("2025-01-15T00:00:00-05:00").await;
    setup.product("auto-12", json!({}), false).await;
    setup.account("ben", "auto-12", "2025-01-15T00:00:00-05:00", json!({})).await;
    let setup = at(&setup, "2025-02-15T09:00:00-05:00").await;
    setup.pay("ben", "p1", "2025-02-15T09:00:00-05:00", 10_662).await;
    let path = "/console/accounts/ben/roll";
    let form = setup.get(&format!("{path}?effective_at=2025-04-20T00:00:00")).await.page();
    assert!(form.contains("value=\"2025-04-20T00:00:00\""), "{form}");
    let typed = [("effective_at", "2025-04-20T00:00:00"), ("roll_webhooks", "true")];
    let page = confirmation(&setup, path, &typed).await;
    let text = words(&page);
    assert!(text.contains("Fees $0.00 $30.00") && text.contains("Days past due 0 36"), "{text}");
    assert!(text.contains("webhooks will be sent immediately"), "{text}");
    assert!(page.contains("/admin/roll/account") && page.contains("curl -X PATCH"), "{page}");
    assert!(hidden(&page).iter().any(|(name, value)| name == "roll_webhooks" && value == "true"));
    assert_eq!(send(&setup, path, &page).await.leads_to(), "/console/accounts/ben?tab=overview");
    let page = setup.get("/console/accounts/ben").await.page();
    assert!(words(&page).contains("clock was rolled to 20 Apr 2025, 00:00"), "{page}");
    assert_figure(&page, "Interest", "$22.10");
    assert_figure(&page, "Past due", "36 days");
    // A change without a typed time takes effect at the account's clock.
    let typed = [("original_amount_cents", "1"), ("line_item_id", "x")];
    let page = confirmation(&setup, "/console/accounts/ben/do/payment", &typed).await;
    assert!(page.contains("The payment takes effect on 20 Apr 2025, 00:00"), "{}", words(&page));
    // The same form again changes nothing.
    let typed = [("effective_at", "2025-04-20T00:00:00")];
    assert!(words(&confirmation(&setup, path, &typed).await).contains("0 events will be processed"));
    // The clock cannot be rolled back.
    let back = [("effective_at", "2025-03-01T00:00:00"), ("once", "another form")];
    let query = crate::setup::encoded(&back);
    for answer in [setup.get(&format!("{path}/confirm?{query}")).await, setup.post(path, &back).await] {
        assert_eq!(answer.status, 422);
        let text = words(&answer.body);
        assert!(
            text.contains("“Roll to”: must not be before 20 Apr 2025, 00:00") && text.contains("the current time"),
            "{text}"
        );
        assert!(answer.body.contains("value=\"2025-03-01T00:00:00\""), "what was typed stays");
    }
}

#[tokio::test]
async fn what_was_recorded_before_is_not_told_as_new() {
    let setup = elena().await;
    for (what, fields) in [
        ("payment", vec![("original_amount_cents", "20"), ("line_item_id", "own-1")]),
        ("fee", vec![("original_amount_cents", "5"), ("line_item_id", "own-2")]),
    ] {
        let path = format!("{ELENA}/do/{what}");
        let first = confirmation(&setup, &path, &fields).await;
        assert!(!words(&first).contains("Nothing new"), "{}", words(&first));
        assert!(send(&setup, &path, &first).await.header("set-cookie").contains("Done."));
        let before = items(&setup, "loan-05-elena").await;
        let page = confirmation(&setup, &path, &fields).await;
        let text = words(&page);
        let told = format!("Nothing new is recorded: {} was already recorded with this content", fields[1].1);
        assert!(text.contains(&told) && text.contains("enter a different id"), "{text}");
        assert!(!text.contains("recorded on account") && !text.contains("Before and after"), "{text}");
        let sent = send(&setup, &path, &page).await;
        assert!(sent.header("set-cookie").contains("Nothing+new+is+recorded"), "{sent:?}");
        assert!(!sent.header("set-cookie").contains("Done."), "{sent:?}");
        assert_eq!(items(&setup, "loan-05-elena").await, before);
    }
}

#[tokio::test]
async fn paying_more_than_is_owed_is_told_before_it_is_done() {
    let setup = ConsoleSetup::new().await;
    setup.go_to("2025-01-15T09:00:00-05:00").await;
    setup.product("auto-12", json!({}), false).await;
    setup.account("olga", "auto-12", "2025-01-15T09:00:00-05:00", json!({})).await;
    // A loan of 1,200.00 at 1 % a month, paid off at once: with the interest of the current month, 12.00.
    let path = "/console/accounts/olga/do/payment";
    for (amount, told) in
        [("1,300.00", Some("than the borrower owes: a surplus of $88.00 will remain")), ("1,212.00", None)]
    {
        let text =
            words(&confirmation(&setup, path, &[("original_amount_cents", amount), ("line_item_id", "p")]).await);
        assert!(text.contains("Principal $1,200.00 $0.00"), "{text}");
        assert_eq!(text.contains("than the borrower owes"), told.is_some(), "{text}");
        assert!(told.is_none_or(|told| text.contains(told)), "{text}");
    }
}
