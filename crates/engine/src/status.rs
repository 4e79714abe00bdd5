//! The status of an account: the pairs of standing and reason that exist, and which of them the engine changes
//! automatically.

use core::fmt;
use serde::{Deserialize, Serialize};

/// The service state of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AccountStanding {
    /// In normal service.
    Active,
    /// Flagged. The product configures what each reason stops, see [`crate::effects`].
    Suspended,
    /// No moments fire and nothing accrues.
    Closed,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why an account has its standing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Reason { $($(#[$doc])* $variant,)* }

        impl Reason {
            /// Every reason.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)*];

            /// The name in the API.
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }
        }
    };
}

reasons! {
    /// Hardship or an exemption, under one name.
    HardshipExemptions = "HARDSHIP/EXEMPTIONS",
    /// Several instalments in a row were late.
    Delinquent = "DELINQUENT",
    /// The borrower is bankrupt.
    Bankruptcy = "BANKRUPTCY",
    /// Fraud, or suspected fraud.
    Fraud = "FRAUD",
    /// The account has no activity.
    Inactivity = "INACTIVITY",
    /// The risk is under review.
    RiskReview = "RISK_REVIEW",
    /// Written off; the balances stay owed.
    ChargeOff = "CHARGE_OFF",
    /// The loan is paid off.
    PaidOff = "PAID_OFF",
    /// The loan is paid off, and a surplus is left.
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
    /// Settled for less.
    Settlement = "SETTLEMENT",
    /// For the lender's own reasons.
    Administrative = "ADMINISTRATIVE",
    // Stored statuses encode a reason by its number: add new ones at the end.
    /// The borrower is in hardship.
    Hardship = "HARDSHIP",
    /// An exemption was granted.
    Exemptions = "EXEMPTIONS",
    /// The borrower serves in the armed forces (Servicemembers Civil Relief Act).
    Scra = "SCRA",
}

impl AccountStanding {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            AccountStanding::Active => "ACTIVE",
            AccountStanding::Suspended => "SUSPENDED",
            AccountStanding::Closed => "CLOSED",
        }
    }

    /// The reasons this standing can have; `None` stands for "no reason".
    pub const fn reasons(self) -> &'static [Option<Reason>] {
        use Reason::*;
        match self {
            AccountStanding::Active => &[None, Some(Hardship), Some(Exemptions), Some(HardshipExemptions), Some(Scra)],
            AccountStanding::Suspended => &[
                Some(Delinquent),
                Some(Bankruptcy),
                Some(Fraud),
                Some(Inactivity),
                Some(RiskReview),
                Some(Deceased),
                Some(Hardship),
            ],
            AccountStanding::Closed => &[
                Some(ChargeOff),
                Some(PaidOff),
                Some(SurplusBalance),
                Some(Bankruptcy),
                Some(Fraud),
                Some(Inactivity),
                Some(Risk),
                Some(CustomerRequest),
                Some(GrantorRequest),
                Some(CustomerRequestPendingPayoff),
                Some(GrantorRequestPendingPayoff),
                Some(Deceased),
                Some(Settlement),
                Some(Administrative),
            ],
        }
    }
}

/// A standing with its reason: one of the pairs that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Status {
    standing: AccountStanding,
    reason: Option<Reason>,
}

impl Status {
    /// In normal service.
    pub const ACTIVE: Status = Status { standing: AccountStanding::Active, reason: None };
    /// Several instalments in a row were late.
    pub const DELINQUENT: Status = Status { standing: AccountStanding::Suspended, reason: Some(Reason::Delinquent) };
    /// Written off.
    pub const CHARGED_OFF: Status = Status { standing: AccountStanding::Closed, reason: Some(Reason::ChargeOff) };
    /// The loan is paid off.
    pub const PAID_OFF: Status = Status { standing: AccountStanding::Closed, reason: Some(Reason::PaidOff) };
    /// The loan is paid off, and a surplus is left.
    pub const SURPLUS_BALANCE: Status =
        Status { standing: AccountStanding::Closed, reason: Some(Reason::SurplusBalance) };

    /// The pair, or `None` if it does not exist.
    pub fn new(standing: AccountStanding, reason: Option<Reason>) -> Option<Status> {
        standing.reasons().contains(&reason).then_some(Status { standing, reason })
    }

    /// Every pair, in the order of the API.
    pub fn all() -> impl Iterator<Item = Status> {
        let pair = |standing: AccountStanding| {
            standing.reasons().iter().map(move |reason| Status { standing, reason: *reason })
        };
        [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed].into_iter().flat_map(pair)
    }

    /// Parses the names used in the API.
    pub fn parse(standing: &str, reason: Option<&str>) -> Option<Status> {
        let standing = [AccountStanding::Active, AccountStanding::Suspended, AccountStanding::Closed]
            .into_iter()
            .find(|candidate| candidate.name() == standing)?;
        let reason = match reason {
            None => None,
            Some(name) => Some(*Reason::ALL.iter().find(|candidate| candidate.name() == name)?),
        };
        Status::new(standing, reason)
    }

    /// Parses a pair as it is [displayed](fmt::Display): `SUSPENDED/FRAUD`, or `ACTIVE` alone.
    pub fn parse_pair(text: &str) -> Option<Status> {
        match text.split_once('/') {
            None => Status::parse(text, None),
            Some((standing, reason)) => Status::parse(standing, Some(reason)),
        }
    }

    /// The standing.
    pub const fn standing(self) -> AccountStanding {
        self.standing
    }

    /// The reason.
    pub const fn reason(self) -> Option<Reason> {
        self.reason
    }

    /// Whether no moments fire and nothing accrues.
    pub fn is_closed(self) -> bool {
        self.standing == AccountStanding::Closed
    }

    /// Whether the engine may change the status automatically. A status that a person set stays until a person changes
    /// it.
    pub fn moves_by_itself(self) -> bool {
        self.standing == AccountStanding::Active || self == Status::DELINQUENT
    }

    /// Whether the account closed because the loan was paid off. It reopens when money is owed again.
    pub fn closed_by_itself(self) -> bool {
        self == Status::PAID_OFF || self == Status::SURPLUS_BALANCE
    }
}

/// `SUSPENDED/DELINQUENT`, or `ACTIVE` alone.
impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.standing.name())?;
        self.reason.map_or(Ok(()), |reason| write!(f, "/{}", reason.name()))
    }
}
