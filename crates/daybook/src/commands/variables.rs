//! Warns about environment variables that begin like settings but are not settings: most likely they are misspelt.

use super::suggest;
use crate::config::definitions::DEFINITIONS;
use std::ffi::OsString;

/// The prefix of all settings' variables.
const PREFIX: &str = "DAYBOOK_";

/// Variables that are not settings and get no warning: the path of the settings file, and those that command-line tools,
/// examples and tests of this repository read.
const OTHERS: &[&str] = &[
    "DAYBOOK_CONFIG",
    // Tools and examples.
    "DAYBOOK_HMAC_KEY",
    "DAYBOOK_KEY",
    "DAYBOOK_OPENAPI",
    "DAYBOOK_PASSWORD",
    "DAYBOOK_PYTHON",
    "DAYBOOK_TOKEN",
    "DAYBOOK_URL",
    // Tests and their campaigns.
    "DAYBOOK_API_DATABASE",
    "DAYBOOK_BLESS",
    "DAYBOOK_CASES",
    "DAYBOOK_CROWD",
    "DAYBOOK_HISTORIES",
    "DAYBOOK_KILLS",
    "DAYBOOK_LARGE",
    "DAYBOOK_LEASE_ROUNDS",
    "DAYBOOK_LIMITED_MESSAGES",
    "DAYBOOK_LOANS",
    "DAYBOOK_LONG_ACCOUNT",
    "DAYBOOK_NODE_ACCOUNTS",
    "DAYBOOK_NODE_KILLS",
    "DAYBOOK_OUTAGES",
    "DAYBOOK_PICTURES",
    "DAYBOOK_RELEASED_ACCOUNTS",
    "DAYBOOK_RETRY_TRIALS",
    "DAYBOOK_SCHEMATHESIS_REQUESTS",
    "DAYBOOK_SEED",
    "DAYBOOK_SIGNATURES",
    "DAYBOOK_SILENT_NAMES",
    "DAYBOOK_SOAK_SECONDS",
    "DAYBOOK_STOPS",
    "DAYBOOK_WEBHOOK_CAMPAIGNS",
    "DAYBOOK_WEBHOOK_KILLS",
    "DAYBOOK_WEBHOOK_STOPS",
];

/// Prefixes of further such variables: tests of this repository, and those that Kubernetes sets for a service that is called `daybook`.
const BEGINNINGS: [&str; 3] = ["DAYBOOK_TEST_", "DAYBOOK_SERVICE_", "DAYBOOK_PORT"];

/// The sentences, by name. Values are not shown: they may be secrets. An empty variable counts as not set.
fn unknown_among(variables: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut names: Vec<String> =
        variables.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name).collect();
    names.retain(|name| is_unknown(name));
    names.sort();
    names.iter().map(|name| sentence(name)).collect()
}

/// A sentence for each environment variable of this process that looks like a setting and is none.
pub fn unknown() -> Vec<String> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    unknown_among(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
}

/// Logs them.
pub fn warn_of_unknown() {
    for sentence in unknown() {
        tracing::warn!("{sentence}");
    }
}

fn is_unknown(name: &str) -> bool {
    let is_other = OTHERS.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    name.starts_with(PREFIX) && !is_other && DEFINITIONS.iter().all(|definition| definition.variable() != name)
}

fn sentence(name: &str) -> String {
    let known: Vec<String> = DEFINITIONS.iter().map(|definition| definition.name.replace('-', "_")).collect();
    let word = name.strip_prefix(PREFIX).unwrap_or(name);
    let nearest = suggest::close_to(word, known.iter().map(String::as_str)).into_iter().next();
    let meant =
        nearest.map_or_else(String::new, |nearest| format!("did you mean {PREFIX}{}? ", nearest.to_uppercase()));
    format!(
        "the environment variable {name} is not a setting and is ignored: {meant}`daybook config show` lists all settings"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_set_is_no_slip() {
        let quiet = ["DAYBOOK_LISTEN", "DAYBOOK_CONFIG", "DAYBOOK_TEST_POSTGRES", "DAYBOOK_SERVICE_HOST", "LISTN"];
        let set = |name: &str| (name.to_owned(), "x".to_owned());
        assert_eq!(unknown_among(quiet.map(set)), [""; 0]);
        assert_eq!(unknown_among([("DAYBOOK_LISTN".to_owned(), String::new())]), [""; 0]);
        assert_eq!(
            unknown_among(["DAYBOOK_ZEBRA", "DAYBOOK_LISTN"].map(set)),
            [
                "the environment variable DAYBOOK_LISTN is not a setting and is ignored: did you mean DAYBOOK_LISTEN? \
                 `daybook config show` lists all settings",
                "the environment variable DAYBOOK_ZEBRA is not a setting and is ignored: `daybook config show` lists all \
                 settings",
            ]
        );
    }
}
