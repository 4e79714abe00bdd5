//! The content of an account's pages.

use super::{assert_figure, at, ben, elena, release, words};
use crate::setup::{ConsoleSetup, assert_harmless, form_of, json_of};
use daybook_service::access::Role;
use daybook_service::changes::ChangeRequest;
use serde_json::json;

const ELENA: &str = "/console/accounts/loan-05-elena";
const BEN: &str = "/console/accounts/loan-02-ben";

#[tokio::test]
async fn every_tab_has_something_to_say() {
    let setup = ConsoleSetup::filled().await;
    let notice = json!({"notification_type": "payment_due_date", "time_offset": "-3 days", "time": "09:00:00"});
    json_of(setup.service.change_account(&setup.who, None, "a1", ChangeRequest::Notice(form_of(&notice))).await);
    let tabs: [(&str, &[&str]); 6] = [
        ("overview", &["Ann Lee", "Balance over time", "Status history", "<svg", "Product loan", "12 %"]),
        ("schedule", &["15 Feb 2025", "$106.62", "Past due", "15 Jan 2026"]),
        ("items", &["Late fee", "$15.00", "/console/accounts/a1/do/waive?item=dbk_late_fee_1"]),
        ("timeline", &["The account was opened", "late fee of $15.00", "$1,227.00", "/console/webhooks/messages/"]),
        ("webhooks", &["account_create", "payment_missed", "No delivery attempts yet"]),
        ("notices", &["payment_due_date", "-3 days", "12 Mar 2025, 09:00", "account_summary"]),
    ];
    for (tab, expected) in tabs {
        let page = setup.get(&format!("/console/accounts/a1?tab={tab}")).await.page();
        for text in expected {
            assert!(page.contains(text), "{tab} does not say {text}: {page}");
        }
        assert_eq!(page.matches("<h1>").count(), 1, "{tab}");
        let other = setup.get(&format!("/console/accounts/a2?tab={tab}")).await.page();
        assert_harmless(&other);
    }
    let missing = setup.get("/console/accounts/unknown").await;
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("nav class=\"side\""), "the error page has the navigation");
}

#[tokio::test]
async fn every_table_can_be_taken_away() {
    let setup = ConsoleSetup::filled().await;
    let files = [
        ("schedule", "1,2025-02-15T23:59:59-05:00,106.62,12.00,94.62,"),
        ("items", "dbk_late_fee_1,LATE_FEE,VALID,PROCESSED,"),
        ("timeline", "account_created,PROCESSED,2025-01-15T09:00:00-05:00,"),
        ("webhooks", "account_create,"),
        ("attempts", "attempted_at,event,"),
        ("notices", "notification_type,"),
        ("trail", "2025-01-15T09:00:00-05:00,ACTIVE,"),
    ];
    for (tab, expected) in files {
        let answer = setup.get(&format!("/console/accounts/a1?tab={tab}&format=csv")).await;
        assert_eq!(answer.header("content-type"), "text/csv; charset=utf-8", "{tab}");
        assert!(answer.header("content-disposition").contains(&format!("a1-{tab}")), "{tab}");
        let body = answer.page();
        assert!(body.contains(expected), "{tab}: {body}");
    }
    assert_eq!(setup.get("/console/accounts/a1?tab=nonsense&format=csv").await.status, 404);
}

#[tokio::test]
async fn the_past_is_shown_as_it_stood_and_the_future_as_it_will_be() {
    let setup = elena().await;
    json_of(
        setup
            .service
            .change_account(
                &setup.who,
                None,
                "loan-05-elena",
                ChangeRequest::Reversal("p1".to_owned(), form_of(&json!({}))),
            )
            .await,
    );
    let past = setup.get(&format!("{ELENA}?as_of=2025-02-28T00:00:00-05:00")).await.page();
    assert!(past.contains("The status at the top, the status history and the chart are as of now"), "{past}");
    assert_figure(&past, "Balance", "$803.97");
    assert_figure(&past, "Payoff", "$812.01");
    assert_figure(&past, "Past due", "0 days");
    let future = setup.get(&format!("{ELENA}?as_of=2025-03-10T00:00:00")).await.page();
    assert!(future.contains("Preview as of"), "{future}");
    assert_figure(&future, "Balance", "principal $1,200.00");
    assert_figure(&future, "Interest", "$12.00");
    assert_figure(&future, "Fees", "$25.00");
    assert_figure(&future, "Payoff", "$1,245.04");
    assert_figure(&future, "Past due", "$408.03 23 days");
    assert!(future.contains(&format!("{ELENA}/roll?effective_at=2025-03-10T00%3A00%3A00")), "it can be rolled there");
    assert!(!past.contains("/roll?effective_at="), "nothing is rolled back");
    // The links to the other tabs keep the selected time.
    assert!(
        past.contains(&format!("{ELENA}?tab=items&amp;as_of=2025-02-28T00%3A00%3A00-05%3A00"))
            || past.contains("?tab=items&#38;as_of=")
    );
    let items = setup.get(&format!("{ELENA}?tab=items&as_of=2025-02-28T00:00:00-05:00")).await.page();
    assert!(items.contains("<code>p1</code>") && !items.contains("Fee for a bounced payment"), "{items}");
    assert!(!items.contains("/do/reverse"), "what is only looked at cannot be acted upon");
    let now = setup.get(&format!("{ELENA}?tab=items")).await.page();
    assert!(now.contains("Fee for a bounced payment"), "{now}");
    // Viewing stored nothing.
    let account = super::account(&setup, "loan-05-elena").await;
    assert_eq!(account["processed_through"], "2025-03-01T12:00:00-05:00");
}

