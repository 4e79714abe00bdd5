//! Being told to stop in the middle of something long: it ends at the next safe moment, and what it has made for itself is
//! taken away. Told again, it ends at once.

use super::serve::Stop;
use super::{Failure, say, wait_for};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Signals are the whole process's, and so is this.
static IS_TOLD: AtomicBool = AtomicBool::new(false);
/// The code of a process that a person has broken off.
const BROKEN_OFF: i32 = 130;

/// From now on Ctrl+C, a closed terminal and an order to end are heard.
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

/// Fails if somebody said to stop.
pub fn check() -> Result<(), Failure> {
    if !IS_TOLD.load(Ordering::Relaxed) {
        return Ok(());
    }
    Err(Failure::Failed("stopped; nothing is lost: run the same command again to go on".to_owned()))
}
