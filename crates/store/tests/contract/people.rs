//! People, their sessions, invitations, and failed sign-ins.

use super::fixtures::{at, organization};
use daybook_store::Store;
use daybook_store::people::{Accepted, Changed, FailedSignIns, InvitationRow, PersonChange, PersonRow, SessionRow};
use daybook_store::records::OrgId;
use std::sync::Arc;

fn person(org: OrgId, id: &str) -> PersonRow {
    PersonRow {
        org,
        person: id.into(),
        name: format!("Name of {id}"),
        email: format!("{id}@Lender.example"),
        email_key: format!("{id}@lender.example"),
        password_hash: format!("hash of {id}"),
        role: "ADMIN".into(),
        created_at: at(10),
        last_seen_at: None,
        disabled_at: None,
    }
}

fn session(person: &str, token: &str) -> SessionRow {
    SessionRow {
        token_hash: token.as_bytes().to_vec(),
        person: person.into(),
        created_at: at(20),
        seen_at: at(20),
        expires_at: at(100),
    }
}

fn invitation(org: OrgId, token: &str) -> InvitationRow {
    InvitationRow {
        token_hash: token.as_bytes().to_vec(),
        org,
        role: "SERVICING".into(),
        created_by: "somebody".into(),
        created_at: at(5),
        expires_at: at(100),
    }
}

fn guesses(subject: &str, failures: i64) -> FailedSignIns {
    FailedSignIns { subject: subject.as_bytes().to_vec(), failures, wait_until: at(30 + failures), expires_at: at(100) }
}

/// A rule like the service's.
fn an_admin_remains(_: &[PersonRow], after: &[PersonRow]) -> bool {
    after.iter().any(|person| person.role == "ADMIN" && person.disabled_at.is_none())
}

/// A rule that allows everything.
fn anything(_: &[PersonRow], _: &[PersonRow]) -> bool {
    true
}

/// A person with a session.
async fn signed_in(store: &Arc<dyn Store>, org: OrgId, id: &str, token: &str) {
    assert!(store.create_person(&person(org, id), None).await.unwrap());
    assert!(store.begin_session(&session(id, token), &format!("hash of {id}"), None).await.unwrap());
}

async fn is_there(store: &Arc<dyn Store>, token: &str) -> bool {
    store.session(token.as_bytes(), at(50)).await.unwrap().is_some()
}

pub async fn a_person_is_read_back(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    let later = PersonRow { created_at: at(11), ..person(one, "ana") };
    let whole = PersonRow { last_seen_at: Some(at(12)), disabled_at: Some(at(13)), ..person(one, "bo") };
    for row in [&later, &whole, &person(two, "cy")] {
        assert!(store.create_person(row, None).await.unwrap());
    }
    assert_eq!(store.people(one).await.unwrap(), [whole.clone(), later.clone()], "by time of coming");
    assert_eq!(store.person(one, "bo").await.unwrap(), Some(whole));
    assert_eq!(store.person(two, "bo").await.unwrap(), None, "another organization's");
    assert_eq!(store.person_by_email("ana@lender.example").await.unwrap(), Some(later));
    assert_eq!(store.person_by_email("ana@Lender.example").await.unwrap(), None, "asked by the key only");
}

pub async fn an_address_belongs_to_one_person(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    assert!(store.create_person(&person(one, "ana"), None).await.unwrap());
    let other = PersonRow { person: "other".into(), email: "ANA@lender.example".into(), ..person(two, "ana") };
    assert!(!store.create_person(&other, None).await.unwrap());
    assert_eq!(store.people(two).await.unwrap(), []);
    assert_eq!(store.person_by_email("ana@lender.example").await.unwrap(), Some(person(one, "ana")));
}

