//! Changes recorded after their date, as posted and under replay.

use super::*;
use crate::support::{item, items, reading};
use daybook_engine::outcome::Refusal;

fn scra_of(text: &str) -> RateChange {
    let kind = RateKind::Cap { tag: CapTag::Scra, rate: CapTag::Scra.rate() };
    RateChange { kind, from: day(text), to: None, level_payment: LevelPayment::Reduce, retroactive: false }
}

/// The cap counts from 1 March. The 14 days before cost 803.97 x 6 % / 12 / 2 = 2.01 more than with it: that is given
/// back. The row asks 408.03 - 2.01 for the 14 days after, and 2.01 of it are paid by the offset.
#[test]
fn a_cap_by_law_gives_back_what_its_delay_cost() {
    let mut book = live(&three(), &[("02-15", pay(40_803))]);
    book.roll(at(&nine("03-01")));
    book.submit("c", at(&nine("02-15")), change(Change::Rate(scra_of("02-15")))).unwrap();
    assert_eq!(item(&book, "dbk_retro:c"), "dbk_retro:c -2.01: 2.01 dbk_interest_2.1");
    assert_eq!(rows_from(&book, 2), ["03-15 6.03 + 399.99", "04-15 2.02 + 403.98"]);
    assert_eq!(schedule(&book.terms, &book.state, book.clock).unwrap()[1].outstanding, Cents(40_401));
    assert!(reading(&book).is_scra);
    assert_eq!(reading(&book).rate, percent("6"));
    let mut replayed = live(&three().replaying(), &[("02-15", pay(40_803))]);
    replayed.roll(at(&nine("03-01")));
    replayed.submit("c", at(&nine("02-15")), change(Change::Rate(scra_of("02-15")))).unwrap();
    assert_eq!(rows_from(&replayed, 2), ["03-15 4.02 + 399.99", "04-15 2.02 + 403.98"]);
}

/// The cap from 10 February is recorded on 20 February: 5 of 31 days on 1200.00, then 5 of 28 days on 803.97:
/// 1200.00 x 0.5 % x 5/31 + 803.97 x 0.5 % x 5/28 = 0.9677 + 0.7178 = 1.69.
#[test]
fn the_delay_may_span_periods() {
    let mut book = live(&three(), &[("02-15", pay(40_803))]);
    book.roll(at(&nine("02-20")));
    book.submit("c", at(&nine("02-10")), change(Change::Rate(scra_of("02-10")))).unwrap();
    assert_eq!(item(&book, "dbk_retro:c"), "dbk_retro:c -1.69: 1.44 dbk_interest_2.1, 0.25 dbk_loan");
}

#[test]
fn interest_is_never_raised_backwards() {
    let mut book = live(&three(), &[("02-15", pay(40_803))]);
    book.roll(at(&nine("03-01")));
    let higher = |retroactive| {
        let kind = RateKind::Plain(percent("15"));
        let (from, level_payment) = (day("02-15"), LevelPayment::Keep);
        change(Change::Rate(RateChange { kind, from, to: None, level_payment, retroactive }))
    };
    let refused = book.submit("c", at(&nine("02-15")), higher(true)).unwrap_err();
    assert_eq!(refused.field().as_deref(), Some("retroactive"));
    book.submit("d", at(&nine("02-15")), higher(false)).unwrap();
    assert!(items(&book).iter().all(|item| !item.contains("retro")));
    // 14 days at 12 %, 14 at 15 %: 803.97 x 1 % x (1/2 + 1.25/2) = 9.04.
    assert_eq!(rows_from(&book, 2)[0], "03-15 9.04 + 398.99");
}

/// A pause that is over when it is recorded has nothing left.
#[test]
fn a_window_that_is_over_is_refused_live() {
    use daybook_engine::installment::changes::judge;
    use daybook_engine::item::Name;
    use daybook_engine::timeline::{Entry, TimelinePosition};
    let mut book = live(&three(), &[("02-15", pay(40_803))]);
    book.roll(at(&nine("03-01")));
    let judged = |input: Input, book: &Book| {
        let place = TimelinePosition::late(book.clock, 99);
        let entry = Entry { place, effective_at: book.clock, scheduled: false, name: Name::from("c"), input };
        judge(&book.terms, &book.state, &entry)
    };
    assert_eq!(judged(pause("02-16", "02-20"), &book), Err(Refusal::NothingToChange));
    assert_eq!(judged(pause("02-16", "03-20"), &book), Ok(()));
    assert_eq!(judged(re_amortization(Arrears::First), &book), Err(Refusal::NothingToChange));
    let refused = judged(deferral("03-16", None, true), &book).unwrap_err();
    assert_eq!(refused.field().as_deref(), Some("deferrals[0].due_date"));
    let refused = judged(due_date("02-20"), &book).unwrap_err();
    assert_eq!(refused.field().as_deref(), Some("next_due_date"));
    let refused = judged(skip(2, false), &book).unwrap_err();
    assert_eq!(refused.field().as_deref(), Some("count"));
    book.roll(at(&nine("04-20")));
    for input in [due_date("04-25"), skip(1, true), extension(1), re_amortization(Arrears::First)] {
        assert_eq!(judged(input, &book), Err(Refusal::NoRowsAhead));
    }
    assert_eq!(judged(re_age("05-15", 2, Arrears::First), &book), Ok(()));
    let payoff = reading(&book).payoff;
    book.submit("p", book.clock, pay(payoff.0)).unwrap();
    assert_eq!(judged(re_age("05-15", 2, Arrears::First), &book), Err(Refusal::AccountClosed));
    assert_eq!(judged(scra("04-20"), &book), Ok(()));
}

#[test]
fn re_ages_are_limited() {
    use daybook_engine::installment::ReAgeLimits;
    use daybook_engine::installment::changes::judge;
    use daybook_engine::item::Name;
    use daybook_engine::timeline::{Entry, TimelinePosition};
    let limits = ReAgeLimits { per_12_months: Some(1), per_60_months: None, min_age_months: Some(2) };
    let loan = three().with(|policy| policy.re_age_limits = limits);
    let judged = |book: &Book| {
        let place = TimelinePosition::late(book.clock, 99);
        let input = re_age("06-15", 2, Arrears::First);
        judge(
            &book.terms,
            &book.state,
            &Entry { place, effective_at: book.clock, scheduled: false, name: Name::from("c"), input },
        )
    };
    let mut book = loan.open();
    book.roll(at(&nine("03-14")));
    assert_eq!(judged(&book), Err(Refusal::LimitReached), "too young");
    book.roll(at(&nine("03-20")));
    assert_eq!(judged(&book), Ok(()));
    let book = live(&loan, &[("03-20", re_age("04-15", 3, Arrears::First))]);
    assert_eq!(judged(&book), Err(Refusal::LimitReached), "one already");
}
