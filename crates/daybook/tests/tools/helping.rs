//! `daybook explain`, `daybook completions`, `daybook man`.

use clap::CommandFactory;
use daybook::cli::Cli;
use daybook_service::problem::CODES;
use daybook_testkit::server::Daybook;
use std::io::Write;
use std::process::{Command, Stdio};

fn daybook() -> Daybook {
    Daybook::new(env!("CARGO_BIN_EXE_daybook"), std::env::temp_dir())
}

/// Every visible command with its parents: `keys`, `keys create`.
fn commands() -> Vec<Vec<String>> {
    fn below(command: &clap::Command, above: &[String], all: &mut Vec<Vec<String>>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
            let path: Vec<String> = above.iter().cloned().chain([sub.get_name().to_owned()]).collect();
            all.push(path.clone());
            below(sub, &path, all);
        }
    }
    let mut all = Vec::new();
    below(&Cli::command(), &[], &mut all);
    assert!(all.contains(&vec!["keys".to_owned(), "create".to_owned()]));
    all
}

#[test]
fn every_code_is_listed_and_explained() {
    let list = daybook().stdout_of(&["explain"]);
    assert_eq!(list.lines().count(), CODES.len());
    for (code, _) in CODES {
        let line = list.lines().find(|line| line.split(' ').next() == Some(code)).expect("the code is listed");
        assert!(line.ends_with('.') && line.len() > code.len() + 20, "{line}");
        let page = daybook().stdout_of(&["explain", code]);
        assert!(page.starts_with(&format!("{code}\n")), "{page}");
        assert!(page.contains("\nWhat to do\n") && !page.contains("```") && !page.contains("\x1b["), "{page}");
    }
    assert!(daybook().stdout_of(&["explain", "id_taken"]).contains("Status 409."));
}

#[test]
fn an_unknown_code_is_refused_with_those_that_are_close() {
    let (code, stderr) = daybook().failure_of(&["explain", "id-takn"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("there is no error code id-takn: did you mean id_taken?"), "{stderr}");
    let (code, stderr) = daybook().failure_of(&["explain", "xyzzyxyzzy"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("`daybook explain` lists them") && !stderr.contains("did you mean"), "{stderr}");
}

#[test]
fn bash_takes_its_completion_and_completes_every_command() {
    let script = daybook().stdout_of(&["completions", "bash"]);
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().expect("bash starts");
    bash.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("bash reads");
    assert!(bash.wait().expect("bash ends").success());

    // As a shell requests completions after `daybook ` and a tab.
    let ask = format!(
        "{script}\nCOMP_WORDS=(daybook ''); COMP_CWORD=1; _daybook daybook '' daybook; echo \"${{COMPREPLY[@]}}\""
    );
    // By stdin: the script is longer than an argument may be.
    let mut bash = Command::new("bash").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash starts");
    bash.stdin.take().expect("a pipe").write_all(ask.as_bytes()).expect("bash reads");
    let output = bash.wait_with_output().expect("bash ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let offered: Vec<&str> = said.split_whitespace().collect();
    for path in commands().iter().filter(|path| path.len() == 1) {
        assert!(offered.contains(&path[0].as_str()), "{} is not offered: {said}", path[0]);
    }
}

#[test]
fn every_shell_has_a_completion() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = daybook().stdout_of(&["completions", shell]);
        for path in commands() {
            assert!(script.contains(path.last().expect("a name")), "{shell}: {path:?}");
        }
    }
    assert_eq!(daybook().failure_of(&["completions", "tcsh"]).0, 2);
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("man1");
    daybook().stdout_of(&["man", "--to", to.to_str().expect("text")]);
    for path in commands() {
        let file = to.join(format!("daybook-{}.1", path.join("-")));
        let page = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(page.contains(".SH NAME"), "{}", file.display());
    }
    let pages = std::fs::read_dir(&to).expect("a folder").count();
    assert_eq!(pages, commands().len() + 1, "a page for each, and the first");
    let first = std::fs::read_to_string(to.join("daybook.1")).expect("a page");
    assert_eq!(daybook().stdout_of(&["man"]).contains(".SH NAME"), first.contains(".SH NAME"));
    let (code, stderr) = daybook().failure_of(&["man", "--to", "/dev/null/x"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("--to: /dev/null/x cannot be written"), "{stderr}");
}
