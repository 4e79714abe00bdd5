//! Instalment loans: a sum lent once and repaid in instalments.
//!
//! The cast: an [`Installment`] holds the agreed terms and the plan. A loan is a [`Loan`](loan::Loan): its
//! [rows](loan::Row) (one per instalment), its open [period](loan::Period) of interest, and what is unpaid of each
//! debt. Inputs and moments act on it:
//!
//! | file | what happens there |
//! |---|---|
//! | `terms` | what a product says about instalments, checked |
//! | `dates` | cycles, due dates, periods |
//! | `plan` | the level payment and its kin, exactly |
//! | `asks`, `recalculate` | the plan in force: what each row asks, and how it is computed anew |
//! | `rates` | the yearly rate of each date |
//! | `interest` | day counts, accrual, posting at a period's end |
//! | `payments` | payments, their status, reversals, offsets |
//! | `pour`, `fill` | where the money of a payment goes: the order, and each bucket |
//! | `surplus` | money that no debt took: kept, and used when something is owed again |
//! | `undo` | giving a payment's money back |
//! | `late` | due moments, late fees, delinquency, charge-off |
//! | `receipts` | what was paid for an instalment, whatever took the money |
//! | `life` | opening, closing, reopening |
//! | `schedule` | rows past and to come |
//! | `audit` | whether the two ledgers of a loan agree |
//! | `reading` | balances, payoff, days past due |

pub mod asks;
pub mod audit;
pub mod dates;
pub(crate) mod fill;
pub mod interest;
pub(crate) mod late;
pub(crate) mod life;
pub mod loan;
pub(crate) mod payments;
pub mod plan;
pub(crate) mod pour;
pub mod rates;
pub mod reading;
pub(crate) mod recalculate;
pub mod receipts;
pub mod schedule;
pub mod surplus;
pub mod terms;
pub(crate) mod undo;

pub use terms::{
    AfterMaturity, Bucket, DayCount, Due, Installment, InstallmentPolicy, InterestMethod, LateFee, LateFeePolicy,
    Method, Owed, Pyramiding, Span, Surplus,
};
