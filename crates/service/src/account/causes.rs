//! What made a message, as the store keeps it; and which messages a closing account takes back.

use daybook_engine::outcome::Cause;
use daybook_engine::time::Time;
use daybook_store::records::MessageRow;

/// What the cause of every notice begins with.
pub const NOTICE: &str = "notice:";

/// Cancels the notices whose moment has not come. The account was closed: other messages are sent all the same.
pub fn cancel_notices(messages: &mut [MessageRow], now: Time) {
    for message in messages.iter_mut().filter(|message| message.cause.starts_with(NOTICE)) {
        if message.cancelled_at.is_none() && message.due_at.is_some_and(|due| due > now) {
            message.cancelled_at = Some(now);
        }
    }
}

/// What made a message, as the store keeps it.
pub fn cause_text(cause: Cause) -> String {
    match cause {
        Cause::Input(seq) => format!("input:{seq}"),
        Cause::PeriodEnd { period } => format!("period:{period}"),
        Cause::GraceEnd { instalment, .. } => format!("grace:{instalment}"),
        Cause::Notice(kind) => format!("{NOTICE}{}", kind.name()),
    }
}
