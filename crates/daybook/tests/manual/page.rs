//! The commands of a page: its fenced blocks that begin with `sh`, and the options of the fence.
//!
//! | fence | meaning |
//! |---|---|
//! | `sh` | commands that end successfully |
//! | `sh server` | ends with a server, which runs until the next such block, or the end of the page |
//! | `sh server second` | the same, in addition to the servers already running |
//! | `sh no-run: REASON` | commands that cannot be run in a test |

use std::path::{Path, PathBuf};

/// How a block is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Run to its end.
    Run,
    /// Started and kept running, after all running servers are stopped.
    Serve,
    /// Started and kept running.
    ServeSecond,
    /// Not run, for this reason.
    NotRun(String),
}

/// A block of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// How it is run.
    pub kind: Kind,
    /// The commands.
    pub script: String,
    /// The line number of its fence.
    pub line: usize,
}

/// The folder of the manual.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating")
}

/// Every page, as name and text, sorted by name.
pub fn pages() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("the manual is there").map(|entry| entry.expect("a file").path());
    let mut pages: Vec<(String, String)> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a page is text"))
        })
        .collect();
    pages.sort();
    pages
}

/// The blocks of a page in order, or the error in one.
pub fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut found = Vec::new();
    let mut open: Option<(String, usize, Vec<&str>)> = None;
    for (index, line) in text.lines().enumerate() {
        match (open.take(), line.strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.trim().to_owned(), index + 1, Vec::new())),
            (Some((info, at, lines)), Some(_)) => found.extend(block(&info, at, &lines)?),
            (Some((info, at, mut lines)), None) => {
                lines.push(line);
                open = Some((info, at, lines));
            }
            (None, None) => {}
        }
    }
    match open {
        Some((_, at, _)) => Err(format!("line {at}: the block does not end")),
        None => Ok(found),
    }
}

fn block(info: &str, line: usize, lines: &[&str]) -> Result<Option<Block>, String> {
    let script = lines.join("\n");
    let is_command = lines.iter().any(|line| line.starts_with("daybook ") || line.starts_with("sudo "));
    let kind = match info.strip_prefix("sh") {
        Some("") => Kind::Run,
        Some(" server") => Kind::Serve,
        Some(" server second") => Kind::ServeSecond,
        Some(rest) => match rest.strip_prefix(" no-run: ") {
            Some(reason) if reason.split_whitespace().count() >= 2 => Kind::NotRun(reason.to_owned()),
            _ => return Err(format!("line {line}: `{info}` is no mark of a block, or gives no reason")),
        },
        None if is_command => return Err(format!("line {line}: commands stand in a block that begins with sh")),
        None => return Ok(None),
    };
    Ok(Some(Block { kind, script, line }))
}

#[test]
fn blocks_are_told_by_their_fences() {
    let text = "a\n```sh\none\ntwo\n```\n```sql\nSELECT 1;\n```\n```sh server\nserve\n```\n\
                ```sh no-run: needs systemd\nsystemctl\n```\n```sh server second\nserve\n```\n```\n{}\n```\n";
    let found = blocks(text).expect("a good page");
    let kinds: Vec<(&Kind, &str, usize)> =
        found.iter().map(|block| (&block.kind, block.script.as_str(), block.line)).collect();
    let not_run = Kind::NotRun("needs systemd".to_owned());
    let expected = [
        (&Kind::Run, "one\ntwo", 2),
        (&Kind::Serve, "serve", 9),
        (&not_run, "systemctl", 12),
        (&Kind::ServeSecond, "serve", 15),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn a_block_that_nobody_would_run_is_refused() {
    for (text, sentence) in [
        ("```sh no-run\ndaybook x\n```\n", "gives no reason"),
        ("```sh no-run: why\ndaybook x\n```\n", "gives no reason"),
        ("```shell\ndaybook x\n```\n", "is no mark of a block"),
        ("```\ndaybook x\n```\n", "commands stand in a block that begins with sh"),
        ("```text\nsudo x\n```\n", "commands stand in a block that begins with sh"),
        ("```sh\ndaybook x\n", "does not end"),
    ] {
        let told = blocks(text).expect_err(text);
        assert!(told.starts_with("line 1: ") && told.contains(sentence), "{told}");
    }
}
