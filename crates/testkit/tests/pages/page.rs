//! The examples and tables of a page.

/// A `toml` block, and the tables between it and the next block or heading.
pub struct Example {
    /// The line of the fence.
    pub line: usize,
    pub toml: String,
    pub tables: Vec<Table>,
}

/// A table: column names, and rows of cells.
pub struct Table {
    /// The line of the column names.
    pub line: usize,
    pub columns: Vec<String>,
    /// Each row with its line.
    pub rows: Vec<(usize, Vec<String>)>,
}

/// Every example of a page.
pub fn examples(markdown: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut open = false;
    let mut lines = (1..).zip(markdown.lines()).peekable();
    while let Some((line, text)) = lines.next() {
        if let Some(language) = text.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, text)| text).take_while(|text| !text.starts_with("```"));
            let block: String = inside.flat_map(|text| [text, "\n"]).collect();
            if language == "toml" {
                examples.push(Example { line, toml: block, tables: Vec::new() });
                open = true;
            }
        } else if text.starts_with('#') {
            open = false;
        } else if text.starts_with('|') {
            let mut table = Table { line, columns: cells(text), rows: Vec::new() };
            while let Some((line, text)) = lines.next_if(|(_, text)| text.starts_with('|')) {
                table.rows.push((line, cells(text)));
            }
            // The first row is the rule under the column names.
            table.rows = table.rows.split_off(table.rows.len().min(1));
            if let Some(example) = examples.last_mut().filter(|_| open) {
                example.tables.push(table);
            }
        }
    }
    examples
}

/// The cells of a line, without code marks.
fn cells(line: &str) -> Vec<String> {
    let inside = line.trim().trim_start_matches('|').trim_end_matches('|');
    inside.split('|').map(|cell| cell.replace('`', "").trim().to_owned()).collect()
}
