//! The buckets that payments fill: when a debt is due, and its kind; and in which order they are filled.

use serde::{Deserialize, Serialize};

/// Whether a debt is past due, due or in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Due {
    /// Its due moment has passed.
    Past,
    /// Its period is open.
    Now,
    /// Its period has not begun.
    Ahead,
}

/// The kind of a debt, as far as payments distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Owed {
    /// A fee for a service.
    Fee,
    /// A fee for a breach.
    Penalty,
    /// Interest.
    Interest,
    /// Principal.
    Principal,
}

/// One of the twelve buckets that payments are allocated to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bucket {
    /// Whether the debt is past due, due or in advance.
    pub due: Due,
    /// Its kind.
    pub owed: Owed,
}

impl Bucket {
    /// The default order of past-due and due debts. Buckets missing from a product's order follow in this order, so
    /// that money never becomes surplus while something is due.
    pub const DEFAULT_ORDER: [Bucket; 8] = [
        Bucket::new(Due::Past, Owed::Interest),
        Bucket::new(Due::Past, Owed::Principal),
        Bucket::new(Due::Now, Owed::Interest),
        Bucket::new(Due::Now, Owed::Principal),
        Bucket::new(Due::Past, Owed::Fee),
        Bucket::new(Due::Past, Owed::Penalty),
        Bucket::new(Due::Now, Owed::Fee),
        Bucket::new(Due::Now, Owed::Penalty),
    ];

    /// A bucket.
    pub const fn new(due: Due, owed: Owed) -> Bucket {
        Bucket { due, owed }
    }

    /// Parses `PAST_DUE_FEE`, `DUE_INTEREST`, `IN_ADVANCE_PRINCIPAL` and so on.
    pub fn parse(name: &str) -> Option<Bucket> {
        let (due, rest) = [("PAST_DUE_", Due::Past), ("DUE_", Due::Now), ("IN_ADVANCE_", Due::Ahead)]
            .into_iter()
            .find_map(|(prefix, due)| name.strip_prefix(prefix).map(|rest| (due, rest)))?;
        let owed = match rest {
            "FEE" => Owed::Fee,
            "PENALTY" => Owed::Penalty,
            "INTEREST" => Owed::Interest,
            "PRINCIPAL" => Owed::Principal,
            _ => return None,
        };
        Some(Bucket { due, owed })
    }
}

/// In which direction the buckets are filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Span {
    /// One bucket of all instalments, oldest first, then the next bucket.
    BucketFirst,
    /// All buckets of the oldest instalment, then the next instalment.
    OldestInstalmentFirst,
    /// Interest and principal of the oldest instalment, then of the next; then fees and penalties, bucket by bucket.
    #[default]
    InstalmentsFirst,
}

impl Span {
    /// The span of a product that configures none: with its own order, it fills bucket by bucket.
    pub fn without_own(order_is_given: bool) -> Span {
        if order_is_given { Span::BucketFirst } else { Span::default() }
    }
}

/// Where money goes that is left when nothing is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Surplus {
    /// To principal, from the end of the loan backwards: the loan ends sooner.
    #[default]
    LastInstalment,
    /// To the next instalments, in advance.
    NextInstalment,
    /// To principal; later instalments are recalculated.
    ReducePrincipal,
}
