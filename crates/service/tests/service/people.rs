//! People: links, signing in, sessions, roles, and guessing that is slowed.

use crate::support::{Home, Trial, on_both, time};
use daybook_engine::time::Time;
use daybook_service::access::{Caller, Role};
use daybook_service::people::{
    ABSOLUTE_MICROS, IDLE_MICROS, LINK_MICROS, MOST_LINKS, NewPerson, Session, TOUCH_MICROS, Visit,
};
use daybook_service::problem::{Kind, Problem};
use std::net::IpAddr;

on_both!(
    the_first_link_makes_the_first_person,
    the_first_person_may_be_chosen,
    a_link_works_once,
    a_link_expires,
    a_link_wants_a_name_an_address_and_a_password,
    an_address_is_one_person_however_it_is_written,
    who_knows_the_password_comes_in,
    a_session_ends_when_it_is_not_used,
    a_session_ends_after_a_week_however_used,
    a_session_is_ended,
    another_role_holds_at_once,
    who_is_kept_out_is_out,
    the_last_administrator_stays,
    people_are_for_administrators,
    people_of_others_are_not_there,
    another_password_ends_other_sessions,
    guessing_an_address_is_slowed_on_every_node,
    guessing_from_a_place_is_slowed,
    an_unknown_address_is_slowed_too,
    what_expired_is_let_go,
    links_are_limited,
);

const NOW: &str = "2026-04-01T12:00:00Z";
const PASSWORD: &str = "correct horse";
const SECOND: i64 = 1_000_000;

fn person(name: &str) -> NewPerson {
    NewPerson { name: name.into(), email: format!("{name}@lender.example"), password: PASSWORD.into() }
}

/// Moves the clock on.
fn wait(trial: &Trial, micros: i64) -> Time {
    let now = trial.clock_now().plus_micros(micros);
    trial.clock.set(now);
    now
}

/// Lets somebody in by a new link.
async fn join(trial: &Trial, name: &str, role: Role) -> Session {
    let token = trial.service.invite(&trial.who, role).await.expect("a link");
    trial.service.accept(&token, person(name)).await.expect("they come in")
}

async fn visit(trial: &Trial, session: &Session) -> Option<Visit> {
    trial.service.visit(&session.token).await.expect("the database answers")
}

async fn here(trial: &Trial, session: &Session) -> Visit {
    visit(trial, session).await.expect("they are signed in")
}

async fn sign_in(trial: &Trial, name: &str, password: &str) -> Result<Session, Problem> {
    trial.service.sign_in(&format!("{name}@lender.example"), password, None).await
}

#[track_caller]
fn code<T>(answer: Result<T, Problem>) -> &'static str {
    match answer {
        Ok(_) => panic!("it was not refused"),
        Err(problem) => problem.code,
    }
}

/// After how many seconds to try again.
#[track_caller]
fn seconds<T>(answer: Result<T, Problem>) -> i64 {
    let problem = answer.err().expect("it is refused");
    assert_eq!((problem.code, problem.kind), ("rate_limited", Kind::TooMany));
    let words: Vec<&str> = problem.message.split(' ').collect();
    words[words.len() - 2].parse().unwrap_or_else(|_| panic!("no seconds: {problem}"))
}

async fn the_first_link_makes_the_first_person(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let token = trial.service.first_link().await.expect("an answer").expect("a link");
    assert_eq!(trial.service.first_link().await, Ok(None), "it is told once");
    let invitation = trial.service.invitation(&token).await.expect("it is good");
    assert_eq!((invitation.organization.as_str(), invitation.role), ("first", Role::Admin));
    assert_eq!(invitation.expires_at.0, time(NOW).plus_micros(LINK_MICROS));
    wait(&trial, LINK_MICROS);
    let token = trial.service.first_link().await.expect("an answer").expect("another, as nobody came");
    let session = trial.service.accept(&token, person("ana")).await.expect("they come in");
    let visit = here(&trial, &session).await;
    assert_eq!((visit.name.as_str(), visit.email.as_str()), ("ana", "ana@lender.example"));
    assert_eq!((visit.organization.as_str(), visit.environment.as_str()), ("first", "TEST"));
    let caller = Caller { client_id: format!("person:{}", visit.person_id), ..trial.who.clone() };
    assert_eq!((visit.caller, visit.csrf), (caller, session.csrf));
    assert_eq!(trial.service.first_link().await, Ok(None), "somebody is there");
}

