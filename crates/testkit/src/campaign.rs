//! Runs a property on many random histories, and prints the seed.
//!
//! `DAYBOOK_HISTORIES` sets how many (default 2,000), `DAYBOOK_SEED` the seed (default 1).

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Checks that a property holds for many values; a failure is shrunk and panics with the smallest one found.
pub fn holds<S: Strategy>(name: &str, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases: u32 = setting("DAYBOOK_HISTORIES").unwrap_or(2_000);
    let seed: u64 = setting("DAYBOOK_SEED").unwrap_or(1);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        max_global_rejects: cases.saturating_mul(4),
        ..Config::default()
    };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    match runner.run(strategy, property) {
        Ok(()) => println!("property {name}: {cases} histories, seed {seed}, 0 failures"),
        Err(failure) => panic!("property {name}: seed {seed}: {failure}"),
    }
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}
