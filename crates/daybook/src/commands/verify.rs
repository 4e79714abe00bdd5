//! `daybook verify`: recomputes every account from its inputs and compares it with the stored data.
//!
//! A server may be running: an account that changes during the check appears to differ. Differing accounts are
//! therefore checked again, and only those that differ every time are reported.
//!
//! With `--fix`, derived data is replaced by what the journals yield. The journal is not changed, and nothing is sent.
//! A SQLite database in use by a server is refused; on PostgreSQL an account is corrected only if it did not change in
//! the meantime.

use super::opening::open_service;
use super::{Failure, prepare, print, say, wait_for};
use crate::cli::VerifyArgs;
use crate::config::Settings;
use crate::instance;
use crate::logging;
use daybook_service::Service;
use daybook_service::verify::{Fixed, Verified};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

/// The number of checks that must find a difference.
const LOOKS: usize = 3;

/// Verifies the accounts and prints the differences.
pub fn run(args: &VerifyArgs) -> Result<(), Failure> {
    let settings = prepare(&args.flags)?;
    let fixed = if args.fix {
        let _held = settings.sqlite_path().filter(|path| path.exists()).map(instance::take).transpose()?;
        wait_for(fix(&settings))?
    } else {
        Fixed { verified: wait_for(verify(&settings))?, ..Fixed::default() }
    };
    let count = fixed.verified.differences.len();
    print(&if args.json { as_json(&fixed) } else { as_text(&fixed) })?;
    match count {
        0 => Ok(()),
        1 => Err(Failure::Failed("there is 1 difference".to_owned())),
        _ => Err(Failure::Failed(format!("there are {count} differences"))),
    }
}

async fn verify(settings: &Settings) -> Result<Verified, Failure> {
    let service = open_service(settings).await?;
    service.check_zones().await?;
    let mut verified = look(&service).await?;
    for _ in 1..LOOKS {
        if verified.differences.is_empty() {
            break;
        }
        let again: BTreeSet<String> = look(&service).await?.differences.into_iter().collect();
        verified.differences.retain(|difference| again.contains(difference));
    }
    service.stop().await;
    Ok(verified)
}

async fn fix(settings: &Settings) -> Result<Fixed, Failure> {
    let service = open_service(settings).await?;
    service.check_zones().await?;
    let fixed = service.fix(&mut |_| {}).await;
    service.stop().await;
    Ok(fixed?)
}

async fn look(service: &Service) -> Result<Verified, Failure> {
    let is_watched = io::stderr().is_terminal() && !logging::is_json();
    let mut progress = |accounts: u64| {
        if is_watched {
            say(&format!("\rverified {accounts} accounts"));
        }
    };
    let verified = service.verify(&mut progress).await;
    if is_watched {
        say("\r\u{1b}[K");
    }
    Ok(verified?)
}

fn as_text(fixed: &Fixed) -> String {
    let Verified { accounts, items, messages, audit_records, differences, .. } = &fixed.verified;
    let count = differences.len();
    let mut text: String = fixed.fixed.iter().map(|difference| format!("fixed: {difference}\n")).collect();
    text.extend(differences.iter().map(|difference| format!("{difference}\n")));
    let plural = if count == 1 { "difference" } else { "differences" };
    text.push_str(&format!(
        "verified {accounts} accounts, {items} line items, {messages} messages, {audit_records} audit records: \
         {count} {plural}\n"
    ));
    text
}

fn as_json(fixed: &Fixed) -> String {
    let verified = &fixed.verified;
    let answer = json!({
        "accounts": verified.accounts,
        "line_items": verified.items,
        "messages": verified.messages,
        "audit_records": verified.audit_records,
        "differences": verified.differences,
        "fixed": fixed.fixed,
    });
    format!("{answer:#}\n")
}
