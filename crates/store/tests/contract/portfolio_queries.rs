//! Counts and search.

use super::fixtures::*;
use super::outbox::{announce, attempt, deliveries, kept, lease, pause, subscribe};
use daybook_store::Store;
use daybook_store::batch::{CustomerWrite, ProductWrite, Unit};
use daybook_store::outbox::DeliveryAttempt;
use daybook_store::portfolio_queries::{
    AccountSearch, Attention, FoundAccount, HourFigure, LateFigure, SearchText, SearchWords, SearchedKind,
    StatusFigure, Sum, Summed,
};
use daybook_store::records::{AccountNow, AccountRow, CustomerRow, ItemRow, Mode, OrgId, PageRequest, ProductRow};
use std::sync::Arc;

/// An account with its current values and its words.
fn account_like(org: OrgId, id: &str, product: &str, now: AccountNow, words: &[&str]) -> Unit {
    let unit = account_unit(insert(AccountRow { now, ..account_row(org, id, product) }));
    Unit { words: vec![words_of(org, SearchedKind::Account, id, words, true)], ..unit }
}

fn words_of(org: OrgId, kind: SearchedKind, id: &str, words: &[&str], is_new: bool) -> SearchWords {
    SearchWords { org, kind, id: id.into(), words: words.iter().map(|word| (*word).to_owned()).collect(), is_new }
}

fn customer_like(org: OrgId, id: &str, words: &[&str]) -> Unit {
    Unit {
        customers: vec![CustomerWrite::Insert(Box::new(customer_row(org, id)))],
        words: vec![words_of(org, SearchedKind::Customer, id, words, true)],
        ..Unit::default()
    }
}

fn standing(status: &str, substatus: Option<&str>, balance: i64) -> AccountNow {
    AccountNow { status: status.into(), substatus: substatus.map(str::to_owned), balance, ..now() }
}

fn late_since(seconds: i64) -> AccountNow {
    AccountNow { oldest_unpaid_due: Some(at(seconds)), processed_through: Some(at(900)), ..now() }
}

fn text(words: &[&str], id: Option<&str>) -> SearchText {
    SearchText { words: words.iter().map(|word| (*word).to_owned()).collect(), id: id.map(str::to_owned) }
}

fn page(limit: usize) -> PageRequest {
    PageRequest { limit, ..PageRequest::default() }
}

async fn ids(store: &Arc<dyn Store>, org: OrgId, search: &AccountSearch) -> Vec<String> {
    let found = store.search_accounts(org, search, &page(100)).await.unwrap();
    found.into_iter().map(|found| found.account.to_string()).collect()
}

fn figure(status: &str, substatus: Option<&str>, figure: i64) -> StatusFigure {
    StatusFigure { status: status.into(), substatus: substatus.map(str::to_owned), figure }
}

pub async fn accounts_are_counted_and_summed_by_status(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    let units = vec![
        account_like(one, "a", "loan", standing("ACTIVE", None, 100), &[]),
        account_like(one, "b", "loan", standing("ACTIVE", None, 250), &[]),
        account_like(one, "c", "loan", standing("ACTIVE", Some("DELINQUENT"), 30), &[]),
        account_like(one, "d", "loan", standing("CLOSED", Some("PAID_OFF"), 0), &[]),
        account_like(two, "a", "loan", standing("ACTIVE", None, 7), &[]),
    ];
    written(&store, units).await;
    let counts =
        [figure("ACTIVE", None, 2), figure("ACTIVE", Some("DELINQUENT"), 1), figure("CLOSED", Some("PAID_OFF"), 1)];
    assert_eq!(store.status_counts(one).await.unwrap(), counts);
    let sums =
        [figure("ACTIVE", None, 350), figure("ACTIVE", Some("DELINQUENT"), 30), figure("CLOSED", Some("PAID_OFF"), 0)];
    assert_eq!(store.status_balances(one).await.unwrap(), sums);

    // The same account with another status, and no other change.
    written(&store, vec![account_unit(update(&account_key(one, "a"), 1, standing("ACTIVE", None, 40)))]).await;
    let delinquent = standing("ACTIVE", Some("DELINQUENT"), 250);
    written(&store, vec![account_unit(update(&account_key(one, "b"), 1, delinquent))]).await;
    let counts =
        [figure("ACTIVE", None, 1), figure("ACTIVE", Some("DELINQUENT"), 2), figure("CLOSED", Some("PAID_OFF"), 1)];
    assert_eq!(store.status_counts(one).await.unwrap(), counts);
    let sums =
        [figure("ACTIVE", None, 40), figure("ACTIVE", Some("DELINQUENT"), 280), figure("CLOSED", Some("PAID_OFF"), 0)];
    assert_eq!(store.status_balances(one).await.unwrap(), sums);
    assert_eq!(store.status_counts(3).await.unwrap(), []);
    for (org, at_least, expected) in [(one, 0, true), (one, 4, true), (one, 5, false), (two, 1, true), (3, 1, false)] {
        assert_eq!(store.has_accounts(org, at_least).await.unwrap(), expected, "{at_least} of {org}");
    }
}

