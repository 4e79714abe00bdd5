//! `daybook mute` and `daybook unmute`: stop and resume messages and timers of a database, for example of a restored
//! copy.
//!
//! On SQLite, the server that holds the database applies the change at once, if there is one. On PostgreSQL, every node
//! applies it within a second.

use super::control::Order;
use super::{Failure, prepare, print, say};
use crate::cli::{MuteArgs, UnmuteArgs};
use serde_json::Value;

/// Mutes the database.
pub fn mute(args: &MuteArgs) -> Result<(), Failure> {
    let muted = Order::Mute.get_done(&prepare(&args.flags)?)?;
    say(&format!(
        "The database has been muted since {}: {}. Servers send no webhooks and process no due dates until \
         `daybook unmute`.\n",
        text(&muted["since"]),
        text(&muted["why"])
    ));
    Ok(())
}

/// Unmutes the database and prints what was pending.
pub fn unmute(args: &UnmuteArgs) -> Result<(), Failure> {
    let done = Order::Unmute { dry_run: args.dry_run }.get_done(&prepare(&args.flags)?)?;
    print(&if args.json { format!("{done:#}\n") } else { as_text(&done) })
}

fn as_text(done: &Value) -> String {
    let (muted, waiting) = (&done["muted"], &done["waiting"]);
    if muted.is_null() || waiting.is_null() {
        return "the database is not muted\n".to_owned();
    }
    let was = if done["dry_run"] == true { "has been" } else { "had been" };
    let count = |name: &str, one: &str, many: &str| match waiting[name].as_u64().unwrap_or(0) {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let mut told = format!(
        "the database {was} muted since {}: {}\npending: {} for {}; due: {}\n",
        text(&muted["since"]),
        text(&muted["why"]),
        count("messages", "message", "messages"),
        count("urls", "webhook URL", "webhook URLs"),
        count("accounts", "account", "accounts"),
    );
    told.push_str(if done["dry_run"] == true {
        "nothing was changed; run `daybook unmute` to send the messages and process the accounts\n"
    } else {
        "servers now send the messages and process the accounts, and send the resulting messages\n"
    });
    told
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_waits_is_told_in_whole_sentences() {
        let muted = json!({ "since": "2026-11-17T11:00:00Z", "why": "`daybook mute` was run" });
        let waiting = json!({ "messages": 1, "urls": 1, "accounts": 2 });
        let told = as_text(&json!({ "muted": muted, "waiting": waiting, "dry_run": true }));
        assert_eq!(
            told,
            "the database has been muted since 2026-11-17T11:00:00Z: `daybook mute` was run\n\
             pending: 1 message for 1 webhook URL; due: 2 accounts\n\
             nothing was changed; run `daybook unmute` to send the messages and process the accounts\n"
        );
        let told = as_text(&json!({ "muted": null, "waiting": null, "dry_run": false }));
        assert_eq!(told, "the database is not muted\n");
    }
}
