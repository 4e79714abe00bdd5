//! Rules that the parts of an account's terms share: the range of dates, the range of amounts, and how a broken rule is
//! reported.

use crate::calendar::Day;
use crate::money::Cents;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The earliest day an account may take effect: 1900-01-01.
pub const EARLIEST: Day = Day::from_ymd(1900, 1, 1);
/// The latest day on which an instalment may fall due: 2199-12-31.
pub const LATEST: Day = Day::from_ymd(2199, 12, 31);

/// A field that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The field's path in the API.
    pub field: &'static str,
    /// The rule, as a sentence about the field.
    pub rule: String,
}

impl Invalid {
    pub(crate) fn new(field: &'static str, rule: impl Into<String>) -> Invalid {
        Invalid { field, rule: rule.into() }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.rule)
    }
}

/// Adds a broken rule if an amount is less than `least` or exceeds [`Cents::LARGEST_INPUT`].
pub(crate) fn check_amount(invalid: &mut Vec<Invalid>, field: &'static str, amount: Cents, least: Cents) {
    if amount < least || amount > Cents::LARGEST_INPUT {
        let most = Cents::LARGEST_INPUT.0;
        invalid.push(Invalid::new(field, alloc::format!("must be from {} to {most} cents", least.0)));
    }
}