/// Accounts at the present, rolled forward, and held in every possible way.
async fn late_accounts(store: &Arc<dyn Store>) -> OrgId {
    let org = organization(store, "one").await;
    let product = |id: &str, holding| ProductRow {
        mode: Mode { version: 1, holding, ..Mode::default() },
        ..product_row(org, id)
    };
    let insert = |row| product_unit(ProductWrite::Insert(Box::new(row)));
    written(store, vec![insert(product("loan", false)), insert(product("held", true))]).await;
    let late = late_since(100);
    let units = vec![
        account_like(org, "current", "loan", now(), &["x"]),
        account_like(org, "early", "loan", late_since(50), &["x"]),
        account_like(org, "early2", "loan", late_since(50), &["y"]),
        account_like(org, "failed", "loan", AccountNow { failure: Some("why".into()), ..late.clone() }, &["x"]),
        account_like(org, "holding", "held", late.clone(), &["x"]),
        account_like(org, "later", "loan", late_since(500), &["x"]),
        account_like(org, "releasing", "loan", AccountNow { held_events: 2, ..late.clone() }, &["x"]),
        account_like(
            org,
            "rolled",
            "loan",
            AccountNow { rolled_to: Some(at(5_000)), processed_through: Some(at(5_000)), ..late_since(4_000) },
            &["x"],
        ),
        account_like(org, "rolled before", "loan", AccountNow { rolled_to: Some(at(990)), ..late.clone() }, &["x"]),
    ];
    written(store, units).await;
    org
}

pub async fn late_accounts_are_counted_by_where_they_stand(store: Arc<dyn Store>) {
    let org = late_accounts(&store).await;
    let late = |product: &str, due, stands_at: Option<i64>, accounts| LateFigure {
        product: product.into(),
        status: "ACTIVE".into(),
        due: at(due),
        stands_at: stands_at.map(at),
        accounts,
    };
    let expected = [
        late("held", 100, Some(900), 1),
        late("loan", 50, None, 2),
        late("loan", 100, None, 1),
        late("loan", 100, Some(900), 2),
        late("loan", 500, None, 1),
        late("loan", 4_000, Some(5_000), 1),
    ];
    assert_eq!(store.late_counts(org, at(NOW)).await.unwrap(), expected);
    // Once the clock reaches the moment it was rolled to, the account is at the present.
    let later = store.late_counts(org, at(5_000)).await.unwrap();
    assert!(later.contains(&late("loan", 4_000, None, 1)), "{later:?}");
}

pub async fn accounts_are_found_by_when_they_fell_due(store: Arc<dyn Store>) {
    let org = late_accounts(&store).await;
    let by = |due_by: Option<i64>, due_from: Option<i64>| AccountSearch {
        due_by: due_by.map(at),
        due_from: due_from.map(at),
        ..everything()
    };
    assert_eq!(ids(&store, org, &by(Some(50), None)).await, ["early", "early2", "rolled"]);
    assert_eq!(
        ids(&store, org, &by(Some(499), Some(100))).await,
        ["failed", "holding", "releasing", "rolled", "rolled before"]
    );
    // Accounts that hold events may be less past due than they seem.
    let recent = ["current", "failed", "holding", "later", "releasing", "rolled"];
    assert_eq!(ids(&store, org, &by(None, Some(500))).await, recent);
    let of_product = AccountSearch { product: Some("held".into()), ..by(Some(500), None) };
    assert_eq!(ids(&store, org, &of_product).await, ["holding"]);
    let closed = AccountSearch { status: Some("CLOSED".into()), ..by(Some(500), None) };
    assert_eq!(ids(&store, org, &closed).await, [""; 0]);
    let with_words = AccountSearch { text: Some(text(&["y"], None)), ..by(Some(500), None) };
    assert_eq!(ids(&store, org, &with_words).await, ["early2"]);

    let found = store.search_accounts(org, &by(Some(50), None), &page(100)).await.unwrap();
    let rolled = FoundAccount {
        account: "rolled".into(),
        product: "loan".into(),
        due: Some(at(4_000)),
        stands_at: Some(at(5_000)),
    };
    assert_eq!(found.last(), Some(&rolled));
    for search in
        [by(Some(500), None), by(None, Some(0)), AccountSearch { text: Some(text(&["x"], None)), ..everything() }]
    {
        pages_lead_both_ways(&store, org, &search).await;
    }
}

