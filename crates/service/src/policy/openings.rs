//! How far in the past an account may begin.
//!
//! When an account that begins in the past is created, everything since is processed and announced. A typo in a date
//! must not cause an hour of work, so a product limits how far back an account may begin. The limit does not apply in
//! migration mode, where history is loaded on purpose.

use crate::form::fields::PositiveCount;
use crate::form::{NewProduct, OpeningPolicies};
use crate::problem::Problem;
use daybook_engine::calendar::{Interval, MonthEnd};
use daybook_engine::installment::AfterMaturity;
use daybook_engine::terms::Terms;
use daybook_engine::time::Time;

/// How many years back, by default.
const YEARS: u32 = 60;
/// How many due dates back, by default: more than a hundred years of daily due dates.
const DUE_DATES: u32 = 40_000;

/// The limits of a product, with the defaults filled in.
pub fn openings(product: &NewProduct) -> OpeningPolicies {
    let given = product.product_lifecycle_policies.as_ref().and_then(|life| life.opening_policies.clone());
    let given = given.unwrap_or_default();
    OpeningPolicies {
        most_years_back: given.most_years_back.or(Some(PositiveCount::known(YEARS))),
        most_due_dates_back: given.most_due_dates_back.or(Some(PositiveCount::known(DUE_DATES))),
    }
}

/// The approximate number of steps from an account's beginning until now, and an error if it begins too far back.
pub fn way_back(product: &NewProduct, terms: &Terms, now: Time) -> (u64, Option<Problem>) {
    let from = terms.begins_at();
    if from >= now {
        return (0, None);
    }
    let limits = openings(product);
    let years = limits.most_years_back.map_or(YEARS, PositiveCount::get);
    let most = limits.most_due_dates_back.map_or(DUE_DATES, PositiveCount::get);
    let due_dates = due_dates(terms, now, most + 1);
    let problem = |rule: String| Some(Problem::invalid("effective_at", rule));
    let earliest = terms.zone.day_at(now).plus(Interval::months(12), -(years as i32), MonthEnd::default());
    let too_far = if terms.zone.day_at(from) < earliest {
        problem(format!(
            "must not be more than {years} years back (opening_policies.most_years_back of the product): the earliest \
             date is {earliest}. The limit does not apply in migration mode"
        ))
    } else if due_dates > most {
        problem(format!(
            "must not be more than {most} due dates back (opening_policies.most_due_dates_back of the product). The \
             limit does not apply in migration mode"
        ))
    } else {
        None
    };
    // Each due date may have a grace period that ends.
    (1 + 2 * u64::from(due_dates), too_far)
}

/// The number of past due dates, up to a limit.
fn due_dates(terms: &Terms, now: Time, most: u32) -> u32 {
    let loan = terms.installment();
    let is_endless = loan.policy.after_maturity == AfterMaturity::Accrue;
    let most = if is_endless { most } else { most.min(loan.count()) };
    let has_passed = |number: u32| terms.close_of(loan.dates.due_day(number)) <= now;
    let (mut passed, mut ahead) = (0, most + 1);
    while passed + 1 < ahead {
        let middle = passed + (ahead - passed) / 2;
        if has_passed(middle) { passed = middle } else { ahead = middle }
    }
    passed
}
