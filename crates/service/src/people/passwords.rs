//! Hashes passwords. That is slow on purpose, so only a few run at a time, off the threads that do other work.

use crate::ids::random_bytes;
use crate::problem::Problem;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{self, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use std::sync::Arc;
use tokio::sync::{Semaphore, TryAcquireError};

/// The minimum length of a password, in characters.
pub const PASSWORD_SHORTEST: usize = 10;
/// The maximum length of a password, in characters.
pub const PASSWORD_LONGEST: usize = 200;

/// The parameters of Argon2id that OWASP recommends: memory, passes and lanes.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;

/// How many hashes are computed at the same time.
const AT_ONCE: usize = 2;
/// How many more may wait. Further requests are refused.
const WAITING: usize = 64;

/// Checks the length of a password; the error is the rule.
pub fn check(password: &str) -> Result<(), String> {
    if (PASSWORD_SHORTEST..=PASSWORD_LONGEST).contains(&password.chars().count()) {
        return Ok(());
    }
    Err(format!("must have from {PASSWORD_SHORTEST} to {PASSWORD_LONGEST} characters"))
}

/// Computes and checks password hashes.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Default for Passwords {
    fn default() -> Passwords {
        Passwords { turns: Arc::new(Semaphore::new(AT_ONCE)), places: Arc::new(Semaphore::new(AT_ONCE + WAITING)) }
    }
}

impl Passwords {
    /// The hash of a password, with all parameters needed to check it.
    pub async fn hash(&self, password: &str) -> Result<String, Problem> {
        let password = password.to_owned();
        let salt = random_bytes::<SALT_BYTES>();
        self.in_turn(move || hash(&password, &salt)).await?
    }

    /// Whether a password matches a hash. Without a hash the result is false, after the same time.
    pub async fn is_right(&self, password: &str, hashed: Option<&str>) -> Result<bool, Problem> {
        let hashed = hashed.filter(|_| check(password).is_ok()).map(str::to_owned);
        let password = password.to_owned();
        self.in_turn(move || match hashed {
            Some(hashed) => verify(&password, &hashed),
            None => hash(&password, &[0; SALT_BYTES]).map(|_| false),
        })
        .await?
    }

    async fn in_turn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
        let stopped = || Problem::unavailable("the server is stopping: try again");
        let _place = self.places.clone().try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits => {
                let message = "too many people are signing in: try again in 5 seconds";
                Problem { wait_seconds: 5, ..Problem::new("rate_limited", message) }
            }
            TryAcquireError::Closed => stopped(),
        })?;
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| stopped())?;
        let working = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        working.await.map_err(|error| Problem::internal(format!("a password could not be hashed: {error}")))
    }
}

fn argon2() -> Result<Argon2<'static>, Problem> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
        .map_err(|error| Problem::internal(format!("Argon2 rejected its parameters: {error}")))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn hash(password: &str, salt: &[u8]) -> Result<String, Problem> {
    let hashed: PasswordHash = argon2()?.hash_password_with_salt(password.as_bytes(), salt).map_err(not_hashed)?;
    Ok(hashed.to_string())
}

fn verify(password: &str, hashed: &str) -> Result<bool, Problem> {
    let hashed = PasswordHash::new(hashed)
        .map_err(|error| Problem::internal(format!("the hash of a password cannot be read: {error}")))?;
    match argon2()?.verify_password(password.as_bytes(), &hashed) {
        Ok(()) => Ok(true),
        Err(password_hash::Error::PasswordInvalid) => Ok(false),
        Err(error) => Err(not_hashed(error)),
    }
}

fn not_hashed(error: password_hash::Error) -> Problem {
    Problem::internal(format!("a password could not be hashed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_right_for_its_own_hash_only() {
        let passwords = Passwords::default();
        let hashed = passwords.hash("correct horse").await.expect("it is hashed");
        assert!(hashed.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hashed}");
        assert_ne!(passwords.hash("correct horse").await.expect("it is hashed"), hashed, "each has its own salt");
        assert_eq!(passwords.is_right("correct horse", Some(&hashed)).await, Ok(true));
        assert_eq!(passwords.is_right("correct house", Some(&hashed)).await, Ok(false));
        assert_eq!(passwords.is_right("correct horse", None).await, Ok(false));
        assert!(passwords.is_right("correct horse", Some("$argon2id$x")).await.is_err());
    }

    #[tokio::test]
    async fn a_crowd_is_sent_away() {
        let passwords = Passwords { places: Arc::new(Semaphore::new(0)), ..Passwords::default() };
        assert_eq!(passwords.is_right("correct horse", None).await.expect_err("no place").code, "rate_limited");
    }

    #[test]
    fn a_password_has_its_length() {
        for (length, is_good) in [(9, false), (10, true), (200, true), (201, false)] {
            assert_eq!(check(&"ö".repeat(length)).is_ok(), is_good, "{length}");
        }
    }
}
