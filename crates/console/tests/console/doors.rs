//! Every route is guarded: it refuses requests without a session, without the required role, and with a forged form.

use crate::setup::{ConsoleSetup, encoded};
use axum::body::Body;
use axum::http::{Method, Request};
use daybook_console::{RouteFacts, routes};
use daybook_service::access::{Right, Role};

/// A path with a value for each parameter.
fn path_of(route: &RouteFacts) -> String {
    let parts = route.path.split('/').map(|part| if part.starts_with('{') { "x1" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn guarded(method: &'static str) -> impl Iterator<Item = RouteFacts> {
    routes().into_iter().filter(move |route| route.method == method && route.needs.is_some())
}

const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn a_page_asks_who_is_there() {
    let setup = ConsoleSetup::new().await;
    let mut seen = 0;
    for route in guarded("GET") {
        let path = path_of(&route);
        for cookie in ["", "daybook_session=nobody", "daybook_theme=dark"] {
            let request = Request::get(&path).header("cookie", cookie).body(Body::empty()).expect("a request");
            let answer = setup.send(request).await;
            let there: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
            assert_eq!(answer.leads_to(), format!("/console/sign-in?next={there}"), "{route:?}");
            seen += 1;
        }
    }
    assert!(seen > 0 || guarded("GET").count() == 0);
}

#[tokio::test]
async fn a_form_without_a_session_does_nothing() {
    let setup = ConsoleSetup::new().await;
    for route in guarded("POST") {
        let body = encoded(&[("csrf", &setup.session.csrf)]);
        let request = Request::post(path_of(&route)).header("content-type", FORM).body(Body::from(body));
        assert_eq!(setup.send(request.expect("a request")).await.status, 401, "{route:?}");
    }
}

#[tokio::test]
async fn a_form_that_is_not_ours_does_nothing() {
    let setup = ConsoleSetup::new().await;
    let stranger = ConsoleSetup::new().await;
    assert!(guarded("POST").count() > 0);
    for route in guarded("POST") {
        let path = path_of(&route);
        // No token, an empty one, and that of another user.
        for body in ["", "csrf=", "csrf=nonsense", &encoded(&[("csrf", &stranger.session.csrf)])] {
            let request = setup.request(Method::POST, &path).header("content-type", FORM);
            let request = request.header("sec-fetch-site", "same-origin").body(Body::from(body.to_owned()));
            assert_eq!(setup.send(request.expect("a request")).await.status, 403, "{route:?} with {body:?}");
        }
        // The token is right, but the form was sent from another site.
        for (header, from) in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "https://evil.example"),
            ("origin", "null"),
        ] {
            let request = setup.request(Method::POST, &path).header("content-type", FORM).header(header, from);
            let request = request.body(Body::from(encoded(&[("csrf", &setup.session.csrf)])));
            assert_eq!(setup.send(request.expect("a request")).await.status, 403, "{route:?} from {from}");
        }
        // A request that is not a form needs its token in the header.
        let request = setup.request(Method::POST, &path).header("content-type", "application/json");
        let request = request.body(Body::from(format!("{{\"csrf\":\"{}\"}}", setup.session.csrf)));
        assert_eq!(setup.send(request.expect("a request")).await.status, 403, "{route:?} as JSON");
    }
}

#[tokio::test]
async fn what_a_role_may_not_do_it_cannot_do() {
    let setup = ConsoleSetup::new().await;
    for role in [Role::ReadOnly, Role::Servicing] {
        let seen = setup.seen_by(role).await;
        for route in routes() {
            let Some(right) = route.needs else { continue };
            if seen.who.may(right).is_ok() {
                continue;
            }
            let path = path_of(&route);
            let answer = if route.method == "GET" { seen.get(&path).await } else { seen.post(&path, &[]).await };
            assert_eq!(answer.status, 403, "{role:?} at {route:?}");
            assert!(answer.body.contains("Not allowed"), "{role:?} at {route:?}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn who_is_refused_is_told_what_is_wrong() {
    let setup = ConsoleSetup::new().await;
    let reader = setup.seen_by(Role::ReadOnly).await;
    let page = reader.get("/console/keys").await.body;
    assert!(page.contains("this needs the role Admin; you have the role Read only"), "{page}");
    assert!(page.contains("to change your role") && !page.contains("the key has"), "{page}");
    let post = |kind: &'static str| {
        let request = setup.request(Method::POST, "/console/theme").header("content-type", kind);
        request.header("sec-fetch-site", "same-origin").body(Body::from("csrf=old")).expect("a request")
    };
    for (kind, words) in [(FORM, "the form is out of date"), ("application/json", "is not a form of the console")] {
        let page = setup.send(post(kind)).await.body;
        assert!(page.contains(words) && page.contains("reload the page"), "{page}");
        assert!(!page.contains("change your role"), "{page}");
    }
}

#[tokio::test]
async fn a_sentence_is_shown_on_one_page_only() {
    let setup = ConsoleSetup::new().await;
    for (path, status) in [("/console/people", 200), ("/console/accounts/nothing", 404), ("/console/no/such/page", 404)]
    {
        let cookie = format!("daybook_session={}; daybook_notice=%2BIt+is+done.", setup.session.token);
        let request = Request::get(path).header("cookie", cookie).body(Body::empty()).expect("a request");
        let answer = setup.send(request).await;
        assert_eq!(answer.status, status);
        assert!(answer.body.contains("It is done."), "{path}");
        assert!(answer.header("set-cookie").starts_with("daybook_notice=;"), "{path}: {answer:?}");
    }
}

#[test]
fn whatever_changes_something_needs_more_than_looking() {
    // Signing out, the user's own password, and the user's own theme.
    let own = [
        "/console/sign-out",
        "/console/people/me/password",
        "/console/people/me/sessions",
        "/console/theme",
        "/console/products/preview",
        // A calculation that stores nothing.
        "/console/products/{product_id}/what-if",
        "/console/products/{product_id}/what-if/cancel",
    ];
    for route in guarded("POST") {
        let looks = route.needs == Some(Right::Read);
        assert!(!looks || own.contains(&route.path), "{route:?} changes something and needs only Read");
    }
}
