//! `daybook roll`: moves an account's clock forward, for testing.

use super::control::Order;
use super::org::text;
use super::{Failure, prepare, print};
use crate::cli::RollArgs;
use serde_json::json;

/// Rolls an account.
pub fn run(args: &RollArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let order = Order::Roll {
        organization: args.org.clone(),
        roll: json!({ "account_id": args.account_id, "effective_at": args.to, "roll_webhooks": args.webhooks }),
    };
    let rolled = order.get_done(&settings)?;
    if args.json {
        return print(&format!("{rolled:#}\n"));
    }
    let of = |field: &str| text(&rolled, field);
    print(&format!(
        "{} is processed through {}: {} events applied, {} failed, {} webhooks sent\n",
        of("account_id"),
        of("rolled_to"),
        of("successful_events"),
        of("failed_events"),
        of("webhooks_sent")
    ))
}
