//! Refused forms and confirmation pages, in wide and narrow windows.

use crate::accessibility::{Axe, Rules};
use crate::browser::{Browser, Look};
use crate::site::{Site, sign_in};

/// The focused element.
const FOCUSED: &str =
    "return document.activeElement.dataset.summary !== undefined ? 'summary' : document.activeElement.id";
/// By how much the page is wider than the window.
const WIDER: &str = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_form_leads_to_what_is_wrong_and_an_account_is_shown_before_it_is_opened() {
    let site = Site::with_demo();
    let browser = Browser::start(site.url(), site.folder()).await;
    sign_in(&browser).await;
    for look in [Look { width: 1280, dark: false }, Look { width: 390, dark: false }] {
        browser.look(look).await;
        refused(&browser, look).await;
        backdated(&browser, look).await;
    }
    browser.close().await;
}

async fn is_in_order(browser: &Browser) {
    assert_eq!(browser.run(WIDER).await, 0, "nothing is wider than the window");
    if let Some(axe) = Axe::find() {
        assert_eq!(axe.judge(browser, Rules::All).await, Vec::<String>::new());
    }
}

/// A customer with an invalid email and a social security number: the summary has the focus, and its links open
/// collapsed parts.
async fn refused(browser: &Browser, look: Look) {
    browser.go("/console/customers/new").await;
    browser.unfold().await;
    browser.fill("First name", "Ada").await;
    browser.fill("Email", "not-an-address").await;
    browser.fill("Social security number", "987-65-4321").await;
    browser.click("Add the customer").await;
    browser.see("Nothing was saved. ").await;
    browser.picture(&format!("form-refused-{}", look.name())).await;
    assert_eq!(browser.run(FOCUSED).await, "summary");
    assert_eq!(browser.value("Social security number").await, "");
    assert_eq!(browser.value("First name").await, "Ada");
    let page = browser.run("return document.documentElement.outerHTML").await;
    assert!(!page.as_str().unwrap_or_default().contains("4321"), "no page shows the number");
    browser.run("document.querySelectorAll('main details').forEach((details) => { details.open = false; })").await;
    browser.click("“Social security number”: must be entered again").await;
    assert_eq!(browser.run(FOCUSED).await, "f-ssn");
    browser.click("“Email”: must be").await;
    assert_eq!(browser.run(FOCUSED).await, "f-email");
    is_in_order(browser).await;
    // Corrected without the number, the form is not saved.
    browser.fill("Email", "ada@example.com").await;
    browser.click("Add the customer").await;
    browser.see("Correct one field").await;
    assert_eq!(browser.path().await, "/console/customers/new");
}

/// A loan from years ago, without a borrower.
async fn backdated(browser: &Browser, look: Look) {
    browser.go("/console/accounts/new?product_id=auto-12").await;
    browser.fill("Principal", "1,200.00").await;
    browser.fill("Begins", "2025-01-15T12:00:00").await;
    browser.fill("Account id", &format!("old-{}", look.name())).await;
    browser.click("Open the account").await;
    browser.see("Open the account?").await;
    browser.see("No borrower is assigned").await;
    browser.see("late fees will be charged").await;
    browser.see("webhooks will be sent").await;
    browser.picture(&format!("account-confirm-{}", look.name())).await;
    is_in_order(browser).await;
    browser.click("Edit").await;
    browser.see("Schedule: 12 instalments").await;
    assert_eq!(browser.value("Principal").await, "1,200.00");
    browser.click("Open the account").await;
    browser.see("Open the account?").await;
    browser.click("Open the account").await;
    browser.see("was opened").await;
}