#[tokio::test]
async fn a_schedule_tells_what_was_paid_and_what_was_not() {
    let setup = ben().await;
    release(&setup, "auto-12").await;
    let page = setup.get(&format!("{BEN}?tab=schedule")).await.page();
    let rows: Vec<String> = page.split("<tr").skip(2).map(words).collect();
    assert!(rows[0].contains("15 Feb 2025") && rows[0].contains("Paid on time"), "{}", rows[0]);
    assert!(rows[1].contains("15 Mar 2025") && rows[1].contains("Paid late"), "{}", rows[1]);
    assert!(rows[2].contains("15 Apr 2025") && rows[2].contains("Paid late"), "{}", rows[2]);
    assert!(rows[3].contains("15 May 2025") && rows[3].contains("Next"), "{}", rows[3]);
    let then = setup.get(&format!("{BEN}?tab=schedule&as_of=2025-02-16")).await.page();
    let rows: Vec<String> = then.split("<tr").skip(2).map(words).collect();
    assert!(rows[0].contains("Paid on time") && rows[1].contains("Next"), "{}", rows[1]);
    let late = setup.get(&format!("{BEN}?tab=schedule&as_of=2025-04-20")).await.page();
    let rows: Vec<String> = late.split("<tr").skip(2).map(words).collect();
    assert!(rows[2].contains("$106.62") && rows[2].contains("Past due"), "{}", rows[2]);
}

#[tokio::test]
async fn what_is_held_is_shown_with_what_its_release_would_give() {
    let setup = ben().await;
    let page = setup.get(BEN).await.page();
    let text = words(&page);
    assert!(text.contains("3 events are held") && text.contains("Migration mode"), "{text}");
    assert!(text.contains("A payment of $250.00 will count"), "{text}");
    let released = text.split("The account if released now").nth(1).expect("a preview of the release");
    assert!(released.contains("Principal $888.53") && released.contains("Past due $30.00"), "{released}");
    assert!(released.contains("Active"), "{released}");
    assert_figure(&page, "Balance", "$0.00");
    // The page shows the state after a release, as of the selected time.
    let then = setup.get(&format!("{BEN}?as_of=2025-04-20T00:00:00")).await.page();
    assert_figure(&then, "Fees", "$30.00");
    assert_figure(&then, "Interest", "$22.10");
    assert_figure(&then, "Past due", "36 days");
    release(&setup, "auto-12").await;
    let page = setup.get(BEN).await.page();
    assert!(!page.contains("are held"), "{page}");
    assert_figure(&page, "Balance", "principal $888.53");
    assert_figure(&page, "Past due", "$30.00");
    assert!(words(&page).contains("loan-02-ben Active Ben Okafor"), "{}", words(&page));
}

#[tokio::test]
async fn the_slider_gets_what_lies_below_it() {
    let setup = elena().await;
    let whole = setup.get(ELENA).await.page();
    assert!(whole.contains("data-time-machine") && whole.contains("2025-02-15"), "{whole}");
    let piece = setup.fragment(&format!("{ELENA}?tab=overview&as_of=2025-02-28"), "time-machine").await.page();
    assert!(!piece.contains("<html") && !piece.contains("data-time-machine"), "{piece}");
    assert_figure(&piece, "Payoff", "$812.01");
    // For a date far beyond the end of the loan, the slider ends at that date.
    let far = setup.get(&format!("{ELENA}?as_of=2040-02-28")).await.page();
    assert!(far.contains("value=\"2040-02-28\"") && far.contains("max=\"2040-02-28\""), "{far}");
    let refused = setup.fragment(&format!("{ELENA}?as_of=2024-02-28"), "time-machine").await;
    assert_eq!(refused.status, 422);
}

