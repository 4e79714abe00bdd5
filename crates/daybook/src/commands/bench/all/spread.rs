//! The median and the range of some figures, and how numbers are written.

/// The results of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Half of the runs are below, half above.
    pub median: f64,
    /// The smallest.
    pub smallest: f64,
    /// The largest.
    pub largest: f64,
    /// The number of runs.
    pub runs: usize,
}

impl Spread {
    /// The spread of these figures; `None` if there are none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut all: Vec<f64> = figures.into_iter().filter(|figure| figure.is_finite()).collect();
        all.sort_unstable_by(f64::total_cmp);
        let (smallest, largest) = (*all.first()?, *all.last()?);
        let (low, high) = (all[(all.len() - 1) / 2], all[all.len() / 2]);
        Some(Spread { median: (low + high) / 2.0, smallest, largest, runs: all.len() })
    }

    /// The range as text: `12 to 15`, or one number if they are the same.
    pub fn range(&self) -> String {
        let (smallest, largest) = (number(self.smallest), number(self.largest));
        if smallest == largest { smallest } else { format!("{smallest} to {largest}") }
    }
}

/// A number with about three digits, and a comma at the thousands.
pub fn number(figure: f64) -> String {
    let digits = match figure.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.0995 => 2,
        size if size > 0.0 => 3,
        _ => 0,
    };
    let text = format!("{figure:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    rest.map_or_else(|| format!("{sign}{grouped}"), |rest| format!("{sign}{grouped}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::{Spread, number};

    #[test]
    fn numbers_have_about_three_digits() {
        let written = [0.0, 0.0123, 0.355, 1.0, 12.34, 99.96, 123.4, 1_234.5, 1_234_567.0, -4_500.0].map(number);
        let expected = ["0", "0.012", "0.35", "1.00", "12.3", "100", "123", "1,234", "1,234,567", "-4,500"];
        assert_eq!(written, expected);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        let odd = Spread::of([5.0, 1.0, 3.0]).expect("figures");
        assert_eq!((odd.median, odd.smallest, odd.largest, odd.runs), (3.0, 1.0, 5.0, 3));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 8.0]).expect("figures").median, 3.0);
        assert_eq!(Spread::of([]), None);
        assert_eq!((odd.range().as_str(), Spread::of([2.0]).expect("one").range().as_str()), ("1.00 to 5.00", "2.00"));
    }
}
