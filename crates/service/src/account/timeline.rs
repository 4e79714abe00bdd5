//! How the balance came about: every event of an account, with the amounts it posted.

use super::book::{Book, Halt};
use super::causes::RELEASE;
use super::journal::{JournalEntry, Record, ZoneChange, entries};
use super::message_writer::cause_text;
use super::postings::{EarlyInterest, Posting, Recorder, is_undone, owed_again, surplus_used, where_it_went};
use crate::view::{EventText, MomentAmounts};
use daybook_engine::fold::{FoldObserver, ObservedStep};
use daybook_engine::item::{ItemId, ItemKind};
use daybook_engine::money::Cents;
use daybook_engine::outcome::{Balances, Cause, EventKind};
use daybook_engine::replay::replay_watched;
use daybook_engine::time::Time;
use daybook_engine::timeline::Input;
use std::collections::HashMap;

/// Whether an event has been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventProgress {
    /// Its product holds events.
    Held,
    /// Its time is in the future.
    Scheduled,
    /// It was processed.
    Processed,
    /// It could not be applied.
    Failed,
}

/// An event of an account, past or scheduled.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    /// Its kind, such as `payment` or `period_end`.
    pub kind: &'static str,
    /// The record's sequence number; `None` for an event that the engine made.
    pub seq: Option<i64>,
    /// The name of the record.
    pub name: Option<String>,
    /// When it happened, according to the caller, or the moment that made it.
    pub effective_at: Time,
    /// Its place in the timeline.
    pub applies_at: Time,
    /// When it was accepted.
    pub recorded_at: Option<Time>,
    /// Whether it was processed.
    pub progress: EventProgress,
    /// Why it could not be applied.
    pub reason: Option<String>,
    /// The balances before.
    pub before: Balances,
    /// The balances after.
    pub after: Balances,
    /// The amounts it posted; they add up to the change of the balances.
    pub postings: Vec<Posting>,
    /// The line items that it made.
    pub items: Vec<String>,
    /// The cause that its messages carry.
    pub cause: String,
    /// A sentence that describes it.
    pub description: String,
}

/// Records each step of a fold.
#[derive(Default)]
struct Notes {
    steps: Vec<Noted>,
    recorder: Recorder,
}

/// A step of a fold.
struct Noted {
    at: Time,
    cause: Cause,
    after: Balances,
    items: Vec<String>,
    postings: Vec<Posting>,
    /// For the end of a period: interest of that period that became line items earlier.
    early_interest: EarlyInterest,
    /// Whether the step is a payment that bounced and is left out of the fold.
    is_undone: bool,
    /// Whether the step announced a notice.
    is_announced: bool,
}

impl FoldObserver for Notes {
    fn step(&mut self, seen: &ObservedStep<'_>) {
        let touched = seen.out.events[seen.events_before..].iter().filter_map(|event| match &event.what {
            EventKind::ItemCreated(id) | EventKind::ItemUpdated(id) => Some(id),
            _ => None,
        });
        let early_interest = match seen.cause {
            Cause::PeriodEnd { period } => self.recorder.early_interest(period),
            _ => EarlyInterest::default(),
        };
        self.steps.push(Noted {
            at: seen.at,
            cause: seen.cause,
            after: seen.state.balances(),
            items: touched.clone().map(ItemId::to_string).collect(),
            postings: self.recorder.step(seen),
            early_interest,
            is_undone: touched.clone().any(|id| is_undone(id, seen.revised)),
            is_announced: seen.out.events[seen.events_before..]
                .iter()
                .any(|event| matches!(event.what, EventKind::Notice { .. })),
        });
    }

    fn restart(&mut self) {
        *self = Notes::default();
    }
}

impl Book {
    /// All events in order, past and scheduled; with `until`, those up to that moment. Needs the whole journal, or all
    /// of it up to that moment.
    pub fn happenings(&self, until: Option<Time>) -> Result<Vec<TimelineEntry>, Halt> {
        if !self.complete {
            return Err(Halt::NeedsAll);
        }
        let mut notes = Notes::default();
        let mut reasons = HashMap::new();
        if let Some(through) = self.now.processed_through {
            let settled = entries(self.journal.iter().filter(|record| !self.is_held(record)));
            let through = until.map_or(through, |until| until.min(through));
            if let Ok((_, out)) = replay_watched(&self.terms, &settled, through, &mut notes) {
                reasons.extend(out.refused.iter().map(|(seq, refusal)| (*seq, refusal.rule())));
            }
        }
        let by_seq: HashMap<u64, &JournalEntry> =
            self.journal.iter().map(|record| (record.place.seq, record)).collect();
        let mut happenings = Vec::with_capacity(notes.steps.len() + 4);
        let mut before = Balances::default();
        for step in notes.steps {
            let record = match step.cause {
                Cause::Input(seq) => by_seq.get(&seq).copied(),
                _ => None,
            };
            let mut happening = match record {
                Some(record) => of_record(record, EventProgress::Processed),
                None => self.of_moment(&step),
            };
            if let Some(record) = record {
                describe_money(record, &step, &mut happening.description);
            }
            let used = surplus_used(&step.postings);
            if used.is_positive() {
                happening.description.push_str(&format!(" Surplus of {used} was applied to the balance."));
            }
            let after = step.after;
            (happening.before, happening.after) = (before, after);
            (happening.items, happening.postings) = (step.items, step.postings);
            if let Some(rule) = record.and_then(|record| reasons.get(&record.place.seq)) {
                (happening.progress, happening.reason) = (EventProgress::Failed, Some((*rule).to_owned()));
            }
            before = after;
            happenings.push(happening);
        }
        let through = self.now.processed_through.unwrap_or(Time::BEGINNING);
        let steps = happenings.len();
        for record in &self.journal {
            let is_input = matches!(record.record, Record::Input(_));
            let is_refold = record.record.mark().is_some();
            let progress = if self.is_held(record) && !is_refold {
                if self.now.failure.is_some() { EventProgress::Failed } else { EventProgress::Held }
            } else if is_input && record.place.at > through {
                EventProgress::Scheduled
            } else if !is_input && !is_first_release(record) {
                EventProgress::Processed
            } else {
                continue;
            };
            let mut happening = of_record(record, progress);
            if progress == EventProgress::Failed {
                happening.reason.clone_from(&self.now.failure);
            }
            let balances =
                if is_input { Balances::default() } else { balances_at(&happenings[..steps], record.place.at) };
            (happening.before, happening.after) = (balances, balances);
            happenings.push(happening);
        }
        happenings.sort_by_key(|happening| happening.applies_at);
        Ok(happenings)
    }

