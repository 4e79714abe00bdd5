//! Lists of accounts and customers, CSV downloads, and the forms that create and change them.

use crate::account::{hidden, words};
use crate::setup::{ConsoleSetup, FORMULA, SCRIPT, assert_harmless, form_of, json_of, view_of};
use daybook_service::access::Role;
use serde_json::json;

#[tokio::test]
async fn a_list_of_nothing_says_what_to_do() {
    let setup = ConsoleSetup::new().await;
    for (path, next) in [
        ("/console/accounts", "/console/products/new"),
        ("/console/customers", "/console/customers/new"),
        ("/console/products", "/console/products/new"),
    ] {
        let page = setup.get(path).await.page();
        assert!(page.contains("class=\"empty\"") && page.contains(next), "{path}: {page}");
        let csv = setup.get(&format!("{path}?format=csv")).await;
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(csv.page().lines().count(), 1, "{path}");
    }
    assert!(setup.get("/console/accounts/new").await.page().contains("No product yet"));
    assert_eq!(setup.get("/console/customers/unknown").await.status, 404);
    assert_eq!(setup.get("/console/products/nothing").await.status, 404);
}

#[tokio::test]
async fn names_and_fields_harm_neither_page_nor_spreadsheet() {
    let setup = ConsoleSetup::filled().await;
    for path in [
        "/console/accounts",
        "/console/accounts?q=hyperlink",
        "/console/accounts?q=%3Cscript%3Ealert(1)%3C/script%3E",
        "/console/customers",
        "/console/customers?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
        "/console/customers/mallory",
        "/console/customers/mallory/edit",
        "/console/customers/shop",
        "/console/accounts/new?product_id=loan&customer=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    ] {
        let page = setup.get(path).await.page();
        assert_harmless(&page);
        assert!(!page.contains("6789-") && !page.contains("123-45"), "{path} shows a secret number");
    }
    let csv = setup.get("/console/customers?format=csv").await.page();
    assert!(csv.contains(&format!("\"'{}\"", FORMULA.replace('"', "\"\""))), "{csv}");
    assert!(!csv.lines().any(|line| line.split(',').any(|cell| cell.starts_with('='))), "{csv}");
    let csv = setup.get("/console/accounts?format=csv").await;
    assert!(csv.header("content-disposition").contains("accounts.csv"));
    let csv = csv.page();
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains(SCRIPT), "text stays what it is: {csv}");
}

