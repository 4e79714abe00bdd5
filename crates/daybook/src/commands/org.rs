//! `daybook org`: creates and lists organizations.

use super::control::Order;
use super::table::table;
use super::{Failure, prepare, print, say};
use crate::cli::{ListArgs, OrgAction, OrgCommand, OrgCreateArgs};
use serde_json::Value;

/// Runs `daybook org …`.
pub fn run(command: &OrgCommand) -> Result<(), Failure> {
    match &command.command {
        OrgAction::Create(args) => create(args),
        OrgAction::List(args) => list(args),
    }
}

fn create(args: &OrgCreateArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order = Order::CreateOrganization { name: args.name.clone(), environment: args.environment.name().to_owned() };
    let made = order.get_done(&settings)?;
    if args.json {
        return print(&format!("{made:#}\n"));
    }
    let rows =
        ["name", "environment", "client_id", "client_secret"].map(|field| [field.to_owned(), text(&made, field)]);
    print(&table(&rows))?;
    say("Store the secret: it is shown only once.\n");
    Ok(())
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let found = Order::ListOrganizations.get_done(&settings)?;
    let fields = ["number", "name", "environment", "created_at"];
    print(&if args.json { format!("{found:#}\n") } else { listed(&found, fields) })
}

/// A table of results, with a column for each field.
pub fn listed<const COLUMNS: usize>(answer: &Value, fields: [&str; COLUMNS]) -> String {
    let mut rows = vec![fields.map(str::to_owned)];
    let results = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    rows.extend(results.iter().map(|result| fields.map(|field| text(result, field))));
    table(&rows)
}

/// Makes untrusted text safe for a terminal: control characters and changes of text direction are replaced.
fn harmless(text: &str) -> String {
    let is_harmful =
        |letter: char| letter.is_control() || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|letter| if is_harmful(letter) { '\u{fffd}' } else { letter }).collect()
}

/// A field as text.
pub fn text(value: &Value, field: &str) -> String {
    match &value[field] {
        Value::Null => "-".to_owned(),
        Value::String(text) => harmless(text),
        other => harmless(&other.to_string()),
    }
}