async fn the_first_person_may_be_chosen(home: Home) {
    let trial = Trial::at(home, NOW).await;
    assert_eq!(code(trial.service.first_person("ana@lender.example", "short").await), "invalid_request");
    assert_eq!(trial.service.first_person("Ana@lender.example", PASSWORD).await, Ok(true));
    assert_eq!(trial.service.first_person("bo@lender.example", PASSWORD).await, Ok(false), "there is one");
    assert_eq!(trial.service.first_link().await, Ok(None));
    let session = sign_in(&trial, "ana", PASSWORD).await.expect("they come in");
    assert_eq!(here(&trial, &session).await.caller.role, Role::Admin);
}

async fn a_link_works_once(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let token = trial.service.invite(&trial.who, Role::ReadOnly).await.expect("a link");
    let session = trial.service.accept(&token, person("ana")).await.expect("they come in");
    assert_eq!(here(&trial, &session).await.caller.role, Role::ReadOnly);
    assert_eq!(code(trial.service.accept(&token, person("bo")).await), "not_found");
    assert_eq!(code(trial.service.invitation(&token).await), "not_found");
    assert_eq!(code(trial.service.invitation("no link").await), "not_found");
    assert_eq!(trial.service.list_people(&trial.who).await.expect("a list").len(), 1);
}

async fn a_link_expires(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let token = trial.service.invite(&trial.who, Role::Admin).await.expect("a link");
    wait(&trial, LINK_MICROS - 1);
    trial.service.invitation(&token).await.expect("it is still good");
    wait(&trial, 1);
    assert_eq!(code(trial.service.invitation(&token).await), "not_found");
    assert_eq!(code(trial.service.accept(&token, person("ana")).await), "not_found");
}

async fn a_link_wants_a_name_an_address_and_a_password(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let token = trial.service.invite(&trial.who, Role::Admin).await.expect("a link");
    let good = || person("ana");
    let cases = [
        ("name", NewPerson { name: "  ".into(), ..good() }),
        ("name", NewPerson { name: "x".repeat(101), ..good() }),
        ("email", NewPerson { email: "ana".into(), ..good() }),
        ("password", NewPerson { password: "123456789".into(), ..good() }),
        ("password", NewPerson { password: "x".repeat(201), ..good() }),
    ];
    for (field, new) in cases {
        let problem = trial.service.accept(&token, new.clone()).await.expect_err(field);
        assert_eq!((problem.code, problem.details[0].field.as_str()), ("invalid_request", field), "{new:?}");
    }
    trial.service.accept(&token, good()).await.expect("the link was not used up");
}

async fn an_address_is_one_person_however_it_is_written(home: Home) {
    let trial = Trial::at(home, NOW).await;
    join(&trial, "ana", Role::Admin).await;
    trial.service.create_organization("second", "LIVE").await.expect("it is made");
    let second = trial.service.operator(Some("second")).await.expect("it is there");
    let token = trial.service.invite(&second, Role::Admin).await.expect("a link");
    let same = NewPerson { email: " ANA@Lender.Example".into(), ..person("bo") };
    let problem = trial.service.accept(&token, same).await.expect_err("it is taken");
    assert_eq!((problem.code, problem.details[0].field.as_str()), ("id_taken", "email"));
    let session = trial.service.accept(&token, person("bo")).await.expect("the link was not used up");
    let visit = here(&trial, &session).await;
    assert_eq!((visit.organization.as_str(), visit.environment.as_str()), ("second", "LIVE"));
    trial.service.sign_in("ANA@lender.example ", PASSWORD, None).await.expect("they come in");
}

async fn who_knows_the_password_comes_in(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let first = join(&trial, "ana", Role::Servicing).await;
    let second = sign_in(&trial, "ana", PASSWORD).await.expect("they come in");
    assert_ne!(first.token, second.token);
    assert_ne!(first.csrf, second.csrf, "each session has its own");
    assert_ne!(second.csrf, second.token);
    assert!(visit(&trial, &first).await.is_some(), "in two browsers at once");
    let wrong = sign_in(&trial, "ana", "wrong horse").await.expect_err("it is wrong");
    let unknown = sign_in(&trial, "nobody", PASSWORD).await.expect_err("there is nobody");
    assert_eq!((wrong.code, &wrong), ("unauthenticated", &unknown), "not to be told apart");
    assert_eq!(code(sign_in(&trial, "ana", &"x".repeat(10_000)).await), "unauthenticated");
    for token in ["", "x", &second.token[1..], &second.csrf] {
        assert_eq!(trial.service.visit(token).await, Ok(None), "{token}");
    }
    let node = trial.service.list_people(&trial.who).await.expect("a list");
    assert_eq!(node[0].last_seen_at.map(|at| at.0), Some(time(NOW)));
}

