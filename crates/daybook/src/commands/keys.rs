//! `daybook keys`: creates, lists and revokes API keys.

use super::control::Order;
use super::org::{listed, text};
use super::table::table;
use super::{Failure, prepare, print, say};
use crate::cli::{KeysAction, KeysCommand, KeysCreateArgs, KeysListArgs, KeysRevokeArgs};

/// Runs `daybook keys …`.
pub fn run(command: &KeysCommand) -> Result<(), Failure> {
    match &command.command {
        KeysAction::Create(args) => create(args),
        KeysAction::List(args) => list(args),
        KeysAction::Revoke(args) => revoke(args),
    }
}

fn create(args: &KeysCreateArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order =
        Order::CreateKey { organization: args.org.clone(), name: args.name.clone(), role: args.role.name().to_owned() };
    let made = order.get_done(&settings)?;
    if args.json {
        return print(&format!("{made:#}\n"));
    }
    let rows = ["name", "role", "client_id", "client_secret"].map(|field| [field.to_owned(), text(&made, field)]);
    print(&table(&rows))?;
    say("Store the secret: it is shown only once.\n");
    Ok(())
}

fn list(args: &KeysListArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let found = Order::ListKeys { organization: args.org.clone() }.get_done(&settings)?;
    let fields = ["client_id", "name", "role", "created_at", "last_used_at", "revoked_at"];
    print(&if args.json { format!("{found:#}\n") } else { listed(&found, fields) })
}

fn revoke(args: &KeysRevokeArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order = Order::RevokeKey { organization: args.org.clone(), client_id: args.client_id.clone() };
    let revoked = order.get_done(&settings)?;
    say(&format!("{} is revoked.\n", text(&revoked, "client_id")));
    Ok(())
}
