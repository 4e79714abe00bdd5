//! `daybook what-if`: what another policy, or a change, would do to the accounts of a product.
//!
//! The command reads the database directly and changes nothing in it. A server may be running.
//!
//! ```text
//! fields ─► WhatIfQuestion ─► service ─► table: a row for each account (CSV)
//!                                └─────► report: sums and the largest differences
//! ```

mod fields;
mod report;
mod table;

use super::files::must_not_be;
use super::opening::{open_key_of, open_store_as, start_service};
use super::progress::Progress;
use super::{Failure, prepare, print, wait_for};
use crate::cli::WhatIfArgs;
use crate::config::Settings;
use daybook_service::problem::Problem;
use daybook_service::what_if::{AccountResult, Observer, WhatIfQuestion, WhatIfSummary};
use daybook_store::{Store, Tables};
use std::path::Path;
use table::AccountTable;

/// Compares and prints.
pub fn run(args: &WhatIfArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let question = WhatIfQuestion {
        product_id: args.product.clone(),
        policy: args.policy.as_deref().map(fields::read).transpose()?,
        change: args.change.as_deref().map(fields::read).transpose()?,
        conditions: args.conditions.clone(),
        as_of: args.as_of.clone(),
    };
    if let Some(csv) = &args.csv {
        let inputs: Vec<&Path> = [&args.policy, &args.change].into_iter().flatten().map(AsRef::as_ref).collect();
        must_not_be(csv, "--csv", &inputs)?;
    }
    let summary = wait_for(compare(&settings, args, &question))?;
    let largest = usize::from(args.largest);
    print(&if args.json {
        report::json(&question, summary, largest)
    } else {
        report::text(&question, &summary, largest)
    })
}

async fn compare(settings: &Settings, args: &WhatIfArgs, question: &WhatIfQuestion) -> Result<WhatIfSummary, Failure> {
    let store = open_store_as(settings, Tables::OnlyRead).await?;
    must_be_current(&*store).await?;
    let key = open_key_of(settings, &*store).await?;
    let service = start_service(store, &key).await?;
    let who = service.operator(args.org.as_deref()).await?;
    let table = args.csv.as_deref().map(AccountTable::create).transpose()?;
    let mut watching = Watching { table, progress: None };
    let compared = service.what_if(&who, question, &mut watching).await;
    service.stop().await;
    if let Some(progress) = watching.progress {
        progress.clear();
    }
    let summary = compared?;
    if let Some(table) = watching.table {
        table.finish()?;
    }
    Ok(summary)
}

async fn must_be_current(store: &dyn Store) -> Result<(), Failure> {
    let standing = store.tables().await?;
    if standing.is_current() {
        return Ok(());
    }
    Err(Failure::Failed(format!("the database cannot be read by this version of Daybook: {standing}")))
}

/// Writes the rows and shows the progress.
struct Watching {
    table: Option<AccountTable>,
    progress: Option<Progress>,
}

impl Observer for Watching {
    fn begins(&mut self, accounts: u64) -> Result<(), Problem> {
        self.progress = Some(Progress::begin("comparing", accounts));
        Ok(())
    }

    fn done(&mut self, results: &[AccountResult]) -> Result<(), Problem> {
        if let Some(progress) = &self.progress {
            progress.add(results.len() as u64);
        }
        let Some(table) = &mut self.table else { return Ok(()) };
        results.iter().try_for_each(|result| table.add(result))
    }
}
