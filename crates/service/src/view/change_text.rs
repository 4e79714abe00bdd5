//! Changes of a loan, as sentences of the timeline.

use daybook_engine::calendar::Day;
use daybook_engine::change::{
    Arrears, CapTag, Capitalization, CapitalizedInterest, Change, Deferral, DeferredBalance, DueDateChange,
    LevelPayment, RateChange, RateKind, ReAge, Restructure, Skip,
};

/// A sentence, or several, about a change.
pub fn change_text(change: &Change) -> String {
    match change {
        Change::Rate(change) => rate(change),
        Change::DueDate(change) => due_date(change),
        Change::Skip(skip) => skipped(skip),
        Change::Extension(extension) => {
            let count = count(extension.count);
            format!("{count} added at the end, and the amounts {} were recalculated.", from(extension.from_due_date))
        }
        Change::Deferral(deferral) => deferred(deferral),
        Change::Reamortization(change) => {
            let interest = match change.interest {
                Arrears::Spread => "in equal parts",
                _ => "the first ones first",
            };
            format!("Past-due instalments were spread over those ahead, which ask for their interest {interest}.")
        }
        Change::ReAge(change) => re_age(change),
        Change::Restructure(change) => restructured(change),
        Change::Capitalization(change) => capitalized(change),
    }
}

fn count(instalments: u32) -> String {
    if instalments == 1 { "One instalment was".to_owned() } else { format!("{instalments} instalments were") }
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

fn amounts(level_payment: LevelPayment) -> &'static str {
    match level_payment {
        LevelPayment::Recalculate => "The amounts of the instalments ahead were recalculated.",
        LevelPayment::Keep => "The amounts of the instalments ahead stay; the last one takes the difference.",
        LevelPayment::Reduce => "Each instalment asks less by the interest that the limit forgives.",
    }
}

fn rate(change: &RateChange) -> String {
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
    format!("{what} {}", amounts(change.level_payment))
}

fn due_date(change: &DueDateChange) -> String {
    let next = change.next_due_date;
    let what = match change.from_due_date {
        Some(from) => format!("The due date {from} moved to {next}, and the following due dates with it."),
        None => format!("The next due date moved to {next}, and the following due dates with it."),
    };
    let fee = if change.fee.is_zero() { String::new() } else { format!(" A fee of {} was charged.", change.fee) };
    format!("{what} {}{fee}", amounts(change.level_payment))
}

fn skipped(skip: &Skip) -> String {
    let which = skip.from_due_date.map_or(String::new(), |day| format!(" from {day} on"));
    let then = if skip.extend_term { "the loan ends later" } else { "the rest was recalculated" };
    format!("{} skipped{which}; {then}.", count(skip.count))
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

fn re_age(change: &ReAge) -> String {
    let first = change.first_due_date.map_or(String::new(), |day| format!(", the first of them due on {day}"));
    format!(
        "The unpaid instalments were replaced by {} new ones{first}. Interest owed {}; unpaid fees {}.",
        change.instalments,
        arrears(change.interest),
        arrears(change.fees)
    )
}

fn arrears(arrears: Arrears) -> &'static str {
    match arrears {
        Arrears::First => "belongs to the first ones",
        Arrears::Spread => "is spread over them",
        Arrears::Waive => "is waived",
        Arrears::Capitalize => "becomes principal",
    }
}

fn restructured(change: &Restructure) -> String {
    let mut text = re_age(&change.re_age);
    if let Some(rate) = change.rate {
        text.push_str(&format!(" The yearly rate is {rate} % from then on."));
    }
    if change.interest_only > 0 {
        text.push_str(&format!(" Interest only: the first {}.", change.interest_only));
    }
    if change.principal_forgiven.is_positive() {
        text.push_str(&format!(" Principal of {} was forgiven.", change.principal_forgiven));
    }
    text
}

fn capitalized(change: &Capitalization) -> String {
    let what = match (change.interest, change.fees) {
        (CapitalizedInterest::All, false) => "All interest owed",
        (CapitalizedInterest::All, true) => "All interest owed and all unpaid fees",
        (CapitalizedInterest::Posted, false) => "Posted interest",
        (CapitalizedInterest::Posted, true) => "Posted interest and all unpaid fees",
        (CapitalizedInterest::None, _) => "All unpaid fees",
    };
    format!("{what} became principal. {}", amounts(change.level_payment))
}
