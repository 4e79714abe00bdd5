//! Changes of a loan: the form, the preview, and the result. The amounts are those of the worked numbers of the rules:
//! 1,200.00 at 12 % in three instalments of 408.03, of which the first is paid.

use super::{at, ben, elena, hidden, send, words};
use crate::setup::{ConsoleSetup, encoded, view_of};
use daybook_service::paging::Paging;
use serde_json::Value;

const ELENA: &str = "/console/accounts/loan-05-elena";

/// The changes in the menu.
const CHANGES: [&str; 13] = [
    "defer",
    "due-date",
    "skip",
    "extend",
    "rate",
    "cap",
    "pause",
    "promo",
    "re-amortize",
    "re-age",
    "restructure",
    "capitalize",
    "refund",
];

async fn changes(setup: &ConsoleSetup, id: &str) -> Vec<Value> {
    let list = setup.service.list_changes(&setup.who, id, Paging::default()).await;
    view_of(list)["results"].as_array().expect("a list").clone()
}

async fn preview(setup: &ConsoleSetup, what: &str, fields: &[(&str, &str)]) -> String {
    setup.get(&format!("{ELENA}/change/{what}/preview?{}", encoded(fields))).await.page()
}

/// Makes a change: opens its preview and confirms it.
async fn make(setup: &ConsoleSetup, what: &str, fields: &[(&str, &str)]) -> String {
    let page = preview(setup, what, fields).await;
    send(setup, &format!("{ELENA}/change/{what}"), &page).await.leads_to().to_owned()
}

#[tokio::test]
async fn every_change_has_a_form_that_is_linked() {
    let setup = elena().await;
    let page = setup.get(ELENA).await.page();
    let menu = setup.get(&format!("{ELENA}/change")).await.page();
    for what in CHANGES {
        let path = format!("{ELENA}/change/{what}");
        assert!(page.contains(&format!("href=\"{path}\"")) && menu.contains(&format!("href=\"{path}\"")), "{what}");
        let form = setup.get(&path).await.page();
        assert!(form.contains(&format!("action=\"{path}/preview\"")), "{form}");
    }
    assert_eq!(setup.get(&format!("{ELENA}/change/nonsense")).await.status, 404);
}

/// Two more instalments: 803.97 in four, 206.04 three times and 206.05.
#[tokio::test]
async fn a_loan_is_extended() {
    let setup = elena().await;
    let page = preview(&setup, "extend", &[("count", "2")]).await;
    let text = words(&page);
    assert!(text.contains("2 instalments will be added at the end"), "{text}");
    assert!(text.contains("15 Mar 2025 $408.03 $8.04 $399.99 $408.03 15 Mar 2025 $206.04 $8.04 $198.00"), "{text}");
    assert!(text.contains("5 new 15 Jun 2025 $206.05"), "{text}");
    assert!(text.contains("4 instalments change") && text.contains("Last due date 15 Apr 2025 15 Jun 2025"), "{text}");
    assert!(text.contains("schedule_change 1 at once") && text.contains("charges, waives or pays nothing"), "{text}");
    assert!(page.contains("/accounts/loan-05-elena/extensions") && page.contains("curl -X POST"), "{page}");
    assert!(changes(&setup, "loan-05-elena").await.is_empty(), "a preview stores nothing");
    let path = format!("{ELENA}/change/extend");
    let to = send(&setup, &path, &page).await.leads_to().to_owned();
    assert_eq!(to, format!("{ELENA}?tab=changes"));
    assert_eq!(send(&setup, &path, &page).await.leads_to(), to);
    assert_eq!(changes(&setup, "loan-05-elena").await.len(), 1, "sent twice, it is made once");
    let list = setup.get(&to).await.page();
    assert!(words(&list).contains("2 instalments were added at the end"), "{list}");
    let file = setup.get(&format!("{to}&format=csv")).await.page();
    assert!(file.starts_with("change_id,state,") && file.contains("PROCESSED"), "{file}");
    let schedule = words(&setup.get(&format!("{ELENA}?tab=schedule")).await.page());
    assert!(schedule.contains("15 Jun 2025 $206.05"), "{schedule}");
}

/// A rate from a later date is scheduled. Withdrawn, it is gone; cancelled, it stays in the list.
#[tokio::test]
async fn a_scheduled_rate_is_withdrawn_or_cancelled() {
    let setup = elena().await;
    let typed = [("interest_rate", "9"), ("effective_at_inclusive_start", "2025-03-10"), ("change_id", "lower")];
    let text = words(&preview(&setup, "rate", &typed).await);
    assert!(text.contains("The yearly rate is 9 % from 10 Mar 2025 on"), "{text}");
    assert!(text.contains("The change is scheduled for 10 Mar 2025"), "{text}");
    let to = make(&setup, "rate", &typed).await;
    let list = setup.get(&to).await.page();
    assert!(words(&list).contains("Scheduled") && list.contains("/change/withdraw?item=lower"), "{list}");
    let known = words(&preview(&setup, "rate", &typed).await);
    assert!(known.contains("Nothing new is recorded"), "{known}");
    let page = setup.get(&format!("{ELENA}/change/withdraw?item=lower")).await.page();
    assert!(words(&page).contains("This change will be withdrawn: The yearly rate is 9 %"), "{page}");
    assert!(page.contains("curl -X DELETE"), "{page}");
    send(&setup, &format!("{ELENA}/change/withdraw"), &page).await.leads_to();
    assert!(changes(&setup, "loan-05-elena").await.is_empty());

    make(&setup, "rate", &[("interest_rate", "9"), ("change_id", "again")]).await;
    let page = setup.get(&format!("{ELENA}/change/cancel?item=again")).await.page();
    assert!(words(&page).contains("This change will be cancelled: The yearly rate is 9 %"), "{page}");
    send(&setup, &format!("{ELENA}/change/cancel"), &page).await.leads_to();
    let list = setup.get(&format!("{ELENA}?tab=changes")).await.page();
    assert!(words(&list).contains("Cancelled") && !list.contains("/change/cancel?item=again"), "{list}");
}

