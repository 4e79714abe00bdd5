//! Links, and people who join with them or sign in with a password.

use crate::setup::{NOW, PASSWORD, code, here, join, person, sign_in, visit, wait};
use crate::support::{Home, Trial, on_both, time};
use daybook_service::access::{Caller, Role};
use daybook_service::people::{LINK_MICROS, MOST_LINKS, NewPerson};

on_both!(
    the_first_link_makes_the_first_person,
    the_first_person_may_be_chosen,
    a_link_works_once,
    a_link_expires,
    a_link_wants_a_name_an_address_and_a_password,
    links_are_limited,
    links_do_not_outlive_their_maker,
    a_link_is_withdrawn,
    a_form_that_is_sent_twice_makes_one_link,
    an_address_is_one_person_however_it_is_written,
    who_knows_the_password_comes_in
);

async fn the_first_link_makes_the_first_person(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let token = trial.service.first_link().await.expect("an answer").expect("a link");
    assert_eq!(trial.service.first_link().await, Ok(None), "it is told once");
    let invitation = trial.service.invitation(&token).await.expect("it is good");
    assert_eq!((invitation.organization.as_str(), invitation.role), ("first", Role::Admin));
    assert_eq!(invitation.expires_at.0, time(NOW).plus_micros(LINK_MICROS));
    wait(&trial, LINK_MICROS);
    let token = trial.service.first_link().await.expect("an answer").expect("another, as nobody came");
    let session = trial.service.accept(&token, person("ana"), None).await.expect("they come in");
    let visit = here(&trial, &session).await;
    assert_eq!((visit.name.as_str(), visit.email.as_str()), ("ana", "ana@lender.example"));
    assert_eq!((visit.organization.as_str(), visit.environment.as_str()), ("first", "TEST"));
    // The caller's origin is a mark of their session.
    let origin = visit.caller.origin.clone();
    assert!(origin.as_ref().is_some_and(|origin| origin.session.len() == 16), "{origin:?}");
    let caller = Caller { client_id: format!("person:{}", visit.person_id), origin, ..trial.who.clone() };
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
    let session = trial.service.accept(&token, person("ana"), None).await.expect("they come in");
    assert_eq!(here(&trial, &session).await.caller.role, Role::ReadOnly);
    assert_eq!(code(trial.service.accept(&token, person("bo"), None).await), "not_found");
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
    assert_eq!(code(trial.service.accept(&token, person("ana"), None).await), "not_found");
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
        let problem = trial.service.accept(&token, new.clone(), None).await.expect_err(field);
        assert_eq!((problem.code, problem.details[0].field.as_str()), ("invalid_request", field), "{new:?}");
    }
    trial.service.accept(&token, good(), None).await.expect("the link was not used up");
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

async fn links_do_not_outlive_their_maker(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let boss = here(&trial, &join(&trial, "boss", Role::Admin).await).await;
    let ana = here(&trial, &join(&trial, "ana", Role::Admin).await).await;
    let from_ana = trial.service.invite(&ana.caller, Role::Admin).await.expect("a link");
    let from_shell = trial.service.invite(&trial.who, Role::ReadOnly).await.expect("a link");
    let works = async || {
        let links = trial.service.list_links(&boss.caller).await.expect("a list");
        let mut works: Vec<(String, bool)> = links.into_iter().map(|link| (link.made_by, link.works)).collect();
        works.sort();
        works
    };
    let shell = trial.who.client_id.clone();
    let expect = |ana: bool| {
        let mut list = vec![("ana".to_owned(), ana), (shell.clone(), true)];
        list.sort();
        list
    };
    assert_eq!(works().await, expect(true));
    trial.service.set_role(&boss.caller, &ana.person_id, Role::Servicing).await.expect("it is changed");
    assert_eq!(code(trial.service.invitation(&from_ana).await), "not_found");
    assert_eq!(code(trial.service.accept(&from_ana, person("eve"), None).await), "not_found");
    assert_eq!(works().await, expect(false));
    trial.service.set_role(&boss.caller, &ana.person_id, Role::Admin).await.expect("it is changed");
    trial.service.invitation(&from_ana).await.expect("she may again");
    trial.service.disable_person(&boss.caller, &ana.person_id).await.expect("she is kept out");
    assert_eq!(code(trial.service.accept(&from_ana, person("eve"), None).await), "not_found");
    trial.service.accept(&from_shell, person("bo"), None).await.expect("that of the command line is nobody's");
}

async fn a_link_is_withdrawn(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let token = trial.service.invite(&trial.who, Role::ReadOnly).await.expect("a link");
    let other = trial.service.invite(&trial.who, Role::Servicing).await.expect("another");
    let links = trial.service.list_links(&trial.who).await.expect("a list");
    let link = links.iter().find(|link| link.role == Role::ReadOnly).expect("it waits");
    assert!(!token.contains(&link.link_id) && code(trial.service.invitation(&link.link_id).await) == "not_found");
    let stranger = Caller { org: trial.who.org + 1, ..trial.who.clone() };
    assert_eq!(code(trial.service.withdraw_link(&stranger, &link.link_id).await), "not_found");
    let reader = Caller { role: Role::ReadOnly, ..trial.who.clone() };
    assert_eq!(code(trial.service.withdraw_link(&reader, &link.link_id).await), "not_authorized");
    assert_eq!(code(trial.service.list_links(&reader).await), "not_authorized");
    trial.service.withdraw_link(&trial.who, &link.link_id).await.expect("it is withdrawn");
    assert_eq!(code(trial.service.accept(&token, person("ana"), None).await), "not_found");
    for nonsense in [link.link_id.as_str(), "no link!"] {
        assert_eq!(code(trial.service.withdraw_link(&trial.who, nonsense).await), "not_found");
    }
    trial.service.accept(&other, person("ana"), None).await.expect("the other one stays");
}

async fn a_form_that_is_sent_twice_makes_one_link(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let make = async |once: &str, role| trial.service.invite_once(&trial.who, once, role).await;
    let token = make("a form", Role::ReadOnly).await.expect("a link");
    assert_eq!(make("a form", Role::ReadOnly).await.as_ref(), Ok(&token), "the same one");
    assert_eq!(trial.service.list_links(&trial.who).await.expect("a list").len(), 1);
    assert_ne!(make("another form", Role::ReadOnly).await.as_ref(), Ok(&token));
    assert_ne!(make("a form", Role::Servicing).await.as_ref(), Ok(&token), "with another role it is another link");
    trial.service.accept(&token, person("ana"), None).await.expect("they come in");
    assert_eq!(code(make("a form", Role::ReadOnly).await), "conflict", "a link that was used stays used");
    assert_eq!(code(trial.service.invitation(&token).await), "not_found");
}

async fn an_address_is_one_person_however_it_is_written(home: Home) {
    let trial = Trial::at(home, NOW).await;
    join(&trial, "ana", Role::Admin).await;
    trial.service.create_organization("second", "LIVE").await.expect("it is made");
    let second = trial.service.operator(Some("second")).await.expect("it is there");
    let token = trial.service.invite(&second, Role::Admin).await.expect("a link");
    let same = NewPerson { email: " ANA@Lender.Example".into(), ..person("bo") };
    let problem = trial.service.accept(&token, same, None).await.expect_err("it is taken");
    assert_eq!((problem.code, problem.details[0].field.as_str()), ("id_taken", "email"));
    let session = trial.service.accept(&token, person("bo"), None).await.expect("the link was not used up");
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
