//! The events of a case.

use super::CaseMoment;
use super::table::{ScenarioResult, SourceFile, Table};
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::DeValue;

/// An event of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The line it begins at.
    pub line: usize,
    /// When it takes effect.
    pub effective_at: CaseMoment,
    /// When it is recorded, if later than that; only in live cases, where it makes an event backdated.
    pub recorded_at: Option<CaseMoment>,
    /// The request.
    pub input: EventInput,
}

impl Event {
    /// When it is recorded.
    pub fn comes_in_at(&self) -> &CaseMoment {
        self.recorded_at.as_ref().unwrap_or(&self.effective_at)
    }
}

/// The request of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventInput {
    /// Its kind.
    pub kind: CaseEventKind,
    /// The payment or fee it refers to, for kinds that refer to one.
    pub target: Option<String>,
    /// The body of the call, without `effective_at` and the target. Empty for a roll.
    pub body: Map<String, Value>,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseEventKind {
    /// A payment is recorded.
    Payment,
    /// A payment bounces.
    PaymentReversal,
    /// A pending payment becomes final.
    PaymentStatus,
    /// A fee is charged by hand.
    ManualFee,
    /// A fee is waived.
    FeeWaiver,
    /// The balance is raised.
    CreditOffset,
    /// The balance is lowered.
    DebitOffset,
    /// A purchase is charged.
    Charge,
    /// The status is set by hand.
    Status,
    /// A notice is configured.
    NotificationConfig,
    /// The account's clock is rolled to here, webhooks included.
    Roll,
}

impl CaseEventKind {
    const ALL: [CaseEventKind; 11] = [
        CaseEventKind::Payment,
        CaseEventKind::PaymentReversal,
        CaseEventKind::PaymentStatus,
        CaseEventKind::ManualFee,
        CaseEventKind::FeeWaiver,
        CaseEventKind::CreditOffset,
        CaseEventKind::DebitOffset,
        CaseEventKind::Charge,
        CaseEventKind::Status,
        CaseEventKind::NotificationConfig,
        CaseEventKind::Roll,
    ];

    /// The name in a file.
    pub fn name(self) -> &'static str {
        match self {
            CaseEventKind::Payment => "payment",
            CaseEventKind::PaymentReversal => "payment_reversal",
            CaseEventKind::PaymentStatus => "payment_status",
            CaseEventKind::ManualFee => "manual_fee",
            CaseEventKind::FeeWaiver => "fee_waiver",
            CaseEventKind::CreditOffset => "credit_offset",
            CaseEventKind::DebitOffset => "debit_offset",
            CaseEventKind::Charge => "charge",
            CaseEventKind::Status => "status",
            CaseEventKind::NotificationConfig => "notification_config",
            CaseEventKind::Roll => "roll",
        }
    }

    /// The key that names what the event refers to.
    fn target_key(self) -> Option<&'static str> {
        match self {
            CaseEventKind::PaymentReversal | CaseEventKind::PaymentStatus => Some("payment"),
            CaseEventKind::FeeWaiver => Some("fee"),
            _ => None,
        }
    }
}

/// Reads one `[[event]]`.
pub fn event(mut table: Table<'_, '_, '_>) -> ScenarioResult<Event> {
    let source = table.source;
    let effective_at = table.need("effective_at")?;
    let effective_at = source.moment("effective_at", effective_at)?;
    let recorded_at = table.take("recorded_at").map(|value| recorded_at(source, value, &effective_at)).transpose()?;
    let names: Vec<&str> = CaseEventKind::ALL.iter().map(|kind| kind.name()).collect();
    let rest = table.rest();
    let (key, value) = match rest.as_slice() {
        [] => return Err(table.error(format!("event must have one of: {}", names.join(", ")))),
        [one] => *one,
        [(first, _), (second, _), ..] => {
            let message =
                format!("event must have one kind only, not both {} and {}", first.get_ref(), second.get_ref());
            return Err(source.error(second.span(), message));
        }
    };
    let kind = CaseEventKind::ALL.into_iter().find(|kind| kind.name() == key.get_ref());
    let kind = kind.ok_or_else(|| table.unknown(key, &names))?;
    Ok(Event { line: table.line(), effective_at, recorded_at, input: input(source, kind, value)? })
}

fn recorded_at(
    source: SourceFile<'_>,
    value: &Spanned<DeValue<'_>>,
    effective_at: &CaseMoment,
) -> ScenarioResult<CaseMoment> {
    let recorded_at = source.moment("recorded_at", value)?;
    if recorded_at.time < effective_at.time {
        return Err(source.error(value.span(), "recorded_at must not be before effective_at"));
    }
    Ok(recorded_at)
}

fn input(source: SourceFile<'_>, kind: CaseEventKind, value: &Spanned<DeValue<'_>>) -> ScenarioResult<EventInput> {
    if kind == CaseEventKind::Roll {
        return match value.get_ref().as_bool() {
            Some(true) => Ok(EventInput { kind, target: None, body: Map::new() }),
            _ => Err(source.error(value.span(), "roll must be true; it rolls to the event's effective_at")),
        };
    }
    let mut table = source.table(kind.name(), value)?;
    if let Some(inner) = table.take("effective_at") {
        let message = format!("effective_at belongs next to {}, not inside it", kind.name());
        return Err(source.error(inner.span(), message));
    }
    let target = match kind.target_key() {
        Some(key) => Some(source.text(key, table.need(key)?)?),
        None => None,
    };
    let mut body = Map::new();
    for (key, value) in table.rest() {
        body.insert(key.get_ref().to_string(), source.json(key.get_ref(), value)?);
    }
    Ok(EventInput { kind, target, body })
}
