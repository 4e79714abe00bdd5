//! Changes of a loan, as sentences of the timeline.

use daybook_engine::calendar::Day;
use daybook_engine::change::{
    Arrears, CapTag, Capitalization, CapitalizedInterest, Change, Deferral, DeferredBalance, DueDateChange,
    LevelPayment, RateChange, RateKind, ReAge, Restructure, Skip,
};

/// Whether a change was made, or is held or scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tense {
    /// It was made.
    Past,
    /// It is held or scheduled.
    Future,
}

impl Tense {
    fn of(self, past: &'static str, future: &'static str) -> &'static str {
        match self {
            Tense::Past => past,
            Tense::Future => future,
        }
    }

    fn was(self) -> &'static str {
        self.of("was", "will be")
    }

    fn were(self) -> &'static str {
        self.of("were", "will be")
    }
}

/// A sentence, or several, about a change.
pub fn change_text(change: &Change, tense: Tense) -> String {
    match change {
        Change::Rate(change) => rate(change, tense),
        Change::DueDate(change) => due_date(change, tense),
        Change::Skip(skip) => skipped(skip, tense),
        Change::Extension(extension) => {
            let (count, were) = (count(extension.count, tense), tense.were());
            format!("{count} added at the end, and the amounts {} {were} recalculated.", from(extension.from_due_date))
        }
        Change::Deferral(deferral) => deferred(deferral),
        Change::Reamortization(change) => {
            let interest = match change.interest {
                Arrears::Spread => "in equal parts",
                _ => "the first ones first",
            };
            let were = tense.were();
            format!("Past-due instalments {were} spread over those ahead, which ask for their interest {interest}.")
        }
        Change::ReAge(change) => re_age(change, tense),
        Change::Restructure(change) => restructured(change, tense),
        Change::Capitalization(change) => capitalized(change, tense),
    }
}

fn count(instalments: u32, tense: Tense) -> String {
    match instalments {
        1 => format!("One instalment {}", tense.was()),
        n => format!("{n} instalments {}", tense.were()),
    }
}

fn from(due_date: Option<Day>) -> String {
    due_date.map_or("of the instalments ahead".to_owned(), |day| format!("from the instalment of {day} on"))
}

fn window(from: Day, to: Option<Day>) -> String {
    match to {
        Some(to) => format!("from {from} until {to}"),
        None => format!("from {from} on"),
    }
}

fn amounts(level_payment: LevelPayment, tense: Tense) -> &'static str {
    match level_payment {
        LevelPayment::Recalculate => tense.of(
            "The amounts of the instalments ahead were recalculated.",
            "The amounts of the instalments ahead will be recalculated.",
        ),
        LevelPayment::Keep => "The amounts of the instalments ahead stay; the last one takes the difference.",
        LevelPayment::Reduce => "Each instalment asks less by the interest that the limit forgives.",
    }
}

fn rate(change: &RateChange, tense: Tense) -> String {
    let window = window(change.from, change.to);
    let what = match change.kind {
        RateKind::Plain(rate) => format!("The yearly rate is {rate} % {window}."),
        RateKind::Cap { tag, rate } => {
            let law = match tag {
                CapTag::Scra => "Servicemembers Civil Relief Act",
                CapTag::Mla => "Military Lending Act",
            };
            format!("The yearly rate is at most {rate} % {window} ({law}).")
        }
        RateKind::Pause => format!("No interest accrues {window}."),
        RateKind::Promo { rate, late_fee } => {
            let rate = rate.map(|rate| format!("the yearly rate is {rate} %"));
            let fee = late_fee.map(|fee| format!("the late fee is {fee}"));
            let parts: Vec<String> = rate.into_iter().chain(fee).collect();
            format!("Promotion {window}: {}.", parts.join(" and "))
        }
    };
    format!("{what} {}", amounts(change.level_payment, tense))
}

fn due_date(change: &DueDateChange, tense: Tense) -> String {
    let (next, moved) = (change.next_due_date, tense.of("moved", "will move"));
    let what = match change.from_due_date {
        Some(from) => format!("The due date {from} {moved} to {next}, and the following due dates with it."),
        None => format!("The next due date {moved} to {next}, and the following due dates with it."),
    };
    let fee =
        if change.fee.is_zero() { String::new() } else { format!(" A fee of {} {} charged.", change.fee, tense.was()) };
    format!("{what} {}{fee}", amounts(change.level_payment, tense))
}

fn skipped(skip: &Skip, tense: Tense) -> String {
    let which = skip.from_due_date.map_or(String::new(), |day| format!(" from {day} on"));
    let then = match (skip.extend_term, tense) {
        (true, Tense::Past) => "the loan ends later",
        (true, Tense::Future) => "the loan will end later",
        (false, _) => tense.of("the rest was recalculated", "the rest will be recalculated"),
    };
    format!("{} skipped{which}; {then}.", count(skip.count, tense))
}

fn deferred(deferral: &Deferral) -> String {
    let rows = deferral.rows.iter().map(|row| {
        let part = match row.balance {
            DeferredBalance::All => "the instalment",
            DeferredBalance::Principal => "the principal",
            DeferredBalance::Interest => "the interest",
            DeferredBalance::Fee => "the fees",
        };
        let to = row.deferred_to.map_or("the last instalment".to_owned(), |day| format!("the instalment of {day}"));
        format!("{part} of {} to {to}", row.due_date)
    });
    let rows: Vec<String> = rows.collect();
    let interest = if deferral.accrues { "" } else { " The deferred principal earns no interest until then." };
    format!("Deferred: {}.{interest}", rows.join(", "))
}

fn re_age(change: &ReAge, tense: Tense) -> String {
    let first = change.first_due_date.map_or(String::new(), |day| format!(", the first of them due on {day}"));
    format!(
        "The unpaid instalments {} replaced by {} new ones{first}. Interest that is owed {}; unpaid fees {}.",
        tense.were(),
        change.instalments,
        arrears(change.interest, ["goes to the first ones", "is spread over them", "is waived", "becomes principal"]),
        arrears(change.fees, ["go to the first one", "are spread over them", "are waived", "become principal"])
    )
}

fn arrears(arrears: Arrears, [first, spread, waive, capitalize]: [&'static str; 4]) -> &'static str {
    match arrears {
        Arrears::First => first,
        Arrears::Spread => spread,
        Arrears::Waive => waive,
        Arrears::Capitalize => capitalize,
    }
}

fn restructured(change: &Restructure, tense: Tense) -> String {
    let mut text = re_age(&change.re_age, tense);
    if let Some(rate) = change.rate {
        text.push_str(&format!(" The yearly rate is {rate} % from then on."));
    }
    if change.interest_only > 0 {
        text.push_str(&format!(" Interest only: the first {}.", change.interest_only));
    }
    if change.principal_forgiven.is_positive() {
        text.push_str(&format!(" Principal of {} {} forgiven.", change.principal_forgiven, tense.was()));
    }
    text
}

fn capitalized(change: &Capitalization, tense: Tense) -> String {
    let what = match (change.interest, change.fees) {
        (CapitalizedInterest::All, false) => "All interest owed",
        (CapitalizedInterest::All, true) => "All interest owed and all unpaid fees",
        (CapitalizedInterest::Posted, false) => "Posted interest",
        (CapitalizedInterest::Posted, true) => "Posted interest and all unpaid fees",
        (CapitalizedInterest::None, _) => "All unpaid fees",
    };
    format!("{what} {} principal. {}", tense.of("became", "will become"), amounts(change.level_payment, tense))
}