async fn a_session_ends_when_it_is_not_used(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::Admin).await;
    for _ in 0..3 {
        wait(&trial, IDLE_MICROS - 1);
        here(&trial, &session).await;
    }
    // A visit that comes soon after another is not noted.
    wait(&trial, TOUCH_MICROS - 1);
    here(&trial, &session).await;
    wait(&trial, IDLE_MICROS - TOUCH_MICROS);
    assert!(visit(&trial, &session).await.is_some());
    wait(&trial, IDLE_MICROS);
    assert_eq!(visit(&trial, &session).await, None);
    let people = trial.service.list_people(&trial.who).await.expect("a list");
    let seen = trial.clock_now().plus_micros(-IDLE_MICROS);
    assert_eq!(people[0].last_seen_at.map(|at| at.0), Some(seen));
}

async fn a_session_ends_after_a_week_however_used(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::Admin).await;
    let over = time(NOW).plus_micros(ABSOLUTE_MICROS);
    while trial.clock_now().plus_micros(IDLE_MICROS / 2) < over {
        wait(&trial, IDLE_MICROS / 2);
        here(&trial, &session).await;
    }
    trial.clock.set(over.plus_micros(-1));
    here(&trial, &session).await;
    trial.clock.set(over);
    assert_eq!(visit(&trial, &session).await, None);
}

async fn a_session_is_ended(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let admin = join(&trial, "ana", Role::Admin).await;
    let [one, two, three] = [join(&trial, "bo", Role::ReadOnly).await, again(&trial).await, again(&trial).await];
    trial.service.sign_out(&one.token).await.expect("it is ended");
    assert_eq!(visit(&trial, &one).await, None);
    let (admin, bo) = (here(&trial, &admin).await.caller, here(&trial, &two).await);
    assert_eq!(trial.service.end_sessions(&admin, &bo.person_id).await, Ok(2));
    assert_eq!((visit(&trial, &two).await, visit(&trial, &three).await), (None, None));
    let own = again(&trial).await;
    assert_eq!(trial.service.end_sessions(&bo.caller, &bo.person_id).await, Ok(1), "one's own");
    assert_eq!(visit(&trial, &own).await, None);
    let other = admin.client_id.strip_prefix("person:").expect("a person");
    assert_eq!(code(trial.service.end_sessions(&bo.caller, other).await), "not_authorized");
    assert_eq!(code(trial.service.end_sessions(&admin, "nobody").await), "not_found");
}

async fn again(trial: &Trial) -> Session {
    sign_in(trial, "bo", PASSWORD).await.expect("they come in")
}

async fn another_role_holds_at_once(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::ReadOnly).await;
    let before = here(&trial, &session).await;
    assert_eq!(code(trial.service.list_keys(&before.caller).await), "not_authorized");
    let changed = trial.service.set_role(&trial.who, &before.person_id, Role::Admin).await.expect("it is changed");
    assert_eq!(changed.role, Role::Admin);
    let after = here(&trial, &session).await;
    assert_eq!(after.caller.role, Role::Admin);
    trial.service.list_keys(&after.caller).await.expect("they may");
}

async fn who_is_kept_out_is_out(home: Home) {
    let trial = Trial::at(home, NOW).await;
    join(&trial, "ana", Role::Admin).await;
    let session = join(&trial, "bo", Role::Servicing).await;
    let id = here(&trial, &session).await.person_id;
    let kept_out = trial.service.disable_person(&trial.who, &id).await.expect("it is done");
    assert_eq!(kept_out.disabled_at.map(|at| at.0), Some(time(NOW)));
    assert_eq!(visit(&trial, &session).await, None);
    let refused = sign_in(&trial, "bo", PASSWORD).await.expect_err("they are out");
    assert_eq!(refused, sign_in(&trial, "nobody", PASSWORD).await.expect_err("there is nobody"));
    trial.service.enable_person(&trial.who, &id).await.expect("it is done");
    assert_eq!(visit(&trial, &session).await, None, "the old session stays over");
    sign_in(&trial, "bo", PASSWORD).await.expect("they come in");
}

