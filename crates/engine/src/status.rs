//! The status of an account: which pairs exist, and which moves the engine makes by itself.

use core::fmt;
use serde::{Deserialize, Serialize};

/// What may be done with an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Standing {
    /// In normal service.
    Active,
    /// Marked; the product says what the reason stops, see [`crate::effects`].
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

            /// The name in the interface.
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name,)* }
            }
        }
    };
}

reasons! {
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
    // Stored statuses name a reason by its number: new ones come last.
    /// The borrower is in hardship.
    Hardship = "HARDSHIP",
    /// An exemption was granted.
    Exemptions = "EXEMPTIONS",
    /// The borrower serves in the armed forces (Servicemembers Civil Relief Act).
    Scra = "SCRA",
}

impl Standing {
    /// The name in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Active => "ACTIVE",
            Standing::Suspended => "SUSPENDED",
            Standing::Closed => "CLOSED",
        }
    }

    /// The reasons this standing goes with; `None` stands for "no reason".
    pub const fn reasons(self) -> &'static [Option<Reason>] {
        use Reason::*;
        match self {
            Standing::Active => &[None, Some(Hardship), Some(Exemptions), Some(HardshipExemptions), Some(Scra)],
            Standing::Suspended => &[
                Some(Delinquent),
                Some(Bankruptcy),
                Some(Fraud),
                Some(Inactivity),
                Some(RiskReview),
                Some(Deceased),
                Some(Hardship),
            ],
            Standing::Closed => &[
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
    standing: Standing,
    reason: Option<Reason>,
}

impl Status {
    /// In normal service.
    pub const ACTIVE: Status = Status { standing: Standing::Active, reason: None };
    /// Instalments in a row were late.
    pub const DELINQUENT: Status = Status { standing: Standing::Suspended, reason: Some(Reason::Delinquent) };
    /// Written off.
    pub const CHARGED_OFF: Status = Status { standing: Standing::Closed, reason: Some(Reason::ChargeOff) };
    /// Nothing is owed.
    pub const PAID_OFF: Status = Status { standing: Standing::Closed, reason: Some(Reason::PaidOff) };
    /// Nothing is owed, and money is left.
    pub const SURPLUS_BALANCE: Status = Status { standing: Standing::Closed, reason: Some(Reason::SurplusBalance) };

    /// The pair, if it exists.
    pub fn new(standing: Standing, reason: Option<Reason>) -> Option<Status> {
        standing.reasons().contains(&reason).then_some(Status { standing, reason })
    }

    /// Every pair, in the order of the interface.
    pub fn all() -> impl Iterator<Item = Status> {
        let pair =
            |standing: Standing| standing.reasons().iter().map(move |reason| Status { standing, reason: *reason });
        [Standing::Active, Standing::Suspended, Standing::Closed].into_iter().flat_map(pair)
    }

    /// Reads the names of the interface.
    pub fn parse(standing: &str, reason: Option<&str>) -> Option<Status> {
        let standing = [Standing::Active, Standing::Suspended, Standing::Closed]
            .into_iter()
            .find(|candidate| candidate.name() == standing)?;
        let reason = match reason {
            None => None,
            Some(name) => Some(*Reason::ALL.iter().find(|candidate| candidate.name() == name)?),
        };
        Status::new(standing, reason)
    }

    /// Reads a pair as it is [displayed](fmt::Display): `SUSPENDED/FRAUD`, or `ACTIVE` alone.
    pub fn parse_pair(text: &str) -> Option<Status> {
        match text.split_once('/') {
            None => Status::parse(text, None),
            Some((standing, reason)) => Status::parse(standing, Some(reason)),
        }
    }

    /// What may be done.
    pub const fn standing(self) -> Standing {
        self.standing
    }

    /// Why.
    pub const fn reason(self) -> Option<Reason> {
        self.reason
    }

    /// Whether no moments fire and nothing accrues.
    pub fn is_closed(self) -> bool {
        self.standing == Standing::Closed
    }

    /// Whether the engine may move the account on by itself. What a person set stays until a person changes it.
    pub fn moves_by_itself(self) -> bool {
        self.standing == Standing::Active || self == Status::DELINQUENT
    }

    /// Whether the account closed because nothing was owed, so that it opens again when something is.
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