#[tokio::test]
async fn a_moment_that_cannot_be_shown_is_told() {
    let setup = elena().await;
    for (asked, reason) in [
        ("2024-12-31", "must not be before the account"),
        ("2999-01-01", "must not be more than 60 years ahead"),
        ("yesterday", "the date must have the form"),
    ] {
        let answer = setup.get(&format!("{ELENA}?as_of={asked}")).await;
        assert_eq!(answer.status, 422, "{asked}");
        assert!(answer.body.contains(reason), "{asked}: {}", answer.body);
        assert_figure(&answer.body, "Balance", "$803.97");
    }
}

#[tokio::test]
async fn who_may_only_look_is_offered_nothing_to_do() {
    let setup = elena().await.seen_by(Role::ReadOnly).await;
    for tab in ["overview", "schedule", "items", "timeline", "webhooks", "notices"] {
        let page = setup.get(&format!("{ELENA}?tab={tab}&as_of=")).await.page();
        assert!(!page.contains("/do/") && !page.contains("/roll"), "{tab}: {page}");
    }
    assert_eq!(setup.get(&format!("{ELENA}/do/payment")).await.status, 403);
    assert_eq!(setup.get(&format!("{ELENA}/roll")).await.status, 403);
}

#[tokio::test]
async fn time_is_real_in_a_live_organization() {
    let setup = ConsoleSetup::of("LIVE").await;
    setup.product("loan", json!({}), false).await;
    setup.account("a1", "loan", "2025-02-20T09:00:00-05:00", json!({})).await;
    let page = setup.get("/console/accounts/a1?as_of=2025-06-01").await.page();
    assert!(page.contains("Preview as of") && !page.contains("/roll"), "{page}");
    let path = "/console/accounts/a1/roll";
    let moment = [("effective_at", "2025-06-01")];
    let confirm = format!("{path}/confirm?effective_at=2025-06-01");
    for refused in [setup.get(path).await, setup.get(&confirm).await, setup.post(path, &moment).await] {
        assert_eq!(refused.status, 403);
        assert!(refused.body.contains("cannot be rolled"), "{}", refused.body);
        assert!(!refused.body.contains("change your role"), "no role helps: {}", refused.body);
    }
}

#[tokio::test]
async fn the_end_of_the_calendar_is_too_far_ahead() {
    let setup = ConsoleSetup::filled().await;
    for day in ["9999-12-29", "9999-12-30", "9999-12-31", "9999-12-31T23:59:59"] {
        let page = setup.get(&format!("/console/accounts/a1?as_of={day}")).await;
        assert_eq!(page.status, 422, "{day}");
        assert!(page.body.contains("must not be more than 60 years ahead"), "{day}: {}", page.body);
        assert!(!page.body.contains("Preview as of"), "{day}");
    }
}

#[tokio::test]
async fn a_loan_of_thirty_years_stays_light() {
    let setup = ConsoleSetup::new().await;
    let form = json!({
        "product_id": "house",
        "product_overview": {"product_name": "House", "product_type": "INSTALLMENT"},
        "post_promotional_policies": {"post_promo_len": 360, "post_promo_default_interest_rate_percent": 6.0},
    });
    json_of(setup.service.create_product(&setup.who, None, form_of(&form)).await);
    let more = json!({"summary": {"initial_principal_cents": 30_000_000}});
    setup.account("h1", "house", "2005-01-15T09:00:00-05:00", more).await;
    setup.settle().await;
    let setup = at(&setup, "2025-03-01T12:00:00-05:00").await;
    for tab in ["overview", "schedule", "items", "timeline", "webhooks"] {
        let page = setup.get(&format!("/console/accounts/h1?tab={tab}")).await.page();
        let rows = page.matches("<tr").count() - page.matches("<tr class=\"posting\"").count();
        assert!(rows <= 61, "{tab} has {rows} rows");
        assert!(page.len() < 150_000, "{tab} has {} bytes", page.len());
    }
    let page = setup.get("/console/accounts/h1?tab=schedule").await.page();
    assert!(page.contains("241 to 300 of 360") && page.contains("Next"), "it opens where it stands");
    let page = setup.get("/console/accounts/h1?tab=schedule&page=6").await.page();
    assert!(page.contains("301 to 360 of 360") && page.contains("15 Jan 2035"), "{page}");
    let file = setup.get("/console/accounts/h1?tab=schedule&format=csv").await.page();
    assert_eq!(file.lines().count(), 361);
}
