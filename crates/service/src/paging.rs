//! Pages of lists: where a page starts, how long it is, and the opaque marks that lead to the next one.

use crate::problem::Problem;
use crate::view;
use crate::view::rendered_bytes;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// The default page length.
pub const USUAL_LIMIT: usize = 50;
/// The maximum page length.
pub const LONGEST_PAGE: usize = 200;
/// The number of rendered bytes after which a page ends, even if it has fewer entries than requested.
const LARGEST_PAGE: usize = 4 << 20;
/// The most entries that are loaded at once for a page whose entries can be large.
pub(crate) const LOADED_AT_ONCE: usize = 25;

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

/// A page whose entries can be large. It is filled entry by entry, from its end if it is read backwards, and ends early
/// once it has [`LARGEST_PAGE`] bytes as JSON.
#[derive(Debug)]
pub(crate) struct LargePage<T> {
    limit: usize,
    largest: usize,
    is_backwards: bool,
    /// The entries by id; `None` if an entry is left out.
    entries: VecDeque<(Arc<str>, Option<T>)>,
    /// How many bytes the entries are as JSON.
    bytes: usize,
    has_more: bool,
}

impl<T: Serialize> LargePage<T> {
    /// An empty page.
    pub(crate) fn of(paging: &Paging) -> LargePage<T> {
        LargePage {
            limit: paging.limit,
            largest: LARGEST_PAGE,
            is_backwards: paging.before.is_some(),
            entries: VecDeque::new(),
            bytes: 0,
            has_more: false,
        }
    }

    /// The next part to request from the store; it includes the entry that shows whether there are more.
    pub(crate) fn next_part(&self, paging: &Paging) -> daybook_store::records::PageRequest {
        let mut part = paging.of_store();
        part.limit = LOADED_AT_ONCE.min(part.limit - self.entries.len());
        if self.is_backwards {
            part.before = self.entries.front().map(|(id, _)| id.clone()).or(part.before);
        } else {
            part.after = self.entries.back().map(|(id, _)| id.clone()).or(part.after);
        }
        part
    }

    /// Puts entries into the order in which they are added.
    pub(crate) fn in_order<E>(&self, mut entries: Vec<E>) -> Vec<E> {
        if self.is_backwards {
            entries.reverse();
        }
        entries
    }

    /// Whether no entry may be added. Called only if there is one, which the next page will have.
    pub(crate) fn is_full(&mut self) -> bool {
        self.has_more = self.entries.len() >= self.limit || self.bytes >= self.largest;
        self.has_more
    }

    /// Adds an entry, or leaves one out.
    pub(crate) fn add(&mut self, id: Arc<str>, shown: Option<T>) {
        self.bytes += shown.as_ref().map_or(0, rendered_bytes);
        if self.is_backwards {
            self.entries.push_front((id, shown));
        } else {
            self.entries.push_back((id, shown));
        }
    }

    /// The page.
    pub(crate) fn finish(self) -> view::Page<T> {
        let mark = |entry: Option<&(Arc<str>, Option<T>)>| entry.map(|(id, _)| write_mark(id));
        let paging = view::Paging {
            starting_after: mark(self.entries.back()),
            ending_before: mark(self.entries.front()),
            has_more: self.has_more,
        };
        view::Page { results: self.entries.into_iter().filter_map(|(_, shown)| shown).collect(), paging }
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

    /// The pages of a list of the numbers 1 to 9, as a reader sees them who goes through the list. An entry has as many
    /// bytes of JSON as its number.
    fn pages_by_bytes(largest: usize, is_backwards: bool) -> Vec<Vec<usize>> {
        let mut pages = Vec::new();
        let mut mark: Option<String> = None;
        loop {
            let (after, before) = if is_backwards { (None, mark.as_deref()) } else { (mark.as_deref(), None) };
            let end = write_mark("z");
            let before = before.or_else(|| is_backwards.then_some(&*end));
            let paging = Paging::read(Some("4"), after, before).expect("the parameters are right");
            let mut page = LargePage { largest, ..LargePage::of(&paging) };
            let part = page.next_part(&paging);
            let ids = (1..=9).map(|number: usize| number.to_string());
            let is_wanted = |id: &String| {
                part.after.as_deref().is_none_or(|after| &**id > after)
                    && part.before.as_deref().is_none_or(|before| &**id < before)
            };
            for id in page.in_order(ids.filter(is_wanted).collect()) {
                if page.is_full() {
                    break;
                }
                let ones: u64 = "1".repeat(id.parse().expect("a number")).parse().expect("a number");
                page.add(Arc::from(&*id), Some(ones));
            }
            let page = page.finish();
            pages.push(page.results.iter().map(|ones| ones.to_string().len()).collect());
            if !page.paging.has_more {
                return pages;
            }
            mark = if is_backwards { page.paging.ending_before } else { page.paging.starting_after };
        }
    }

    #[test]
    fn a_page_ends_when_it_is_large_and_no_entry_is_lost() {
        assert_eq!(pages_by_bytes(usize::MAX, false), [vec![1, 2, 3, 4], vec![5, 6, 7, 8], vec![9]]);
        assert_eq!(pages_by_bytes(6, false), [vec![1, 2, 3], vec![4, 5], vec![6], vec![7], vec![8], vec![9]]);
        assert_eq!(pages_by_bytes(10, true), [vec![8, 9], vec![6, 7], vec![3, 4, 5], vec![1, 2]]);
        assert_eq!(pages_by_bytes(1, true).len(), 9, "a page has at least one entry");
    }
}