pub async fn the_last_with_a_role_keeps_it(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    for row in [person(one, "ana"), PersonRow { role: "READ_ONLY".into(), ..person(one, "bo") }, person(two, "cy")] {
        assert!(store.create_person(&row, None).await.unwrap());
    }
    let role = |role: &str| PersonChange::Role(role.into());
    let change = async |id: &str, change: &PersonChange| {
        store.change_person(one, id, change, an_admin_remains, None).await.unwrap()
    };
    assert_eq!(change("ana", &role("SERVICING")).await, Changed::Refused);
    assert_eq!(change("ana", &PersonChange::Disabled(at(30))).await, Changed::Refused);
    assert_eq!(change("ana", &role("ADMIN")).await, Changed::Yes, "nothing is lost");
    assert_eq!(change("cy", &role("SERVICING")).await, Changed::NotFound, "another organization's");
    assert_eq!(store.people(one).await.unwrap()[0], person(one, "ana"), "nothing changed");

    assert_eq!(change("bo", &role("ADMIN")).await, Changed::Yes);
    assert_eq!(change("bo", &PersonChange::Disabled(at(30))).await, Changed::Yes);
    assert_eq!(change("bo", &PersonChange::Disabled(at(40))).await, Changed::Yes);
    assert_eq!(store.person(one, "bo").await.unwrap().unwrap().disabled_at, Some(at(30)), "the first moment stays");
    assert_eq!(change("ana", &role("SERVICING")).await, Changed::Refused, "one who may not come in does not count");
    assert_eq!(change("bo", &PersonChange::Enabled).await, Changed::Yes);
    assert_eq!(change("ana", &role("SERVICING")).await, Changed::Yes);
    let roles: Vec<String> = store.people(one).await.unwrap().into_iter().map(|person| person.role).collect();
    assert_eq!(roles, ["SERVICING", "ADMIN"]);

    let unchanged = |before: &[PersonRow], after: &[PersonRow]| before == after;
    let kept = store.change_person(one, "ana", &role("SERVICING"), unchanged, None).await.unwrap();
    assert_eq!(kept, Changed::Yes, "the rule sees the people as they are");
    let refused = store.change_person(one, "ana", &role("ADMIN"), unchanged, None).await.unwrap();
    assert_eq!(refused, Changed::Refused, "and as they would be");
}

pub async fn two_do_not_both_lose_the_role(store: Arc<dyn Store>) {
    for round in 0..10 {
        let org = organization(&store, &format!("org {round}")).await;
        let ids = [format!("ana{round}"), format!("bo{round}")];
        let mut changes = Vec::new();
        for id in ids.clone() {
            assert!(store.create_person(&person(org, &id), None).await.unwrap());
        }
        for id in ids {
            let store = Arc::clone(&store);
            let change = PersonChange::Disabled(at(30));
            changes.push(tokio::spawn(async move {
                store.change_person(org, &id, &change, an_admin_remains, None).await.unwrap()
            }));
        }
        let mut refused = 0;
        for change in changes {
            refused += usize::from(change.await.unwrap() == Changed::Refused);
        }
        assert_eq!(refused, 1);
        let people = store.people(org).await.unwrap();
        assert_eq!(people.iter().filter(|person| person.disabled_at.is_none()).count(), 1);
    }
}

pub async fn an_invitation_is_accepted_once(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    store.invite(&InvitationRow { created_at: at(6), ..invitation(one, "b") }, None).await.unwrap();
    store.invite(&invitation(one, "a"), None).await.unwrap();
    store.invite(&invitation(two, "c"), None).await.unwrap();
    assert_eq!(store.invitation(b"a", at(99)).await.unwrap(), Some(invitation(one, "a")));
    assert_eq!(store.invitation(b"a", at(100)).await.unwrap(), None, "expired");
    assert_eq!(store.invitation(b"x", at(50)).await.unwrap(), None);
    let tokens = |rows: Vec<InvitationRow>| rows.into_iter().map(|row| row.token_hash).collect::<Vec<_>>();
    assert_eq!(tokens(store.invitations(one, at(50)).await.unwrap()), [b"a", b"b"]);
    assert_eq!(store.invitations(one, at(100)).await.unwrap(), []);

    assert_eq!(
        store.accept(b"a", at(100), &person(one, "ana"), None).await.unwrap(),
        Accepted::NoInvitation,
        "expired"
    );
    assert_eq!(store.accept(b"x", at(50), &person(one, "ana"), None).await.unwrap(), Accepted::NoInvitation);
    assert_eq!(store.people(one).await.unwrap(), []);
    assert_eq!(store.accept(b"a", at(50), &person(one, "ana"), None).await.unwrap(), Accepted::Yes);
    assert_eq!(store.accept(b"a", at(50), &person(one, "bo"), None).await.unwrap(), Accepted::NoInvitation);
    let taken = PersonRow { person: "another".into(), ..person(one, "ana") };
    assert_eq!(store.accept(b"b", at(50), &taken, None).await.unwrap(), Accepted::EmailTaken);
    assert_eq!(store.accept(b"b", at(50), &person(one, "bo"), None).await.unwrap(), Accepted::Yes, "it had stayed");
    assert_eq!(store.people(one).await.unwrap(), [person(one, "ana"), person(one, "bo")]);
}