#[tokio::test]
async fn accounts_are_filtered_and_paged() {
    let setup = ConsoleSetup::filled().await;
    for number in 0..60 {
        let id = format!("n{number:02}");
        setup.account(&id, "loan", "2025-02-28T09:00:00-05:00", json!({})).await;
    }
    setup.settle().await;
    for (query, there, not_there) in [
        ("q=lee", ">a1<", ">a2<"),
        ("q=a2", ">a2<", ">a1<"),
        ("status=SUSPENDED", ">a1<", ">a2<"),
        ("substatus=DELINQUENT", ">a1<", ">a2<"),
        ("status=ACTIVE&product=loan", ">a2<", ">a1<"),
        ("due=late", ">a1<", ">a2<"),
    ] {
        let page = setup.get(&format!("/console/accounts?{query}")).await.page();
        assert!(page.contains(there) && !page.contains(not_there), "{query}: {page}");
    }
    assert!(setup.get("/console/accounts?product=other").await.page().contains("No accounts match"));
    for wrong in ["due=soon", "status=LATE"] {
        assert_eq!(setup.get(&format!("/console/accounts?{wrong}")).await.status, 422, "{wrong}");
    }
    let first = setup.get("/console/accounts?status=ACTIVE").await.page();
    assert!(first.contains(">a2<") && !first.contains(">n59<"));
    let next = first.split("rel=\"next\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let next = next.expect("a link to the next page").replace("&#38;", "&");
    let second = setup.get(&next).await.page();
    assert!(second.contains(">n59<") && !second.contains(">a2<") && second.contains("rel=\"prev\""), "{next}");
    let csv = setup.get("/console/accounts?status=ACTIVE&format=csv").await.page();
    assert_eq!(csv.lines().count(), 62, "all pages, and the names of the columns");
}

#[tokio::test]
async fn an_account_is_opened_by_its_form() {
    let setup = ConsoleSetup::filled().await;
    assert!(setup.get("/console/accounts/new").await.page().contains("<option value=\"loan\""));
    let form = setup.get("/console/accounts/new?product_id=loan&customer=ann").await.page();
    assert!(form.contains("America/New_York") && form.contains("value=\"ann\""), "{form}");
    let typed = [
        ("product_id", "loan"),
        ("account_id", "mine"),
        ("summary.initial_principal_cents", "1,200.00"),
        ("effective_at", "2025-02-28T09:00"),
        ("assign_customers", "ann"),
        ("second_customer", "shop"),
        ("post_promo_overview.post_promo_len", "6"),
        ("external_fields", "crm: 4711\nnote: a:b"),
        ("once", "only this form"),
    ];
    let piece = setup.post("/console/accounts/preview", &typed).await.page();
    assert!(piece.contains("Schedule: 6 instalments") && !piece.contains("<html"), "{piece}");
    assert!(piece.contains("curl -X POST"), "{piece}");
    let whole = [typed.as_slice(), &[("whole", "1")]].concat();
    let page = setup.post("/console/accounts/preview", &whole).await.page();
    assert!(page.contains("Schedule: 6 instalments") && page.contains("<html"));
    let asked = setup.post("/console/accounts/new", &typed).await.page();
    assert!(asked.contains("Open the account?") && asked.contains("name=\"confirmed\""), "{asked}");
    assert!(setup.service.get_account(&setup.who, "mine", None).await.is_err(), "nothing is stored yet");
    let typed = [typed.as_slice(), &[("confirmed", "1")]].concat();
    assert_eq!(setup.post("/console/accounts/new", &typed).await.leads_to(), "/console/accounts/mine");
    assert_eq!(setup.post("/console/accounts/new", &typed).await.leads_to(), "/console/accounts/mine", "sent twice");
    let account = view_of(setup.service.get_account(&setup.who, "mine", None).await);
    assert_eq!(account["effective_at"], "2025-02-28T09:00:00-05:00");
    assert_eq!(account["customers"][1], json!({"customer_id": "shop", "customer_account_role": "SECONDARY"}));
    assert_eq!(account["external_fields"][1], json!({"key": "note", "value": "a:b"}));
}

#[tokio::test]
async fn what_is_wrong_is_said_beside_the_field() {
    let setup = ConsoleSetup::filled().await;
    let wrong = |field: &str| format!("id=\"f-{}-wrong\"", field.replace('.', "-"));
    for (field, text) in [
        ("summary.initial_principal_cents", "lots"),
        ("effective_at", "soon"),
        ("account_id", "<script>alert(1)</script>"),
        ("assign_customers", "nobody"),
        ("second_customer", "nobody"),
        ("external_fields", "no colon"),
        ("cycle_type.late_fee_grace", "a while"),
    ] {
        let mut typed = vec![("product_id", "loan")];
        if field != "summary.initial_principal_cents" {
            typed.push(("summary.initial_principal_cents", "100"));
        }
        if field == "second_customer" {
            typed.push(("assign_customers", "ann"));
        }
        typed.push((field, text));
        let answer = setup.post("/console/accounts/new", &typed).await;
        assert_eq!(answer.status, 422, "{field}");
        assert!(answer.body.contains(&wrong(field)), "{field}: {}", answer.body);
        assert_harmless(&answer.body);
    }
    for (field, text) in
        [("email", "not-an-address"), ("phone_number", "12"), ("external_fields", "x"), ("name_first", " ")]
    {
        let name = if field == "name_first" { "" } else { "Bo" };
        let answer = setup.post("/console/customers/new", &[("name_last", name), (field, text)]).await;
        assert_eq!(answer.status, 422, "{field}");
        assert!(answer.body.contains(&wrong(field)), "{field}: {}", answer.body);
    }
}

/// 1,200.00 lent on 15 June 2024, opened on 1 March 2025: eight missed instalments, each with a late fee of 15.00.
#[tokio::test]
async fn a_backdated_account_is_shown_before_it_is_opened() {
    let setup = ConsoleSetup::new().await;
    let fees = json!({"default_attributes": {"default_late_fee_cents": 1500}});
    setup.product("loan", fees, false).await;
    setup.customer(&json!({"customer_id": "ann", "name_last": "Lee"})).await;
    let typed = [
        ("product_id", "loan"),
        ("account_id", "old"),
        ("summary.initial_principal_cents", "1,200.00"),
        ("effective_at", "2024-06-15T12:00"),
        ("once", "only this form"),
    ];
    let before = setup.log().await;
    let page = setup.post("/console/accounts/new", &typed).await.page();
    for words in [
        "A loan of $1,200.00 under Product loan, effective",
        "No borrower is assigned",
        "8 late fees will be charged, $120.00 in total.",
        "The status will be: Suspended, delinquent.",
        "webhooks will be sent to each subscribed URL",
        "<code>payment_missed</code></td><td class=\"num\">8</td>",
        "Nothing is stored yet",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(setup.service.get_account(&setup.who, "old", None).await.is_err(), "nothing is stored");
    assert_eq!(setup.log().await, before, "nothing is announced");
    // The hidden fields of the page open the account that it showed.
    let hidden = hidden_fields(&page);
    let hidden: Vec<(&str, &str)> = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(setup.post("/console/accounts/new", &hidden).await.leads_to(), "/console/accounts/old");
    let account = view_of(setup.service.get_account(&setup.who, "old", None).await);
    assert_eq!(account["summary"]["fees_balance_cents"], 12_000);
    let announced = setup.log().await - before;
    assert!(page.contains(&format!("{announced} webhooks will be sent")), "{announced}: {page}");
    // An existing account, and a new account with a borrower that begins now, need no confirmation.
    assert_eq!(setup.post("/console/accounts/new", &typed).await.leads_to(), "/console/accounts/old");
    let plain = [
        ("product_id", "loan"),
        ("account_id", "new"),
        ("summary.initial_principal_cents", "1,200.00"),
        ("assign_customers", "ann"),
    ];
    assert_eq!(setup.post("/console/accounts/new", &plain).await.leads_to(), "/console/accounts/new");
    let taken = [("product_id", "loan"), ("account_id", "old"), ("summary.initial_principal_cents", "7")];
    let answer = setup.post("/console/accounts/new", &taken).await;
    assert_eq!(answer.status, 422);
    assert!(answer.body.contains("id=\"f-account_id-wrong\""), "{}", answer.body);
}

/// The names and values of the hidden fields of a page's last form.
fn hidden_fields(page: &str) -> Vec<(String, String)> {
    let form = &page[page.rfind("<form method=\"post\" action=\"/console/accounts/new\"").expect("a form")..];
    let part = |text: &str, head: &str| {
        let rest = &text[text.find(head).expect("an attribute") + head.len()..];
        rest[..rest.find('"').expect("its end")].to_owned()
    };
    let fields = form.split("<input type=\"hidden\" ").skip(1);
    let fields = fields.map(|field| (part(field, "name=\""), part(field, "value=\"")));
    fields.filter(|(name, _)| name != "csrf").collect()
}

#[tokio::test]
async fn a_form_that_is_refused_says_so_at_its_top() {
    let setup = ConsoleSetup::filled().await;
    let typed = [
        ("name_last", "Bo"),
        ("email", "not-an-address"),
        ("phone_number", "12"),
        ("business_details.business_ein", "1"),
    ];
    let answer = setup.post("/console/customers/new", &typed).await;
    assert_eq!(answer.status, 422);
    let page = &answer.body;
    let summary = page.find("data-summary").expect("a summary");
    assert!(
        summary < page.find("<form method=\"post\" action=\"/console/customers/new\"").expect("the form"),
        "{page}"
    );
    assert!(page.contains("Nothing was saved. ") && page.contains("<a href=\"#f-email\">“Email”: must be"), "{page}");
    assert!(page.contains("id=\"f-email\"") && page.contains("aria-invalid=\"true\""), "{page}");
    // The typed values are visible, also in a collapsible part of the form.
    let business = &page[page.find("<summary>Business</summary>").expect("a part") - 30..];
    assert!(business[..30].contains(" open"), "{business}");
    let untouched = setup.get("/console/customers/new").await.page();
    assert!(!untouched.contains("data-summary") && !untouched.contains("<details class=\"more\" open"), "{untouched}");
}

#[tokio::test]
async fn a_number_that_was_typed_is_not_lost_unnoticed() {
    let setup = ConsoleSetup::filled().await;
    let typed = [("customer_id", "bo"), ("name_first", "Bo"), ("email", "not-an-address"), ("ssn", "987-65-4321")];
    let page = setup.post("/console/customers/new", &typed).await;
    assert_eq!(page.status, 422);
    assert!(!page.body.contains("4321"), "no page shows it");
    let again = "“Social security number”: must be entered again";
    assert!(page.body.contains(again) && page.body.contains("name=\"ssn_typed\" value=\"1\""), "{}", page.body);
    // The user corrects the other field and forgets the number: nothing is saved.
    let corrected = [("customer_id", "bo"), ("name_first", "Bo"), ("email", "bo@example.com"), ("ssn_typed", "1")];
    let page = setup.post("/console/customers/new", &corrected).await;
    assert!(page.status == 422 && page.body.contains(again), "{}", page.body);
    assert!(page.body.contains("name=\"ssn_typed\" value=\"1\""), "it is asked for until it is typed: {}", page.body);
    assert!(setup.service.get_customer(&setup.who, "bo").await.is_err());
    // Typed again, the number is saved. Left out explicitly, the customer is added without it.
    let typed_again = [corrected.as_slice(), &[("ssn", "987-65-4321")]].concat();
    assert_eq!(setup.post("/console/customers/new", &typed_again).await.leads_to(), "/console/customers/bo");
    assert_eq!(view_of(setup.service.get_customer(&setup.who, "bo").await)["ssn_last_four"], "4321");
    let without = [("customer_id", "cy"), ("name_first", "Cy"), ("ssn_typed", "1"), ("ssn_left_out", "1")];
    assert_eq!(setup.post("/console/customers/new", &without).await.leads_to(), "/console/customers/cy");
    assert!(view_of(setup.service.get_customer(&setup.who, "cy").await)["ssn_last_four"].is_null());
    // The same for a change.
    let form = setup.get("/console/customers/bo/edit").await.page();
    let shown = form.split("name=\"shown\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a mark");
    let change = |more: &[(&'static str, &'static str)]| {
        let mut typed = vec![("shown", shown.to_owned()), ("name_first", "Bo".to_owned())];
        typed.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        typed
    };
    let post = async |fields: Vec<(&'static str, String)>| {
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        setup.post("/console/customers/bo/edit", &fields).await
    };
    let page = post(change(&[("email", "not-an-address"), ("ssn", "123-45-0000")])).await;
    assert!(page.status == 422 && page.body.contains("Leave the social security number as it is"), "{}", page.body);
    assert_eq!(post(change(&[("email", "b@example.com"), ("ssn_typed", "1")])).await.status, 422);
    let saved = post(change(&[("email", "b@example.com"), ("ssn_typed", "1"), ("ssn_left_out", "1")])).await;
    assert_eq!(saved.leads_to(), "/console/customers/bo");
    assert_eq!(view_of(setup.service.get_customer(&setup.who, "bo").await)["ssn_last_four"], "4321");
}

#[tokio::test]
async fn a_customer_is_added_and_changed() {
    let setup = ConsoleSetup::filled().await;
    let typed = [("customer_id", "bo"), ("name_first", "Bo"), ("email", "bo@example.com"), ("ssn", "987-65-4321")];
    assert_eq!(setup.post("/console/customers/new", &typed).await.leads_to(), "/console/customers/bo");
    let page = setup.get("/console/customers/bo").await.page();
    assert!(page.contains("ends with 4321") && !page.contains("987-65"), "{page}");
    let piece = setup.post("/console/customers/preview", &typed).await.page();
    assert!(piece.contains("curl -X POST") && !piece.contains("4321"), "{piece}");
    let edit = setup.get("/console/customers/bo/edit").await.page();
    assert!(edit.contains("value=\"bo@example.com\"") && !edit.contains("4321"), "{edit}");
    let shown = |page: &str| hidden(page).into_iter().find(|(name, _)| name == "shown").expect("a mark").1;
    let mark = shown(&edit);
    let changed = [
        ("shown", mark.as_str()),
        ("name_first", "Bo"),
        ("name_last", "Day"),
        ("customer_type", "person"),
        ("external_fields", "crm: 1"),
        ("assign_to_accounts", "a1"),
        ("customer_account_role", "SECONDARY"),
    ];
    assert_eq!(setup.post("/console/customers/bo/edit", &changed).await.leads_to(), "/console/customers/bo");
    let bo = view_of(setup.service.get_customer(&setup.who, "bo").await);
    assert_eq!((&bo["name_last"], &bo["email"], &bo["ssn_last_four"]), (&json!("Day"), &json!(null), &json!("4321")));
    assert_eq!(bo["accounts"], json!([{"account_id": "a1", "customer_account_role": "SECONDARY"}]));
    let page = setup.get("/console/customers/bo").await.page();
    assert!(page.contains("/console/accounts/a1") && page.contains("Delinquent"), "{page}");
    let mark = shown(&setup.get("/console/customers/bo/edit").await.page());
    let emptied = [("shown", mark.as_str()), ("name_first", "Bo"), ("name_last", "Day"), ("customer_type", "person")];
    setup.post("/console/customers/bo/edit", &emptied).await.leads_to();
    let bo = view_of(setup.service.get_customer(&setup.who, "bo").await);
    assert_eq!(bo["external_fields"], json!([]));
}

#[tokio::test]
async fn what_somebody_else_changed_is_not_wiped_by_an_old_form() {
    let setup = ConsoleSetup::filled().await;
    setup.customer(&json!({"customer_id": "bo", "name_first": "Bo"})).await;
    let path = "/console/customers/bo/edit";
    let old = setup.get(path).await.page();
    let change = form_of(&json!({"email": "new@example.com", "external_fields": [{"key": "crm", "value": "1"}]}));
    json_of(setup.service.update_customer(&setup.who, None, "bo", change).await);
    let sent = async |page: &str, typed: &[(&str, &str)]| {
        let fields = hidden(page);
        let mut fields: Vec<(&str, &str)> = fields
            .iter()
            .filter(|(name, _)| name != "csrf")
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        fields.extend([("name_first", "Bo"), ("customer_type", "person")]);
        fields.extend(typed);
        setup.post(path, &fields).await
    };
    let typed = [("name_last", "Day")];
    let refused = sent(&old, &typed).await;
    assert_eq!(refused.status, 422);
    let text = words(&refused.body);
    assert!(text.contains("This customer was changed after you opened the form"), "{text}");
    assert!(text.contains("“Email”: the stored value is now “new@example.com”"), "{text}");
    assert!(text.contains("“External fields”: the stored value is now “crm: 1”"), "{text}");
    assert!(refused.body.contains("value=\"Day\""), "what was typed stays");
    let bo = view_of(setup.service.get_customer(&setup.who, "bo").await);
    assert_eq!((&bo["email"], &bo["name_last"]), (&json!("new@example.com"), &json!(null)));
    // After seeing the conflict, the user may submit again: the values typed now count.
    let typed = [("name_last", "Day"), ("email", "new@example.com"), ("external_fields", "crm: 1")];
    assert_eq!(sent(&refused.body, &typed).await.leads_to(), "/console/customers/bo");
    assert_eq!(sent(&refused.body, &typed).await.leads_to(), "/console/customers/bo", "sent twice");
    let bo = view_of(setup.service.get_customer(&setup.who, "bo").await);
    assert_eq!((&bo["email"], &bo["name_last"]), (&json!("new@example.com"), &json!("Day")));
    assert_eq!(bo["external_fields"], json!([{"key": "crm", "value": "1"}]));
}

#[tokio::test]
async fn external_fields_that_are_left_alone_stay_as_they_are() {
    let setup = ConsoleSetup::filled().await;
    let fields = json!([
        {"key": "a:b", "value": "c"},
        {"key": "note", "value": "two\nlines"},
        {"key": "pad", "value": "  blanks  "},
        {"key": "said", "value": "\"hello\""},
    ]);
    setup.customer(&json!({"customer_id": "bo", "name_first": "Bo", "external_fields": fields})).await;
    let page = setup.get("/console/customers/bo/edit").await.page();
    let shown = hidden(&page).into_iter().find(|(name, _)| name == "shown").expect("a mark").1;
    let text = page.split("name=\"external_fields\"").nth(1).and_then(|rest| rest.split('>').nth(1)).expect("a text");
    let text = text.trim_end_matches("</textarea").replace("&#34;", "\"").replace('\n', "\r\n");
    assert!(text.contains("\"a:b\": c"), "{text}");
    let typed = format!("{text}\r\ncrm: 4711");
    let typed =
        [("shown", shown.as_str()), ("name_first", "Bo"), ("customer_type", "person"), ("external_fields", &typed)];
    setup.post("/console/customers/bo/edit", &typed).await.leads_to();
    let bo = view_of(setup.service.get_customer(&setup.who, "bo").await);
    let mut expected = fields.as_array().expect("a list").clone();
    expected.push(json!({"key": "crm", "value": "4711"}));
    assert_eq!(bo["external_fields"], json!(expected));
}

#[tokio::test]
async fn who_may_only_look_is_offered_nothing_else() {
    let setup = ConsoleSetup::filled().await;
    let reader = setup.seen_by(Role::ReadOnly).await;
    for path in ["/console/accounts", "/console/customers", "/console/customers/ann", "/console/products/loan"] {
        let page = reader.get(path).await.page();
        for action in ["/new", "/edit", "migration?to=on"] {
            assert!(!page.contains(action), "{path} offers {action}");
        }
    }
}
