//! The reports of cases that pass, of cases that fail, and of files that are not cases.

use crate::folder::{fresh, said, write, write_all, write_changed};
use daybook_cases::builtin;
use daybook_testkit::server::Daybook;
use serde_json::{Value, json};
use std::fs;

const LATE: &str = "03-backdated-payment-as-posted.toml";
const FAILED: &str = "FAILED   bad/late.toml  A payment recorded late counts from the day it is recorded

    where             what                                                expected  got
    bad/late.toml:44  delinquency.days_past_due of the account at the end  12        0

    What happened:
    when                        what                                                                                balance after
    2025-01-15 12:00:00 -05:00  The account was opened and the principal paid out.                                  $1,200.00 (principal $1,200.00)
    2025-02-15 23:59:59 -05:00  Instalment 1 fell due. Interest of $12.00 was charged for the period.            $1,212.00 (principal $1,200.00, interest $12.00)
    2025-02-20 23:59:59 -05:00  Instalment 1 was not paid in full by the end of its grace period: a late fee of $15.00 was charged.                       $1,227.00 (principal $1,200.00, interest $12.00, fees $15.00)
    2025-02-14 12:00:00 -05:00  A payment of $408.03 was recorded as VALID. It paid $12.00 of interest and $396.03 of principal. This event takes effect on 2025-02-25T09:00:00-05:00.  $818.97 (principal $803.97, fees $15.00)

";

/// The words of a text, regardless of column widths.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn a_folder_that_passes() {
    let (folder, daybook) = fresh();
    write_all(folder.path());
    let (code, stdout, stderr) = said(daybook.run(&["test"]));
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    let lines: Vec<&str> = stdout.lines().collect();
    let count = builtin().len();
    assert_eq!(lines.len(), count + 2, "{stdout}");
    assert_eq!(lines[0], "passed   scenarios/01-on-time.toml  A year of payments on time");
    assert_eq!((lines[count], lines[count + 1]), ("", format!("{count} cases: {count} passed").as_str()));
    let again = daybook.stdout_of(&["test", "scenarios", "scenarios/01-on-time.toml"]);
    assert_eq!(again, stdout, "a file that is named twice is run once, and nothing tells the time");
}

#[test]
fn without_a_folder_the_built_in_cases_are_run() {
    let (_folder, daybook) = fresh();
    let (code, stdout, stderr) = said(daybook.run(&["test"]));
    assert_eq!((code, stderr.as_str()), (0, "There is no folder scenarios here: running the built-in cases.\n"));
    assert!(stdout.starts_with("passed   01-on-time.toml  A year of payments on time\n"), "{stdout}");
    let count = builtin().len();
    assert!(stdout.ends_with(&format!("\n{count} cases: {count} passed\n")), "{stdout}");
}

#[test]
fn a_failure_is_told_with_its_line_and_what_led_there() {
    let (folder, daybook) = fresh();
    write_changed(folder.path(), "bad/late.toml", LATE, "days_past_due = 0", "days_past_due = 12");
    let (code, stdout, stderr) = said(daybook.run(&["test", "bad"]));
    assert_eq!((code, stderr.as_str()), (1, "daybook: 1 of 1 test cases failed\n"));
    assert_eq!(words(&stdout), words(&format!("{FAILED}\n1 case: 0 passed, 1 FAILED\n")), "{stdout}");
    // The columns of a table are aligned.
    let column = |start: &str, word: &str| {
        let line = stdout.lines().find(|line| line.trim_start().starts_with(start)).expect("the line is there");
        line.find(word).unwrap_or_else(|| panic!("{word} in {line}"))
    };
    assert_eq!(column("where", "expected"), column("bad/late.toml:44", "12"));
    assert_eq!(column("when", "balance"), column("2025-02-20", "$1,227.00"));
}

#[test]
fn a_case_that_expects_nothing_fails_and_says_so() {
    let (folder, daybook) = fresh();
    let text = daybook_cases::builtin().iter().find(|(file, _)| *file == LATE).expect("the case").1;
    let start = text.find("[expect").expect("what it expects");
    write(folder.path(), "empty/late.toml", &text[..start]);
    let (code, stdout, stderr) = said(daybook.run(&["test", "empty"]));
    assert_eq!((code, stderr.as_str()), (1, "daybook: 1 of 1 test cases failed\n"), "{stdout}");
    let sentence = "none. Add one, or run `daybook test --record` to write them from the results";
    assert!(stdout.contains("empty/late.toml:") && stdout.contains(sentence), "{stdout}");
    // Once recorded, the case expects the actual results and passes.
    let (code, ..) = said(daybook.run(&["test", "--record", "empty"]));
    assert_eq!(code, 0);
    assert_eq!(said(daybook.run(&["test", "empty"])).0, 0);
}

