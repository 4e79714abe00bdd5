//! Pseudo-random numbers: the same seed gives the same sequence. For demo data and tests.

/// A generator (SplitMix64).
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// A generator with this seed.
    pub fn of_seed(seed: u64) -> Chance {
        Chance(seed)
    }

    /// A separate generator for the item with this number.
    pub fn for_one(&self, number: u64) -> Chance {
        Chance(self.0 ^ number.wrapping_add(1).wrapping_mul(0xD134_2543_DE82_EF95))
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }

    /// One of the given items. There must be at least one.
    pub fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.below(things.len() as u64) as usize]
    }

    /// Shuffles the items.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for place in (1..things.len()).rev() {
            things.swap(place, self.below(place as u64 + 1) as usize);
        }
    }

    /// `count` different numbers below `limit`, or all of them if there are fewer.
    pub fn some_below(&mut self, limit: u64, count: u64) -> Vec<u64> {
        let mut drawn = Vec::new();
        let mut left = count.min(limit);
        // Each number is taken with the probability that leaves the right number of others.
        for number in 0..limit {
            if self.below(limit - number) < left {
                drawn.push(number);
                left -= 1;
            }
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_numbers_are_drawn() {
        let drawn = Chance::of_seed(7).some_below(1_000, 25);
        assert_eq!(drawn.len(), 25);
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn.iter().all(|number| *number < 1_000));
        assert_ne!(drawn, Chance::of_seed(8).some_below(1_000, 25));
        assert_eq!(Chance::of_seed(7).some_below(3, 25), [0, 1, 2]);
    }
}
