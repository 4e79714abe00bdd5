//! Rolling an account: the parameters may be in the query, in the body, or in both.

use super::fields::*;
use super::{BadForm, FieldProblem, form};
use daybook_engine::time::Time;

form! {
    /// Processes an account's events up to a moment.
    Roll {
        ;
        /// The account.
        account_id: Reference,
        /// Up to and including this moment.
        effective_at: Moment,
        /// Up to just before this moment, instead of `effective_at`.
        exclusive_end: Moment,
        /// Whether every webhook up to that moment is sent now. Default: false.
        roll_webhooks: bool,
    }
}

/// A validated request to roll an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollOrder {
    /// The account.
    pub account_id: Reference,
    /// The last moment to process.
    pub until: Time,
    /// Whether webhooks are sent now.
    pub roll_webhooks: bool,
}

impl Roll {
    /// Parses the parameters of a query.
    pub fn from_query<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Roll, BadForm> {
        let mut roll = Roll::default();
        for (name, value) in pairs {
            let invalid = |message: String| BadForm::Invalid { field: name.to_owned(), message };
            match name {
                "account_id" => roll.account_id = Some(Reference::read(value).map_err(invalid)?),
                "effective_at" => roll.effective_at = Some(read_moment(value).map_err(invalid)?),
                "exclusive_end" => roll.exclusive_end = Some(read_moment(value).map_err(invalid)?),
                "roll_webhooks" => {
                    let given = value.parse().map_err(|_| invalid("must be true or false".to_owned()))?;
                    roll.roll_webhooks = Some(given);
                }
                _ => {
                    let known = "account_id, effective_at, exclusive_end, roll_webhooks";
                    return Err(invalid(format!("is not a known parameter; the known ones are: {known}")));
                }
            }
        }
        Ok(roll)
    }

    /// Fills absent parameters from another form.
    pub fn or(self, other: Roll) -> Roll {
        Roll {
            account_id: self.account_id.or(other.account_id),
            effective_at: self.effective_at.or(other.effective_at),
            exclusive_end: self.exclusive_end.or(other.exclusive_end),
            roll_webhooks: self.roll_webhooks.or(other.roll_webhooks),
        }
    }

    /// The validated request, or an error if parameters are missing or contradict each other.
    pub fn order(self) -> Result<RollOrder, FieldProblem> {
        let account_id = self.account_id.ok_or_else(|| FieldProblem::new("account_id", "is required"))?;
        let until = match (self.effective_at, self.exclusive_end) {
            (Some(_), Some(_)) => {
                return Err(FieldProblem::new(
                    "exclusive_end",
                    "cannot be combined with effective_at; send only one of them",
                ));
            }
            (Some(moment), None) => *moment.get(),
            (None, Some(end)) => end.get().plus_micros(-1),
            (None, None) => return Err(FieldProblem::new("effective_at", "is required")),
        };
        Ok(RollOrder { account_id, until, roll_webhooks: self.roll_webhooks.unwrap_or(false) })
    }
}

/// Parses a moment. A plus sign that was not escaped in a query arrives as a space.
fn read_moment(text: &str) -> Result<Moment, String> {
    match text.rsplit_once(' ') {
        Some((local, offset)) if local.contains('T') && offset.len() == 5 => Moment::read(&format!("{local}+{offset}")),
        _ => Moment::read(text),
    }
}
