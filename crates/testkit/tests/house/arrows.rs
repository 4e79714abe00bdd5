//! `engine <- store <- webhooks <- service <- {api, console} <- daybook`, with `cases` between the service and the
//! crates that show or run test cases, `import` between the service and the binary, `clock` below all crates that need
//! time, `metrics` below all that count, and `client` for tools that call a running server. `operations` is below all
//! that name a path of the API, and `receiver` below all that receive webhooks.

use super::{assert_none, output_of};
use serde_json::Value;

/// Which crates a crate may depend on. A crate that is not listed is refused.
const MAY_USE: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("operations", &[]),
    ("client", &["operations"]),
    ("clock", &["engine"]),
    ("metrics", &[]),
    ("receiver", &[]),
    ("store", &["engine", "clock"]),
    ("webhooks", &["engine", "clock", "metrics", "store"]),
    ("service", &["engine", "clock", "metrics", "operations", "store", "webhooks"]),
    ("api", &["engine", "clock", "metrics", "operations", "service"]),
    ("cases", &["client", "engine", "clock", "operations", "receiver", "webhooks", "service"]),
    ("console", &["engine", "clock", "operations", "service", "cases"]),
    ("import", &["client", "engine", "clock", "operations", "service"]),
    (
        "daybook",
        &[
            "client",
            "engine",
            "clock",
            "metrics",
            "operations",
            "receiver",
            "store",
            "webhooks",
            "service",
            "cases",
            "import",
            "api",
            "console",
        ],
    ),
    ("testkit", &["engine", "clock", "operations", "receiver", "store", "webhooks", "service", "api", "console"]),
];

/// A dependency of one workspace crate on another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrow {
    from: String,
    to: String,
    /// Cargo's name for it: `normal`, `build` or `dev`.
    kind: String,
}

impl Arrow {
    fn new(from: &str, to: &str, kind: &str) -> Self {
        Self { from: from.to_owned(), to: to.to_owned(), kind: kind.to_owned() }
    }
}

/// Why this dependency is refused; `None` if it is allowed.
fn refusal(Arrow { from, to, kind }: &Arrow) -> Option<String> {
    let Some((_, may_use)) = MAY_USE.iter().find(|(name, _)| name == from) else {
        return Some(format!("`{from}` is not in the table of crates"));
    };
    if to == "testkit" {
        return (kind != "dev").then(|| format!("`{from}` depends on `testkit`, which may only be a dev-dependency"));
    }
    let allowed = may_use.contains(&to.as_str());
    (!allowed).then(|| format!("`{from}` may not depend on `{to}` ({kind}); it may use {may_use:?}"))
}

/// The package `daybook-store` is the crate `store`; the binary's package is `daybook`.
fn crate_folder(package: &str) -> &str {
    package.strip_prefix("daybook-").unwrap_or(package)
}

/// Reads the dependencies from `cargo metadata --no-deps`.
fn arrows_in(metadata: &Value) -> Vec<Arrow> {
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    let name = |value: &Value| value["name"].as_str().expect("everything in metadata has a name").to_owned();
    let ours: Vec<String> = packages.iter().map(name).collect();
    let mut arrows = Vec::new();
    for package in packages {
        for dependency in package["dependencies"].as_array().expect("a package lists dependencies") {
            if ours.contains(&name(dependency)) {
                let kind = dependency["kind"].as_str().unwrap_or("normal");
                arrows.push(Arrow::new(crate_folder(&name(package)), crate_folder(&name(dependency)), kind));
            }
        }
    }
    arrows
}

/// Every workspace crate must be on the map, and the folder `crates/x` must hold the package `daybook-x`.
fn misplaced(metadata: &Value) -> Vec<String> {
    let mut offences = Vec::new();
    for package in metadata["packages"].as_array().expect("metadata lists packages") {
        let name = package["name"].as_str().expect("a package has a name");
        let manifest = package["manifest_path"].as_str().expect("a package has a manifest");
        if !MAY_USE.iter().any(|(known, _)| *known == crate_folder(name)) {
            offences.push(format!("`{name}` is not in the table of crates"));
        }
        if !manifest.ends_with(&format!("/crates/{}/Cargo.toml", crate_folder(name))) {
            offences.push(format!("`{name}` should be in crates/{}, not in {manifest}", crate_folder(name)));
        }
    }
    offences
}

#[test]
fn an_arrow_down_the_order_is_allowed() {
    for (from, to) in [("store", "engine"), ("service", "webhooks"), ("api", "service"), ("daybook", "console")] {
        assert_eq!(refusal(&Arrow::new(from, to, "normal")), None);
    }
}

#[test]
fn an_arrow_up_the_order_is_refused() {
    for (from, to) in [("engine", "store"), ("store", "webhooks"), ("webhooks", "service"), ("service", "api")] {
        for kind in ["normal", "build", "dev"] {
            assert!(refusal(&Arrow::new(from, to, kind)).is_some(), "{from} -> {to} ({kind})");
        }
    }
}

#[test]
fn an_arrow_sideways_or_past_the_service_is_refused() {
    for (from, to) in [("api", "console"), ("console", "api"), ("api", "store"), ("console", "store")] {
        assert!(refusal(&Arrow::new(from, to, "normal")).is_some(), "{from} -> {to}");
    }
}

#[test]
fn the_engine_may_not_see_the_clock() {
    assert!(refusal(&Arrow::new("engine", "clock", "normal")).is_some());
    assert_eq!(refusal(&Arrow::new("service", "clock", "normal")), None);
}

#[test]
fn the_testkit_is_a_dev_dependency_only() {
    assert_eq!(refusal(&Arrow::new("engine", "testkit", "dev")), None);
    assert!(refusal(&Arrow::new("daybook", "testkit", "normal")).is_some());
    assert!(refusal(&Arrow::new("daybook", "testkit", "build")).is_some());
}

#[test]
fn a_crate_that_is_not_on_the_map_is_refused() {
    assert!(refusal(&Arrow::new("attic", "engine", "normal")).is_some());
    let metadata = serde_json::json!({ "packages": [
        { "name": "daybook-attic", "manifest_path": "/x/crates/attic/Cargo.toml", "dependencies": [] },
        { "name": "daybook-store", "manifest_path": "/x/crates/shop/Cargo.toml", "dependencies": [] },
    ]});
    assert_eq!(misplaced(&metadata).len(), 2);
}

#[test]
fn arrows_are_read_with_their_kind_and_strangers_are_left_out() {
    let metadata = serde_json::json!({ "packages": [
        { "name": "daybook-engine", "dependencies": [{ "name": "daybook-testkit", "kind": "dev" }] },
        { "name": "daybook-testkit", "dependencies": [
            { "name": "daybook-engine", "kind": null }, { "name": "serde_json", "kind": "dev" },
        ]},
    ]});
    let expected = [Arrow::new("engine", "testkit", "dev"), Arrow::new("testkit", "engine", "normal")];
    assert_eq!(arrows_in(&metadata), expected);
}

#[test]
fn this_workspace_keeps_the_order() {
    let args = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let metadata = output_of(env!("CARGO"), &args).expect("cargo metadata runs");
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
    let mut offences = misplaced(&metadata);
    offences.extend(arrows_in(&metadata).iter().filter_map(refusal));
    assert_none(&offences);
}
