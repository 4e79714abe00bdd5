//! The same on PostgreSQL, which needs no lock: servers and commands share the database.

use crate::support::{fresh, lend};
use daybook_testkit::postgres;
use serde_json::json;

#[test]
fn two_servers_and_commands_share_a_database() {
    let (folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", &postgres::Server::shared().database());
    let one = daybook.serve(&[]);
    let secret = one.first_secret();
    let two = daybook.serve(&[]);
    lend(&one, &secret, "loan-1");
    assert_eq!(two.get("/accounts/loan-1/line_items/p1", &secret).status, 200);

    let key = daybook.json_of(&["keys", "create", "--role", "READ_ONLY", "--json"]);
    let reader = key["client_secret"].as_str().expect("a secret is text");
    assert_eq!((one.get("/products", reader).status, two.get("/products", reader).status), (200, 200));
    assert_eq!(one.post("/admin/control", &secret, &json!({ "order": "list_organizations" })).status, 404);
    assert!(daybook.stdout_of(&["verify"]).ends_with(": 0 differences\n"));
    one.stop();
    assert!(!two.stop().contains("this is the first start"));
    let made: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is there").collect();
    assert_eq!(made.len(), 2, "the secrets key and what the first start tells once: {made:?}");
}
