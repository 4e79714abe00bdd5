//! What-if: folds the accounts of a product under another policy, with a change, or both, and shows the differences.
//!
//! Every account is folded twice, by the same function: as it is, and as it would be. The difference of the two is due to
//! the policy and the change alone. Nothing is stored.
//!
//! ```text
//! WhatIfQuestion ─► Comparison ─┐                      ┌─► each account (CSV)
//!                               ├─► compare, on many ──┤
//! store: one snapshot, batches ─┘       threads        └─► WhatIfSummary: sums, largest differences, failures
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `question` | what a caller asks, and the checks |
//! | `conditions` | which accounts are compared |
//! | `policy` | the terms of an account under another policy |
//! | `compare` | folding one account twice |
//! | `figures` | the amounts that are compared |
//! | `summary` | sums, and the largest differences |
//! | `running` | reading and folding a portfolio, with bounded memory |
//! | `jobs` | what-ifs in the background, one at a time for each organization |

mod compare;
mod conditions;
mod figures;
mod jobs;
mod policy;
mod question;
mod running;
mod summary;

pub use compare::{AccountDifference, AccountResult};
pub use conditions::CONDITIONS_HELP;
pub use figures::{AMOUNTS, Figures};
pub(crate) use jobs::WhatIfJobs;
pub use jobs::{JobState, WhatIfJob};
pub use question::WhatIfQuestion;
pub use running::Observer;
pub use summary::{Failure, Totals, WhatIfSummary};
