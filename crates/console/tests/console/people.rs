//! Users: invite links that work once, roles, and deactivated users.

use crate::account::{hidden, send, words};
use crate::setup::{ConsoleSetup, PASSWORD};
use axum::body::Body;
use axum::http::Request;
use daybook_service::access::Role;

/// The link on a page that shows one.
fn link(page: &str) -> String {
    let text = page.split("data-copy-text>").nth(1).and_then(|rest| rest.split("</code>").next()).expect("a link");
    let path = text.strip_prefix("http://books.example.com").expect("it leads to where the browser is");
    path.to_owned()
}

/// A user without a session opens a page and submits its form.
async fn come_in(setup: &ConsoleSetup, path: &str, email: &str) -> u16 {
    let open = |request: Request<Body>| async { setup.send(request).await };
    let page = open(Request::get(path).body(Body::empty()).expect("a request")).await;
    if page.status != 200 {
        return page.status;
    }
    let token =
        page.body.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a token");
    let cookie = page.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let fields = [("csrf", token), ("name", "Ben"), ("email", email), ("password", PASSWORD)];
    let request = Request::post(path)
        .header("cookie", cookie)
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(crate::setup::encoded(&fields)));
    open(request.expect("a request")).await.status
}

#[tokio::test]
async fn a_link_works_once_and_is_shown_once() {
    let setup = ConsoleSetup::new().await;
    let invited = setup.post("/console/people/invite", &[("role", "SERVICING")]).await;
    assert_eq!(invited.header("set-cookie"), "");
    let path = link(&invited.page());
    let token = path.rsplit('/').next().expect("a token").to_owned();
    assert!(!setup.get("/console/people").await.page().contains(&token));
    assert!(setup.get(&path).await.page().contains("type=\"password\" autocomplete=\"new-password\""));
    assert_eq!(come_in(&setup, &path, "ben@example.com").await, 303);
    assert_eq!(come_in(&setup, &path, "eve@example.com").await, 404, "it works once");
    let page = setup.get("/console/people").await.page();
    assert!(page.contains("ben@example.com") && !page.contains("eve@example.com"));
    let people = setup.service.list_people(&setup.who).await.expect("a list");
    let ben = people.iter().find(|person| person.email == "ben@example.com").expect("he is there");
    assert_eq!(ben.role, Role::Servicing);
    assert_eq!(setup.post("/console/people/invite", &[("role", "KING")]).await.status, 422);
    assert!(setup.get("/console/people?format=csv").await.page().contains("ben@example.com"));
}

#[tokio::test]
async fn people_are_changed_kept_out_and_let_in_again() {
    let setup = ConsoleSetup::new().await;
    let ben = setup.seen_by(Role::Servicing).await;
    let id = ben.who.client_id.strip_prefix("person:").expect("a person").to_owned();
    let path = |what: &str| format!("/console/people/{id}/{what}");
    assert_eq!(ben.get("/console/webhooks").await.status, 200);
    assert_eq!(ben.get("/console/people").await.status, 403);
    assert!(
        !ben.get("/console/webhooks").await.page().contains("href=\"/console/keys\">Keys"),
        "rooms that are closed"
    );

    let ask = setup.get(&path("role?role=READ_ONLY")).await.page();
    assert!(ask.contains("but change nothing") && ask.contains("value=\"READ_ONLY\""), "{ask}");
    assert_eq!(setup.post(&path("role"), &[("role", "READ_ONLY")]).await.leads_to(), "/console/people");
    assert_eq!(ben.post("/console/webhooks/test", &[]).await.status, 403);
    assert!(!ben.get("/console/webhooks").await.page().contains("Send a test event"));

    assert!(setup.get(&path("disable")).await.page().contains("signed out everywhere"));
    assert_eq!(setup.post(&path("disable"), &[]).await.leads_to(), "/console/people");
    assert!(ben.get("/console/webhooks").await.leads_to().starts_with("/console/sign-in"));
    assert!(setup.service.sign_in("servicing@example.com", PASSWORD, None).await.is_err());
    assert!(setup.get("/console/people").await.page().contains("Deactivated on"));
    assert_eq!(setup.post(&path("enable"), &[]).await.leads_to(), "/console/people");
    let session = setup.service.sign_in("servicing@example.com", PASSWORD, None).await.expect("in again");
    assert_eq!(setup.post(&path("sessions"), &[]).await.leads_to(), "/console/people");
    assert!(setup.service.visit(&session.token).await.expect("it answers").is_none());
    let ask = setup.get(&path("password")).await.page();
    assert!(ask.contains("will be signed out everywhere"));
    let reset = send(&setup, &path("password"), &ask).await.page();
    let password = reset.split("data-copy-text>").nth(1).and_then(|rest| rest.split('<').next()).expect("a password");
    assert!(setup.service.sign_in("servicing@example.com", PASSWORD, None).await.is_err());
    setup.service.sign_in("servicing@example.com", password, None).await.expect("in with the new one");
    for nonsense in [path("party"), "/console/people/nobody/disable".to_owned()] {
        assert_eq!(setup.get(&nonsense).await.status, 404, "{nonsense}");
    }
}