/// Pages of two, forwards and backwards, return the same as one long page.
async fn pages_lead_both_ways(store: &Arc<dyn Store>, org: OrgId, search: &AccountSearch) {
    let all = ids(store, org, search).await;
    assert!(all.len() > 4, "{all:?}");
    let two = async |after: Option<&String>, before: Option<&String>| -> Vec<String> {
        let page = PageRequest {
            after: after.map(|id| id.as_str().into()),
            before: before.map(|id| id.as_str().into()),
            limit: 2,
        };
        let found = store.search_accounts(org, search, &page).await.unwrap();
        found.into_iter().map(|found| found.account.to_string()).collect()
    };
    assert_eq!(two(None, None).await, all[..2]);
    assert_eq!(two(Some(&all[1]), None).await, all[2..4]);
    assert_eq!(two(None, all.last()).await, all[all.len() - 3..all.len() - 1]);
    assert_eq!(two(None, Some(&all[1])).await, all[..1]);
}

pub async fn accounts_are_found_by_status_and_reason(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let units = vec![
        account_like(org, "a", "loan", standing("ACTIVE", None, 0), &["x"]),
        account_like(org, "b", "loan", standing("ACTIVE", Some("DELINQUENT"), 0), &["x"]),
        account_like(org, "c", "loan", standing("CLOSED", Some("PAID_OFF"), 0), &["x"]),
    ];
    written(&store, units).await;
    let active = || AccountSearch { status: Some("ACTIVE".into()), ..everything() };
    let open = || AccountSearch { not_status: Some("CLOSED".into()), ..everything() };
    let reason = || AccountSearch { substatus: Some("DELINQUENT".into()), ..everything() };
    for (search, expected) in [(active(), &["a", "b"][..]), (open(), &["a", "b"]), (reason(), &["b"])] {
        assert_eq!(ids(&store, org, &search).await, expected, "{search:?}");
        let with_words = AccountSearch { text: Some(text(&["x"], None)), ..search };
        assert_eq!(ids(&store, org, &with_words).await, expected, "{with_words:?}");
    }
}

