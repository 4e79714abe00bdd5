//! Instalment loans: a sum lent once and repaid in instalments.
//!
//! An [`Installment`] holds the agreed terms and the plan. A [`Loan`](loan::Loan) holds the state: its
//! [rows](loan::InstalmentRow) (one per instalment), its open interest [period](loan::Period), and its unpaid debts.
//! Inputs and moments act on it:
//!
//! | file | contents |
//! |---|---|
//! | `terms` | the product's configuration for instalments, checked |
//! | `policy_check` | the rules that the configuration must keep |
//! | `buckets` | the buckets that payments fill, and their order |
//! | `agreed`, `precomputed` | the plan that an account begins with |
//! | `business_days`, `semi_month` | due dates that move to business days; due dates twice a month |
//! | `dates` | cycles, due dates, periods |
//! | `plan` | exact computation of the level payment and of the other methods' instalments |
//! | `in_force`, `row_amounts`, `recalculate` | the plan in force: the dates and amounts of its rows, and its recalculation |
//! | `rates` | the yearly rate of each date |
//! | `earning` | day counts: what a day of principal earns |
//! | `carry` | fractions of a cent that rounding leaves behind |
//! | `interest` | accrual, posting at a period's end |
//! | `payments` | payments, their status, reversals, offsets |
//! | `records` | late fees, boarded balances, refunds and write-offs, as the state keeps them |
//! | `past` | history for undoing payments and showing the past |
//! | `allocation`, `fill` | where the money of a payment goes: the order, and each bucket |
//! | `surplus`, `surplus_lots` | money left over by payments: kept by payment, and used when something is owed again |
//! | `refunds` | surplus paid out, and refunds that come back |
//! | `write_off` | small balances |
//! | `undo` | undoing a payment |
//! | `late` | due moments, late fees, delinquency, charge-off |
//! | `shortfall` | instalments of which only little is missing |
//! | `late_tiers` | several late fees for the same instalment; the amount of a late fee and its limits |
//! | `receipts` | the payments received for an instalment, whichever debt they paid |
//! | `boarding` | opening from balances |
//! | `life` | opening, closing, reopening |
//! | `schedule` | past and future rows |
//! | `audit` | checks that the two ledgers of a loan agree |
//! | `reading` | balances, payoff, days past due |

pub(crate) mod agreed;
pub(crate) mod allocation;
pub mod audit;
pub mod boarding;
pub mod buckets;
pub(crate) mod business_days;
pub mod carry;
pub mod changes;
pub mod dates;
pub mod earning;
pub(crate) mod fill;
pub mod in_force;
pub mod interest;
pub(crate) mod late;
pub mod late_tiers;
pub(crate) mod life;
pub mod loan;
pub(crate) mod past;
pub(crate) mod payments;
pub mod plan;
pub mod policy_check;
pub(crate) mod precomputed;
pub mod rates;
pub mod reading;
pub(crate) mod recalculate;
pub mod receipts;
pub mod records;
pub(crate) mod refunds;
pub(crate) mod replan;
pub(crate) mod rewriting;
pub mod row;
pub mod row_amounts;
pub mod schedule;
pub(crate) mod semi_month;
pub(crate) mod shortfall;
pub(crate) mod surplus;
pub mod surplus_lots;
pub mod target;
pub mod terms;
pub(crate) mod undo;
pub(crate) mod write_off;

pub use terms::{
    Adjust, AfterMaturity, Bucket, BusinessDays, DayCount, Due, Installment, InstallmentPolicy, InterestMethod,
    InterestRoundingAt, LateFee, LateFeePolicy, LateFeeTier, Method, Owed, PrecomputedRefund, PrecomputedSplit,
    Pyramiding, ReAgeLimits, Shortfall, ShortfallGoesTo, ShortfallRule, Span, Surplus, Weekday,
};
