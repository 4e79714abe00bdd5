//! The search words of accounts, customers and products.
//!
//! Text is split at every character that is neither letter nor digit, and converted to lowercase:
//! `Jane.Doe@example.com` is found by `jane`, `doe`, `example` and `com`, and so by the whole address. An object's
//! words are written in the transaction that writes the object. The words of a customer are its names, the email
//! address and the values of external fields; those of an account are the values of its external fields; those of a
//! product are its name. Secret numbers are never included.

use crate::account::profile::Profile;
use crate::form::fields::ExternalField;
use crate::form::{NewCustomer, NewProduct};
use daybook_store::portfolio_queries::{SearchText, SearchWords, SearchedKind};
use daybook_store::records::OrgId;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The maximum number of words of an object; further ones are ignored.
const MOST_WORDS: usize = 64;
/// The maximum length of a word; further characters are ignored.
const LONGEST_WORD: usize = 40;
/// The maximum number of words in a search; further ones are ignored.
const MOST_SEARCHED: usize = 8;
/// The maximum length of an id.
const LONGEST_ID: usize = 128;

/// The distinct words of some texts.
fn words_of<'a>(texts: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<String> {
    let mut words = BTreeSet::new();
    for text in texts {
        for word in text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()) {
            // In some scripts a letter becomes several characters in lowercase, some of which may not be letters.
            let small: String = word.chars().flat_map(char::to_lowercase).take(LONGEST_WORD).collect();
            words.insert(small);
            if words.len() == most {
                return words.into_iter().collect();
            }
        }
    }
    words.into_iter().collect()
}

fn values(fields: &[ExternalField]) -> impl Iterator<Item = &str> {
    fields.iter().map(|field| field.value.as_str())
}

/// The search words of a new account; `None` if it has none.
pub(crate) fn of_account(org: OrgId, account: &Arc<str>, profile: &Profile) -> Option<SearchWords> {
    let words = words_of(values(&profile.external_fields), MOST_WORDS);
    let of = SearchWords { org, kind: SearchedKind::Account, id: account.clone(), words, is_new: true };
    (!of.words.is_empty()).then_some(of)
}

/// The search words of a new product.
pub(crate) fn of_product(org: OrgId, product: &Arc<str>, form: &NewProduct) -> SearchWords {
    let words = words_of([form.product_overview.product_name.as_str()], MOST_WORDS);
    SearchWords { org, kind: SearchedKind::Product, id: product.clone(), words, is_new: true }
}

/// The search words of a customer.
pub(crate) fn of_customer(org: OrgId, customer: &Arc<str>, form: &NewCustomer, is_new: bool) -> SearchWords {
    let business = form.business_details.as_ref();
    let names = [&form.name_first, &form.name_middle, &form.name_last].into_iter().flatten();
    let business_names = business.into_iter().flat_map(|business| {
        [&business.business_name, &business.business_legal_name, &business.doing_business_as].into_iter().flatten()
    });
    let texts = names
        .chain(business_names)
        .map(|name| name.as_str())
        .chain(form.email.as_ref().map(|email| email.as_str()))
        .chain(values(form.external_fields.as_deref().unwrap_or_default()));
    SearchWords { org, kind: SearchedKind::Customer, id: customer.clone(), words: words_of(texts, MOST_WORDS), is_new }
}

/// Parses a search text. The result is empty if the text cannot match anything.
pub(crate) fn searched(text: &str) -> SearchText {
    let text = text.trim();
    let is_id = |character: char| character.is_ascii_alphanumeric() || "._:~-".contains(character);
    let id = (1..=LONGEST_ID).contains(&text.len()) && text.chars().all(is_id);
    SearchText { words: words_of([text], MOST_SEARCHED), id: id.then(|| text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_what_is_neither_letter_nor_digit() {
        for (text, expected) in [
            ("Jane.Doe@example.com", vec!["com", "doe", "example", "jane"]),
            ("  O'Brien-Smith, ÉLODIE 42nd ", vec!["42nd", "brien", "o", "smith", "élodie"]),
            ("same Same SAME", vec!["same"]),
            ("東京 支店", vec!["支店", "東京"]),
            ("--- !!", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(words_of([text], MOST_WORDS), expected, "{text}");
        }
    }

    #[test]
    fn words_are_bounded_in_length_and_number() {
        let long = "x".repeat(1_000);
        assert_eq!(words_of([long.as_str()], MOST_WORDS), ["x".repeat(LONGEST_WORD)]);
        let many: Vec<String> = (0..1_000).map(|number| format!("w{number:04}")).collect();
        let words = words_of(many.iter().map(String::as_str), MOST_WORDS);
        assert_eq!((words.len(), words[0].as_str(), words[63].as_str()), (64, "w0000", "w0063"));
    }

    #[test]
    fn what_may_be_the_beginning_of_an_id_is_searched_as_such() {
        assert_eq!(
            searched(" loan-1 "),
            SearchText { words: vec!["1".into(), "loan".into()], id: Some("loan-1".into()) }
        );
        assert_eq!(searched("jane doe"), SearchText { words: vec!["doe".into(), "jane".into()], id: None });
        assert_eq!(searched("a\0b").id, None);
        assert!(searched(" *** ").is_empty());
    }
}