async fn the_last_administrator_stays(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let ana = here(&trial, &join(&trial, "ana", Role::Admin).await).await;
    let bo = here(&trial, &join(&trial, "bo", Role::Servicing).await).await;
    assert_eq!(code(trial.service.disable_person(&ana.caller, &ana.person_id).await), "conflict");
    assert_eq!(code(trial.service.set_role(&ana.caller, &ana.person_id, Role::Servicing).await), "conflict");
    trial.service.set_role(&ana.caller, &bo.person_id, Role::Admin).await.expect("it is changed");
    trial.service.disable_person(&ana.caller, &ana.person_id).await.expect("there is another");
    assert_eq!(code(trial.service.disable_person(&trial.who, &bo.person_id).await), "conflict");
}

async fn people_are_for_administrators(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let id = here(&trial, &join(&trial, "ana", Role::Admin).await).await.person_id;
    for role in [Role::Servicing, Role::ReadOnly] {
        let who = Caller { role, ..trial.who.clone() };
        assert_eq!(code(trial.service.list_people(&who).await), "not_authorized");
        assert_eq!(code(trial.service.invite(&who, Role::ReadOnly).await), "not_authorized");
        assert_eq!(code(trial.service.set_role(&who, &id, Role::Admin).await), "not_authorized");
        assert_eq!(code(trial.service.disable_person(&who, &id).await), "not_authorized");
        assert_eq!(code(trial.service.enable_person(&who, &id).await), "not_authorized");
        assert_eq!(code(trial.service.end_sessions(&who, &id).await), "not_authorized");
    }
}

async fn people_of_others_are_not_there(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::Admin).await;
    let id = here(&trial, &session).await.person_id;
    trial.service.create_organization("second", "TEST").await.expect("it is made");
    let second = trial.service.operator(Some("second")).await.expect("it is there");
    assert_eq!(trial.service.list_people(&second).await, Ok(Vec::new()));
    assert_eq!(code(trial.service.set_role(&second, &id, Role::ReadOnly).await), "not_found");
    assert_eq!(code(trial.service.disable_person(&second, &id).await), "not_found");
    assert_eq!(code(trial.service.end_sessions(&second, &id).await), "not_found");
    assert_eq!(here(&trial, &session).await.caller.role, Role::Admin);
}

async fn another_password_ends_other_sessions(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let one = join(&trial, "ana", Role::ReadOnly).await;
    let two = sign_in(&trial, "ana", PASSWORD).await.expect("they come in");
    let field = |answer: Result<(), Problem>| answer.expect_err("it is refused").details[0].field.clone();
    assert_eq!(field(trial.service.change_password(&one.token, PASSWORD, "short").await), "new_password");
    assert_eq!(field(trial.service.change_password(&one.token, "wrong horse", "battery staple").await), "old_password");
    assert!(visit(&trial, &two).await.is_some());
    trial.service.change_password(&one.token, PASSWORD, "battery staple").await.expect("it is changed");
    assert!(visit(&trial, &one).await.is_some());
    assert_eq!(visit(&trial, &two).await, None);
    assert_eq!(code(sign_in(&trial, "ana", PASSWORD).await), "unauthenticated");
    sign_in(&trial, "ana", "battery staple").await.expect("they come in");
    assert_eq!(code(trial.service.change_password(&two.token, "battery staple", PASSWORD).await), "unauthenticated");
    for _ in 0..5 {
        trial.service.change_password(&one.token, "wrong horse", PASSWORD).await.expect_err("it is wrong");
    }
    assert_eq!(
        seconds(trial.service.change_password(&one.token, "battery staple", PASSWORD).await),
        10,
        "as at the door"
    );
}

