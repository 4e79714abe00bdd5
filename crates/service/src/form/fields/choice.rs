//! Values that are one of a few words.

use daybook_engine::calendar::MonthEnd;
use daybook_engine::installment::{
    AfterMaturity, Bucket, DayCount, InterestMethod, LateFee, Method, Pyramiding, Span, Surplus,
};
use daybook_engine::item::{Component, ItemStatus};
use daybook_engine::money::Rounding;
use daybook_engine::notify::NoticeKind;
use daybook_engine::status::{AccountStanding, Reason};
use daybook_engine::timeline::{Backdating, FeeClass};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// Parses one of `search_index` and returns its index.
pub(in crate::form) fn read_word<'de, D: Deserializer<'de>>(
    deserializer: D,
    words: &'static [&'static str],
) -> Result<usize, D::Error> {
    struct ChoiceVisitor(&'static [&'static str]);
    impl Visitor<'_> for ChoiceVisitor {
        type Value = usize;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "one of {}", self.0.join(", "))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
            let found = self.0.iter().position(|word| *word == text);
            found.ok_or_else(|| E::custom(format!("must be one of {}", self.0.join(", "))))
        }
    }
    deserializer.deserialize_str(ChoiceVisitor(words))
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$about])* $variant,)* }

        impl $name {
            /// Every choice.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            const WORDS: &'static [&'static str] = &[$($word,)*];

            /// The word in the interface.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                read_word(deserializer, Self::WORDS).map(|place| Self::ALL[place])
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new().schema_type(Type::String).enum_values(Some(Self::WORDS.iter().copied())).into()
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

/// Choices that the engine has too, under the same variant names.
macro_rules! engine_choices {
    ($($(#[$doc:meta])* $name:ident as $engine:ident {
        $($(#[$about:meta])* $variant:ident = $word:literal,)*
    })*) => {$(
        choices! { $(#[$doc])* $name { $($(#[$about])* $variant = $word,)* } }

        impl From<$name> for $engine {
            fn from(choice: $name) -> $engine {
                match choice { $($name::$variant => $engine::$variant,)* }
            }
        }

        impl From<$engine> for $name {
            fn from(choice: $engine) -> $name {
                match choice { $($engine::$variant => $name::$variant,)* }
            }
        }
    )*};
}

pub(in crate::form) use {choices, engine_choices};

choices! {
    /// Whether late fees are charged while an account has a status.
    LateFeesEffect {
        /// An unpaid instalment is charged its late fee.
        Charge = "CHARGE",
        /// No late fee is charged, and the instalment does not count as late.
        Stop = "STOP",
    }
    /// Whether interest accrues while an account has a status.
    InterestEffect {
        /// Interest accrues.
        Accrue = "ACCRUE",
        /// The rate is 0 from the status's date to the date it ends.
        Stop = "STOP",
    }
    /// Whether late instalments count while an account has a status.
    DelinquencyEffect {
        /// They count, and the account's status changes automatically.
        Count = "COUNT",
        /// They do not count, and the account's status does not change automatically.
        Stop = "STOP",
    }
    /// Whether configurable notices are sent while an account has a status.
    NoticesEffect {
        /// They are sent.
        Send = "SEND",
        /// They are not sent.
        Stop = "STOP",
    }
    /// The result of a delivery attempt.
    DeliveryOutcome {
        /// The receiver accepted the message.
        Delivered = "DELIVERED",
        /// The receiver did not accept the message.
        Failed = "FAILED",
    }
    /// The state of a message, in a search.
    SearchState {
        /// It is scheduled for later.
        Scheduled = "SCHEDULED",
        /// It was cancelled and is never sent.
        Cancelled = "CANCELLED",
        /// It is waiting for its first attempt or a retry at a URL.
        Pending = "PENDING",
        /// A URL accepted it.
        Delivered = "DELIVERED",
        /// It is a dead letter of a URL.
        Dead = "DEAD",
        /// It is not meant for a URL.
        NotWanted = "NOT_WANTED",
    }
    /// Which messages are sent again.
    ReplayState {
        /// Dead letters.
        Dead = "DEAD",
        /// Messages that the URL accepted.
        Delivered = "DELIVERED",
    }
    /// What a key may do.
    RoleName {
        /// Everything.
        Admin = "ADMIN",
        /// Everything but keys and administration.
        Servicing = "SERVICING",
        /// Reading only.
        ReadOnly = "READ_ONLY",
    }

    /// The type of a product.
    ProductType {
        /// A sum lent once and repaid in instalments.
        Installment = "INSTALLMENT",
        /// A credit line.
        Revolving = "REVOLVING",
    }
    /// Whether webhooks are sent for events from before a release.
    HistoricalWebhooks {
        /// They are sent.
        Send = "SEND",
        /// They are recorded but not sent.
        Suppress = "SUPPRESS",
    }
    /// The type of a customer.
    CustomerType {
        /// A person.
        Person = "person",
        /// A business.
        Business = "business",
    }
    /// The role of a customer on an account.
    CustomerRole {
        /// The borrower.
        Primary = "PRIMARY",
        /// Another borrower.
        Secondary = "SECONDARY",
        /// A person who may use the account.
        Cardholder = "CARDHOLDER",
    }
    /// The new status of a line item.
    NewItemStatus {
        /// It counts.
        Valid = "VALID",
        /// It does not count.
        Invalid = "INVALID",
        /// The same as `INVALID`.
        Declined = "DECLINED",
    }
    /// The debts that payments go to, by when they are due and by component.
    BucketName {
        /// Fees past due.
        PastDueFee = "PAST_DUE_FEE",
        /// Penalties past due.
        PastDuePenalty = "PAST_DUE_PENALTY",
        /// Interest past due.
        PastDueInterest = "PAST_DUE_INTEREST",
        /// Principal past due.
        PastDuePrincipal = "PAST_DUE_PRINCIPAL",
        /// Fees due.
        DueFee = "DUE_FEE",
        /// Penalties due.
        DuePenalty = "DUE_PENALTY",
        /// Interest due.
        DueInterest = "DUE_INTEREST",
        /// Principal due.
        DuePrincipal = "DUE_PRINCIPAL",
        /// Fees in advance.
        InAdvanceFee = "IN_ADVANCE_FEE",
        /// Penalties in advance.
        InAdvancePenalty = "IN_ADVANCE_PENALTY",
        /// Interest in advance.
        InAdvanceInterest = "IN_ADVANCE_INTEREST",
        /// Principal in advance.
        InAdvancePrincipal = "IN_ADVANCE_PRINCIPAL",
    }
}

impl BucketName {
    /// The bucket.
    pub fn bucket(self) -> Option<Bucket> {
        Bucket::parse(self.name())
    }

    /// The name of a bucket.
    pub fn of(bucket: Bucket) -> Option<BucketName> {
        Self::ALL.iter().copied().find(|name| name.bucket() == Some(bucket))
    }
}

engine_choices! {
    /// How a late fee is computed.
    LateFeeType as LateFee {
        /// A fixed amount.
        Flat = "FLAT",
        /// A percentage of the unpaid part of the instalment.
        PercentOfUnpaid = "PERCENT_OF_UNPAID",
        /// A percentage of its unpaid principal.
        PercentOfUnpaidPrincipal = "PERCENT_OF_UNPAID_PRINCIPAL",
        /// A percentage of the level payment.
        PercentOfPayment = "PERCENT_OF_PAYMENT",
    }
    /// Which payments spare an instalment its late fee although they went to older debt.
    LateFeePyramiding as Pyramiding {
        /// Payments that went to fees or to late instalments: one missed payment costs one late fee.
        Receipts = "RECEIPTS",
        /// Payments that went to fees.
        FeesOnly = "FEES_ONLY",
    }
    /// How the principal is spread over the instalments.
    AmortizationMethod as Method {
        /// Equal instalments.
        Level = "LEVEL",
        /// Equal principal, with interest on top.
        EqualPrincipal = "EQUAL_PRINCIPAL",
        /// Equal principal and equal interest on the original principal.
        Flat = "FLAT",
        /// Interest fixed when the account is opened.
        Precomputed = "PRECOMPUTED",
    }
    /// The date used in a month that is too short for a monthly date.
    MonthEndRule as MonthEnd {
        /// The month's last day.
        Clamp = "CLAMP",
        /// The 1st of the next month.
        Roll = "ROLL",
    }
    /// How interest is computed.
    InterestCalcMethod as InterestMethod {
        /// Once a period, on the principal at its start.
        Periodic = "PERIODIC",
        /// Each day, on the principal unpaid that day.
        Daily = "DAILY",
    }
    /// The fraction of a year that a day counts as.
    DayCountRule as DayCount {
        /// A month is a twelfth of a year.
        Thirty360 = "THIRTY_360",
        /// A day is 1/365.
        Actual365 = "ACTUAL_365",
        /// A day is 1/360.
        Actual360 = "ACTUAL_360",
        /// A day is 1/365, or 1/366 in a leap year.
        ActualActual = "ACTUAL_ACTUAL",
    }
    /// How a fraction of a cent is rounded.
    RoundingRule as Rounding {
        /// To the nearest cent; half a cent to the even cent.
        HalfEven = "HALF_EVEN",
        /// To the nearest cent; half a cent away from zero.
        HalfUp = "HALF_UP",
        /// Towards zero.
        Down = "DOWN",
    }
    /// What happens after the last due date while a balance is owed.
    InterestAfterMaturity as AfterMaturity {
        /// Interest continues.
        Accrue = "ACCRUE",
        /// Interest stops.
        None = "NONE",
    }
    /// The order in which a payment goes through the buckets.
    PouringSpan as Span {
        /// One bucket across all instalments, then the next bucket.
        BucketFirst = "BUCKET_FIRST",
        /// All buckets of the oldest instalment, then the next instalment.
        OldestInstalmentFirst = "OLDEST_INSTALLMENT_FIRST",
        /// Interest and principal of each instalment, oldest first; then fees and penalties, bucket by bucket.
        InstalmentsFirst = "INSTALLMENTS_FIRST",
    }
    /// Where the rest of a payment goes when nothing more is due.
    SurplusRule as Surplus {
        /// To principal, starting with the last instalment.
        LastInstalment = "LAST_INSTALLMENT",
        /// To the next instalments, in advance.
        NextInstalment = "NEXT_INSTALLMENT",
        /// To principal; future instalments are computed again.
        ReducePrincipal = "REDUCE_PRINCIPAL",
    }
    /// From when a backdated input counts.
    BackdatingPolicy as Backdating {
        /// From now on; line items posted in between stay.
        AsPosted = "AS_POSTED",
        /// From its own date; the account is folded again.
        Replay = "REPLAY",
    }
    /// The status of a payment.
    PaymentStatus as ItemStatus {
        /// It counts.
        Valid = "VALID",
        /// It counts, and may still be declined.
        Pending = "PENDING",
        /// It does not count yet.
        Authorized = "AUTHORIZED",
        /// It does not count.
        Invalid = "INVALID",
    }
    /// The component of a debt.
    Allocation as Component {
        /// The amount lent.
        Principal = "PRINCIPAL",
        /// Interest.
        Interest = "INTEREST",
        /// Fees.
        Fee = "FEE",
    }
    /// The class of a fee.
    FeeClassName as FeeClass {
        /// A charge for a service.
        Fee = "FEE",
        /// A charge for a breach of the terms.
        Penalty = "PENALTY",
    }
    /// The types of configurable notices.
    NotificationType as NoticeKind {
        /// An instalment's due date.
        PaymentDueDate = "payment_due_date",
        /// The date an unpaid instalment becomes late.
        LateFeeDate = "late_fee_date",
        /// The last instalment's due date.
        LoanEndDate = "loan_end_date",
        /// The account's current state, at an interval.
        AccountSummary = "account_summary",
    }
    /// The status of an account.
    AccountStatus as AccountStanding {
        /// In normal service.
        Active = "ACTIVE",
        /// Marked; `status_effects` states what the reason stops.
        Suspended = "SUSPENDED",
        /// Nothing happens automatically and nothing accrues.
        Closed = "CLOSED",
    }
    /// Why an account has its status.
    AccountSubstatus as Reason {
        /// Hardship or an exemption, as one name.
        HardshipExemptions = "HARDSHIP/EXEMPTIONS",
        /// Instalments in a row were late.
        Delinquent = "DELINQUENT",
        /// The borrower is bankrupt.
        Bankruptcy = "BANKRUPTCY",
        /// Fraud, or its suspicion.
        Fraud = "FRAUD",
        /// There is no activity on the account.
        Inactivity = "INACTIVITY",
        /// The risk is under review.
        RiskReview = "RISK_REVIEW",
        /// Written off; the balances stay owed.
        ChargeOff = "CHARGE_OFF",
        /// Nothing is owed any more.
        PaidOff = "PAID_OFF",
        /// Nothing is owed any more, and a surplus is left.
        SurplusBalance = "SURPLUS_BALANCE",
        /// The risk was too high.
        Risk = "RISK",
        /// The borrower requested it.
        CustomerRequest = "CUSTOMER_REQUEST",
        /// The lender requested it.
        GrantorRequest = "GRANTOR_REQUEST",
        /// The borrower requested it; the payoff is pending.
        CustomerRequestPendingPayoff = "CUSTOMER_REQUEST_PENDING_PAYOFF",
        /// The lender requested it; the payoff is pending.
        GrantorRequestPendingPayoff = "GRANTOR_REQUEST_PENDING_PAYOFF",
        /// The borrower died.
        Deceased = "DECEASED",
        /// Settled for less than was owed.
        Settlement = "SETTLEMENT",
        /// For the lender's own reasons.
        Administrative = "ADMINISTRATIVE",
        /// The borrower is in hardship.
        Hardship = "HARDSHIP",
        /// An exemption was granted.
        Exemptions = "EXEMPTIONS",
        /// The borrower serves in the armed forces (Servicemembers Civil Relief Act).
        Scra = "SCRA",
    }
}
