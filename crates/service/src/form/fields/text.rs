//! Strings: ids, names, addresses.

use daybook_engine::calendar::Day;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use utoipa::openapi::schema::{SchemaFormat, Type};
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema};

/// Said of a string with a NUL in it, which PostgreSQL cannot store.
pub(super) const NO_NUL: &str = "must not contain the character U+0000";

/// What a string has to be.
pub(super) struct TextRule {
    /// What it must be, after "must be".
    pub sentence: &'static str,
    /// The fewest characters.
    pub least: usize,
    /// The most characters.
    pub most: usize,
    /// What else it has to be.
    pub check: fn(&str) -> bool,
    /// The same as a regular expression, for the API reference.
    pub pattern: Option<&'static str>,
    /// Its format in the API reference.
    pub format: Option<KnownFormat>,
    /// One that is right.
    pub example: &'static str,
}

impl TextRule {
    pub fn schema(&self) -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length((self.least > 0).then_some(self.least))
            .max_length(Some(self.most))
            .pattern(self.pattern)
            .format(self.format.clone().map(SchemaFormat::KnownFormat))
            .examples([self.example])
            .into()
    }

    /// The text itself, or the rule that it breaks.
    fn apply<E: Error>(&self, text: &str) -> Result<(), E> {
        if text.contains('\0') {
            return Err(E::custom(NO_NUL));
        }
        // A character has at most four bytes: long text is refused before it is counted.
        let fits = text.len() <= 4 * self.most && (self.least..=self.most).contains(&text.chars().count());
        if fits && (self.check)(text) { Ok(()) } else { Err(E::custom(format!("must be {}", self.sentence))) }
    }
}

/// Reads a string by a rule.
pub(super) fn read_text<'de, D: Deserializer<'de>>(
    deserializer: D,
    rule: &'static TextRule,
) -> Result<String, D::Error> {
    struct Reader(&'static TextRule);
    impl Visitor<'_> for Reader {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0.sentence)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            self.0.apply(text).map(|()| text.to_owned())
        }

        fn visit_string<E: Error>(self, text: String) -> Result<String, E> {
            self.0.apply(&text).map(|()| text)
        }
    }
    deserializer.deserialize_string(Reader(rule))
}

macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident $rule:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            const RULE: TextRule = $rule;

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The text, owned.
            pub fn into_string(self) -> String {
                self.0
            }

            /// Reads it from text that is not JSON, such as a part of a path.
            pub fn read(text: &str) -> Result<$name, String> {
                let checked: Result<(), serde::de::value::Error> = Self::RULE.apply(text);
                checked.map(|()| $name(text.to_owned())).map_err(|error| error.to_string())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                read_text(deserializer, &Self::RULE).map($name)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                Self::RULE.schema()
            }
        }

        impl utoipa::ToSchema for $name {}
    )*};
}

const ANY: TextRule =
    TextRule { sentence: "", least: 0, most: 0, check: |_| true, pattern: None, format: None, example: "" };

