//! `/metrics` of running servers, on both databases, compared with the manual, the alerts and the dashboard: every
//! metric that these name is exported, every exported metric is in the manual, and every alert has its heading there.

use crate::support::{free_address, fresh, lend, metrics_at};
use daybook_testkit::authority::Authority;
use daybook_testkit::postgres;
use daybook_testkit::receiver::{Behaviour, Receiver};
use daybook_testkit::server::{Daybook, Server};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The type of each metric by name: counter, gauge or histogram.
type Exported = BTreeMap<String, String>;

fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All names of metrics in a text. The parts of a histogram count as the histogram.
fn figures_in(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("daybook_") || word.starts_with("process_"));
    let of_histogram = |word: &str| {
        let whole = ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end));
        whole.unwrap_or(word).to_owned()
    };
    words.map(of_histogram).collect()
}

/// The names of alerts, in the order of the file.
fn alerts_in(rules: &str) -> Vec<String> {
    rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).map(str::to_owned).collect()
}

/// The metrics in a page's tables: name and type.
fn listed_in(page: &str) -> Exported {
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let figure = |cells: Vec<String>| match &cells[..] {
        [_, name, kind, _, _, ..] if name.starts_with('`') => Some((name.trim_matches('`').to_owned(), kind.clone())),
        _ => None,
    };
    page.lines().filter(|line| line.starts_with('|')).filter_map(|line| figure(cells(line))).collect()
}

/// The metrics page of a server with a loan and a URL that received messages.
fn page_of(server: &Server, receiver: &Receiver) -> String {
    let secret = server.first_secret();
    server.put("/organization/subscribe", &secret, &json!({ "webhook_url": receiver.url() })).good();
    lend(server, &secret, "loan-1");
    for _ in 0..1_000 {
        let page = server.get("/metrics", "");
        assert_eq!(page.status, 200);
        if page.text.contains("\ndaybook_webhook_url_attempts_total{") {
            return page.text;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nothing was sent: {}", server.stderr())
}

fn exported_in(page: &str) -> Exported {
    let types = page.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut exported = Exported::new();
    for one in types {
        let (name, kind) = one.split_once(' ').expect("a name and a type");
        assert!(exported.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} is there twice");
        let help = page.lines().find_map(|line| line.strip_prefix(&format!("# HELP {name} ")));
        assert!(help.is_some_and(|help| help.len() > 3), "{name} has no help");
    }
    exported
}

fn exported_by(daybook: &Daybook) -> Exported {
    let receiver = Receiver::start(Behaviour::status(200));
    let server = daybook.serve(&["--dev", "--webhook-batch-interval", "0s"]);
    let exported = exported_in(&page_of(&server, &receiver));
    server.stop();
    exported
}

/// What a server with a certificate exports.
fn exported_with_tls() -> Exported {
    let (folder, daybook) = fresh();
    let path = |name: &str| folder.path().join(name);
    Authority::named("authority").sign("books.example.com", &path("cert.pem"), &path("key.pem"));
    let admin = free_address();
    let flags = ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--admin-listen", &admin.to_string()];
    let server = daybook.serve(&flags);
    let exported = exported_in(&metrics_at(admin));
    server.stop();
    exported
}

#[test]
fn every_figure_is_in_the_manual_and_every_one_that_is_named_is_exported() {
    let (_folder, daybook) = fresh();
    let mut exported = exported_by(&daybook);
    let (_other, daybook) = fresh();
    exported.extend(exported_by(&daybook.with("DAYBOOK_DATABASE", &postgres::Server::shared().database())));
    exported.extend(exported_with_tls());
    let manual = file("docs/operating/monitoring.md");
    assert_eq!(listed_in(&manual), exported, "the tables of the manual, and what is exported");
    let named = |path: &str| figures_in(&file(path));
    for path in
        ["docs/operating/monitoring.md", "packaging/monitoring/alerts.yaml", "packaging/monitoring/dashboard.json"]
    {
        let unknown: Vec<String> = named(path).into_iter().filter(|name| !exported.contains_key(name)).collect();
        assert_eq!(unknown, Vec::<String>::new(), "{path} names what no server exports");
    }
    let dashboard = named("packaging/monitoring/dashboard.json");
    let unseen: Vec<&String> = exported.keys().filter(|name| !dashboard.contains(*name)).collect();
    assert_eq!(unseen, Vec::<&String>::new(), "the dashboard shows every figure");
}

#[test]
fn every_alert_has_its_heading_in_the_manual() {
    let (rules, manual) = (file("packaging/monitoring/alerts.yaml"), file("docs/operating/monitoring.md"));
    let alerts = alerts_in(&rules);
    assert!(alerts.len() > 10, "{alerts:?}");
    let (_, runbook) = manual.split_once("\n## Alerts\n").expect("the manual has a part about alerts");
    let headings: Vec<&str> = runbook.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert_eq!(headings.iter().collect::<BTreeSet<_>>().len(), headings.len(), "a heading is there twice");
    assert_eq!(BTreeSet::from_iter(headings), alerts.iter().map(String::as_str).collect(), "headings, and alerts");
    for alert in alerts {
        let place = format!("runbook: docs/operating/monitoring.md#{}", alert.to_lowercase());
        assert!(rules.contains(&format!("{place}\n")), "{place}");
        let page = runbook.split(&format!("### {alert}\n")).nth(1).expect("its heading").split("\n### ").next();
        assert!(page.is_some_and(|page| page.trim().len() > 80), "{alert} says what it means and what to do");
    }
}

#[test]
fn the_dashboard_is_one_that_can_be_imported() {
    let dashboard: Value = serde_json::from_str(&file("packaging/monitoring/dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("a list");
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().expect("a number")).collect();
    assert_eq!(ids.len(), panels.len(), "ids are used once");
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        let targets = panel["targets"].as_array().expect("a list");
        assert!(!targets.is_empty() && panel["title"].is_string(), "{panel}");
        for target in targets {
            let asked = target["expr"].as_str().expect("an expression");
            assert!(!figures_in(asked).is_empty() || asked.contains("up{"), "{asked}");
        }
    }
}
