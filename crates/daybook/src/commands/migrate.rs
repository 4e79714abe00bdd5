//! `daybook migrate`: brings a database of an earlier build up to date, as a start of the server would.
//!
//! Opening the database brings its tables up to date; accounts that earlier rules wrote are then folded again by those of
//! today. Stopped in between, it goes on where it was when it is started again.

use super::opening::open_service;
use super::progress::Progress;
use super::{Failure, prepare, print, wait_for};
use crate::cli::MigrateArgs;
use crate::config::Settings;
use crate::instance;
use daybook_service::Service;
use daybook_service::refold::Refolded;
use serde_json::json;

/// Migrates, and prints what that did.
pub fn run(args: &MigrateArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let _held = settings.sqlite_path().filter(|path| path.exists()).map(instance::take).transpose()?;
    let done = wait_for(migrate(&settings))?;
    print(&if args.json { as_json(done) } else { as_text(done) })?;
    match done.failed {
        0 => Ok(()),
        1 => Err(Failure::Failed("1 account could not be folded again: `daybook rules-report` says why".to_owned())),
        count => {
            Err(Failure::Failed(format!("{count} accounts could not be folded again: `daybook rules-report` says why")))
        }
    }
}

async fn migrate(settings: &Settings) -> Result<Refolded, Failure> {
    let service = open_service(settings).await?;
    let done = refold(&service).await?;
    service.stop().await;
    Ok(done)
}

/// Folds every account again that earlier rules wrote, and shows how far that is.
pub async fn refold(service: &Service) -> Result<Refolded, Failure> {
    let waiting = u64::try_from(service.accounts_to_refold().await?).unwrap_or(0);
    if waiting == 0 {
        return Ok(Refolded::default());
    }
    let progress = Progress::begin("folding accounts again", waiting);
    let done = service.refold(&mut |accounts| progress.is_at(accounts)).await;
    progress.clear();
    Ok(done?)
}

fn as_text(done: Refolded) -> String {
    let Refolded { accounts, moved, failed } = done;
    if accounts + failed == 0 {
        return "the database is up to date\n".to_owned();
    }
    format!("folded {accounts} accounts again by newer rules: {moved} moved, {failed} failed, 0 messages written\n")
}

fn as_json(done: Refolded) -> String {
    format!("{:#}\n", json!({ "accounts": done.accounts, "moved": done.moved, "failed": done.failed }))
}
