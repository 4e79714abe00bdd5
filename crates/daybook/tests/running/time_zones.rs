//! Newer time-zone data: future due dates move, processed events stay, and every command reports it.
//!
//! The test compiles the data with zic(8). In the earlier data, Asunción is always four hours behind UTC; in the newer
//! data, three hours since twenty days ago. A loan opened 45 days ago has its first due date before today and after
//! that change, and its next one in the future: both fall at 21:00 UTC by the earlier data, and at 20:00 UTC by the
//! newer.

use crate::support::fresh;
use daybook_clock::{Clock, System};
use daybook_testkit::old_database::OldDatabase;
use daybook_testkit::postgres;
use daybook_testkit::server::{Daybook, Server};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

const ZONE: &str = "America/Asuncion";
const LOOKS: usize = 600;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// The date this many days from today. Today stays the same during a test.
fn day(days: i64) -> Date {
    static TODAY: LazyLock<Date> = LazyLock::new(|| {
        let now = Timestamp::from_microsecond(System.now().micros()).expect("a time of today");
        now.to_zoned(TimeZone::UTC).date()
    });
    TODAY.checked_add(Span::new().days(days)).expect("a date of these years")
}

/// Compiles a zone into a folder and sets the version of the data.
fn compile(folder: &Path, version: &str, lines: &str) {
    std::fs::create_dir(folder).expect("the folder is new");
    let source = folder.join("source");
    std::fs::write(&source, lines).expect("it can be written");
    let done = Command::new("/usr/sbin/zic").arg("-d").arg(folder).arg(&source).output().expect("zic(8) is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::write(folder.join("+VERSION"), version).expect("it can be written");
}

fn make_data(folder: &Path) {
    let earlier = format!("Zone {ZONE} -4:00 - -04\n");
    let newer = format!("Zone {ZONE} -4:00 - -04 {} 0:00u\n -3:00 - -03\n", day(-20).strftime("%Y %b %d"));
    compile(&folder.join("earlier"), "2026x", &earlier);
    compile(&folder.join("newer"), "2026y", &newer);
}

fn lend(server: &Server, secret: &str) {
    let product = json!({
        "product_id": "asu",
        "product_overview": { "product_name": "Asunción", "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": { "billing_cycle_policies": {
            "cycle_interval": "30 days", "close_of_business_time": "17:00:00", "product_time_zone": ZONE,
        } },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12.0 },
    });
    server.post("/products", secret, &product).good();
    for account in ["loan-1", "loan-2"] {
        let loan = json!({
            "account_id": account,
            "product_id": "asu",
            "effective_at": format!("{}T16:00:00Z", day(-45)),
            "summary": { "initial_principal_cents": 120_000 },
        });
        server.post("/accounts", secret, &loan).good();
    }
    let elsewhere = json!({
        "product_id": "utc",
        "product_overview": { "product_name": "Elsewhere", "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": { "billing_cycle_policies": { "product_time_zone": "UTC" } },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12.0 },
    });
    server.post("/products", secret, &elsewhere).good();
    let loan =
        json!({ "account_id": "far-away", "product_id": "utc", "summary": { "initial_principal_cents": 120_000 } });
    server.post("/accounts", secret, &loan).good();
}

fn all(server: &Server, secret: &str, path: &str) -> Vec<Value> {
    server.get(path, secret).good()["results"].as_array().expect("a list").clone()
}

/// When interest was posted: at the end of each period.
fn period_ends(server: &Server, secret: &str, account: &str) -> Vec<Timestamp> {
    let items = all(server, secret, &format!("/accounts/{account}/line_items?line_item_type=INTEREST&limit=200"));
    let at = |item: &Value| item["effective_at"].as_str().expect("a time").parse().expect("a time");
    let mut ends: Vec<Timestamp> = items.iter().map(at).collect();
    ends.sort();
    ends
}

/// Every line item: its id, time and amounts. The same time may have another offset.
fn items_of(server: &Server, secret: &str) -> Vec<(String, Timestamp, Value)> {
    let items = all(server, secret, "/accounts/loan-1/line_items?limit=200");
    let each = |item: &Value| {
        let at = item["effective_at"].as_str().expect("a time").parse().expect("a time");
        (item["line_item_id"].to_string(), at, item["line_item_summary"].clone())
    };
    items.iter().map(each).collect()
}

fn moment(date: Date, hour: i8) -> Timestamp {
    date.at(hour, 0, 0, 0).to_zoned(TimeZone::UTC).expect("a moment").timestamp()
}

/// The error message of a command that must fail.
fn refusal(daybook: &Daybook, command: &[&str]) -> String {
    let (code, said) = daybook.failure_of(command);
    assert_eq!(code, 1, "{said}");
    said
}

/// Rolls the loan to a day, counted from today.
fn roll_to(server: &Server, secret: &str, days: i64) {
    let to = format!("{}T00:00:00Z", day(days));
    let roll = json!({ "account_id": "loan-1", "effective_at": to, "roll_webhooks": false });
    server.post("/admin/roll/account", secret, &roll).good();
}

fn what_is_ahead_moves_and_the_past_stays(daybook: &Daybook) {
    make_data(daybook.folder());
    let earlier = daybook.clone().with("DAYBOOK_TIME_ZONES", "earlier");
    let newer = daybook.clone().with("DAYBOOK_TIME_ZONES", "newer");
    let server = earlier.serve(&[]);
    let secret = server.first_secret();
    lend(&server, &secret);
    let first = moment(day(-15), 21);
    assert_eq!(period_ends(&server, &secret, "loan-1"), [first]);
    let before = all(&server, &secret, "/accounts/loan-1/events?limit=200");
    let items = items_of(&server, &secret);
    server.stop();
    assert!(earlier.stdout_of(&["verify"]).ends_with(": 0 differences\n"));

    // Every command of the newer build reports the pending change and changes nothing.
    let from = format!("{ZONE}: data 2026y differ from 2026x as of ");
    let said = refusal(&newer, &["verify"]);
    assert!(said.contains(&from) && said.contains("daybook migrate"), "{said}");
    let found = newer.stdout_of(&["doctor", "--listen", "127.0.0.1:0"]);
    let line = found.lines().find(|line| line.starts_with("time zones")).unwrap_or_else(|| panic!("{found}"));
    assert!(line.contains("warn") && line.contains(&from), "{line}");
    assert!(earlier.stdout_of(&["verify"]).ends_with(": 0 differences\n"), "nothing was changed");

    let done = newer.json_of(&["migrate", "--json"]);
    let due = day(15);
    let moved = |account: &str| {
        json!({
            "organization": "first", "account_id": account, "zone": ZONE,
            "before": format!("{due}T21:00:00Z"), "after": format!("{due}T20:00:00Z"),
        })
    };
    assert_eq!(done["time_zones"]["moved"], json!([moved("loan-1"), moved("loan-2")]), "{done}");
    assert_eq!((&done["time_zones"]["accounts"], &done["time_zones"]["failed"]), (&json!(2), &json!(0)));
    assert_eq!(newer.stdout_of(&["migrate"]), "the database is up to date\n", "once");
    assert!(newer.stdout_of(&["verify"]).ends_with(": 0 differences\n"));
    let said = refusal(&earlier, &["verify"]);
    assert!(said.contains(&format!("{ZONE}: data 2026x differ from 2026y")), "{said}");

    let server = newer.serve(&[]);
    assert!(!server.stderr().contains("time-zone data changed"), "{}", server.stderr());
    let mut after = all(&server, &secret, "/accounts/loan-1/events?limit=200");
    let place = after.iter().position(|event| event["event"] == "time_zone_change").expect("the timeline tells it");
    let told = after.remove(place)["description"].as_str().expect("a sentence").to_owned();
    assert!(told.contains("2026y") && told.contains(&format!("{due}T20:00:00Z")), "{told}");
    assert_eq!(after, before, "what has happened stays as it was");
    assert_eq!(items_of(&server, &secret), items);
    let unmoved = all(&server, &secret, "/accounts/far-away/events?limit=200");
    assert!(unmoved.iter().all(|event| event["event"] != "time_zone_change"), "{unmoved:?}");

    // Further events: a backdated payment, and time passing.
    let payment = json!({ "line_item_id": "p1", "original_amount_cents": 10_662 });
    server.post("/accounts/loan-1/line_items/payments/payment_record", &secret, &payment).good();
    server.post("/accounts/loan-1/line_items/payment_reversals/p1", &secret, &json!({})).good();
    roll_to(&server, &secret, 50);
    assert_eq!(period_ends(&server, &secret, "loan-1"), [first, moment(due, 20), moment(day(45), 20)]);
    server.stop();
    assert!(newer.stdout_of(&["verify"]).ends_with(": 0 differences\n"));

    // Back to the earlier data, with a history processed by both.
    let server = earlier.serve(&[]);
    let log = server.stderr();
    assert!(log.contains("time-zone data changed") && log.contains("the next moment of an account has moved"), "{log}");
    roll_to(&server, &secret, 80);
    let ends = [first, moment(due, 20), moment(day(45), 20), moment(day(75), 21)];
    assert_eq!(period_ends(&server, &secret, "loan-1"), ends);
    server.stop();
    assert!(earlier.stdout_of(&["verify"]).ends_with(": 0 differences\n"));
}

#[test]
fn what_is_ahead_moves_and_the_past_stays_on_sqlite() {
    let (_folder, daybook) = fresh();
    what_is_ahead_moves_and_the_past_stays(&daybook);
}

#[test]
fn what_is_ahead_moves_and_the_past_stays_on_postgres() {
    let (_folder, daybook) = fresh();
    what_is_ahead_moves_and_the_past_stays(&daybook.with("DAYBOOK_DATABASE", &postgres::Server::shared().database()));
}

#[test]
fn a_node_that_goes_by_other_data_than_the_database_stops() {
    let (_folder, daybook) = fresh();
    let daybook = daybook.with("DAYBOOK_DATABASE", &postgres::Server::shared().database());
    make_data(daybook.folder());
    let earlier = daybook.clone().with("DAYBOOK_TIME_ZONES", "earlier").serve(&[]);
    let secret = earlier.first_secret();
    lend(&earlier, &secret);
    let newer = daybook.with("DAYBOOK_TIME_ZONES", "newer").serve(&[]);
    let noticed = (0..LOOKS).any(|_| {
        std::thread::sleep(BETWEEN_LOOKS);
        earlier.get("/readyz", "").status == 503
    });
    assert!(noticed, "{}", earlier.stderr());
    let payment = json!({ "line_item_id": "p1", "original_amount_cents": 10_662 });
    let path = "/accounts/loan-1/line_items/payments/payment_record";
    let refused = earlier.post(path, &secret, &payment);
    assert_eq!(refused.status, 503);
    assert!(refused.text.contains("time-zone data"), "{}", refused.text);
    newer.post(path, &secret, &payment).good();
}

/// Loans in addition to those of [`lend`], so that adopting data takes several transactions.
const MORE_LOANS: std::ops::Range<i64> = 100..360;
/// A loan of a later transaction than the first.
const LATE_LOAN: &str = "loan-350";

/// Makes every update of [`LATE_LOAN`] fail.
fn interrupt(database: &OldDatabase) {
    let (event, fails) = ("BEFORE UPDATE ON accounts", format!("NEW.account = '{LATE_LOAN}'"));
    database.run(&match database.address.starts_with("sqlite:") {
        true => {
            format!("CREATE TRIGGER interruption {event} WHEN {fails} BEGIN SELECT RAISE(ABORT, 'interrupted'); END")
        }
        false => format!(
            "CREATE FUNCTION interruption() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN IF {fails} THEN RAISE EXCEPTION 'interrupted'; END IF; RETURN NEW; END $$;
             CREATE TRIGGER interruption {event} FOR EACH ROW EXECUTE FUNCTION interruption()"
        ),
    });
}

fn end_interruption(database: &OldDatabase) {
    let on = if database.address.starts_with("sqlite:") { "" } else { "ON accounts" };
    database.run(&format!("DROP TRIGGER interruption {on}"));
}

/// Newer data are adopted for some accounts only. Then the same build continues, or the earlier build returns.
fn an_interrupted_adoption_is_completed_or_undone(daybook: &Daybook, address: &str, continues: bool) {
    make_data(daybook.folder());
    let daybook = daybook.clone().with("DAYBOOK_DATABASE", address);
    let earlier = daybook.clone().with("DAYBOOK_TIME_ZONES", "earlier");
    let newer = daybook.with("DAYBOOK_TIME_ZONES", "newer");
    let server = earlier.serve(&[]);
    let secret = server.first_secret();
    lend(&server, &secret);
    for number in MORE_LOANS {
        let loan = json!({
            "account_id": format!("loan-{number}"),
            "product_id": "asu",
            "effective_at": format!("{}T16:00:00Z", day(-45)),
            "summary": { "initial_principal_cents": 120_000 },
        });
        server.post("/accounts", &secret, &loan).good();
    }
    server.stop();
    let database = OldDatabase::at(address);
    interrupt(&database);
    let said = refusal(&newer, &["migrate"]);
    assert!(said.contains("interrupted"), "{said}");
    end_interruption(&database);
    let moments = || database.number("SELECT count(DISTINCT next_moment) FROM accounts WHERE product = 'asu'");
    assert_eq!(moments(), 2, "some accounts were reached, others were not");

    let (back, hour, changes) = if continues { (&newer, 20, 1) } else { (&earlier, 21, 2) };
    let said = refusal(back, &["verify"]);
    assert!(said.contains(" differ from ") && said.contains("daybook migrate"), "{said}");
    let done = back.json_of(&["migrate", "--json"]);
    assert_eq!(done["time_zones"]["failed"], 0, "{done}");
    assert_eq!(moments(), 1);
    assert!(back.stdout_of(&["verify"]).ends_with(": 0 differences\n"));
    let server = back.serve(&[]);
    let events = all(&server, &secret, "/accounts/loan-100/events?limit=200");
    let told = events.iter().filter(|event| event["event"] == "time_zone_change").count();
    assert_eq!(told, changes, "a loan that was reached: {events:?}");
    let roll =
        json!({ "account_id": LATE_LOAN, "effective_at": format!("{}T00:00:00Z", day(20)), "roll_webhooks": false });
    server.post("/admin/roll/account", &secret, &roll).good();
    assert_eq!(period_ends(&server, &secret, LATE_LOAN), [moment(day(-15), 21), moment(day(15), hour)]);
    assert_eq!(server.get("/readyz", "").status, 200);
    server.stop();
    assert!(back.stdout_of(&["verify"]).ends_with(": 0 differences\n"));
}

#[test]
fn an_interrupted_adoption_is_completed_or_undone_on_sqlite() {
    for continues in [true, false] {
        let (folder, daybook) = fresh();
        let address = format!("sqlite:{}", folder.path().join("daybook.db").display());
        an_interrupted_adoption_is_completed_or_undone(&daybook, &address, continues);
    }
}

#[test]
fn an_interrupted_adoption_is_completed_or_undone_on_postgres() {
    for continues in [true, false] {
        let (_folder, daybook) = fresh();
        let address = postgres::Server::shared().database();
        an_interrupted_adoption_is_completed_or_undone(&daybook, &address, continues);
    }
}

#[test]
fn a_folder_without_time_zones_is_refused() {
    let (folder, daybook) = fresh();
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    std::fs::create_dir(folder.path().join("damaged")).expect("a folder");
    std::fs::write(folder.path().join("damaged/UTC"), "TZif, or so").expect("a file");
    for (given, rule) in [
        ("nowhere", "the folder cannot be read"),
        ("empty", "the folder holds no compiled time zone"),
        ("damaged", "the file UTC is damaged"),
    ] {
        let (_, said) = daybook.failure_of(&["doctor", "--time-zones", given]);
        let stdout = String::from_utf8(daybook.run(&["doctor", "--time-zones", given]).stdout).expect("text");
        assert!(said.contains(rule) || stdout.contains(rule), "{given}: {said} {stdout}");
        let (_, said) = daybook.failure_of(&["serve", "--time-zones", given]);
        assert!(said.contains(&format!("time-zones {given}: {rule}")), "{said}");
    }
}