#[tokio::test]
async fn a_form_that_is_sent_twice_makes_one_password() {
    let setup = ConsoleSetup::new().await;
    let ben = setup.seen_by(Role::Servicing).await;
    let path = format!("/console/people/{}/password", ben.who.client_id.trim_start_matches("person:"));
    let password =
        |page: &str| page.split("data-copy-text>").nth(1).map(|rest| rest.split('<').next().map(str::to_owned));
    let (ask, other) = (setup.get(&path).await.page(), setup.get(&path).await.page());
    let first = send(&setup, &path, &ask).await.page();
    assert_eq!(password(&send(&setup, &path, &ask).await.page()), password(&first));
    let refused = send(&setup, &path, &other).await;
    assert!(
        refused.status == 422 && refused.body.contains("was changed after this form was opened"),
        "{}",
        refused.body
    );
    let given = password(&first).flatten().expect("a password");
    setup.service.sign_in("servicing@example.com", &given, None).await.expect("the first one works");
}

#[tokio::test]
async fn nobody_gets_around_their_own_password() {
    let setup = ConsoleSetup::new().await;
    let path = format!("/console/people/{}/password", setup.who.client_id.trim_start_matches("person:"));
    assert!(!setup.get("/console/people").await.page().contains(&path), "the button is not there");
    for answer in [setup.get(&path).await, setup.post(&path, &[("once", "x"), ("password", "y")]).await] {
        assert_eq!(answer.status, 409);
        assert!(answer.body.contains("where you enter your current one"), "{}", answer.body);
    }
    setup.service.sign_in("ada@example.com", PASSWORD, None).await.expect("it stays");
}

