//! The settings of the built command.
#![cfg(test)]

use daybook::config::definitions::{DEFINITIONS, Definition};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the command in an empty environment and in a folder.
fn daybook(folder: &Path, variables: &[(&str, &str)], args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_daybook"));
    command.env_clear().envs(variables.iter().copied()).current_dir(folder).args(args);
    command.output().expect("the command starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("stderr is text")
}

/// A setting's value and source, as in `config show --json`.
fn shown(output: &Output, setting: &str) -> (Value, String) {
    assert!(output.status.success(), "{}", stderr(output));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let row = rows.iter().find(|row| row["setting"] == setting).expect("the setting is listed");
    (row["value"].clone(), row["source"].as_str().expect("a source is text").to_owned())
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn a_table_of_settings_is_printed() {
    let folder = folder();
    let output = daybook(folder.path(), &[], &["config", "show", "--listen", "127.0.0.1:0"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    let text = stdout(&output);
    let words: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["setting", "value", "source"]);
    assert!(words.contains(&vec!["listen", "127.0.0.1:0", "flag"]), "{text}");
    assert!(words.contains(&vec!["database", "sqlite:daybook.db", "default"]), "{text}");
    assert!(words.contains(&vec!["bootstrap-email", "-", "default"]), "{text}");
}

#[test]
fn flags_beat_environment_beats_file_beats_default() {
    let folder = folder();
    fs::write(folder.path().join("daybook.toml"), "webhook-timeout = \"4s\"\n").expect("a file");
    let show = ["config", "show", "--json"];
    let with_file = ["config", "show", "--json", "--config", "daybook.toml"];
    let with_flag = ["config", "show", "--json", "--config", "daybook.toml", "--webhook-timeout", "2s"];
    let variables = [("DAYBOOK_WEBHOOK_TIMEOUT", "3s")];
    let timeout = |variables: &[(&str, &str)], args: &[&str]| {
        let (value, source) = shown(&daybook(folder.path(), variables, args), "webhook-timeout");
        (value.as_str().expect("a value").to_owned(), source)
    };
    let expected = |value: &str, source: &str| (value.to_owned(), source.to_owned());
    assert_eq!(timeout(&[], &show), expected("15s", "default"));
    assert_eq!(timeout(&[], &with_file), expected("4s", "file daybook.toml:1"));
    assert_eq!(timeout(&[("DAYBOOK_CONFIG", "daybook.toml")], &show), expected("4s", "file daybook.toml:1"));
    assert_eq!(timeout(&variables, &with_file), expected("3s", "environment DAYBOOK_WEBHOOK_TIMEOUT"));
    assert_eq!(timeout(&variables, &with_flag), expected("2s", "flag"));
}

#[test]
fn secrets_stay_secret() {
    let folder = folder();
    let variables = [
        ("DAYBOOK_DATABASE", "postgres://daybook:hush@db/daybook"),
        ("DAYBOOK_BOOTSTRAP_CLIENT_SECRET", "hush-hush-hush-hush-hush-hush-hush"),
    ];
    for args in [&["config", "show"][..], &["config", "show", "--json"]] {
        let output = daybook(folder.path(), &variables, args);
        assert!(output.status.success() && !stdout(&output).contains("hush"), "{}", stdout(&output));
    }
    let output = daybook(folder.path(), &variables, &["config", "show", "--json"]);
    assert_eq!(shown(&output, "database").0, "postgres://(set)@db/daybook");
    assert_eq!(shown(&output, "bootstrap-client-secret").0, "(set)");
    assert_eq!(shown(&output, "secrets-key").0, Value::Null);
}

#[test]
fn no_error_shows_the_password_of_a_database() {
    let folder = folder();
    let addresses =
        ["host=db user=me password=hush", "postgres://rehearsal?hush@db/books", "hush", "mysql://me:hush@db"];
    for (address, command) in addresses.iter().flat_map(|address| {
        [&["config", "show"][..], &["doctor"], &["serve"], &["verify"], &["keys", "list"]]
            .map(|command| (address, command))
    }) {
        let output = daybook(folder.path(), &[("DAYBOOK_DATABASE", address)], command);
        let said = stdout(&output) + &stderr(&output);
        assert!(!output.status.success() && said.contains("database = ") && !said.contains("hush"), "{said}");
    }
}

#[test]
fn bad_values_are_errors_on_stderr() {
    let folder = folder();
    fs::write(folder.path().join("bad.toml"), "# settings\nlisten-on = \"x\"\n").expect("a file");
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str], &'a str);
    let cases: &[Case<'_>] = &[
        (&[], &["--rate-limit", "fast"], "rate-limit = \"fast\" (flag --rate-limit): must be off, or "),
        (&[("DAYBOOK_DEV", "1")], &[], "dev = \"1\" (environment DAYBOOK_DEV): must be true or false"),
        (&[], &["--config", "bad.toml"], "file bad.toml:2: there is no setting listen-on"),
        (&[], &["--config", "none.toml"], "the configuration file none.toml cannot be read"),
        (&[], &["--allow-network", "10.0.0.0/8", "--allow-network", "home"], "allow-network = \"home\" (flag"),
    ];
    for (variables, args, message) in cases {
        let args: Vec<&str> = ["config", "show"].iter().chain(args.iter()).copied().collect();
        let output = daybook(folder.path(), variables, &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn a_variable_that_is_no_setting_is_a_warning() {
    let folder = folder();
    let cases = [
        ("DAYBOOK_LISTN", "did you mean DAYBOOK_LISTEN?"),
        ("DAYBOOK_SECRET_KEY", "did you mean DAYBOOK_SECRETS_KEY?"),
        ("DAYBOOK_DATABASE_URL", "did you mean DAYBOOK_DATABASE?"),
        ("DAYBOOK_ZEBRA", "`daybook config show` lists all settings"),
    ];
    for (variable, nearest) in cases {
        let output = daybook(folder.path(), &[(variable, "hush")], &["config", "show"]);
        assert!(output.status.success(), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains(variable) && said.contains(nearest) && said.lines().count() == 1, "{variable}: {said}");
        assert!(!said.contains("hush"), "its value may be a secret: {said}");
    }
    let both =
        [("DAYBOOK_LISTN", "x"), ("DAYBOOK_ZEBRA", "x"), ("OTHER_LISTN", "x"), ("DAYBOOK_LISTEN", "127.0.0.1:0")];
    let said = stderr(&daybook(folder.path(), &both, &["config", "show"]));
    assert_eq!(said.lines().count(), 2, "{said}");
}

/// Files that misspell variables on purpose.
const MISSPELLING: [&str; 3] = ["config.rs", "doctor.rs", "variables.rs"];

/// Every variable that a program, test, script or page of this repository names.
fn named_variables(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            named_variables(&path, found);
        } else if path.file_name().is_some_and(|name| MISSPELLING.iter().all(|file| name != *file)) {
            let text = fs::read_to_string(&path).unwrap_or_default();
            let names = text.split(|letter: char| letter != '_' && !letter.is_ascii_uppercase());
            found.extend(names.filter(|name| name.len() > 8 && name.starts_with("DAYBOOK_")).map(str::to_owned));
        }
    }
}

#[test]
fn variables_of_the_tools_are_no_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = BTreeSet::new();
    for part in ["crates", "docs", "packaging", "tools"] {
        named_variables(&root.join(part), &mut named);
    }
    assert!(named.contains("DAYBOOK_TEST_POSTGRES") && named.contains("DAYBOOK_LISTEN"), "{named:?}");
    // Settings have values of their own.
    let settings: BTreeSet<String> = DEFINITIONS.iter().map(Definition::variable).collect();
    named.retain(|name| !settings.contains(name) && name != "DAYBOOK_CONFIG");
    let variables: Vec<(&str, &str)> = named.iter().map(|name| (name.as_str(), "1")).collect();
    let folder = folder();
    let output = daybook(folder.path(), &variables, &["config", "show"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
}

#[test]
fn help_has_examples_and_no_colour() {
    let folder = folder();
    for args in [&["--help"][..], &["serve", "--help"], &["keys", "create", "--help"], &["bench", "release", "--help"]]
    {
        let output = daybook(folder.path(), &[("NO_COLOR", "1")], args);
        let text = stdout(&output);
        assert!(output.status.success() && text.contains("Examples:"), "{args:?}: {text}");
        assert!(!text.contains('\u{1b}'), "{args:?}");
    }
}
