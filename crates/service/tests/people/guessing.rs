//! Throttling of failed sign-ins.

use crate::setup::{NOW, PASSWORD, SECOND, code, join, seconds, sign_in, wait};
use crate::support::{Home, Trial, on_both};
use daybook_service::access::Role;
use std::net::IpAddr;

on_both!(
    guessing_an_address_is_slowed_on_every_node,
    guessing_from_a_place_is_slowed,
    an_unknown_address_is_slowed_too
);

async fn guessing_an_address_is_slowed_on_every_node(home: Home) {
    let trial = Trial::at(home, NOW).await;
    // An in-memory SQLite database belongs to one node.
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
