//! Whether the clock is right, as far as this program and the database can tell. The result is one finding.

use super::finding::{Finding, Verdict};
use crate::commands::opening::watch_clock;
use crate::config::Settings;
use daybook_clock::{Clock, System, Trouble};
use daybook_engine::time::Time;
use daybook_store::Store;

const CHECK: &str = "clock";
/// 2025-01-01: a clock before this time is wrong.
const WRITTEN: Time = Time::from_seconds(1_735_689_600);
/// 2100-01-01: a clock after this time is wrong.
const FAR_AWAY: Time = Time::from_seconds(4_102_444_800);

/// Checks the clock. Nothing is recorded, even if a server would record that the time is confirmed.
pub(super) async fn examine(settings: &Settings, store: Option<&dyn Store>, is_confirmed: bool) -> Finding {
    let now = System.now();
    if let Some(finding) = never_set(now) {
        return finding;
    }
    if let Some(store) = store {
        if let Some(finding) = jump(settings, store, is_confirmed).await {
            return finding;
        }
        if let Some(finding) = behind(store, now).await {
            return finding;
        }
    }
    Finding::ok(CHECK, now.to_string())
}

fn never_set(now: Time) -> Option<Finding> {
    let is_plausible = (WRITTEN..=FAR_AWAY).contains(&now);
    (!is_plausible).then(|| Finding::fail(CHECK, format!("the clock is wrong: it shows {now}")))
}

/// Whether a server would refuse to go by this clock, because of what the database knows.
async fn jump(settings: &Settings, store: &dyn Store, is_confirmed: bool) -> Option<Finding> {
    let verdict = if is_confirmed { Verdict::Warn } else { Verdict::Fail };
    match watch_clock(settings, store, false).await {
        Ok(watched) => watched.standing().map(|trouble| match trouble {
            // There is nothing to confirm: it is not the time that the database has.
            Trouble::Skew(_) => Finding::fail(CHECK, trouble.to_string()),
            _ => Finding::new(CHECK, verdict, trouble.to_string()),
        }),
        Err(failure) => Some(Finding::new(CHECK, verdict, failure.to_string())),
    }
}

/// Whether an organization was created later than now.
async fn behind(store: &dyn Store, now: Time) -> Option<Finding> {
    let organizations = match store.organizations().await {
        Ok(organizations) => organizations,
        Err(error) => return Some(Finding::fail(CHECK, error.to_string())),
    };
    let newest = organizations.iter().map(|organization| organization.created_at).max()?;
    let sentence = || format!("the clock is behind the latest time in the database, {newest}");
    (newest > now).then(|| Finding::fail(CHECK, sentence()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_never_set_is_found() {
        assert!(never_set(Time::from_seconds(0)).is_some_and(|finding| finding.verdict == Verdict::Fail));
        assert!(never_set(WRITTEN).is_none());
        assert_eq!(WRITTEN.to_string(), "2025-01-01T00:00:00Z");
        assert_eq!(FAR_AWAY.to_string(), "2100-01-01T00:00:00Z");
    }
}
