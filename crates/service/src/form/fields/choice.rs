//! Words that are one of a few.

use daybook_engine::calendar::MonthEnd;
use daybook_engine::installment::{
    AfterMaturity, Bucket, DayCount, InterestMethod, LateFee, Method, Pyramiding, Span, Surplus,
};
use daybook_engine::item::{Component, ItemStatus};
use daybook_engine::money::Rounding;
use daybook_engine::notify::NoticeKind;
use daybook_engine::status::{Reason, Standing};
use daybook_engine::timeline::{Backdating, FeeClass};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema};

/// Reads one of some words: its place among them.
pub(in crate::form) fn read_word<'de, D: Deserializer<'de>>(
    deserializer: D,
    words: &'static [&'static str],
) -> Result<usize, D::Error> {
    struct Reader(&'static [&'static str]);
    impl Visitor<'_> for Reader {
        type Value = usize;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "one of {}", self.0.join(", "))
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
            let found = self.0.iter().position(|word| *word == text);
            found.ok_or_else(|| E::custom(format!("must be one of {}", self.0.join(", "))))
        }
    }
    deserializer.deserialize_str(Reader(words))
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

/// Choices that the engine has too, under the same names.
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

choices! {
    /// Whether late fees are charged while an account has a status.
    LateFeesEffect {
        /// An unpaid instalment is charged its late fee.
        Charge = "CHARGE",
        /// No late fee, and the instalment does not count as late.
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
        /// They count, and the account moves by itself.
        Count = "COUNT",
        /// They do not count, and the account does not move by itself.
        Stop = "STOP",
    }
    /// Whether configurable notices are sent while an account has a status.
    NoticesEffect {
        /// They are sent.
        Send = "SEND",
        /// They are not sent.
        Stop = "STOP",
    }
    /// What came of an attempt to deliver a message.
    DeliveryOutcome {
        /// The receiver took it.
        Delivered = "DELIVERED",
        /// The receiver did not take it.
        Failed = "FAILED",
    }
    /// Where a message stands, in a search.
    SearchState {
        /// It waits for its moment.
        Scheduled = "SCHEDULED",
        /// It was cancelled, and is never sent.
        Cancelled = "CANCELLED",
        /// It is to be sent to a URL, or sent again.
        Pending = "PENDING",
        /// A URL took it.
        Delivered = "DELIVERED",
        /// It is a dead letter of a URL.
        Dead = "DEAD",
        /// A URL does not get it.
        NotWanted = "NOT_WANTED",
    }
    /// Which messages are sent again.
    ReplayState {
        /// Dead letters.
        Dead = "DEAD",
        /// Messages that the URL took.
        Delivered = "DELIVERED",
    }
    /// What a key may do.
    RoleName {
        /// Everything.
        Admin = "ADMIN",
        /// Everything but keys and administration.
        Servicing = "SERVICING",
        /// Looking.
        ReadOnly = "READ_ONLY",
    }

    /// The type of a product.
    ProductType {
        /// A sum lent once and repaid in instalments.
        Installment = "INSTALLMENT",
        /// A credit line.
        Revolving = "REVOLVING",
    }
    /// What happens with webhooks of the time before a release.
    HistoricalWebhooks {
        /// They are sent.
        Send = "SEND",
        /// They are recorded, and not sent.
        Suppress = "SUPPRESS",
    }
    /// What a customer is.
    CustomerType {
        /// A human being.
        Person = "person",
        /// A business.
        Business = "business",
    }
    /// What a customer is to an account.
    CustomerRole {
        /// The borrower.
        Primary = "PRIMARY",
        /// Another borrower.
        Secondary = "SECONDARY",
        /// Somebody who may use it.
        Cardholder = "CARDHOLDER",
    }
    /// What a line item's status is changed to.
    NewItemStatus {
        /// It counts.
        Valid = "VALID",
        /// It does not count.
        Invalid = "INVALID",
        /// The same as `INVALID`.
        Declined = "DECLINED",
    }
    /// The debts that payments are poured into: where they stand in time, and what they are.
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
    /// What a late fee is.
    LateFeeType as LateFee {
        /// A fixed amount.
        Flat = "FLAT",
        /// A part of what is unpaid of the instalment.
        PercentOfUnpaid = "PERCENT_OF_UNPAID",
        /// A part of what is unpaid of its principal.
        PercentOfUnpaidPrincipal = "PERCENT_OF_UNPAID_PRINCIPAL",
        /// A part of the level payment.
        PercentOfPayment = "PERCENT_OF_PAYMENT",
    }
    /// Which money for an instalment spares it the late fee although older debts took it.
    LateFeePyramiding as Pyramiding {
        /// What fees and late instalments took: one missed payment is one late fee.
        Receipts = "RECEIPTS",
        /// What fees took.
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
    }
    /// Where a monthly date falls in a month that is too short for it.
    MonthEndRule as MonthEnd {
        /// On the month's last day.
        Clamp = "CLAMP",
        /// On the 1st of the month after.
        Roll = "ROLL",
    }
    /// When interest is counted.
    InterestCalcMethod as InterestMethod {
        /// Once a period, on the principal at its start.
        Periodic = "PERIODIC",
        /// Each day, on the principal unpaid that day.
        Daily = "DAILY",
    }
    /// Which share of a year a day is.
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
    /// What to do with half a cent.
    RoundingRule as Rounding {
        /// To the even neighbour.
        HalfEven = "HALF_EVEN",
        /// Away from zero.
        HalfUp = "HALF_UP",
    }
    /// What happens after the last due date while something is owed.
    InterestAfterMaturity as AfterMaturity {
        /// Interest goes on.
        Accrue = "ACCRUE",
        /// Interest stops.
        None = "NONE",
    }
    /// Which way through the buckets.
    PouringSpan as Span {
        /// A bucket of all instalments, then the next bucket.
        BucketFirst = "BUCKET_FIRST",
        /// All buckets of the oldest instalment, then the next instalment.
        OldestInstalmentFirst = "OLDEST_INSTALLMENT_FIRST",
        /// Interest and principal of the oldest instalment, then of the next; then fees and penalties, bucket by bucket.
        InstalmentsFirst = "INSTALLMENTS_FIRST",
    }
    /// Where money goes that is left when nothing is due.
    SurplusRule as Surplus {
        /// Into principal from the end backwards.
        LastInstalment = "LAST_INSTALLMENT",
        /// Into the next instalments, in advance.
        NextInstalment = "NEXT_INSTALLMENT",
        /// Into principal; the instalments to come are computed anew.
        ReducePrincipal = "REDUCE_PRINCIPAL",
    }
    /// How a backdated input counts.
    BackdatingPolicy as Backdating {
        /// From now on; what was posted in between stands.
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
    /// Which part of a debt.
    Allocation as Component {
        /// Of the sum lent.
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
        /// A charge for a fault.
        Penalty = "PENALTY",
    }
    /// What can be announced by configuration.
    NotificationType as NoticeKind {
        /// An instalment's due date.
        PaymentDueDate = "payment_due_date",
        /// The date an unpaid instalment becomes late.
        LateFeeDate = "late_fee_date",
        /// The last instalment's due date.
        LoanEndDate = "loan_end_date",
        /// The account as it stands, at an interval.
        AccountSummary = "account_summary",
    }
    /// What may be done with an account.
    AccountStatus as Standing {
        /// In normal service.
        Active = "ACTIVE",
        /// Marked; `status_effects` says what the reason stops.
        Suspended = "SUSPENDED",
        /// No moments fire and nothing accrues.
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
        /// Nothing happens on the account.
        Inactivity = "INACTIVITY",
        /// The risk is being looked at.
        RiskReview = "RISK_REVIEW",
        /// Written off; the balances stay owed.
        ChargeOff = "CHARGE_OFF",
        /// Nothing is owed any more.
        PaidOff = "PAID_OFF",
        /// Nothing is owed any more, and money is left.
        SurplusBalance = "SURPLUS_BALANCE",
        /// The risk was too high.
        Risk = "RISK",
        /// The borrower asked for it.
        CustomerRequest = "CUSTOMER_REQUEST",
        /// The lender asked for it.
        GrantorRequest = "GRANTOR_REQUEST",
        /// The borrower asked for it; the payoff is to come.
        CustomerRequestPendingPayoff = "CUSTOMER_REQUEST_PENDING_PAYOFF",
        /// The lender asked for it; the payoff is to come.
        GrantorRequestPendingPayoff = "GRANTOR_REQUEST_PENDING_PAYOFF",
        /// The borrower died.
        Deceased = "DECEASED",
        /// Settled for less.
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