    fn of_moment(&self, step: &Noted) -> TimelineEntry {
        let posted = |wanted: fn(&ItemKind) -> bool| -> Cents {
            step.postings.iter().filter(|posting| wanted(&posting.kind)).map(|posting| posting.cents).sum()
        };
        let charged_on = step.early_interest.charged_at.map(|at| self.terms.zone.day_at(at));
        let amounts = MomentAmounts {
            interest: posted(|kind| *kind == ItemKind::Interest),
            early_interest: (step.early_interest.cents, charged_on),
            late_fee: posted(|kind| *kind == ItemKind::LateFee),
            is_announced: step.is_announced,
        };
        let told = EventText::moment(&step.cause, self.terms.installment().count(), &amounts);
        let (kind, description) = told.map_or(("input", String::new()), |told| (told.event, told.description));
        TimelineEntry {
            kind,
            seq: None,
            name: None,
            effective_at: step.at,
            applies_at: step.at,
            recorded_at: None,
            progress: EventProgress::Processed,
            reason: None,
            before: Balances::default(),
            after: Balances::default(),
            postings: Vec::new(),
            items: Vec::new(),
            cause: cause_text(step.cause),
            description,
        }
    }
}

/// Every account begins with a release, even if its product holds no events; that release is not shown.
fn is_first_release(record: &JournalEntry) -> bool {
    matches!(record.record, Record::Release { .. }) && record.seq() == 2
}

/// The balances at a moment, from the events before it.
fn balances_at(happenings: &[TimelineEntry], at: Time) -> Balances {
    happenings.iter().rev().find(|happening| happening.applies_at <= at).map_or(Balances::default(), |last| last.after)
}

fn of_record(record: &JournalEntry, progress: EventProgress) -> TimelineEntry {
    let kind = record.record.kind();
    let cause = match &record.record {
        Record::Release { .. } => RELEASE.to_owned(),
        _ => format!("input:{}", record.place.seq),
    };
    TimelineEntry {
        kind,
        seq: Some(record.seq()),
        name: Some(record.row.name.to_string()),
        effective_at: record.row.effective_at,
        applies_at: record.place.at,
        recorded_at: Some(record.row.recorded_at),
        progress,
        reason: None,
        before: Balances::default(),
        after: Balances::default(),
        postings: Vec::new(),
        items: Vec::new(),
        cause,
        description: match (&record.record, progress) {
            (Record::Input(input), EventProgress::Held | EventProgress::Scheduled | EventProgress::Failed) => {
                EventText::planned(input)
            }
            _ => describe(record),
        },
    }
}

fn describe(record: &JournalEntry) -> String {
    match &record.record {
        Record::Input(input) => EventText::input(input).description,
        Record::Release { .. } => "Held events were released.".to_owned(),
        Record::Roll { .. } => "The clock of the account was rolled forward to this time.".to_owned(),
        Record::Profile => "The customers or the external fields of the account changed.".to_owned(),
        Record::Refold(mark) => {
            format!("The account was recalculated under version {} of the rules.", mark.rules_version)
        }
        Record::Zone(ZoneChange { version, before, after, .. }) => match (before, after) {
            (Some(before), Some(after)) if before != after => {
                format!(
                    "Time-zone data {version} applies from this time on. The next event moved from {before} to {after}."
                )
            }
            _ => format!("Time-zone data {version} applies from this time on."),
        },
    }
}

/// Adds to an input's description where its money went.
fn describe_money(record: &JournalEntry, step: &Noted, description: &mut String) {
    let Record::Input(input) = &record.record else { return };
    let sentence = match input {
        Input::Payment { .. } if step.is_undone => {
            Some("The payment bounced or was declined, so the account is calculated without it.".to_owned())
        }
        Input::Payment { .. } | Input::PaymentStatus { .. } => where_it_went(&step.postings, "It"),
        Input::Debit { .. } => where_it_went(&step.postings, "This"),
        Input::Reversal { .. } if !step.items.iter().any(|item| *item == *record.row.name) => {
            Some("The payment had not taken effect, so it will not count.".to_owned())
        }
        Input::Reversal { .. } => owed_again(&step.postings),
        _ => None,
    };
    if let Some(sentence) = sentence {
        description.push(' ');
        description.push_str(&sentence);
    }
}
