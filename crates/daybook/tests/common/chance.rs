//! The seed and the size of a campaign, from the environment.

/// A pseudo-random generator.
pub type Chance = daybook::chance::Chance;

/// A number from the environment, or its default.
pub fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")),
        Err(_) => default,
    }
}

/// The seed: `DAYBOOK_SEED`, or 1.
pub fn seed() -> u64 {
    setting("DAYBOOK_SEED", 1)
}
