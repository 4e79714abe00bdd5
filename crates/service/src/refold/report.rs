//! Reports accounts that moved when they were folded again.

use super::balances_and_status::BalancesAndStatus;
use crate::Service;
use crate::boxed;
use crate::problem::Problem;
use crate::view::time::Utc;
use daybook_store::refolds::RefoldRow;
use serde::Serialize;

/// The number of rows read at once.
const PAGE: usize = 1_000;

/// An account whose balances or status moved when it was folded again, or that could not be folded again.
#[derive(Clone, Debug, Serialize)]
pub struct Moved {
    /// The organization.
    pub organization: String,
    /// The account.
    pub account_id: String,
    /// The version of the rules that folded it.
    pub rules_version: i64,
    /// When it was folded.
    pub recorded_at: String,
    /// Its balances and status before.
    pub before: Option<BalancesAndStatus>,
    /// Its balances and status after; `None` if it could not be folded.
    pub after: Option<BalancesAndStatus>,
    /// Why it could not be folded.
    pub failure: Option<String>,
}

impl Service {
    /// Passes every account whose balances or status moved by newer rules to `give`, organization by organization.
    #[boxed]
    pub async fn rules_report(&self, give: &mut (dyn FnMut(Moved) + Send)) -> Result<(), Problem> {
        for organization in self.store.organizations().await? {
            let mut after: Option<String> = None;
            loop {
                let rows = self.store.refolds(organization.org, after.as_deref(), PAGE).await?;
                let Some(last) = rows.last() else { break };
                after = Some(last.key.account.to_string());
                for row in rows {
                    give(moved(&organization.name, row)?);
                }
            }
        }
        Ok(())
    }
}

fn moved(organization: &str, row: RefoldRow) -> Result<Moved, Problem> {
    let read = |text: Option<String>| {
        let values = text.map(|text| serde_json::from_str(&text)).transpose();
        values.map_err(|error| Problem::internal(format!("an entry of the rules report cannot be read: {error}")))
    };
    Ok(Moved {
        organization: organization.to_owned(),
        account_id: row.key.account.to_string(),
        rules_version: row.rules_version,
        recorded_at: Utc(row.recorded_at).to_string(),
        before: read(row.before)?,
        after: read(row.after)?,
        failure: row.failure,
    })
}
