//! Throttles failed sign-ins, with longer waits after each failure.
//!
//! Two counters apply: attempts for one e-mail address, from anywhere, and attempts from one network, for any address.
//! An attempt is counted as failed before the password is checked, and the count is reduced if the password is right.
//! So concurrent attempts are all counted, and a crash in between does not help an attacker. The counters are in the
//! database: they survive restarts and are shared by all nodes. Addresses and networks are stored only as hashes keyed
//! with the secrets key.

use crate::Service;
use crate::problem::Problem;
use daybook_engine::time::Time;
use daybook_store::people::FailedSignIns;
use std::net::IpAddr;

/// The number of failed attempts before waits begin.
pub const FREE_TRIES: i64 = 5;
/// The longest wait.
pub const LONGEST_WAIT_MICROS: i64 = 15 * 60 * 1_000_000;
/// The first wait; each one after it is twice as long.
const FIRST_WAIT_MICROS: i64 = 10 * 1_000_000;
/// How long failed attempts are remembered after the last one.
const REMEMBERED_MICROS: i64 = 60 * 60 * 1_000_000;
/// How often an update of a counter is retried after a concurrent change.
const ROUNDS: usize = 20;

/// An attempt in progress.
pub(super) struct Try {
    /// The counter of the e-mail address; deleted if the attempt succeeds.
    address: Vec<u8>,
    /// The counter of the network after this attempt; reduced if the attempt succeeds.
    place: Option<FailedSignIns>,
}

impl Service {
    /// Counts an attempt, or refuses it if the wait is not over.
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

    /// Ends a successful attempt. Earlier failures from the network stay counted: knowing one password must not allow
    /// guessing others.
    pub(super) async fn end_try(&self, right: Try) -> Result<(), Problem> {
        self.store.forget_guesses(&right.address).await?;
        let Some(counted) = right.place else { return Ok(()) };
        for _ in 0..ROUNDS {
            let Some(row) = self.store.guesses(&counted.subject).await? else { return Ok(()) };
            // If another attempt failed in the meantime, its wait stays.
            let wait_until = if row == counted { self.clock.now() } else { row.wait_until };
            let less = FailedSignIns { failures: (row.failures - 1).max(0), wait_until, ..row.clone() };
            if self.store.keep_guesses(Some(&row), &less).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn count(&self, subject: &[u8]) -> Result<FailedSignIns, Problem> {
        for _ in 0..ROUNDS {
            let now = self.clock.now();
            let before = self.store.guesses(subject).await?;
            if let Some(row) = &before {
                may_try(row, now)?;
            }
            let known = before.as_ref().filter(|row| now < row.expires_at).map_or(0, |row| row.failures);
            let failures = known.saturating_add(1);
            let row = FailedSignIns {
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

fn may_try(row: &FailedSignIns, now: Time) -> Result<(), Problem> {
    let micros = row.wait_until.micros().saturating_sub(now.micros());
    // If the clock was set back, the wait is ignored rather than longer than the longest wait.
    if micros <= 0 || micros > LONGEST_WAIT_MICROS {
        return Ok(());
    }
    Err(too_many((micros - 1) / 1_000_000 + 1))
}

fn too_many(seconds: i64) -> Problem {
    let unit = if seconds == 1 { "second" } else { "seconds" };
    let problem = Problem::new("rate_limited", format!("too many failed attempts: try again in {seconds} {unit}"));
    Problem { wait_seconds: u32::try_from(seconds).unwrap_or(u32::MAX), ..problem }
}

/// How long to wait after this many failed attempts.
fn wait_micros(failures: i64) -> i64 {
    if failures < FREE_TRIES {
        return 0;
    }
    let doublings = u32::try_from(failures - FREE_TRIES).unwrap_or(u32::MAX);
    let factor = 1i64.checked_shl(doublings).filter(|factor| *factor > 0).unwrap_or(i64::MAX);
    FIRST_WAIT_MICROS.saturating_mul(factor).min(LONGEST_WAIT_MICROS)
}

/// The range that one attacker controls: a single IPv4 address, or an IPv6 /64 network.
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
