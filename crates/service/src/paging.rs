//! Pages of lists: where a page starts, how long it is, and the opaque marks that lead to the next one.

use crate::problem::Problem;
use crate::view;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::sync::Arc;

/// The default page length.
pub const USUAL_LIMIT: usize = 50;
/// The maximum page length.
pub const LONGEST_PAGE: usize = 200;

/// The requested part of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The maximum number of entries.
    pub limit: usize,
    /// Start after this entry.
    pub after: Option<Arc<str>>,
    /// End before this entry.
    pub before: Option<Arc<str>>,
}

impl Default for Paging {
    fn default() -> Paging {
        Paging { limit: USUAL_LIMIT, after: None, before: None }
    }
}

impl Paging {
    /// Parses the parameters of a request.
    pub fn read(limit: Option<&str>, after: Option<&str>, before: Option<&str>) -> Result<Paging, Problem> {
        let limit = match limit {
            None => USUAL_LIMIT,
            Some(text) => {
                text.parse().ok().filter(|limit| (1..=LONGEST_PAGE).contains(limit)).ok_or_else(|| {
                    Problem::invalid("limit", format!("must be a whole number from 1 to {LONGEST_PAGE}"))
                })?
            }
        };
        if after.is_some() && before.is_some() {
            return Err(Problem::invalid(
                "ending_before",
                "cannot be combined with starting_after; send only one of them",
            ));
        }
        let after = after.map(|mark| read_mark("starting_after", mark)).transpose()?;
        let before = before.map(|mark| read_mark("ending_before", mark)).transpose()?;
        Ok(Paging { limit, after, before })
    }

    /// The page to request from the store: one entry more than needed, which shows whether there are more.
    pub fn of_store(&self) -> daybook_store::records::PageRequest {
        daybook_store::records::PageRequest {
            after: self.after.clone(),
            before: self.before.clone(),
            limit: self.limit + 1,
        }
    }

    /// Removes the extra entry, and returns the marks of the page.
    pub fn cut<T>(&self, rows: &mut Vec<T>, id: impl Fn(&T) -> String) -> view::Paging {
        let has_more = rows.len() > self.limit;
        if has_more && self.before.is_some() {
            rows.drain(..rows.len() - self.limit);
        } else {
            rows.truncate(self.limit);
        }
        view::Paging {
            starting_after: rows.last().map(|last| write_mark(&id(last))),
            ending_before: rows.first().map(|first| write_mark(&id(first))),
            has_more,
        }
    }

    /// A page of a list in memory, in its order. `id` identifies the entries.
    pub fn of_list<T>(&self, mut list: Vec<T>, id: impl Fn(&T) -> String) -> Result<(Vec<T>, view::Paging), Problem> {
        let place = |field: &str, mark: &str| {
            list.iter()
                .position(|entry| id(entry) == mark)
                .ok_or_else(|| Problem::invalid(field, "does not match an entry of this list"))
        };
        if let Some(mark) = &self.after {
            let at = place("starting_after", mark)?;
            list.drain(..=at);
        } else if let Some(mark) = &self.before {
            let at = place("ending_before", mark)?;
            list.truncate(at);
        }
        let paging = self.cut(&mut list, id);
        Ok((list, paging))
    }
}

/// Refuses to page backwards, for lists that change at both ends while they are read: their pages lead in one direction
/// only.
pub(crate) fn onward(paging: &Paging) -> Result<(), Problem> {
    if paging.before.is_some() {
        return Err(Problem::invalid("ending_before", "is not supported by this list; use starting_after"));
    }
    Ok(())
}

/// The error for a mark that leads nowhere in its list.
pub(crate) fn no_mark() -> Problem {
    Problem::invalid("starting_after", "must be a value that an earlier page returned")
}

pub(crate) fn write_mark(id: &str) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

fn read_mark(field: &str, mark: &str) -> Result<Arc<str>, Problem> {
    let id = URL_SAFE_NO_PAD.decode(mark).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let id = id.filter(|id| !id.contains('\0') && id.len() <= 600);
    id.map(Arc::from).ok_or_else(|| Problem::invalid(field, "must be a value that an earlier page returned"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(after: Option<&str>, before: Option<&str>) -> (Vec<u32>, view::Paging) {
        let paging = Paging::read(Some("2"), after, before).expect("the parameters are right");
        paging.of_list(vec![1, 2, 3, 4, 5], u32::to_string).expect("the marks lead somewhere")
    }

    #[test]
    fn pages_lead_through_a_list_both_ways() {
        let (first, paging) = page(None, None);
        assert_eq!((first, paging.has_more), (vec![1, 2], true));
        let (second, paging) = page(paging.starting_after.as_deref(), None);
        assert_eq!((second, paging.has_more), (vec![3, 4], true));
        let (last, end) = page(paging.starting_after.as_deref(), None);
        assert_eq!((last, end.has_more), (vec![5], false));
        let (back, paging) = page(None, end.ending_before.as_deref());
        assert_eq!((back, paging.has_more), (vec![3, 4], true));
        let (start, paging) = page(None, paging.ending_before.as_deref());
        assert_eq!((start, paging.has_more), (vec![1, 2], false));
    }

    #[test]
    fn bad_parameters_are_named() {
        for (limit, after, before, field) in [
            (Some("0"), None, None, "limit"),
            (Some("201"), None, None, "limit"),
            (Some("ten"), None, None, "limit"),
            (None, Some("!"), None, "starting_after"),
            (None, None, Some("!"), "ending_before"),
            (None, Some("YQ"), Some("YQ"), "ending_before"),
        ] {
            let problem = Paging::read(limit, after, before).expect_err(field);
            assert_eq!(problem.details[0].field, field);
        }
    }
}