/// Instalment 2 is deferred to maturity by its checkbox.
#[tokio::test]
async fn an_instalment_is_deferred() {
    let setup = elena().await;
    let form = setup.get(&format!("{ELENA}/change/defer")).await.page();
    assert!(form.contains("name=\"deferred\" value=\"2025-03-15\""), "{form}");
    assert!(!form.contains("name=\"deferred\" value=\"2025-04-15\""), "the last one cannot be deferred");
    assert!(!form.contains("name=\"deferred\" value=\"2025-02-15\""), "the first one is paid");
    let page = preview(&setup, "defer", &[("deferred", "2025-03-15")]).await;
    assert!(hidden(&page).contains(&("deferred".to_owned(), "2025-03-15".to_owned())), "{page}");
    let text = words(&page);
    assert!(text.contains("Deferred: the instalment of 15 Mar 2025 to the last instalment"), "{text}");
    make(&setup, "defer", &[("deferred", "2025-03-15")]).await;
    assert_eq!(changes(&setup, "loan-05-elena").await[0]["kind"], "payment_deferral");
    let none = setup.get(&format!("{ELENA}/change/defer/preview")).await;
    assert_eq!(none.status, 422);
    assert!(words(&none.body).contains("choose at least one instalment"), "{}", none.body);
}

/// What cannot be done is refused on the form, with the typed values.
#[tokio::test]
async fn a_change_that_cannot_be_made_is_refused() {
    let setup = elena().await;
    for (what, fields, expected) in [
        ("extend", "count=0", "Number of instalments"),
        ("extend", "", "is required"),
        ("due-date", "next_due_date=2025-02-01", "New due date"),
        ("pause", "start=2025-03-10&end=2025-03-01", "First date after the pause"),
        ("re-amortize", "", "the change leaves the account as it is"),
        ("refund", "original_amount_cents=5&line_item_id=r", "surplus"),
        ("cancel", "item=nobody", "nobody"),
        ("withdraw", "", "must name a change"),
    ] {
        let answer = setup.get(&format!("{ELENA}/change/{what}/preview?{fields}")).await;
        assert!([404, 409, 422].contains(&answer.status), "{what} {fields}: {}", answer.status);
        assert!(words(&answer.body).contains(expected), "{what} {fields}: {}", words(&answer.body));
    }
}

/// SCRA: while the limit covers today, the page of the account says so.
#[tokio::test]
async fn a_protected_borrower_is_marked() {
    let setup = elena().await;
    assert!(!words(&setup.get(ELENA).await.page()).contains("SCRA: "));
    make(&setup, "cap", &[("law", "scra"), ("effective_at_inclusive_start", "2025-02-15")]).await;
    let page = words(&setup.get(ELENA).await.page());
    assert!(page.contains("SCRA: the interest rate is limited"), "{page}");
    assert_eq!(changes(&setup, "loan-05-elena").await[0]["interest_rate"].to_string(), "6");
}

/// In migration mode a change is held, and its preview shows the account as if released.
#[tokio::test]
async fn a_change_is_held_in_migration_mode() {
    let setup = ben().await;
    let path = "/console/accounts/loan-02-ben/change/extend";
    let page = setup.get(&format!("{path}/preview?count=2")).await.page();
    assert!(words(&page).contains("the change will be held"), "{page}");
    let to = send(&setup, path, &page).await.leads_to().to_owned();
    let list = setup.get(&to).await.page();
    assert!(words(&list).contains("Held") && words(&list).contains("will be added at the end"), "{list}");
    let setup = at(&setup, "2025-05-11T00:00:00-04:00").await;
    super::release(&setup, "auto-12").await;
    let list = setup.get(&to).await.page();
    assert!(words(&list).contains("were added at the end"), "{list}");
}

/// Surplus is refunded, and the refund comes back.
#[tokio::test]
async fn surplus_is_refunded() {
    let setup = elena().await;
    setup.pay("loan-05-elena", "much", "2025-03-01T12:00:00-05:00", 100_000).await;
    let form = setup.get(&format!("{ELENA}/change/refund")).await.page();
    assert!(form.contains("Whole surplus") && form.contains("value=\"refund-"), "{form}");
    let typed = [("original_amount_cents", "10"), ("line_item_id", "back")];
    let text = words(&preview(&setup, "refund", &typed).await);
    assert!(text.contains("A refund of $10.00 will be recorded"), "{text}");
    assert_eq!(make(&setup, "refund", &typed).await, format!("{ELENA}?tab=items"));
    let items = setup.get(&format!("{ELENA}?tab=items")).await.page();
    assert!(items.contains(&format!("{ELENA}/change/refund-reversal?item=back")), "{items}");
    make(&setup, "refund-reversal", &[("item", "back")]).await;
    let items = setup.get(&format!("{ELENA}?tab=items")).await.page();
    assert!(!items.contains("/change/refund-reversal?item=back"), "{items}");
}