pub async fn things_are_found_by_all_words(store: Arc<dyn Store>) {
    let (one, two) = (organization(&store, "one").await, organization(&store, "two").await);
    let units = vec![
        customer_like(one, "c1", &["jane", "doe", "janet"]),
        customer_like(one, "c2", &["john", "doe"]),
        customer_like(two, "c1", &["jane"]),
        account_like(one, "c1-loan", "loan", now(), &["doe", "crm"]),
        account_like(one, "a2", "loan", now(), &[]),
    ];
    written(&store, units).await;
    for (account, customer) in [("a2", "c2"), ("c1-loan", "c2")] {
        let mut write = update(&account_key(one, account), 1, now());
        write.customers = Some(vec![(customer.into(), "PRIMARY".into())]);
        written(&store, vec![account_unit(write)]).await;
    }
    let found = async |kind, searched: SearchText| -> Vec<String> {
        let found = store.find(one, kind, &searched, 10).await.unwrap();
        found.iter().map(ToString::to_string).collect()
    };
    assert_eq!(found(SearchedKind::Customer, text(&["doe"], None)).await, ["c1", "c2"]);
    assert_eq!(found(SearchedKind::Customer, text(&["ja"], None)).await, ["c1"]);
    assert_eq!(found(SearchedKind::Customer, text(&["do", "j"], None)).await, ["c1", "c2"]);
    assert_eq!(found(SearchedKind::Customer, text(&["do", "jo"], None)).await, ["c2"]);
    assert_eq!(found(SearchedKind::Customer, text(&["jane", "john"], None)).await, [""; 0]);
    assert_eq!(found(SearchedKind::Customer, text(&["doe"], Some("c2"))).await, ["c2", "c1"]);
    assert_eq!(found(SearchedKind::Account, text(&["doe"], None)).await, ["c1-loan"]);
    assert_eq!(found(SearchedKind::Account, text(&[], Some("c1"))).await, ["c1-loan"]);
    assert_eq!(found(SearchedKind::Account, text(&[], Some("C1"))).await, [""; 0]);
    assert_eq!(found(SearchedKind::Product, text(&["doe"], Some("c1"))).await, [""; 0]);
    assert_eq!(found(SearchedKind::Customer, text(&[], None)).await, [""; 0]);

    let customers = async |searched: SearchText, page: PageRequest| -> Vec<String> {
        let found = store.search_customers(one, &searched, &page).await.unwrap();
        found.iter().map(|row| row.customer_id.to_string()).collect()
    };
    assert_eq!(customers(text(&["doe"], None), page(10)).await, ["c1", "c2"]);
    assert_eq!(customers(text(&["doe"], None), PageRequest { after: Some("c1".into()), ..page(10) }).await, ["c2"]);
    assert_eq!(customers(text(&["doe"], None), PageRequest { before: Some("c2".into()), ..page(10) }).await, ["c1"]);
    assert_eq!(customers(text(&[], Some("c")), page(1)).await, ["c1"]);
    assert_eq!(customers(text(&[], None), page(1)).await, [""; 0]);
    let whole = store.search_customers(one, &text(&["john"], None), &page(10)).await.unwrap();
    assert_eq!(whole, [customer_row(one, "c2")]);

    let accounts =
        async |searched: SearchText| ids(&store, one, &AccountSearch { text: Some(searched), ..everything() }).await;
    assert_eq!(accounts(text(&["crm"], None)).await, ["c1-loan"]);
    assert_eq!(accounts(text(&["john"], None)).await, ["a2", "c1-loan"]);
    assert_eq!(accounts(text(&["jane"], None)).await, [""; 0]);
    assert_eq!(accounts(text(&["c2"], Some("c2"))).await, ["a2", "c1-loan"]);
    assert_eq!(accounts(text(&["a2"], Some("a2"))).await, ["a2"]);
    assert_eq!(accounts(text(&["crm", "john"], None)).await, [""; 0]);
    assert_eq!(accounts(text(&[], None)).await, [""; 0]);
}

pub async fn words_follow_what_they_belong_to(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    written(&store, vec![customer_like(org, "a", &["old", "both"]), customer_like(org, "b", &["old"])]).await;
    let changed = |version, words: &[&str]| Unit {
        customers: vec![CustomerWrite::Update(Box::new(CustomerRow { version, ..customer_row(org, "a") }))],
        words: vec![words_of(org, SearchedKind::Customer, "a", words, false)],
        ..Unit::default()
    };
    let found =
        async |word: &str| store.find(org, SearchedKind::Customer, &text(&[word], None), 10).await.unwrap().len();
    stale(&store, changed(7, &["stale"])).await;
    assert_eq!((found("stale").await, found("old").await), (0, 2));
    written(&store, vec![changed(2, &["new", "both"])]).await;
    assert_eq!((found("old").await, found("both").await, found("new").await), (1, 1, 1));
    written(&store, vec![changed(3, &[])]).await;
    assert_eq!((found("both").await, found("new").await), (0, 0));
}

fn paid(id: &str, kind: &str, status: &str, seconds: i64, amount: i64) -> ItemRow {
    ItemRow { kind: kind.into(), status: status.into(), effective_at: at(seconds), amount, ..item(id) }
}

pub async fn items_are_summed_between_moments(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let mut write = insert(account_row(org, "a", "loan"));
    write.items = vec![
        paid("1", "PAYMENT", "VALID", 99, -1),
        paid("2", "PAYMENT", "VALID", 100, -10),
        paid("3", "PAYMENT", "VALID", 199, -200),
        paid("4", "PAYMENT", "PENDING", 150, -4_000),
        paid("5", "PAYMENT", "VALID", 300, -50_000),
        paid("6", "LATE_FEE", "VALID", 150, 25),
        paid("7", "INTEREST", "VALID", 150, 7),
    ];
    written(&store, vec![account_unit(write)]).await;
    let bounds = [100, 200, 300, 301].map(at);
    let sums = store.items_between(org, Summed::Payments, "VALID", &bounds).await.unwrap();
    assert_eq!(sums, [Sum { count: 2, amount: -210 }, Sum::default(), Sum { count: 1, amount: -50_000 }]);
    let fees = store.items_between(org, Summed::LateFees, "VALID", &bounds).await.unwrap();
    assert_eq!(fees, [Sum { count: 1, amount: 25 }, Sum::default(), Sum::default()]);
    assert_eq!(store.items_between(org, Summed::Payments, "VALID", &bounds[..1]).await.unwrap(), []);
}

