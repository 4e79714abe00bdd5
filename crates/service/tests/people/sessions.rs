//! Sessions: how long they last, and what ends them.

use crate::setup::{NOW, PASSWORD, code, here, join, seconds, sign_in, visit, wait};
use crate::support::{Home, Trial, on_both, time};
use daybook_service::access::Role;
use daybook_service::people::{ABSOLUTE_MICROS, IDLE_MICROS, LINK_MICROS, Session, TOUCH_MICROS};
use daybook_service::problem::Problem;

on_both!(
    a_session_ends_when_it_is_not_used,
    a_session_ends_after_a_week_however_used,
    a_session_is_ended,
    a_form_that_is_sent_twice_makes_one_password,
    nobody_replaces_their_own_password_without_it,
    a_forgotten_password_is_replaced,
    another_password_ends_other_sessions,
    what_expired_is_let_go
);

async fn a_session_ends_when_it_is_not_used(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::Admin).await;
    for _ in 0..3 {
        wait(&trial, IDLE_MICROS - 1);
        here(&trial, &session).await;
    }
    // A visit soon after another is not recorded.
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
    trial.service.sign_out(&one.token, None).await.expect("it is ended");
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

async fn another_password_ends_other_sessions(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let one = join(&trial, "ana", Role::ReadOnly).await;
    let two = sign_in(&trial, "ana", PASSWORD).await.expect("they come in");
    let field = |answer: Result<(), Problem>| answer.expect_err("it is refused").details[0].field.clone();
    assert_eq!(field(trial.service.change_password(&one.token, PASSWORD, "short", None).await), "new_password");
    assert_eq!(
        field(trial.service.change_password(&one.token, "wrong horse", "battery staple", None).await),
        "old_password"
    );
    assert!(visit(&trial, &two).await.is_some());
    trial.service.change_password(&one.token, PASSWORD, "battery staple", None).await.expect("it is changed");
    assert!(visit(&trial, &one).await.is_some());
    assert_eq!(visit(&trial, &two).await, None);
    assert_eq!(code(sign_in(&trial, "ana", PASSWORD).await), "unauthenticated");
    sign_in(&trial, "ana", "battery staple").await.expect("they come in");
    assert_eq!(
        code(trial.service.change_password(&two.token, "battery staple", PASSWORD, None).await),
        "unauthenticated"
    );
    for _ in 0..5 {
        trial.service.change_password(&one.token, "wrong horse", PASSWORD, None).await.expect_err("it is wrong");
    }
    assert_eq!(
        seconds(trial.service.change_password(&one.token, "battery staple", PASSWORD, None).await),
        10,
        "as at the door"
    );
}

async fn a_forgotten_password_is_replaced(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let boss = here(&trial, &join(&trial, "boss", Role::Admin).await).await;
    let ana = join(&trial, "ana", Role::Servicing).await;
    let id = here(&trial, &ana).await.person_id;
    let password = trial.service.reset_password(&boss.caller, &id).await.expect("it is replaced");
    assert_eq!(visit(&trial, &ana).await, None, "her sessions have ended");
    assert_eq!(code(sign_in(&trial, "ana", PASSWORD).await), "unauthenticated");
    let ana = sign_in(&trial, "ana", &password).await.expect("she comes in");
    let caller = here(&trial, &ana).await.caller;
    assert_eq!(code(trial.service.reset_password(&caller, &boss.person_id).await), "not_authorized");
    assert_eq!(code(trial.service.reset_password(&boss.caller, "nobody").await), "not_found");
}

async fn a_form_that_is_sent_twice_makes_one_password(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let boss = here(&trial, &join(&trial, "boss", Role::Admin).await).await.caller;
    let id = here(&trial, &join(&trial, "ana", Role::Servicing).await).await.person_id;
    let mark = trial.service.password_mark(&boss, &id).await.expect("a mark");
    let password = trial.service.reset_password_once(&boss, &id, "a form", &mark).await.expect("it is replaced");
    let session = sign_in(&trial, "ana", &password).await.expect("she comes in");
    assert_eq!(trial.service.reset_password_once(&boss, &id, "a form", &mark).await.as_ref(), Ok(&password));
    assert!(visit(&trial, &session).await.is_some(), "the second time nothing happens");
    trial.service.change_password(&session.token, &password, PASSWORD, None).await.expect("she chooses her own");
    assert_eq!(code(trial.service.reset_password_once(&boss, &id, "a form", &mark).await), "conflict");
    sign_in(&trial, "ana", PASSWORD).await.expect("hers stays");
    assert_eq!(code(trial.service.reset_password_once(&boss, &id, "an old form", &mark).await), "conflict");
}

async fn nobody_replaces_their_own_password_without_it(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let boss = here(&trial, &join(&trial, "boss", Role::Admin).await).await;
    assert_eq!(code(trial.service.reset_password(&boss.caller, &boss.person_id).await), "conflict");
    assert_eq!(code(trial.service.password_mark(&boss.caller, &boss.person_id).await), "conflict");
    sign_in(&trial, "boss", PASSWORD).await.expect("it stays");
    trial.service.reset_password(&trial.who, &boss.person_id).await.expect("the command line may");
}

async fn what_expired_is_let_go(home: Home) {
    let trial = Trial::at(home, NOW).await;
    let session = join(&trial, "ana", Role::Admin).await;
    let token = trial.service.invite(&trial.who, Role::Admin).await.expect("a link");
    assert_eq!(code(sign_in(&trial, "ana", "wrong horse").await), "unauthenticated");
    wait(&trial, LINK_MICROS);
    trial.settle().await;
    // Looks the rows up as of a moment before they expired, at which they would be found if they existed.
    assert_eq!(trial.store.expire_people(time("2099-01-01T00:00:00Z"), 100).await.expect("an answer"), 0);
    trial.clock.set(time(NOW));
    assert_eq!(visit(&trial, &session).await, None);
    assert_eq!(code(trial.service.invitation(&token).await), "not_found");
}

async fn again(trial: &Trial) -> Session {
    sign_in(trial, "bo", PASSWORD).await.expect("they come in")
}