#[tokio::test]
async fn links_wait_in_a_list_and_are_withdrawn() {
    let setup = ConsoleSetup::new().await;
    let page = setup.get("/console/people").await.page();
    assert!(!page.contains("Pending invites"), "{page}");
    let once = hidden(&page).into_iter().find(|(name, _)| name == "once").expect("a word of its own").1;
    let invite =
        async |role: &str| link(&setup.post("/console/people/invite", &[("role", role), ("once", &once)]).await.page());
    let path = invite("SERVICING").await;
    assert_eq!(invite("SERVICING").await, path, "sent twice, it makes one link");
    let page = setup.get("/console/people").await.page();
    let text = words(&page);
    assert!(text.contains("Servicing Ada 1 Mar 2025 8 Mar 2025, 17:00 UTC Withdraw"), "{text}");
    let ids: Vec<&str> =
        page.split("name=\"link\" value=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.len(), 1, "{page}");
    assert_eq!(setup.post("/console/people/links/withdraw", &[("link", ids[0])]).await.leads_to(), "/console/people");
    assert_eq!(come_in(&setup, &path, "ben@example.com").await, 404);
    assert!(!setup.get("/console/people").await.page().contains("Pending invites"));
    let again = setup.post("/console/people/links/withdraw", &[("link", ids[0])]).await;
    assert!(again.header("set-cookie").contains("Not+done"), "{again:?}");
}

#[tokio::test]
async fn a_link_does_not_outlive_its_maker() {
    let setup = ConsoleSetup::new().await;
    let boss = setup.seen_by(Role::Admin).await;
    let path = link(&boss.post("/console/people/invite", &[("role", "ADMIN")]).await.page());
    let id = boss.who.client_id.trim_start_matches("person:");
    setup.post(&format!("/console/people/{id}/disable"), &[]).await.leads_to();
    assert_eq!(come_in(&setup, &path, "eve@example.com").await, 404);
    let text = words(&setup.get("/console/people").await.page());
    assert!(text.contains("Not valid: the user who made it was deactivated"), "{text}");
}

#[tokio::test]
async fn who_guesses_is_told_when_to_come_again() {
    let setup = ConsoleSetup::new().await;
    let page = setup.send(Request::get("/console/sign-in").body(Body::empty()).expect("a request")).await;
    let cookie = page.header("set-cookie").split(';').next().expect("a cookie").to_owned();
    let token = page.body.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let fields = [("csrf", token.expect("a token")), ("email", "ada@example.com"), ("password", "a wrong guess")];
    let mut answers = Vec::new();
    for _ in 0..6 {
        let request = Request::post("/console/sign-in")
            .header("cookie", &cookie)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(crate::setup::encoded(&fields)));
        answers.push(setup.send(request.expect("a request")).await);
    }
    assert_eq!((answers[4].status, answers[4].header("retry-after")), (422, ""));
    assert_eq!((answers[5].status, answers[5].header("retry-after")), (429, "10"));
    assert!(answers[5].body.contains("try again in 10 seconds"), "{}", answers[5].body);
}

#[tokio::test]
async fn the_last_administrator_stays() {
    let setup = ConsoleSetup::new().await;
    let id = setup.who.client_id.strip_prefix("person:").expect("a person").to_owned();
    for (what, fields) in [("disable", vec![]), ("role", vec![("role", "READ_ONLY")])] {
        let refused = setup.post(&format!("/console/people/{id}/{what}"), &fields).await;
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains("this is the last ADMIN"), "{}", refused.body);
    }
    assert_eq!(setup.get("/console/people").await.status, 200);
}

#[tokio::test]
async fn everybody_changes_their_own_password() {
    let setup = ConsoleSetup::new().await;
    let ben = setup.seen_by(Role::ReadOnly).await;
    let new = "another long sentence";
    let change = |old: &'static str, new: &'static str, again: &'static str| {
        let ben = ben.clone();
        async move {
            let fields = [("old_password", old), ("new_password", new), ("again", again)];
            ben.post("/console/people/me/password", &fields).await
        }
    };
    assert!(ben.get("/console/people/me").await.page().contains("read_only@example.com"));
    for (old, new, again, word) in [
        ("not it at all", new, new, "\u{201c}Current password\u{201d}: is wrong"),
        (PASSWORD, new, "something else", "does not match the new password"),
        (PASSWORD, "short", "short", "\u{201c}New password\u{201d}: must"),
    ] {
        let refused = change(old, new, again).await;
        assert!(refused.status == 422 && refused.body.contains(word), "{word}: {}", refused.body);
        assert!(
            !refused.body.contains(PASSWORD) && !refused.body.contains("value=\"short\""),
            "a password is sent back"
        );
    }
    assert!(setup.service.sign_in("read_only@example.com", new, None).await.is_err());
    assert_eq!(change(PASSWORD, new, new).await.leads_to(), "/console/people/me");
    assert!(setup.service.sign_in("read_only@example.com", new, None).await.is_ok());
    assert_eq!(ben.get("/console/people/me").await.status, 200, "this session stays");
    assert_eq!(ben.post("/console/people/me/sessions", &[]).await.leads_to(), "/console/sign-in");
    assert_eq!(ben.get("/console/people/me").await.status, 303);
}
