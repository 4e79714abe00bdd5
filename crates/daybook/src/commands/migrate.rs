//! `daybook migrate`: upgrades a database of an earlier build, as the start of a server would.
//!
//! Opening the database upgrades its tables. Accounts processed under earlier rules are then recomputed under the
//! current ones. If it is interrupted, the next run continues.

use super::opening::{make_store, must_be_there, open_key_of, start_service};
use super::progress::Progress;
use super::{Failure, prepare, print, wait_for};
use crate::cli::MigrateArgs;
use crate::config::Settings;
use crate::instance;
use daybook_service::Service;
use daybook_service::refold::Refolded;
use daybook_service::zones::{AdoptedZoneData, MovedMoment};
use serde_json::json;
use std::time::Duration;

/// Migrates the database and prints the result.
pub fn run(args: &MigrateArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let _held = settings.sqlite_path().filter(|path| path.exists()).map(instance::take).transpose()?;
    let done = wait_for(migrate(&settings))?;
    print(&if args.json { as_json(&done) } else { as_text(&done) })?;
    match done.refolded.failed {
        0 => Ok(()),
        1 => Err(Failure::Failed("1 account could not be recalculated: `daybook rules-report` shows why".to_owned())),
        count => Err(Failure::Failed(format!(
            "{count} accounts could not be recalculated: `daybook rules-report` shows why"
        ))),
    }
}

/// The result.
struct Done {
    /// The numbers of the table migrations that were run.
    tables: Vec<i64>,
    /// The accounts that were recomputed.
    refolded: Refolded,
    /// The number of records added to the search index.
    words: u64,
    /// Time zones whose data changed, and the effects.
    zones: AdoptedZoneData,
    /// The messages of earlier builds that were compressed.
    compressed: u64,
}

async fn migrate(settings: &Settings) -> Result<Done, Failure> {
    must_be_there(settings)?;
    let store = make_store(&settings.database, Duration::ZERO).await?;
    let tables = store.migrated();
    let key = open_key_of(settings, &*store).await?;
    let service = start_service(store, &key).await?;
    let refolded = refold(&service).await?;
    let words = service.fill_in_words().await?;
    let zones = service.adopt_zone_data().await?;
    let compressed = compress_messages(&service).await?;
    service.stop().await;
    Ok(Done { tables, refolded, words, zones, compressed })
}

/// Recomputes every account that was processed under earlier rules, and shows the progress.
pub async fn refold(service: &Service) -> Result<Refolded, Failure> {
    let waiting = u64::try_from(service.accounts_to_refold().await?).unwrap_or(0);
    if waiting == 0 {
        return Ok(Refolded::default());
    }
    let progress = Progress::begin("recalculating accounts", waiting);
    let done = service.refold(&mut |accounts| progress.is_at(accounts)).await;
    progress.clear();
    Ok(done?)
}

/// How long to wait for another node.
const PAUSE: Duration = Duration::from_millis(100);

/// Compresses the messages of earlier builds, and shows the progress. Returns how many there were.
async fn compress_messages(service: &Service) -> Result<u64, Failure> {
    let Some(total) = service.messages_to_compress().await? else { return Ok(0) };
    let progress = Progress::begin("compressing messages", total);
    let mut compressed = 0;
    while let Some(left) = service.messages_to_compress().await? {
        progress.is_at(total.saturating_sub(left));
        match service.compress_messages().await? {
            Some(some) => compressed += some,
            // Another node compresses.
            None => tokio::time::sleep(PAUSE).await,
        }
    }
    progress.clear();
    Ok(compressed)
}

fn as_text(done: &Done) -> String {
    let Refolded { accounts, moved, failed } = done.refolded;
    if done.tables.is_empty() && accounts + failed + done.words + done.compressed == 0 && done.zones.zones.is_empty() {
        return "the database is up to date\n".to_owned();
    }
    let mut text = String::new();
    if let (Some(first), Some(last)) = (done.tables.first(), done.tables.last()) {
        text.push_str(&format!("ran migrations {first} to {last} of the database schema\n"));
    }
    if done.words > 0 {
        text.push_str(&format!("indexed {} records for search\n", done.words));
    }
    if done.compressed > 0 {
        text.push_str(&format!("compressed {} messages\n", done.compressed));
    }
    if accounts + failed > 0 {
        text.push_str(&format!(
            "recalculated {accounts} accounts under newer rules: {moved} changed, {failed} failed, 0 messages written\n"
        ));
    }
    text.push_str(&zones_as_text(&done.zones));
    text
}

fn zones_as_text(adopted: &AdoptedZoneData) -> String {
    let AdoptedZoneData { zones, accounts, failed, moved } = adopted;
    let mut text: String = zones.iter().map(|zone| format!("time zone {zone}\n")).collect();
    if !zones.is_empty() {
        text.push_str(&format!(
            "applied new time-zone data to {accounts} accounts: the next moment of {} accounts changed, {failed} \
             failed, 0 messages written\n",
            moved.len()
        ));
    }
    for MovedMoment { organization, account_id, zone, before, after } in moved {
        text.push_str(&format!("  {organization} {account_id} ({zone}): {before} -> {after}\n"));
    }
    text
}

fn as_json(done: &Done) -> String {
    let Refolded { accounts, moved, failed } = done.refolded;
    let answer = json!({
        "migrations": done.tables,
        "words": done.words,
        "accounts": accounts,
        "moved": moved,
        "failed": failed,
        "time_zones": {
            "changed": done.zones.zones.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "accounts": done.zones.accounts,
            "failed": done.zones.failed,
            "moved": done.zones.moved,
        },
    });
    format!("{answer:#}\n")
}
