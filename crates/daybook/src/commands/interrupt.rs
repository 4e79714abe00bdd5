//! Handles interrupts of long commands: the command ends at the next safe point and removes its temporary files. A
//! second interrupt ends it at once.

use super::serve::Stop;
use super::{say, wait_for};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Set by the first signal. Signals belong to the whole process, so this is global.
static IS_TOLD: AtomicBool = AtomicBool::new(false);
/// The exit code of a process interrupted by the user.
const BROKEN_OFF: i32 = 130;

/// Handles Ctrl+C, a closed terminal and SIGTERM from now on.
pub fn listen() {
    thread::spawn(|| {
        let heard = wait_for(async {
            let mut stop = Stop::of_a_tool()?;
            stop.told().await;
            IS_TOLD.store(true, Ordering::Relaxed);
            say("Stopping at the next safe moment.\n");
            stop.told().await;
            Ok(())
        });
        if heard.is_ok() {
            std::process::exit(BROKEN_OFF);
        }
    });
}

/// Whether the command was interrupted.
pub fn is_interrupted() -> bool {
    IS_TOLD.load(Ordering::Relaxed)
}
