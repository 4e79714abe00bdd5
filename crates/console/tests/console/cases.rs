//! Test cases: the built-in ones pass, a failing one shows the difference, and an account can be exported as one.

use crate::setup::{ConsoleSetup, assert_harmless};
use daybook_cases::builtin;
use daybook_service::access::Role;

#[tokio::test]
async fn every_case_of_ours_is_told_and_passes() {
    let setup = ConsoleSetup::new().await;
    let list = setup.get("/console/cases").await.page();
    for (file, _) in builtin() {
        assert!(list.contains(&format!("/console/cases/{file}\"")), "{file}");
        let page = setup.get(&format!("/console/cases/{file}")).await.page();
        assert!(page.contains("Expected results"), "{file}");
    }
    let told = setup.get("/console/cases/02-two-missed-then-catch-up.toml").await.page();
    for words in ["$250.00", "Summary: principal", "$888.53", "payment_missed", "1 May 2025, 09:00"] {
        assert!(told.contains(words), "the story does not say {words}");
    }
    let all = setup.post("/console/cases/run", &[]).await.page();
    assert!(all.contains(&format!("<h1>{} cases passed</h1>", builtin().len())), "{all}");
    let one = setup.post("/console/cases/01-on-time.toml/run", &[]).await.page();
    assert!(one.contains("<h1>1 case passed</h1>"), "{one}");
    let file = setup.get("/console/cases/01-on-time.toml?format=toml").await;
    assert!(file.header("content-disposition").contains("01-on-time.toml"));
    assert_eq!(file.page(), builtin()[0].1);
    for nowhere in ["/console/cases/nothing.toml", "/console/cases/own?like=nothing.toml"] {
        assert_eq!(setup.get(nowhere).await.status, 404, "{nowhere}");
    }
    assert!(setup.get("/console/cases?format=csv").await.page().lines().count() == builtin().len() + 1);
}

#[tokio::test]
async fn a_case_that_fails_shows_its_difference() {
    let setup = ConsoleSetup::new().await;
    let (_, text) = builtin()[1];
    let wrong = text.replace("summary.principal_cents = 88853", "summary.principal_cents = 88854");
    assert_ne!(wrong, text);
    let page = setup.post("/console/cases/own", &[("text", &wrong)]).await.page();
    assert!(page.contains("1 of 1 case failed"), "{page}");
    for words in ["888.54", "888.53", "Timeline", "Balance after"] {
        assert!(page.contains(words), "the page does not say {words}");
    }
    let line = 1 + wrong.lines().position(|line| line.contains("88854")).expect("the line is there");
    assert!(page.contains(&format!("<td class=\"num quiet\">{line}</td>")), "line {line}");
}

#[tokio::test]
async fn what_is_no_case_is_refused_with_its_line() {
    let setup = ConsoleSetup::new().await;
    let (_, text) = builtin()[0];
    let lines = text.lines().count();
    let wrong = format!("{text}\nparty = \"<script>alert(1)</script>\"\n");
    for (text, line) in [(wrong.as_str(), lines + 2), ("title = \n", 1), ("", 0)] {
        let refused = setup.post("/console/cases/own", &[("text", text)]).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert_harmless(&refused.body);
        assert!(line == 0 || refused.body.contains(&format!("Line {line}, ")), "line {line}: {}", refused.body);
    }
}

#[tokio::test]
async fn an_account_becomes_a_case_that_passes() {
    let setup = ConsoleSetup::filled().await;
    setup.pay("a1", "p1", "2025-02-15T09:00:00-05:00", 5_000).await;
    let chosen = setup.get("/console/cases/from-account?account_id=a1").await;
    assert_eq!(chosen.leads_to(), "/console/cases/from-account/a1");
    assert_eq!(setup.get("/console/cases/from-account?account_id=a%2F1").await.status, 422);
    let page = setup.get("/console/cases/from-account/a1").await.page();
    assert!(page.contains("Written from account a1") && page.contains("Copy"), "{page}");
    let file = setup.get("/console/cases/from-account/a1?format=toml").await;
    assert!(file.header("content-disposition").contains("a1.toml"));
    let text = file.page();
    let ran = setup.post("/console/cases/own", &[("text", &text)]).await.page();
    assert!(ran.contains("<h1>1 case passed</h1>"), "{ran}");
    assert_eq!(setup.get("/console/cases/from-account/unknown").await.status, 404);
    let reader = setup.seen_by(Role::ReadOnly).await;
    assert_eq!(reader.get("/console/cases/from-account/a1").await.status, 200);
    assert!(!reader.get("/console/cases").await.page().contains(">Run all<"));
}