#[test]
fn broken_files_are_all_told_and_the_others_run() {
    let (folder, daybook) = fresh();
    write_changed(folder.path(), "a/1.toml", LATE, "mode = \"live\"", "mode = \"alive\"");
    write_changed(folder.path(), "a/2.toml", LATE, "mode = \"live\"", "mode = \"live\"");
    write(folder.path(), "a/b/3.toml", "title = ");
    write(folder.path(), "a/notes.md", "no case");
    let (code, stdout, stderr) = said(daybook.run(&["test", "a"]));
    assert_eq!((code, stderr.as_str()), (1, "daybook: 2 of 3 test cases failed\n"));
    assert!(stdout.starts_with("passed   a/2.toml  A payment recorded late"), "{stdout}");
    assert!(
        stdout.contains("\nBROKEN   a/1.toml:9:8: mode must be \"migration\" or \"live\", not \"alive\"\n"),
        "{stdout}"
    );
    assert!(stdout.contains("\nBROKEN   a/b/3.toml:1:"), "{stdout}");
    assert!(stdout.ends_with("\n3 cases: 1 passed, 2 BROKEN\n"), "{stdout}");
}

#[test]
fn what_makes_no_sense_is_refused_with_2() {
    let (folder, daybook) = fresh();
    write_all(folder.path());
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    for (args, sentence) in [
        (vec!["test", "nowhere"], "daybook: there is no file or folder nowhere\n"),
        (vec!["test", "empty"], "daybook: the folder empty has no .toml file\n"),
        (
            vec!["test", "--key", "a:b"],
            "daybook: --key: needs a server: name one with --url, or use --server for the one on this machine\n",
        ),
        (vec!["test", "--filter", "zebra"], "daybook: --filter: no case has \"zebra\" in its file name or title\n"),
    ] {
        assert_eq!(daybook.failure_of(&args), (2, sentence.to_owned()), "{args:?}");
    }
    let (code, stderr) = daybook.failure_of(&["test", "--record", "--watch"]);
    assert!(code == 2 && stderr.contains("cannot be used with"), "{stderr}");
}

#[test]
fn a_filter_takes_parts_of_names_and_titles() {
    let (folder, daybook) = fresh();
    write_all(folder.path());
    let run = |filter: &str| daybook.stdout_of(&["test", "--filter", filter]);
    assert!(run("07-EARLY").ends_with("\n1 case: 1 passed\n"));
    let by_title = run("every SECOND week");
    assert!(by_title.starts_with("passed   scenarios/09-biweekly-daily-interest.toml"), "{by_title}");
    assert!(by_title.ends_with("\n1 case: 1 passed\n"), "{by_title}");
}

#[test]
fn json_is_one_document() {
    let (folder, daybook) = fresh();
    write_changed(folder.path(), "c/1.toml", LATE, "days_past_due = 0", "days_past_due = 12");
    write_changed(folder.path(), "c/2.toml", LATE, "title", "titel");
    write_changed(folder.path(), "c/3.toml", LATE, "title", "title");
    let (code, stdout, stderr) = said(daybook.run(&["test", "c", "--json"]));
    assert_eq!((code, stderr.as_str()), (1, "daybook: 2 of 3 test cases failed\n"));
    let report: Value = serde_json::from_str(&stdout).expect("stdout is JSON");
    let counts = ["passed", "failed", "skipped", "broken"].map(|count| report[count].as_u64());
    assert_eq!(counts, [Some(1), Some(1), Some(0), Some(1)]);
    assert_eq!(report["ran_on"], "in memory");
    let failed = &report["cases"][0];
    assert_eq!((&failed["file"], &failed["verdict"]), (&json!("c/1.toml"), &json!("failed")));
    let difference = json!({ "line": 44, "what": "delinquency.days_past_due of the account at the end",
                             "expected": "12", "got": "0" });
    assert_eq!(failed["differences"], json!([difference]));
    assert_eq!(failed["timeline"].as_array().map(Vec::len), Some(4));
    assert_eq!(report["cases"][1]["differences"], json!([]));
    assert_eq!(
        (&report["broken_files"][0]["file"], &report["broken_files"][0]["line"]),
        (&json!("c/2.toml"), &json!(8))
    );
}

