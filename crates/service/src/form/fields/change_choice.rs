//! Words of contracts, of changes to a loan, and of the policies about them.

use super::choice::{choices, engine_choices, read_word};
use daybook_engine::change::{Arrears, CapitalizedInterest, DeferredBalance, LevelPayment};
use daybook_engine::installment::{
    Adjust, InterestRoundingAt, PrecomputedRefund, PrecomputedSplit, ShortfallGoesTo, ShortfallRule, Weekday,
};
use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

choices! {
    /// Which instalments ask for the interest of the past-due ones.
    SpreadOfInterest {
        /// The first ones ahead.
        First = "FIRST",
        /// All of those ahead, in equal parts.
        Spread = "SPREAD",
    }
    /// Whether fees become principal.
    CapitalizedFees {
        /// They stay fees.
        None = "NONE",
        /// All unpaid fees become principal.
        All = "ALL",
    }
    /// Whether deferred principal earns interest.
    InterestOnDeferred {
        /// It does.
        Accrue = "ACCRUE",
        /// It earns none until the due date of the instalment that asks for it.
        None = "NONE",
    }
}

engine_choices! {
    /// What happens to the amounts of the instalments ahead.
    LevelPaymentRule as LevelPayment {
        /// They are recalculated.
        Recalculate = "RECALCULATE",
        /// They stay; the last instalment takes the difference.
        Keep = "KEEP",
        /// Each is lowered by the interest that the limit forgives.
        Reduce = "REDUCE",
    }
    /// What happens to interest or fees that are owed.
    ArrearsRule as Arrears {
        /// The first new instalments ask for them.
        First = "FIRST",
        /// All new instalments ask for them, in equal parts.
        Spread = "SPREAD",
        /// They are waived.
        Waive = "WAIVE",
        /// They become principal.
        Capitalize = "CAPITALIZE",
    }
    /// Which part of an instalment is deferred.
    DeferredPart as DeferredBalance {
        /// Interest, principal and its fees.
        All = "ALL",
        /// Its principal.
        Principal = "PRINCIPAL",
        /// Its interest.
        Interest = "INTEREST",
        /// Its fees.
        Fee = "FEE",
    }
    /// Which interest becomes principal.
    CapitalizedInterestRule as CapitalizedInterest {
        /// All interest that is owed, with that of the open period.
        All = "ALL",
        /// Posted interest.
        Posted = "POSTED",
        /// None.
        None = "NONE",
    }
    /// Which of two limits on a shortfall applies.
    ShortfallRuleName as ShortfallRule {
        /// The higher one.
        Higher = "HIGHER",
        /// The lower one.
        Lower = "LOWER",
    }
    /// Which instalment asks for a shortfall.
    ShortfallTarget as ShortfallGoesTo {
        /// The next one.
        NextInstalment = "NEXT_INSTALLMENT",
        /// Principal: the last one. Interest: the next one.
        LastInstalment = "LAST_INSTALLMENT",
    }
    /// When interest is rounded to whole cents.
    InterestRoundingMoment as InterestRoundingAt {
        /// At the end of each period.
        PeriodEnd = "PERIOD_END",
        /// At the end of each period; the fraction is carried to the next period.
        Carry = "CARRY",
        /// As `CARRY`; at each payment the fraction is dropped.
        Payment = "PAYMENT",
        /// Each day.
        Daily = "DAILY",
    }
    /// How precomputed interest is spread over the instalments.
    PrecomputedSplitRule as PrecomputedSplit {
        /// As in the schedule of a `LEVEL` loan.
        Actuarial = "ACTUARIAL",
        /// By the sum of digits: the rule of 78.
        SumOfDigits = "SUM_OF_DIGITS",
        /// Equally.
        Equal = "EQUAL",
    }
    /// Which precomputed interest a payoff leaves out.
    PrecomputedRefundRule as PrecomputedRefund {
        /// That of periods that have not begun.
        NotBegun = "NOT_BEGUN",
        /// None.
        None = "NONE",
    }
    /// Where a due date moves that is not a business day.
    BusinessDayRule as Adjust {
        /// It does not move.
        None = "NONE",
        /// To the next business day.
        Following = "FOLLOWING",
        /// To the next business day, or to the one before if the next is in another month.
        ModifiedFollowing = "MODIFIED_FOLLOWING",
        /// To the business day before.
        Preceding = "PRECEDING",
    }
    /// A day of the week.
    WeekdayName as Weekday {
        /// Monday.
        Monday = "MONDAY",
        /// Tuesday.
        Tuesday = "TUESDAY",
        /// Wednesday.
        Wednesday = "WEDNESDAY",
        /// Thursday.
        Thursday = "THURSDAY",
        /// Friday.
        Friday = "FRIDAY",
        /// Saturday.
        Saturday = "SATURDAY",
        /// Sunday.
        Sunday = "SUNDAY",
    }
}
