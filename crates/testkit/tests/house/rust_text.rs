//! Rust source as text: without comments and literals, and as words. A parser is not needed for what the house rules ask.

/// The source with comments, strings and characters replaced by spaces. Lines keep their numbers and indentation.
pub fn code_only(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find(['/', '"', '\'', 'r']) {
        let (before, from_here) = rest.split_at(start);
        code.push_str(before);
        let blanked = blank_length(from_here);
        let (part, after) = from_here.split_at(blanked.unwrap_or(1));
        match blanked {
            Some(_) => code.extend(part.chars().map(|c| if c == '\n' { '\n' } else { ' ' })),
            None => code.push_str(part),
        }
        rest = after;
    }
    code + rest
}

/// The string literals of the source, without quotes and escaped line ends, each with the place where it begins.
pub fn string_literals(source: &str) -> Vec<(usize, String)> {
    let mut literals = Vec::new();
    let mut at = 0;
    while let Some(start) = source[at..].find(['/', '"', '\'', 'r']) {
        at += start;
        let from_here = &source[at..];
        let Some(length) = blank_length(from_here) else {
            at += 1;
            continue;
        };
        if from_here.starts_with(['"', 'r']) {
            let text = from_here[..length].trim_start_matches('r').trim_matches(['#', '"']);
            let lines: Vec<&str> = text.split("\\\n").collect();
            let continued = lines.iter().skip(1).map(|line| line.trim_start());
            literals.push((at, lines.iter().take(1).copied().chain(continued).collect()));
        }
        at += length;
    }
    literals
}

/// How many bytes at the beginning of `text` are a comment or a literal; `None` if they are code.
fn blank_length(text: &str) -> Option<usize> {
    let up_to = |end: Option<usize>| end.unwrap_or(text.len());
    if text.starts_with("//") {
        return Some(up_to(text.find('\n')));
    }
    if text.starts_with("/*") {
        return Some(block_comment_length(text));
    }
    if text.starts_with('"') {
        return Some(quoted_length(text, '"'));
    }
    if text.starts_with('\'') {
        let mut next = text.chars().skip(1);
        let is_character = next.next() == Some('\\') || next.next() == Some('\'');
        // Otherwise it is a lifetime.
        return is_character.then(|| quoted_length(text, '\''));
    }
    if let Some(raw) = text.strip_prefix('r') {
        let hashes = raw.chars().take_while(|c| *c == '#').count();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = 2 + hashes;
            return Some(up_to(text[start..].find(&end).map(|at| start + at + end.len())));
        }
    }
    None
}

/// The length of a comment that may contain others.
fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let mark = text.as_bytes().get(at..at + 2);
        let step = if mark == Some(b"/*") || mark == Some(b"*/") { 2 } else { 1 };
        depth += i32::from(mark == Some(b"/*")) - i32::from(mark == Some(b"*/"));
        at += step;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of a literal, quotes included.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words and marks of code: names and numbers, `::`, and single characters.
pub fn words(code: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if is_word_char(first) {
            rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

#[test]
fn comments_and_literals_are_blanked_and_lines_stay() {
    let cases = [
        ("a // b\nc", "a     \nc"),
        ("a /* b /* c */ \n */ d", "a              \n    d"),
        (r#"f("a \" b", c)"#, "f(        , c)"),
        ("f(r#\"a \" b\"#)", "f(          )"),
        ("br\"{\" r\"}\" x", "b          x"),
        (r"['{', '\'', b'\\', 'é']", "[   ,     , b    ,    ]"),
        ("fn f<'a>(a: &'a str) {}", "fn f<'a>(a: &'a str) {}"),
        ("r#type", "r#type"),
    ];
    for (source, expected) in cases {
        assert_eq!(code_only(source), expected);
    }
}

#[test]
fn literals_are_found_with_their_places() {
    let source = "a(\"b\", r#\"c \"d\" \"#); // \"e\"\n'\"' \"f \\\n     g\"";
    let expected = [(2, "b"), (7, "c \"d\" "), (32, "f g")];
    assert_eq!(string_literals(source), expected.map(|(place, text)| (place, text.to_owned())));
}

#[test]
fn words_are_names_and_marks() {
    assert_eq!(words("use a::{b, c_1};\n"), ["use", "a", "::", "{", "b", ",", "c_1", "}", ";"]);
}
