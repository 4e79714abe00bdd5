//! `daybook config show`: every setting, its value, and where it was set.

use super::table::table;
use super::{Failure, print, say, settings, variables};
use crate::cli::ConfigShowArgs;
use crate::config::SettingRow;
use serde_json::{Value, json};

/// Prints the settings.
pub fn run(args: &ConfigShowArgs) -> Result<(), Failure> {
    let loaded = settings(args.flags.common.config.as_deref(), args.flags.given())?;
    let text = if args.json { as_json(&loaded.rows) } else { as_table(&loaded.rows) };
    for sentence in variables::unknown() {
        say(&format!("daybook: {sentence}\n"));
    }
    print(&text)
}

fn as_json(rows: &[SettingRow]) -> String {
    let object =
        |row: &SettingRow| json!({ "setting": row.setting, "value": row.value, "source": row.source.to_string() });
    let array: Value = rows.iter().map(object).collect();
    format!("{array:#}\n")
}

fn as_table(rows: &[SettingRow]) -> String {
    let mut cells = vec![["setting".to_owned(), "value".to_owned(), "source".to_owned()]];
    cells.extend(rows.iter().map(|row| {
        let value = row.value.clone().unwrap_or_else(|| "-".to_owned());
        [row.setting.to_owned(), value, row.source.to_string()]
    }));
    table(&cells)
}
