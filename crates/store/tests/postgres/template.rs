//! The template that tests copy holds what the migrations make.

use crate::block_on;
use daybook_testkit::postgres::Server;

#[test]
fn a_copy_of_the_template_is_what_the_migrations_make_of_an_empty_database() {
    let server = Server::shared();
    let (empty, copied) = (server.database(), server.migrated_database());
    let run_at_opening = |address: &str| block_on(async { daybook_store::open(address).await.unwrap().migrated() });
    assert_eq!(run_at_opening(&copied), [0; 0]);
    assert!(run_at_opening(&empty).len() > 10, "the empty database is migrated from the first table on");
    let (made, copy) = (server.text_of(&empty), server.text_of(&copied));
    assert!(made.contains("CREATE TABLE public.accounts ("), "{made}");
    assert_eq!(made, copy);
}
