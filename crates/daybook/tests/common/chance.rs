//! Numbers that only look random: the same seed gives the same ones.

/// A source of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn of_seed(seed: u64) -> Chance {
        Chance(seed)
    }

    /// Another source, for the one with this number.
    pub fn for_one(&self, number: u64) -> Chance {
        Chance(self.0 ^ number.wrapping_add(1).wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// Puts things in another order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for place in (1..things.len()).rev() {
            things.swap(place, self.below(place as u64 + 1) as usize);
        }
    }
}

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