texts! {
    /// An id that the caller chooses.
    Id TextRule {
        sentence: "1 to 128 of A-Z a-z 0-9 . _ : ~ - and must not start with dbk_",
        least: 1,
        most: 128,
        check: |text| !text.starts_with("dbk_") && text.bytes().all(is_id_byte),
        pattern: Some("^(?!dbk_)[A-Za-z0-9._:~-]{1,128}$"),
        example: "auto-36",
        ..ANY
    };
    /// The id of something that exists: chosen by a caller, or made by the service (`dbk_...`).
    Reference TextRule {
        sentence: "an id: 1 to 128 of A-Z a-z 0-9 . _ : ~ -",
        least: 1,
        most: 128,
        check: |text| text.bytes().all(is_id_byte),
        pattern: Some("^[A-Za-z0-9._:~-]{1,128}$"),
        example: "auto-36",
        ..ANY
    };
    /// A name that is not empty.
    Title TextRule { sentence: "text of 1 to 200 characters", least: 1, most: 200, example: "Auto 36", ..ANY };
    /// A name, a line of an address.
    ShortText TextRule { sentence: "text of at most 200 characters", most: 200, example: "Ada", ..ANY };
    /// A description.
    LongText TextRule { sentence: "text of at most 2000 characters", most: 2_000, example: "A loan for a car", ..ANY };
    /// The key of an external field.
    FieldKey TextRule { sentence: "text of 1 to 100 characters", least: 1, most: 100, example: "crm_id", ..ANY };
    /// The value of an external field.
    FieldValue TextRule { sentence: "text of at most 1000 characters", most: 1_000, example: "0015800000abc", ..ANY };
    /// A client id or secret.
    Credential TextRule {
        sentence: "text of 1 to 256 characters",
        least: 1,
        most: 256,
        format: Some(KnownFormat::Password),
        ..ANY
    };
    /// An email address: something, an @, something.
    Email TextRule {
        sentence: "an email address of at most 254 characters, such as ada@example.com",
        least: 3,
        most: 254,
        check: is_email,
        format: Some(KnownFormat::Email),
        example: "ada@example.com",
        ..ANY
    };
    /// Where messages are sent.
    WebhookUrl TextRule {
        sentence: "an http or https URL of at most 2048 characters, such as https://example.com/webhooks",
        least: 1,
        most: 2_048,
        check: |text| text.bytes().all(|byte| byte > b' ' && byte != 0x7f),
        pattern: Some("^[Hh][Tt][Tt][Pp][Ss]?://[^ ]+$"),
        example: "https://example.com/webhooks",
        ..ANY
    };
    /// A phone number as E.164 writes it.
    Phone TextRule {
        sentence: "a phone number in E.164 form: + and 2 to 15 digits, such as +12125550123",
        least: 3,
        most: 16,
        check: is_phone,
        pattern: Some("^\\+[1-9][0-9]{1,14}$"),
        example: "+12125550123",
        ..ANY
    };
    /// A date of birth.
    BirthDate TextRule {
        sentence: "a date that exists, such as 1980-07-31",
        least: 10,
        most: 10,
        check: is_date,
        format: Some(KnownFormat::Date),
        example: "1980-07-31",
        ..ANY
    };
    /// A country as ISO 3166 writes it.
    CountryCode TextRule {
        sentence: "a country code of 2 or 3 letters, such as US",
        least: 2,
        most: 3,
        check: |text| text.bytes().all(|byte| byte.is_ascii_alphabetic()),
        pattern: Some("^[A-Za-z]{2,3}$"),
        example: "US",
        ..ANY
    };
}

impl Id {
    /// The same id, as a reference.
    pub fn as_reference(&self) -> Reference {
        Reference(self.0.clone())
    }
}

/// A social security number. It is never written: not to JSON, not to logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Ssn {
    digits: String,
}

impl Ssn {
    const RULE: TextRule = TextRule {
        sentence: "9 digits, with or without dashes, such as 123-45-6789",
        least: 9,
        most: 11,
        check: is_ssn,
        pattern: Some("^([0-9]{9}|[0-9]{3}-[0-9]{2}-[0-9]{4})$"),
        format: None,
        example: "123-45-6789",
    };

    /// Reads it from text that is not JSON, such as what was unsealed.
    pub fn read(text: &str) -> Result<Ssn, String> {
        let checked: Result<(), serde::de::value::Error> = Self::RULE.apply(text);
        checked.map(|()| Ssn { digits: text.replace('-', "") }).map_err(|error| error.to_string())
    }

    /// The nine digits.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// The last four of them, which may be shown.
    pub fn last_four(&self) -> &str {
        self.digits.get(5..).unwrap_or_default()
    }
}

impl fmt::Debug for Ssn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ssn(not shown)")
    }
}

impl<'de> Deserialize<'de> for Ssn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ssn, D::Error> {
        let text = read_text(deserializer, &Self::RULE)?;
        Ok(Ssn { digits: text.replace('-', "") })
    }
}

impl utoipa::PartialSchema for Ssn {
    fn schema() -> RefOr<Schema> {
        Self::RULE.schema()
    }
}

impl utoipa::ToSchema for Ssn {}

fn is_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._:~-".contains(&byte)
}

fn is_email(text: &str) -> bool {
    let plain = !text.contains(|c: char| c.is_whitespace() || c.is_control());
    plain && text.rsplit_once('@').is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
}

fn is_phone(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default();
    !digits.starts_with('0') && digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_date(text: &str) -> bool {
    let shape = text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    shape && Day::parse(text).is_some()
}

fn is_ssn(text: &str) -> bool {
    let digits = |part: &str, count: usize| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split('-').collect::<Vec<_>>()[..] {
        [all] => digits(all, 9),
        [area, group, serial] => digits(area, 3) && digits(group, 2) && digits(serial, 4),
        _ => false,
    }
}
