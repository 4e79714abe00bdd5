//! The text form of a message's cause, and the notices that are cancelled when an account closes.

use daybook_engine::outcome::Cause;
use daybook_engine::time::Time;
use daybook_store::records::MessageRow;

/// The prefix of every notice's cause.
pub const NOTICE: &str = "notice:";
/// The cause of what the release of held events announces.
pub const RELEASE: &str = "release";

/// Cancels notices that are not due yet, because the account was closed. Other messages are still sent.
pub fn cancel_notices(messages: &mut [MessageRow], now: Time) {
    for message in messages.iter_mut().filter(|message| message.cause.starts_with(NOTICE)) {
        if message.cancelled_at.is_none() && message.due_at.is_some_and(|due| due > now) {
            message.cancelled_at = Some(now);
        }
    }
}

/// The cause of a message, as the store keeps it.
pub fn cause_text(cause: Cause) -> String {
    match cause {
        Cause::Input(seq) => format!("input:{seq}"),
        Cause::PeriodEnd { period } => format!("period:{period}"),
        Cause::GraceEnd { instalment, .. } => format!("grace:{instalment}"),
        Cause::Notice(kind) => format!("{NOTICE}{}", kind.name()),
    }
}
