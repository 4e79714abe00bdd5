//! Settings, organizations and keys.

use super::fixtures::{at, key_row, organization};
use daybook_store::Store;
use daybook_store::records::Organization;
use std::sync::Arc;

pub async fn settings_are_kept_once(store: Arc<dyn Store>) {
    assert_eq!(store.setting("sealing").await.unwrap(), None);
    assert_eq!(store.keep_setting("sealing", &[0, 1]).await.unwrap(), [0, 1]);
    assert_eq!(store.keep_setting("sealing", &[9]).await.unwrap(), [0, 1]);
    assert_eq!(store.setting("sealing").await.unwrap(), Some(vec![0, 1]));
    assert_eq!(store.setting("other").await.unwrap(), None);
}

pub async fn settings_are_put_and_removed(store: Arc<dyn Store>) {
    assert!(!store.remove_setting("mark", None).await.unwrap(), "there is none");
    for value in [&[1, 2][..], &[3]] {
        store.put_setting("mark", value, None).await.unwrap();
        assert_eq!(store.setting("mark").await.unwrap(), Some(value.to_vec()));
    }
    store.put_setting("other", &[4], None).await.unwrap();
    assert!(store.remove_setting("mark", None).await.unwrap());
    assert_eq!(store.setting("mark").await.unwrap(), None);
    assert_eq!(store.setting("other").await.unwrap(), Some(vec![4]));
    assert_eq!(store.whereabouts().await.unwrap(), store.whereabouts().await.unwrap());
}

pub async fn organizations_are_numbered(store: Arc<dyn Store>) {
    assert_eq!(store.organizations().await.unwrap(), []);
    let first = organization(&store, "first").await;
    let second = organization(&store, "a second").await;
    assert!(first < second);
    let expected = |org, name: &str| Organization {
        org,
        name: name.into(),
        environment: "TEST".into(),
        created_at: at(1),
        signing_key: vec![1, 2, 3],
        previous_signing_key: None,
        event_mark: format!("mark of {name}"),
    };
    assert_eq!(store.organizations().await.unwrap(), [expected(first, "first"), expected(second, "a second")]);
}

pub async fn an_organization_name_is_unique(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let first = store.organizations().await.unwrap().remove(0);
    let again = Organization { environment: "LIVE".into(), event_mark: "another".into(), ..first.clone() };
    assert!(store.create_organization(&again, None).await.is_err());
    let same_mark = Organization { name: "two".into(), ..first };
    assert!(store.create_organization(&same_mark, None).await.is_err(), "no two organizations have the same mark");
    let all = store.organizations().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!((all[0].org, all[0].environment.as_str()), (org, "TEST"));
}

pub async fn a_key_is_found_by_id_and_by_secret(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let mut older = key_row(org, "z");
    older.created_at = at(5);
    older.last_used_at = Some(at(6));
    older.revoked_at = Some(at(7));
    let newer = key_row(org, "a");
    assert!(store.create_key(&newer, None).await.unwrap());
    assert!(store.create_key(&older, None).await.unwrap());
    assert_eq!(store.key("z").await.unwrap().as_ref(), Some(&older));
    assert_eq!(store.key("y").await.unwrap(), None);
    assert_eq!(store.key_by_secret(b"hash of a").await.unwrap().as_ref(), Some(&newer));
    assert_eq!(store.key_by_secret(b"hash of").await.unwrap(), None);
    assert_eq!(store.keys(org).await.unwrap(), [older, newer]);
}

pub async fn a_client_id_is_taken_once(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    assert!(store.create_key(&key_row(one, "same"), None).await.unwrap());
    let mut other = key_row(two, "same");
    other.secret_hash = b"another".to_vec();
    assert!(!store.create_key(&other, None).await.unwrap());
    assert_eq!(store.keys(two).await.unwrap(), []);
    assert_eq!(store.key_by_secret(b"another").await.unwrap(), None);
    assert_eq!(store.key("same").await.unwrap(), Some(key_row(one, "same")));
}

pub async fn a_key_is_revoked_once(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    store.create_key(&key_row(one, "k"), None).await.unwrap();
    assert!(!store.revoke_key(two, "k", at(49), None).await.unwrap(), "another organization's key");
    assert!(!store.revoke_key(one, "none", at(49), None).await.unwrap());
    assert_eq!(store.key("k").await.unwrap().unwrap().revoked_at, None);
    assert!(store.revoke_key(one, "k", at(50), None).await.unwrap());
    assert!(store.revoke_key(one, "k", at(60), None).await.unwrap());
    assert_eq!(store.key("k").await.unwrap().unwrap().revoked_at, Some(at(50)));
}

pub async fn last_use_never_moves_back(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    store.create_key(&key_row(org, "a"), None).await.unwrap();
    store.create_key(&key_row(org, "b"), None).await.unwrap();
    let used = |id: &str, seconds| (id.to_owned(), at(seconds));
    store.touch_keys(&[used("a", 70), used("b", 71), used("unknown", 72)]).await.unwrap();
    store.touch_keys(&[used("a", 60), used("b", 80)]).await.unwrap();
    assert_eq!(store.key("a").await.unwrap().unwrap().last_used_at, Some(at(70)));
    assert_eq!(store.key("b").await.unwrap().unwrap().last_used_at, Some(at(80)));
    store.touch_keys(&[]).await.unwrap();
}