/// The elements of an XML document with their attributes; every element must be closed. Enough XML for a report.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let plain = |text: &str| {
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#10;", "\n"), ("&amp;", "&")];
        let known: usize = entities.iter().map(|(entity, _)| text.matches(entity).count()).sum();
        assert!(!text.contains('<') && text.matches('&').count() == known, "{text}");
        let mut text = text.to_owned();
        for (entity, character) in entities {
            text = text.replace(entity, character);
        }
        text
    };
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let body = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").expect("it says what it is");
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag is closed");
        plain(text);
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let inside = tag.strip_suffix('/');
        let (name, mut rest) = inside.unwrap_or(tag).split_once(' ').expect("each has attributes");
        let mut attributes = Vec::new();
        while let Some((key, after)) = rest.trim_start().split_once("=\"") {
            let (value, after) = after.split_once('"').expect("a value ends");
            attributes.push((key.to_owned(), plain(value)));
            rest = after;
        }
        assert_eq!(rest.trim(), "", "{tag}");
        found.push((name.to_owned(), attributes));
        if inside.is_none() {
            open.push(name.to_owned());
        }
    }
    assert_eq!(open, Vec::<String>::new(), "everything is closed");
    found
}

#[test]
fn junit_has_a_testcase_for_each_case() {
    let (folder, daybook) = fresh();
    write_changed(folder.path(), "j/1.toml", LATE, "days_past_due = 0", "days_past_due = 12");
    write_changed(folder.path(), "j/2.toml", LATE, "title = \"A payment", "title = \"<A> & \\\"b\\\" payment");
    write(folder.path(), "j/3.toml", "title = <>");
    let (code, stdout, _) = said(daybook.run(&["test", "j", "--junit", "report.xml"]));
    assert!(code == 1 && stdout.contains("3 cases: 1 passed, 1 FAILED, 1 BROKEN"), "{stdout}");
    let xml = fs::read_to_string(folder.path().join("report.xml")).expect("the report is written");
    let found = elements(&xml);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["testsuites", "testsuite", "testcase", "failure", "testcase", "testcase", "error"], "{xml}");
    let of = |index: usize, key: &str| {
        let found = found[index].1.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("{key} of {:?}", found))
    };
    assert_eq!(["tests", "failures", "errors", "skipped"].map(|key| of(0, key)), ["3", "1", "1", "0"]);
    assert_eq!(
        (of(2, "classname"), of(2, "name")),
        ("j/1.toml", "A payment recorded late counts from the day it is recorded")
    );
    assert!(of(3, "message").starts_with("line 44: delinquency.days_past_due"), "{xml}");
    assert!(of(4, "name").starts_with("<A> & \"b\" payment recorded late"), "{xml}");
    assert!(of(6, "message").starts_with("j/3.toml:1:9: "), "{xml}");
    assert!(xml.contains("What happened:") && xml.contains("late fee of $15.00"), "{xml}");
    let (code, stderr) = daybook.failure_of(&["test", "j/2.toml", "--junit", "no/such/folder/x.xml"]);
    assert!(code == 1 && stderr.contains("--junit: no/such/folder/x.xml cannot be written: "), "{stderr}");
}

/// A key in the environment may be for other commands: cases still run in memory, and the command prints that it does
/// not use the key.
#[test]
fn a_key_of_the_environment_is_said_not_to_be_used() {
    let (folder, daybook) = fresh();
    write_all(folder.path());
    let run = |daybook: &Daybook| {
        let output = daybook.run(&["test", "--filter", "07-early"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).expect("stderr is text")
    };
    let sentence = "DAYBOOK_KEY is not used: the cases run in memory. Use --url or --server to run them on a server.\n";
    let silent = run(&daybook);
    assert!(!silent.contains("DAYBOOK_KEY"), "{silent}");
    let said = run(&daybook.with("DAYBOOK_KEY", "a:b"));
    assert!(said.contains(sentence) && !said.contains("a:b"), "{said}");
}
