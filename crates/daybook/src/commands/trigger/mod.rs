//! `daybook trigger`: causes a real event, on a product, a customer and an account created for it.
//!
//! Nothing is simulated: each event has a recipe of API calls that cause it ([`recipes`]), and each call is printed as
//! a curl command with its response ([`trigger_session`]), so that it can be repeated by hand. If time has to pass, the
//! account is rolled, so a TEST organization is required.

mod recipes;
mod trigger_session;

use super::remote::ServerConnection;
use super::table::table;
use super::{Failure, print, say, suggest};
use crate::cli::TriggerArgs;
use daybook_client::{Client, Trouble};
use daybook_operations::Operation;
use daybook_service::webhooks::events::EVENTS;
use serde_json::json;
use trigger_session::TriggerSession;

/// Lists the events, or causes one.
pub fn run(args: &TriggerArgs) -> Result<(), Failure> {
    let event = match &args.event {
        Some(event) if !args.list => event,
        _ => return list(),
    };
    let Some(recipe) = recipes::of(event) else {
        let names = EVENTS.iter().map(|event| event.name);
        let hint = suggest::sentence(event, names, "`daybook trigger --list`");
        return Err(Failure::Senseless(format!("there is no event {event}: {hint}")));
    };
    let connection = ServerConnection::open(&args.remote)?;
    refuse_live(&connection.client)?;
    let session = TriggerSession::set(connection.client.clone())?;
    recipe(&session)?;
    say(&format!("{event} has happened. Webhooks that are not sent at once are sent with the server's next batch.\n"));
    Ok(())
}

fn list() -> Result<(), Failure> {
    let mut rows = vec![["event".to_owned(), "sent when".to_owned()]];
    rows.extend(EVENTS.iter().map(|event| [event.name.to_owned(), event.sent_when.to_owned()]));
    print(&table(&rows))
}

/// Accounts of a LIVE organization cannot be rolled. Rolling an account that does not exist reveals the environment and
/// changes nothing.
fn refuse_live(client: &Client) -> Result<(), Failure> {
    let no_such_account = json!({ "account_id": "no-such-account", "effective_at": "2000-01-01T00:00:00Z" });
    match client.call(&Operation::RollAccount.request([]), Some(&no_such_account)) {
        Ok(_) | Err(Trouble::Refused { status: 404, .. }) => Ok(()),
        Err(trouble) if trouble.has_code("live_environment") => Err(Failure::Failed(
            "events can be triggered only in a TEST organization, and this one is LIVE: use a key of a TEST one \
             (`daybook org create NAME --environment TEST`)"
                .to_owned(),
        )),
        Err(trouble) => Err(trouble.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_has_a_recipe() {
        let without: Vec<&str> =
            EVENTS.iter().map(|event| event.name).filter(|name| recipes::of(name).is_none()).collect();
        assert_eq!(without, [""; 0]);
    }
}
