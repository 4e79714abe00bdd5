//! Where chance starts, and how much of it a campaign takes, as the environment says.

/// A source of numbers.
pub type Chance = daybook::chance::Chance;

/// A number that the environment may give.
pub fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
        Err(_) => default,
    }
}

/// Where chance starts: `DAYBOOK_SEED`, 1 unless set.
pub fn seed() -> u64 {
    setting("DAYBOOK_SEED", 1)
}
