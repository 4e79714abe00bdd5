//! The effects of each status: the fields of the product form, and the text on a product's page.

use crate::form::{Field, FieldKind};
use daybook_engine::effects::{StatusEffects, Stops};
use daybook_engine::status::Status;

const CHARGED: FieldKind =
    FieldKind::Choice(&[("", "Charged (CHARGE)"), ("STOP", "Stopped: no fee, and not counted as late")]);
const NOT_CHARGED: FieldKind =
    FieldKind::Choice(&[("", "Stopped (STOP): no fee, and not counted as late"), ("CHARGE", "Charged")]);
const ACCRUES: FieldKind = FieldKind::Choice(&[("", "Accrues (ACCRUE)"), ("STOP", "Stopped: the rate is 0")]);
const NO_INTEREST: FieldKind = FieldKind::Choice(&[("", "Stopped (STOP): the rate is 0"), ("ACCRUE", "Accrues")]);
const COUNTED: FieldKind =
    FieldKind::Choice(&[("", "Counted (COUNT)"), ("STOP", "Stopped: late instalments do not count")]);
const NOT_COUNTED: FieldKind =
    FieldKind::Choice(&[("", "Stopped (STOP): late instalments do not count"), ("COUNT", "Counted")]);
const SENT: FieldKind = FieldKind::Choice(&[("", "Sent (SEND)"), ("STOP", "Stopped")]);
const NOT_SENT: FieldKind = FieldKind::Choice(&[("", "Stopped (STOP)"), ("SEND", "Sent")]);

/// The four fields of each pair, with the defaults as the empty choice.
macro_rules! pairs {
    ($(($pair:literal, $name:literal, $fees:ident, $interest:ident, $delinquency:ident, $notices:ident),)*) => {
        /// The effects of each status.
        pub const FIELDS: &[Field] = &[$(
            pairs!(@field $pair, "late_fees", $name, "late fees", $fees),
            pairs!(@field $pair, "interest", $name, "interest", $interest),
            pairs!(@field $pair, "delinquency", $name, "late instalments in a row", $delinquency),
            pairs!(@field $pair, "notices", $name, "notices", $notices),
        )*];

        /// The pairs and their names.
        const NAMES: &[(&str, &str)] = &[$(($pair, $name),)*];
    };
    (@field $pair:literal, $effect:literal, $name:literal, $what:literal, $kind:ident) => {
        Field::new(
            concat!("product_lifecycle_policies.status_effects.", $pair, ".", $effect),
            concat!($name, ": ", $what),
            $kind,
            "",
        )
    };
}

pairs! {
    ("ACTIVE", "Active", CHARGED, ACCRUES, COUNTED, SENT),
    ("ACTIVE/HARDSHIP", "Active, hardship", NOT_CHARGED, ACCRUES, NOT_COUNTED, SENT),
    ("ACTIVE/EXEMPTIONS", "Active, with exemptions", CHARGED, ACCRUES, COUNTED, SENT),
    ("ACTIVE/HARDSHIP/EXEMPTIONS", "Active, hardship/exemptions", CHARGED, ACCRUES, COUNTED, SENT),
    ("ACTIVE/SCRA", "Active, SCRA", NOT_CHARGED, ACCRUES, COUNTED, SENT),
    ("SUSPENDED/DELINQUENT", "Suspended, delinquent", CHARGED, ACCRUES, COUNTED, SENT),
    ("SUSPENDED/BANKRUPTCY", "Suspended, bankruptcy", NOT_CHARGED, ACCRUES, NOT_COUNTED, NOT_SENT),
    ("SUSPENDED/FRAUD", "Suspended, fraud", NOT_CHARGED, NO_INTEREST, NOT_COUNTED, NOT_SENT),
    ("SUSPENDED/INACTIVITY", "Suspended, inactivity", CHARGED, ACCRUES, COUNTED, SENT),
    ("SUSPENDED/RISK_REVIEW", "Suspended, risk review", CHARGED, ACCRUES, COUNTED, SENT),
    ("SUSPENDED/DECEASED", "Suspended, deceased", NOT_CHARGED, ACCRUES, NOT_COUNTED, NOT_SENT),
    ("SUSPENDED/HARDSHIP", "Suspended, hardship", NOT_CHARGED, ACCRUES, NOT_COUNTED, SENT),
}

