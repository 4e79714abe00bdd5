//! Text tables: columns as wide as their widest cell.

/// One line per row; the first row is the header.
pub fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let line = |row: &[String; COLUMNS]| {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_end_where_their_text_does() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned);
        let text = table(&[row(["id", "name", "role"]), row(["c-1", "é", "ADMIN"]), row(["c-22", "reports", ""])]);
        assert_eq!(text, "id    name     role\nc-1   é        ADMIN\nc-22  reports\n");
    }
}