pub async fn attempts_are_counted_by_the_hour(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    let (one, two) =
        (subscribe(&store, org, "https://one", None).await, subscribe(&store, org, "https://two", None).await);
    announce(&store, org, &[("paid", 10), ("paid", 11)]).await;
    lease(&store, super::outbox::ME).await;
    let failed = |position, seconds| DeliveryAttempt {
        error: Some("no".into()),
        status: Some(500),
        ..attempt(position, 1, seconds)
    };
    let mut first = deliveries(&one);
    first.attempts = vec![attempt(1, 1, 3_599), attempt(2, 1, 3_600), failed(2, 3_601)];
    let one = kept(&store, first).await;
    let mut again = deliveries(&one);
    again.attempts = vec![attempt(2, 2, 7_199)];
    kept(&store, again).await;
    let mut other = deliveries(&two);
    other.attempts = vec![failed(1, 3_700)];
    kept(&store, other).await;
    let hour = |seconds, delivered, failed| HourFigure { hour: at(seconds), delivered, failed };
    assert_eq!(store.delivery_hours(org, at(0)).await.unwrap(), [hour(0, 1, 0), hour(3_600, 2, 2)]);
    assert_eq!(store.delivery_hours(org, at(7_000)).await.unwrap(), [hour(3_600, 2, 2)]);
    assert_eq!(store.delivery_hours(org + 1, at(0)).await.unwrap(), []);

    // Deliveries recorded by a node that has lost the lease are not counted.
    let mut lost = deliveries(&two);
    lost.token = "another".into();
    lost.attempts = vec![attempt(1, 1, 3_700)];
    store.record(lost).await.unwrap();
    assert_eq!(store.delivery_hours(org, at(7_000)).await.unwrap(), [hour(3_600, 2, 2)]);

    // They expire with the attempts; an hour that is not over yet stays, and is not reported as wrong.
    assert_eq!(store.hours_off().await.unwrap(), []);
    store.expire_attempts(at(3_601), 10).await.unwrap();
    assert_eq!(store.delivery_hours(org, at(0)).await.unwrap(), [hour(3_600, 2, 2)]);
    assert_eq!(store.hours_off().await.unwrap(), []);
    store.expire_attempts(at(7_100), 10).await.unwrap();
    assert_eq!(store.delivery_hours(org, at(0)).await.unwrap(), [hour(3_600, 2, 2)]);
    assert_eq!(store.hours_off().await.unwrap(), []);
    store.expire_attempts(at(7_200), 10).await.unwrap();
    assert_eq!(store.delivery_hours(org, at(0)).await.unwrap(), []);
}

pub async fn what_needs_attention_is_counted(store: Arc<dyn Store>) {
    let org = organization(&store, "one").await;
    assert_eq!(store.attention(org).await.unwrap(), Attention::default());
    let product = |id: &str, holding, releasing| {
        let mode = Mode { version: 1, holding, releasing, ..Mode::default() };
        product_unit(ProductWrite::Insert(Box::new(ProductRow { mode, ..product_row(org, id) })))
    };
    let failed = |id: &str| account_like(org, id, "a", AccountNow { failure: Some("why".into()), ..now() }, &[]);
    let products = vec![product("a", true, false), product("b", true, false), product("c", false, true)];
    written(&store, products).await;
    written(&store, vec![failed("1"), failed("2"), failed("3"), account_like(org, "4", "a", now(), &[])]).await;
    let subscription = subscribe(&store, org, "https://one", None).await;
    subscribe(&store, org, "https://two", None).await;
    pause(&store, &subscription, 20).await;
    let expected =
        Attention { paused_subscriptions: 1, failed_accounts: 3, holding_products: 2, releasing_products: 1 };
    assert_eq!(store.attention(org).await.unwrap(), expected);
    assert_eq!(store.attention(org + 1).await.unwrap(), Attention::default());
}
