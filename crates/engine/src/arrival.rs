//! Checks of an input when it arrives at an account in normal service.
//!
//! An input that is folded later, at a release or in a replay, is not checked here: the account may have changed by
//! then, and its fold has a rule for each such case.

use crate::outcome::Refusal;
use crate::state::State;
use crate::timeline::Input;

/// Why an input that arrives now is refused, if it is. The account is folded up to its clock.
pub fn refusal(state: &State, input: &Input) -> Option<Refusal> {
    match input {
        Input::Refund { amount } if *amount > state.surplus => Some(Refusal::ExceedsSurplus),
        _ => None,
    }
}
