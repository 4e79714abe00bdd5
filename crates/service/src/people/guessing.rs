//! Guessing: who was wrong too often waits, longer each time.
//!
//! Two things are counted: tries for one address, whoever makes them, and tries from one place, whatever they are for. A
//! try is counted as wrong before the password is looked at, and given back when it was right: so many tries at once are
//! counted as many, and a crash in between is no way around. Counts are in the database, for every node and every start.
//! What is kept of an address or a place is a hash that nobody can make without the secrets key.

use crate::Service;
use crate::problem::Problem;
use daybook_engine::time::Time;
use daybook_store::people::GuessRow;
use std::net::IpAddr;

/// How many tries may be wrong before anybody waits.
pub const FREE_TRIES: i64 = 5;
/// The longest wait.
pub const LONGEST_WAIT_MICROS: i64 = 15 * 60 * 1_000_000;
/// The first wait; each one after it is twice as long.
const FIRST_WAIT_MICROS: i64 = 10 * 1_000_000;
/// How long a wrong try is remembered, after the last one.
const REMEMBERED_MICROS: i64 = 60 * 60 * 1_000_000;
/// How often a count is written anew because somebody else was faster.
const ROUNDS: usize = 20;

/// A try that is under way.
pub(super) struct Try {
    /// Forgotten when it was right.
    address: Vec<u8>,
    /// What was counted of the place; given back when it was right.
    place: Option<GuessRow>,
}

impl Service {
    /// Counts a try, unless it is too early for one.
    pub(super) async fn begin_try(&self, email_key: &str, from: Option<IpAddr>) -> Result<Try, Problem> {
        let address = self.secrets.console_hash("guesses about", email_key.as_bytes());
        let place = from.map(|from| self.secrets.console_hash("guesses from", &network(from)));
        for subject in place.iter().chain([&address]) {
            if let Some(row) = self.store.guesses(subject).await? {
                may_try(&row, self.clock.now())?;
            }
        }
        let place = match place {
            Some(place) => Some(self.count(&place).await?),
            None => None,
        };
        self.count(&address).await?;
        Ok(Try { address, place })
    }

    /// The try was right. Somebody who knows one password must not by that be free to guess others: what was counted of
    /// the place before stays.
    pub(super) async fn end_try(&self, right: Try) -> Result<(), Problem> {
        self.store.forget_guesses(&right.address).await?;
        let Some(counted) = right.place else { return Ok(()) };
        for _ in 0..ROUNDS {
            let Some(row) = self.store.guesses(&counted.subject).await? else { return Ok(()) };
            // Somebody who was wrong meanwhile waits for that.
            let wait_until = if row == counted { self.clock.now() } else { row.wait_until };
            let less = GuessRow { failures: (row.failures - 1).max(0), wait_until, ..row.clone() };
            if self.store.keep_guesses(Some(&row), &less).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn count(&self, subject: &[u8]) -> Result<GuessRow, Problem> {
        for _ in 0..ROUNDS {
            let now = self.clock.now();
            let before = self.store.guesses(subject).await?;
            if let Some(row) = &before {
                may_try(row, now)?;
            }
            let known = before.as_ref().filter(|row| now < row.expires_at).map_or(0, |row| row.failures);
            let failures = known.saturating_add(1);
            let row = GuessRow {
                subject: subject.to_owned(),
                failures,
                wait_until: now.plus_micros(wait_micros(failures)),
                expires_at: now.plus_micros(REMEMBERED_MICROS),
            };
            if self.store.keep_guesses(before.as_ref(), &row).await? {
                return Ok(row);
            }
        }
        Err(too_many(1))
    }
}

fn may_try(row: &GuessRow, now: Time) -> Result<(), Problem> {
    let micros = row.wait_until.micros().saturating_sub(now.micros());
    // A clock that was put back does not make anybody wait for longer than the longest wait.
    if micros <= 0 || micros > LONGEST_WAIT_MICROS {
        return Ok(());
    }
    Err(too_many((micros - 1) / 1_000_000 + 1))
}

fn too_many(seconds: i64) -> Problem {
    let unit = if seconds == 1 { "second" } else { "seconds" };
    let problem = Problem::new("rate_limited", format!("too many wrong tries: try again in {seconds} {unit}"));
    Problem { wait_seconds: u32::try_from(seconds).unwrap_or(u32::MAX), ..problem }
}

/// How long to wait after so many wrong tries.
fn wait_micros(failures: i64) -> i64 {
    if failures < FREE_TRIES {
        return 0;
    }
    let doublings = u32::try_from(failures - FREE_TRIES).unwrap_or(u32::MAX);
    let factor = 1i64.checked_shl(doublings).filter(|factor| *factor > 0).unwrap_or(i64::MAX);
    FIRST_WAIT_MICROS.saturating_mul(factor).min(LONGEST_WAIT_MICROS)
}

/// What one guesser has: one address of the old sort, or a whole network of the new one.
fn network(from: IpAddr) -> Vec<u8> {
    match from.to_canonical() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets()[..8].to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let seconds = |failures| wait_micros(failures) / 1_000_000;
        assert_eq!([0, 1, 4].map(seconds), [0, 0, 0]);
        assert_eq!([5, 6, 7, 10, 11, 12].map(seconds), [10, 20, 40, 320, 640, 900]);
        assert_eq!([60, 68, 69, 1_000, i64::MAX].map(seconds), [900; 5]);
    }

    #[test]
    fn a_place_is_an_address_or_a_network() {
        let of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
    }
}
