//! How administrators manage people.

use crate::setup::{NOW, PASSWORD, code, here, join, sign_in, visit};
use crate::support::{Home, Trial, on_both, time};
use daybook_service::access::{Caller, Role};

on_both!(
    another_role_holds_at_once,
    who_is_kept_out_is_out,
    the_last_administrator_stays,
    people_are_for_administrators,
    people_of_others_are_not_there
);

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
