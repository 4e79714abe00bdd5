//! `daybook people`: invite links, password resets and the list of console users.

use super::control::Order;
use super::org::{listed, text};
use super::{Failure, prepare, print, say};
use crate::cli::{PeopleAction, PeopleCommand, PeopleLinkArgs, PeopleListArgs, PeopleResetArgs};

/// Runs `daybook people …`.
pub fn run(command: &PeopleCommand) -> Result<(), Failure> {
    match &command.command {
        PeopleAction::Link(args) => link(args),
        PeopleAction::Reset(args) => reset(args),
        PeopleAction::List(args) => list(args),
    }
}

fn link(args: &PeopleLinkArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order = Order::LinkPerson { organization: args.org.clone(), role: args.role.name().to_owned() };
    let made = order.get_done(&settings)?;
    if args.json {
        return print(&format!("{made:#}\n"));
    }
    print(&format!("{}\n", text(&made, "link")))?;
    say(&format!(
        "The link works once, until {}. The person who opens it becomes a user with the role {}.\n",
        text(&made, "expires_at"),
        text(&made, "role")
    ));
    Ok(())
}

fn reset(args: &PeopleResetArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order = Order::ResetPassword { organization: args.org.clone(), email: args.email.clone() };
    let made = order.get_done(&settings)?;
    if args.json {
        return print(&format!("{made:#}\n"));
    }
    print(&format!("{}\n", text(&made, "password")))?;
    say(&format!(
        "This is the new password of {}; it is shown only once. All their sessions have ended.\n",
        text(&made, "email")
    ));
    Ok(())
}

fn list(args: &PeopleListArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let found = Order::ListPeople { organization: args.org.clone() }.get_done(&settings)?;
    let fields = ["person_id", "name", "email", "role", "created_at", "last_seen_at", "disabled_at"];
    print(&if args.json { format!("{found:#}\n") } else { listed(&found, fields) })
}