async fn guessing_an_address_is_slowed_on_every_node(home: Home) {
    let trial = Trial::at(home, NOW).await;
    // SQLite in memory is one node's own.
    let node = if home == Home::Postgres { trial.node().await } else { trial.clone() };
    join(&trial, "ana", Role::Admin).await;
    for _ in 0..4 {
        assert_eq!(code(sign_in(&trial, "ana", "wrong horse").await), "unauthenticated");
    }
    sign_in(&trial, "ana", PASSWORD).await.expect("who knows it begins anew");
    for _ in 0..5 {
        assert_eq!(code(sign_in(&trial, "ANA", "wrong horse").await), "unauthenticated");
    }
    assert_eq!(seconds(sign_in(&node, "ana", PASSWORD).await), 10, "even the right one waits");
    wait(&trial, 9 * SECOND + 1);
    assert_eq!(seconds(sign_in(&node, "ana", PASSWORD).await), 1);
    wait(&trial, SECOND);
    assert_eq!(code(sign_in(&node, "ana", "wrong horse").await), "unauthenticated");
    assert_eq!(seconds(sign_in(&trial, "ana", "wrong horse").await), 20, "longer each time");
    wait(&trial, 20 * SECOND);
    sign_in(&trial, "ana", PASSWORD).await.expect("they come in");
    assert_eq!(code(sign_in(&trial, "ana", "wrong horse").await), "unauthenticated", "it begins anew");
    sign_in(&trial, "ana", PASSWORD).await.expect("they come in");
}

async fn guessing_from_a_place_is_slowed(home: Home) {
    let trial = Trial::at(home, NOW).await;
    join(&trial, "ana", Role::Admin).await;
    let [here, there]: [IpAddr; 2] = ["2001:db8:1:2::1", "192.0.2.1"].map(|text| text.parse().expect("an address"));
    let from = async |name: &str, password: &str, place| {
        trial.service.sign_in(&format!("{name}@lender.example"), password, Some(place)).await
    };
    for name in ["a", "b", "c", "d"] {
        assert_eq!(code(from(name, PASSWORD, here).await), "unauthenticated");
    }
    from("ana", PASSWORD, here).await.expect("they come in");
    assert_eq!(code(from("e", PASSWORD, here).await), "unauthenticated");
    let neighbour = "2001:db8:1:2::99".parse().expect("an address");
    assert_eq!(seconds(from("f", PASSWORD, neighbour).await), 10, "one's own account is no way around");
    from("ana", PASSWORD, there).await.expect("elsewhere nobody waits");
    wait(&trial, 10 * SECOND);
    from("ana", PASSWORD, here).await.expect("they come in");
    assert_eq!(code(from("g", PASSWORD, here).await), "unauthenticated", "nobody waits for a right one");
    assert_eq!(seconds(from("h", PASSWORD, here).await), 20);
}

async fn an_unknown_address_is_slowed_too(home: Home) {
    let trial = Trial::at(home, NOW).await;
    for _ in 0..5 {
        assert_eq!(code(sign_in(&trial, "nobody", PASSWORD).await), "unauthenticated");
    }
    assert_eq!(seconds(sign_in(&trial, "nobody", PASSWORD).await), 10, "as if there were somebody");
    wait(&trial, 3_600 * SECOND);
    for _ in 0..4 {
        assert_eq!(code(sign_in(&trial, "nobody", PASSWORD).await), "unauthenticated", "it was forgotten");
    }
}

async fn what_expired_is_let_go(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::Admin).await;
    let token = trial.service.invite(&trial.who, Role::Admin).await.expect("a link");
    assert_eq!(code(sign_in(&trial, "ana", "wrong horse").await), "unauthenticated");
    wait(&trial, LINK_MICROS);
    trial.settle().await;
    // As the rows would be seen if they were there: at a moment before they expired.
    assert_eq!(trial.store.expire_people(time("2099-01-01T00:00:00Z"), 100).await.expect("an answer"), 0);
    trial.clock.set(time(NOW));
    assert_eq!(visit(&trial, &session).await, None);
    assert_eq!(code(trial.service.invitation(&token).await), "not_found");
}

async fn links_are_limited(home: Home) {
    let trial = Trial::at(home, NOW).await;
    for _ in 0..MOST_LINKS {
        trial.service.invite(&trial.who, Role::ReadOnly).await.expect("a link");
    }
    assert_eq!(code(trial.service.invite(&trial.who, Role::ReadOnly).await), "conflict");
    wait(&trial, LINK_MICROS);
    trial.service.invite(&trial.who, Role::ReadOnly).await.expect("they have expired");
}