pub async fn of_many_at_once_one_is_accepted(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    store.invite(&invitation(org, "a"), None).await.unwrap();
    let mut accepting = Vec::new();
    for number in 0..8 {
        let store = Arc::clone(&store);
        let person = person(org, &format!("p{number}"));
        accepting.push(tokio::spawn(async move { store.accept(b"a", at(50), &person, None).await.unwrap() }));
    }
    let mut accepted = 0;
    for accepting in accepting {
        accepted += usize::from(accepting.await.unwrap() == Accepted::Yes);
    }
    assert_eq!((accepted, store.people(org).await.unwrap().len()), (1, 1));
}

pub async fn a_session_is_its_person_until_it_expires(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    signed_in(&store, org, "ana", "t").await;
    let seen = |seconds| PersonRow { last_seen_at: Some(at(seconds)), ..person(org, "ana") };
    assert_eq!(store.session(b"t", at(99)).await.unwrap(), Some((session("ana", "t"), seen(20))));
    assert_eq!(store.session(b"t", at(100)).await.unwrap(), None);
    assert_eq!(store.session(b"u", at(50)).await.unwrap(), None);

    store.touch_session(b"t", at(60), at(120)).await.unwrap();
    store.touch_session(b"t", at(55), at(110)).await.unwrap();
    store.touch_session(b"u", at(70), at(150)).await.unwrap();
    let touched = SessionRow { seen_at: at(60), expires_at: at(120), ..session("ana", "t") };
    assert_eq!(store.session(b"t", at(119)).await.unwrap(), Some((touched, seen(60))), "and never back");
    assert_eq!(store.session(b"t", at(120)).await.unwrap(), None);
}

pub async fn a_session_begins_for_who_may_come_in(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    for id in ["ana", "bo"] {
        assert!(store.create_person(&person(org, id), None).await.unwrap());
    }
    assert!(!store.begin_session(&session("ana", "t"), "another hash", None).await.unwrap(), "another password");
    assert!(!store.begin_session(&session("nobody", "t"), "hash of ana", None).await.unwrap());
    let disabled = PersonChange::Disabled(at(30));
    assert_eq!(store.change_person(org, "ana", &disabled, anything, None).await.unwrap(), Changed::Yes);
    assert!(!store.begin_session(&session("ana", "t"), "hash of ana", None).await.unwrap(), "may not come in");
    assert!(!is_there(&store, "t").await);
    assert_eq!(store.change_person(org, "ana", &PersonChange::Enabled, anything, None).await.unwrap(), Changed::Yes);
    assert!(store.begin_session(&session("ana", "t"), "hash of ana", None).await.unwrap());
    assert!(is_there(&store, "t").await);
}

