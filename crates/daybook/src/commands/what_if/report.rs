//! The sums and the largest differences, as text and as JSON.

use crate::commands::schedule::amounts::shown;
use daybook_service::what_if::{AMOUNTS, AccountDifference, WhatIfQuestion, WhatIfSummary};
use serde_json::json;
use std::fmt::Write as _;

/// How many accounts that could not be folded are printed; all are in the CSV file.
const MOST_FAILURES: usize = 20;

/// The summary for people.
pub fn text(question: &WhatIfQuestion, summary: &WhatIfSummary, largest: usize) -> String {
    let as_of = question.as_of.as_deref().map_or_else(|| "at each account's clock".to_owned(), |at| format!("at {at}"));
    let mut text = format!(
        "{} of {} compared {as_of}; {} differ\n\n",
        count(summary.accounts, "account", "accounts"),
        question.product_id,
        summary.differing
    );
    text.push_str(&aligned(&sums(summary)));
    text.push_str(&moved(summary));
    let most = &summary.largest[..largest.min(summary.largest.len())];
    if !most.is_empty() {
        text.push_str("\nThe largest differences:\n\n");
        text.push_str(&aligned(&differences(most)));
    }
    if summary.failed > 0 {
        let _ = writeln!(text, "\n{} could not be folded:\n", count(summary.failed, "account", "accounts"));
        for failure in summary.failures.iter().take(MOST_FAILURES) {
            let _ = writeln!(text, "  {}: {}", failure.account_id, failure.reason);
        }
        let more = summary.failed.saturating_sub(MOST_FAILURES as u64);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more; --csv lists all");
        }
    }
    text
}

/// The summary for programs.
pub fn json(question: &WhatIfQuestion, mut summary: WhatIfSummary, largest: usize) -> String {
    summary.largest.truncate(largest);
    let answer = json!({ "question": question, "summary": summary });
    format!("{answer:#}\n")
}

fn sums(summary: &WhatIfSummary) -> Vec<Vec<String>> {
    let (before, after) = (&summary.before, &summary.after);
    let mut rows = vec![["", "before", "after", "difference"].map(str::to_owned).to_vec()];
    let amounts = before.amounts.named().zip(after.amounts.named()).zip(summary.difference.named());
    for (((name, before), (_, after)), (_, difference)) in amounts {
        rows.push(vec![name.replace('_', " "), shown(before), shown(after), signed(difference)]);
    }
    let counts = [
        ("late accounts", before.late_accounts, after.late_accounts),
        ("late fees", before.late_fees, after.late_fees),
        ("closed accounts", before.closed_accounts, after.closed_accounts),
    ];
    for (name, before, after) in counts {
        let difference = i128::from(after) - i128::from(before);
        let difference = if difference > 0 { format!("+{difference}") } else { difference.to_string() };
        rows.push(vec![name.to_owned(), before.to_string(), after.to_string(), difference]);
    }
    rows
}

fn moved(summary: &WhatIfSummary) -> String {
    let facts = [
        (summary.maturity_later, "later last due date"),
        (summary.maturity_earlier, "earlier last due date"),
        (summary.keep_own_values, "own value where the policies differ, which stays"),
        (
            summary.inputs_not_applied,
            "input that would no longer apply, such as the waiver of a fee that is not charged",
        ),
    ];
    let facts = facts.iter().filter(|(number, _)| *number > 0);
    let mut text: String =
        facts.map(|(number, what)| format!("{} with: {what}\n", count(*number, "account", "accounts"))).collect();
    for (number, what) in
        [(summary.left_out, "left out by the conditions"), (summary.not_begun, "left out: they begin later")]
    {
        if number > 0 {
            let _ = writeln!(text, "{} {what}", count(number, "account", "accounts"));
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn differences(accounts: &[AccountDifference]) -> Vec<Vec<String>> {
    let used: Vec<usize> =
        (0..AMOUNTS.len()).filter(|index| accounts.iter().any(|account| account.amounts().0[*index] != 0)).collect();
    let has_moved = accounts.iter().any(|account| account.before.maturity != account.after.maturity);
    let mut head = vec!["account".to_owned()];
    head.extend(used.iter().map(|index| AMOUNTS[*index].replace('_', " ")));
    head.extend(has_moved.then(|| "last due date".to_owned()));
    let mut rows = vec![head];
    for account in accounts {
        let mut row = vec![account.account_id.to_string()];
        row.extend(used.iter().map(|index| signed(account.amounts().0[*index])));
        let (before, after) = (account.before.maturity, account.after.maturity);
        row.extend(
            has_moved.then(|| if before == after { before.to_string() } else { format!("{before} -> {after}") }),
        );
        rows.push(row);
    }
    rows
}

fn signed(cents: i64) -> String {
    if cents > 0 { format!("+{}", shown(cents)) } else { shown(cents) }
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A table whose first column is text and whose other columns are aligned to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_table_is_aligned_and_amounts_have_signs() {
        let rows = [["", "before"], ["fees", "1.00"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(aligned(&rows), "      before\nfees    1.00\n");
        assert_eq!([-150, 0, 150].map(signed), ["-1.50", "0.00", "+1.50"]);
        let empty: Value =
            serde_json::from_str(&json(&WhatIfQuestion::default(), WhatIfSummary::default(), 1)).unwrap();
        assert_eq!(empty["summary"]["difference"]["payoff_cents"], 0);
    }
}
