//! Indents JSON. Fields keep their order, numbers and strings their exact spelling.

/// The indentation of a level.
const INDENT: &str = "  ";

/// Indents JSON. A text that is not JSON may be laid out oddly, but loses only blanks.
pub fn pretty(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut letters = json.chars().peekable();
    let mut in_text = false;
    while let Some(letter) = letters.next() {
        if in_text {
            text.push(letter);
            match letter {
                '\\' => text.extend(letters.next()),
                '"' => in_text = false,
                _ => {}
            }
            continue;
        }
        match letter {
            '{' | '[' => {
                text.push(letter);
                while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
                match letters.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => text.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut text, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(letter);
            }
            ',' => {
                text.push(letter);
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            letter if letter.is_whitespace() => {}
            '"' => {
                in_text = true;
                text.push(letter);
            }
            letter => text.push(letter),
        }
    }
    text
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n(INDENT, depth));
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn only_blanks_between_are_changed() {
        let json = r#"{"b":[1.50,{},[ ],{"z":"a \"{[,:]}\" \\"}],"a": null}"#;
        let lines = "{\n  \"b\": [\n    1.50,\n    {},\n    [],\n    {\n      \"z\": \"a \\\"{[,:]}\\\" \\\\\"\n    }\n  ],\n  \"a\": null\n}";
        assert_eq!(pretty(json), lines);
        assert_eq!(pretty(lines), lines);
        for nonsense in ["", "}}}", "\"open", "\"\\", "not JSON"] {
            let _ = pretty(nonsense);
        }
    }
}
