//! Configurable notices: off until an account configures them, fired at moments of the account's calendar.
//!
//! A [`Setting`] defines what to announce and when. While it is in force the state keeps the next occurrence
//! ([`Pending`](crate::pending_notice::Pending)); the fold fires it at its moment, unless the account is closed by then.

use crate::calendar::{Interval, TimeOfDay};
use serde::{Deserialize, Serialize};

/// The largest offset in days, either way.
pub const LARGEST_OFFSET: i32 = 366;

/// The kinds of configurable notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoticeKind {
    /// An instalment's due date, paid or not.
    PaymentDueDate,
    /// The date an instalment becomes late, while it is unpaid.
    LateFeeDate,
    /// The last instalment's due date.
    LoanEndDate,
    /// A summary of the account, sent at an interval.
    AccountSummary,
}

impl NoticeKind {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            NoticeKind::PaymentDueDate => "payment_due_date",
            NoticeKind::LateFeeDate => "late_fee_date",
            NoticeKind::LoanEndDate => "loan_end_date",
            NoticeKind::AccountSummary => "account_summary",
        }
    }
}

/// When a notice fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    /// This many local days after the date of its event; negative means before.
    Offset(i32),
    /// Repeatedly; first one interval after the setting takes effect.
    Every(Interval),
}

/// A notice configured for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What to announce.
    pub kind: NoticeKind,
    /// When.
    pub when: When,
    /// The local time of day. `None` means the usual time: close of business for an offset, the time of day at which
    /// the setting took effect for an interval.
    pub time: Option<TimeOfDay>,
    /// False disables the notice.
    pub enabled: bool,
}

impl Setting {
    /// Checks that the kind and the schedule fit together and that the schedule is in range.
    pub fn check(&self) -> Result<(), &'static str> {
        match (self.kind, self.when) {
            (NoticeKind::AccountSummary, When::Every(interval)) if interval.months >= 0 && interval.days >= 0 => {
                if interval.is_zero() {
                    Err("interval must be at least 1 day")
                } else {
                    Ok(())
                }
            }
            (NoticeKind::AccountSummary, When::Every(_)) => Err("interval must not be negative"),
            (NoticeKind::AccountSummary, When::Offset(_)) => {
                Err("interval is required for account_summary, not time_offset")
            }
            (_, When::Every(_)) => Err("time_offset is required for this notification_type, not interval"),
            (_, When::Offset(days)) if days.abs() > LARGEST_OFFSET => Err("time_offset must be from -366 to 366 days"),
            (_, When::Offset(_)) => Ok(()),
        }
    }

    /// Whether a later setting replaces this one: same kind and same offset.
    pub fn is_replaced_by(&self, later: &Setting) -> bool {
        self.kind == later.kind
            && match (self.when, later.when) {
                (When::Offset(a), When::Offset(b)) => a == b,
                _ => true,
            }
    }
}