pub async fn sessions_end(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    signed_in(&store, one, "ana", "a1").await;
    signed_in(&store, one, "bo", "b1").await;
    for token in ["a2", "a3"] {
        assert!(store.begin_session(&session("ana", token), "hash of ana", None).await.unwrap());
    }
    assert!(store.end_session(b"a1", None).await.unwrap());
    assert!(!store.end_session(b"a1", None).await.unwrap());
    assert!(!is_there(&store, "a1").await && is_there(&store, "a2").await);
    assert_eq!(store.end_sessions(two, "ana", None).await.unwrap(), 0, "another organization's");
    assert_eq!(store.end_sessions(one, "ana", None).await.unwrap(), 2);
    assert!(!is_there(&store, "a2").await && is_there(&store, "b1").await);
    let disabled = PersonChange::Disabled(at(30));
    assert_eq!(store.change_person(one, "bo", &disabled, anything, None).await.unwrap(), Changed::Yes);
    assert_eq!(store.change_person(one, "bo", &PersonChange::Enabled, anything, None).await.unwrap(), Changed::Yes);
    assert!(!is_there(&store, "b1").await, "who was kept out signs in again");
}

pub async fn another_password_ends_the_other_sessions(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    signed_in(&store, org, "ana", "a1").await;
    signed_in(&store, org, "bo", "b1").await;
    assert!(store.begin_session(&session("ana", "a2"), "hash of ana", None).await.unwrap());
    assert!(!store.change_password("ana", "another", "new", b"a1", None).await.unwrap());
    assert!(is_there(&store, "a2").await);
    assert!(store.change_password("ana", "hash of ana", "new", b"a1", None).await.unwrap());
    assert!(is_there(&store, "a1").await && !is_there(&store, "a2").await && is_there(&store, "b1").await);
    assert_eq!(store.person(org, "ana").await.unwrap().unwrap().password_hash, "new");
    assert_eq!(store.person(org, "bo").await.unwrap().unwrap().password_hash, "hash of bo");
}

pub async fn guesses_are_kept_as_they_were_read(store: Arc<dyn Store>) {
    assert_eq!(store.guesses(b"s").await.unwrap(), None);
    assert!(store.keep_guesses(None, &guesses("s", 1)).await.unwrap());
    assert!(!store.keep_guesses(None, &guesses("s", 7)).await.unwrap(), "there is one");
    assert!(store.keep_guesses(Some(&guesses("s", 1)), &guesses("s", 2)).await.unwrap());
    assert!(!store.keep_guesses(Some(&guesses("s", 1)), &guesses("s", 3)).await.unwrap(), "there is another");
    assert!(!store.keep_guesses(Some(&guesses("t", 1)), &guesses("t", 2)).await.unwrap(), "there is none");
    assert_eq!(store.guesses(b"s").await.unwrap(), Some(guesses("s", 2)));
    store.forget_guesses(b"t").await.unwrap();
    store.forget_guesses(b"s").await.unwrap();
    assert_eq!(store.guesses(b"s").await.unwrap(), None);
}

pub async fn what_expired_is_removed_in_steps(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    assert!(store.create_person(&person(org, "ana"), None).await.unwrap());
    for number in 0..5 {
        let name = format!("n{number}");
        let expires_at = at(100 + number);
        let row = SessionRow { expires_at, ..session("ana", &name) };
        assert!(store.begin_session(&row, "hash of ana", None).await.unwrap());
        store.invite(&InvitationRow { expires_at, ..invitation(org, &name) }, None).await.unwrap();
        assert!(store.keep_guesses(None, &FailedSignIns { expires_at, ..guesses(&name, 1) }).await.unwrap());
    }
    assert_eq!(store.expire_people(at(99), 10).await.unwrap(), 0);
    assert_eq!(store.expire_people(at(103), 3).await.unwrap(), 9, "the oldest three of each");
    let left = async |name: &str| {
        let session = store.session(name.as_bytes(), at(50)).await.unwrap().is_some();
        let invitation = store.invitation(name.as_bytes(), at(50)).await.unwrap().is_some();
        [session, invitation, store.guesses(name.as_bytes()).await.unwrap().is_some()]
    };
    assert_eq!(left("n2").await, [false; 3]);
    assert_eq!(left("n3").await, [true; 3]);
    assert_eq!(store.expire_people(at(103), 3).await.unwrap(), 3);
    assert_eq!(left("n3").await, [false; 3]);
    assert_eq!(left("n4").await, [true; 3], "not yet");
    assert_eq!(store.people(org).await.unwrap().len(), 1, "people stay");
}
