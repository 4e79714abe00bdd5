//! Suggestions for misspelt words.

/// The maximum number of letters that may be wrong, missing, extra or swapped.
const MOST_WRONG: usize = 2;

/// The known word closest to an unknown one; `None` if none is close. For short words fewer letters may differ.
pub(crate) fn suggest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate));
    let near = near.filter(|(wrong, candidate)| *wrong <= MOST_WRONG && wrong * 2 < candidate.chars().count());
    near.min_by_key(|(wrong, _)| *wrong).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn the_nearest_word_is_meant_if_one_is_near() {
        let known = ["account", "accounts", "event", "fee"];
        assert_eq!(suggest("acount", known), Some("account"));
        assert_eq!(suggest("evnet", known), Some("event"));
        assert_eq!(suggest("accountss", known), Some("accounts"));
        assert_eq!(suggest("balance", known), None);
        assert_eq!(suggest("fax", known), None);
    }
}