/// A sentence for all pairs that stop the same.
pub fn words(effects: &StatusEffects) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (pair, name) in NAMES {
        let Some(stopped) = Status::parse_pair(pair).and_then(|status| stopped(effects.of(status))) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == stopped) {
            Some((_, names)) => names.push(name),
            None => groups.push((stopped, vec![name])),
        }
    }
    let sentence = |(stopped, names): &(String, Vec<&str>)| {
        let names: Vec<String> = names.iter().map(|name| format!("\u{201c}{name}\u{201d}")).collect();
        format!("{}: {stopped}.", names.join(" and "))
    };
    groups.iter().map(sentence).collect::<Vec<String>>().join(" ")
}

/// What a product stops for accounts with a status; `None` if nothing, or if the status is unknown.
pub fn of_status(effects: &StatusEffects, standing: &str, reason: Option<&str>) -> Option<String> {
    let status = Status::parse(standing, reason)?;
    let (_, name) = NAMES.iter().find(|(pair, _)| Status::parse_pair(pair) == Some(status))?;
    Some(format!("{name}: {}.", stopped(effects.of(status))?))
}

/// What a pair stops, as the part of a sentence; `None` if it stops nothing.
fn stopped(stops: Stops) -> Option<String> {
    let effects = [
        (stops.interest, "no interest"),
        (stops.notices, "no notices"),
        (stops.late_fees, "no late fees, and unpaid instalments do not become late"),
        (stops.delinquency && !stops.late_fees, "late instalments are not counted"),
        (stops.delinquency, "the account does not automatically become delinquent, charged off or active again"),
    ];
    let stopped: Vec<&str> = effects.into_iter().filter(|(is_stopped, _)| *is_stopped).map(|(_, what)| what).collect();
    (!stopped.is_empty()).then(|| stopped.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use daybook_service::form::EffectsByStatus;

    fn told(effects: &StatusEffects) -> String {
        words(&EffectsByStatus::of(effects).effects())
    }

    #[test]
    fn the_words_name_what_is_stopped() {
        let mut effects = StatusEffects::default();
        let words = told(&effects);
        const HARDSHIP: &str = "no late fees, and unpaid instalments do not become late; the account does not \
                                automatically become delinquent, charged off or active again.";
        let hardship = "\u{201c}Active, hardship\u{201d} and \u{201c}Suspended, hardship\u{201d}";
        assert!(words.starts_with(&format!("{hardship}: {HARDSHIP} ")), "{words}");
        let scra = "\u{201c}Active, SCRA\u{201d}: no late fees, and unpaid instalments do not become late.";
        assert!(words.contains(scra), "{words}");
        let fraud = "\u{201c}Suspended, fraud\u{201d}: no interest; no notices;";
        assert!(words.contains(&format!("{fraud} {HARDSHIP}")), "{words}");
        assert!(!words.contains("Suspended, delinquent"));
        let delinquent = Status::DELINQUENT;
        let stops = Stops { interest: true, ..Default::default() };
        effects.set(delinquent, stops);
        assert!(told(&effects).contains("\u{201c}Suspended, delinquent\u{201d}: no interest."));
    }

    /// The empty choice of a field is the default of its pair.
    #[test]
    fn the_first_choice_is_the_default() {
        let usual = serde_json::to_value(EffectsByStatus::of(&Default::default())).expect("JSON");
        for field in FIELDS {
            let path = field.name.strip_prefix("product_lifecycle_policies.status_effects.").expect("its path");
            let (pair, effect) = path.rsplit_once('.').expect("a pair and an effect");
            let word = usual[pair][effect].as_str().expect("a word");
            let FieldKind::Choice(choices) = field.kind else { panic!("{path} is a choice") };
            assert!(choices[0].0.is_empty() && choices[0].1.contains(&format!("({word})")), "{path}: {word}");
            assert_ne!(choices[1].0, word, "{path}");
        }
        assert_eq!(FIELDS.len(), 4 * usual.as_object().expect("pairs").len());
    }
}
