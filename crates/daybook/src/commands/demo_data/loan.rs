//! One generated loan: its terms, its payments and the expected balances.

use super::people;
use super::plan::{interest, level};
use crate::chance::Chance;
use daybook_engine::calendar::{Day, MonthEnd};

/// The number of instalments of each loan.
pub const MONTHS: u32 = 36;
/// The late fee.
pub const LATE_FEE_CENTS: u64 = 1_500;

/// The payment behaviour of a borrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    OnTime,
    /// Pays more once.
    Extra {
        month: u32,
        cents: u64,
    },
    /// Pays one instalment late, with the fee.
    Late {
        month: u32,
        days: i32,
    },
    /// Did not pay the last instalment.
    Missing,
}

/// A loan.
#[derive(Clone, Debug)]
pub struct DemoLoan {
    /// Its id.
    pub account_id: String,
    /// Its borrower's names.
    pub name: (&'static str, &'static str),
    /// The date of disbursement.
    pub start: Day,
    /// The principal.
    pub principal_cents: u64,
    /// The yearly rate, in tenths of a percent.
    pub rate_tenths: u64,
    /// The payments: date and amount.
    pub payments: Vec<(Day, u64)>,
    /// The expected principal balance.
    pub expected_principal_cents: u64,
    /// The expected total balance.
    pub expected_total_cents: u64,
    /// The expected fees balance.
    pub expected_fees_cents: u64,
    /// The expected status.
    pub expected_status: &'static str,
}

impl DemoLoan {
    /// Generates the loan with this number, as of the start of a day, after `elapsed` instalments fell due.
    pub fn make(number: u64, elapsed: u32, as_of: Day, chance: &Chance) -> DemoLoan {
        let mut chance = chance.for_one(number);
        let name = people::name(&mut chance);
        let principal_cents = 250_000 + 12_345 * chance.below(300);
        let rate_tenths = 40 + 5 * chance.below(30);
        let last_due = last_of(1 + chance.below(28) as u32, as_of);
        let start = last_due.plus_months(-(elapsed as i32), MonthEnd::Clamp);
        let habit = match chance.below(100) {
            0..70 => Habit::OnTime,
            70..80 => {
                let month = 1 + chance.below(elapsed.into()) as u32;
                Habit::Extra { month, cents: 1_000 + chance.below(20_000) }
            }
            80..92 => {
                let month = 1 + chance.below(u64::from(elapsed) - 1) as u32;
                Habit::Late { month, days: 3 + chance.below(20) as i32 }
            }
            _ => Habit::Missing,
        };
        let mut loan = DemoLoan {
            account_id: format!("loan-{number:07}"),
            name,
            start,
            principal_cents,
            rate_tenths,
            payments: Vec::new(),
            expected_principal_cents: 0,
            expected_total_cents: 0,
            expected_fees_cents: 0,
            expected_status: "ACTIVE",
        };
        loan.live(elapsed, habit);
        loan
    }

    /// Simulates the months: interest accrues on the principal at the start of a month, a payment covers interest
    /// first, and the rest lowers the principal.
    fn live(&mut self, elapsed: u32, habit: Habit) {
        let level = level(self.principal_cents, self.rate_tenths, MONTHS);
        let mut principal = self.principal_cents;
        // The principal part of an instalment paid late, applied after the next month has begun.
        let mut behind = 0;
        for month in 1..=elapsed {
            let due = self.start.plus_months(month as i32, MonthEnd::Clamp);
            let of_month = interest(principal, self.rate_tenths);
            principal -= std::mem::take(&mut behind);
            let repaid = level - of_month;
            match habit {
                Habit::Extra { month: chosen, cents } if chosen == month => {
                    self.payments.push((due, level + cents));
                    principal -= repaid + cents;
                }
                Habit::Late { month: chosen, days } if chosen == month => {
                    self.payments.push((due.plus_days(days), level + LATE_FEE_CENTS));
                    behind = repaid;
                }
                Habit::Missing if month == elapsed => {
                    self.expected_fees_cents = LATE_FEE_CENTS;
                    self.expected_total_cents = of_month + LATE_FEE_CENTS;
                    self.expected_status = "SUSPENDED";
                }
                _ => {
                    self.payments.push((due, level));
                    principal -= repaid;
                }
            }
        }
        self.expected_principal_cents = principal;
        self.expected_total_cents += principal;
    }
}

/// The last date before another one that has this day of the month.
fn last_of(day_of_month: u32, before: Day) -> Day {
    let (year, month, day) = before.ymd();
    let in_month = Day::from_ymd(year, month, day_of_month);
    if day_of_month < day { in_month } else { in_month.plus_months(-1, MonthEnd::Clamp) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_due_day_lies_before_the_day_that_begins() {
        let as_of = Day::from_ymd(2026, 3, 15);
        assert_eq!(last_of(14, as_of), Day::from_ymd(2026, 3, 14));
        assert_eq!(last_of(15, as_of), Day::from_ymd(2026, 2, 15));
        assert_eq!(last_of(28, as_of), Day::from_ymd(2026, 2, 28));
    }

    #[test]
    fn every_payment_lies_between_the_start_and_the_day_that_begins() {
        let (chance, as_of) = (Chance::of_seed(1), Day::from_ymd(2026, 3, 1));
        for number in 0..500 {
            let loan = DemoLoan::make(number, 6, as_of, &chance);
            assert!(loan.payments.iter().all(|(day, _)| *day > loan.start && *day < as_of), "{loan:?}");
        }
    }
}
