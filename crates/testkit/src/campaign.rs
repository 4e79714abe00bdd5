//! Running a property on many random histories, with the seed printed.
//!
//! `DAYBOOK_HISTORIES` says how many (2,000 unless set), `DAYBOOK_SEED` where to start (1 unless set).

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Checks that a property holds of many values; a failure is shrunk and panics with the smallest one found.
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
