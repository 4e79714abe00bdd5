//! Accessibility checks of pages with axe-core: for example for screen readers and keyboard use.

use crate::browser::Browser;
use crate::common::npm::package;
use serde_json::Value;
use std::fs;

/// The npm package, pinned, so that a run can be repeated.
const PACKAGE: &str = "axe-core@4.14.0";

/// The rules to check.
#[derive(Clone, Copy, Debug)]
pub enum Rules {
    All,
    /// Only rules whose result may differ between light and dark.
    Colours,
}

/// The checker.
pub struct Axe {
    source: String,
}

impl Axe {
    /// Finds axe-core; `None` without npm.
    pub fn find() -> Option<Axe> {
        let place = package(PACKAGE)?;
        let source = fs::read_to_string(place.join("node_modules/axe-core/axe.min.js")).expect("the package has it");
        Some(Axe { source })
    }

    /// The serious violations on the browser's current page, in words.
    pub async fn judge(&self, browser: &Browser, rules: Rules) -> Vec<String> {
        if browser.run("return typeof window.axe").await != "object" {
            // The source runs as a function body, so only `window.axe` stays on the page.
            browser.run(&format!("{}; window.axe = axe;", self.source)).await;
        }
        let only = match rules {
            Rules::All => "",
            Rules::Colours => ", runOnly: ['color-contrast', 'link-in-text-block']",
        };
        let script = format!(
            "const done = arguments[arguments.length - 1]; \
             axe.run(document, {{ resultTypes: ['violations']{only} }}) \
                .then((results) => done(results.violations), (error) => done(String(error)))"
        );
        let found = browser.run_async(&script).await.expect("axe-core runs");
        let Value::Array(found) = found else { panic!("axe-core failed: {found}") };
        let serious = found.iter().filter(|rule| rule["impact"] == "serious" || rule["impact"] == "critical");
        serious.map(|rule| format!("{}: {} — {}", rule["id"], rule["help"], rule["nodes"][0]["html"])).collect()
    }
}
