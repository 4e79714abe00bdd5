//! The events of a case.

use super::CaseMoment;
use super::table::{ScenarioResult, SourceFile, Table};
use daybook_operations::Operation;
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
    /// When it is recorded, if at another time; only in live cases. An event recorded later is backdated, one recorded
    /// earlier is scheduled.
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
    /// A rate is set.
    InterestRate,
    /// A promotion is made.
    TempPromo,
    /// Interest is paused.
    InterestPause,
    /// A due date moves.
    DueDate,
    /// Instalments are skipped.
    Skip,
    /// Instalments are added.
    Extension,
    /// Instalments are deferred.
    PaymentDeferral,
    /// Past-due instalments are spread.
    ReAmortization,
    /// New instalments replace the unpaid ones.
    ReAge,
    /// The loan is restructured.
    Restructure,
    /// Interest or fees become principal.
    Capitalization,
    /// A change is cancelled.
    ChangeCancel,
    /// Surplus is refunded.
    Refund,
    /// A refund comes back.
    RefundReversal,
    /// The account's clock is rolled to here, webhooks included.
    Roll,
}

impl CaseEventKind {
    const ALL: [CaseEventKind; 25] = [
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
        CaseEventKind::InterestRate,
        CaseEventKind::TempPromo,
        CaseEventKind::InterestPause,
        CaseEventKind::DueDate,
        CaseEventKind::Skip,
        CaseEventKind::Extension,
        CaseEventKind::PaymentDeferral,
        CaseEventKind::ReAmortization,
        CaseEventKind::ReAge,
        CaseEventKind::Restructure,
        CaseEventKind::Capitalization,
        CaseEventKind::ChangeCancel,
        CaseEventKind::Refund,
        CaseEventKind::RefundReversal,
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
            CaseEventKind::InterestRate => "interest_rate",
            CaseEventKind::TempPromo => "temp_promo",
            CaseEventKind::InterestPause => "interest_pause",
            CaseEventKind::DueDate => "due_date",
            CaseEventKind::Skip => "skip",
            CaseEventKind::Extension => "extension",
            CaseEventKind::PaymentDeferral => "payment_deferral",
            CaseEventKind::ReAmortization => "re_amortization",
            CaseEventKind::ReAge => "re_age",
            CaseEventKind::Restructure => "restructure",
            CaseEventKind::Capitalization => "capitalization",
            CaseEventKind::ChangeCancel => "change_cancel",
            CaseEventKind::Refund => "refund",
            CaseEventKind::RefundReversal => "refund_reversal",
            CaseEventKind::Roll => "roll",
        }
    }

    /// The key that names what the event refers to.
    fn target_key(self) -> Option<&'static str> {
        match self {
            CaseEventKind::PaymentReversal | CaseEventKind::PaymentStatus => Some("payment"),
            CaseEventKind::FeeWaiver => Some("fee"),
            CaseEventKind::ChangeCancel => Some("change_id"),
            CaseEventKind::RefundReversal => Some("refund"),
            _ => None,
        }
    }

    /// The operation that requests it; `None` for a roll, and for a charge, which no loan has.
    pub fn operation(self) -> Option<Operation> {
        Some(match self {
            CaseEventKind::Payment => Operation::RecordPayment,
            CaseEventKind::PaymentReversal => Operation::ReversePayment,
            CaseEventKind::PaymentStatus => Operation::ChangeLineItem,
            CaseEventKind::ManualFee => Operation::ChargeManualFee,
            CaseEventKind::FeeWaiver => Operation::WaiveFee,
            CaseEventKind::CreditOffset => Operation::CreditOffset,
            CaseEventKind::DebitOffset => Operation::DebitOffset,
            CaseEventKind::Status => Operation::SetAccountStatus,
            CaseEventKind::NotificationConfig => Operation::SetNotificationConfig,
            CaseEventKind::InterestRate => Operation::CreateInterestRate,
            CaseEventKind::TempPromo => Operation::CreateTempPromo,
            CaseEventKind::InterestPause => Operation::CreateInterestPause,
            CaseEventKind::DueDate => Operation::ChangeDueDate,
            CaseEventKind::Skip => Operation::SkipInstallments,
            CaseEventKind::Extension => Operation::ExtendTerm,
            CaseEventKind::PaymentDeferral => Operation::DeferPayments,
            CaseEventKind::ReAmortization => Operation::ReAmortize,
            CaseEventKind::ReAge => Operation::ReAge,
            CaseEventKind::Restructure => Operation::Restructure,
            CaseEventKind::Capitalization => Operation::Capitalize,
            CaseEventKind::ChangeCancel => Operation::CancelChange,
            CaseEventKind::Refund => Operation::RefundSurplus,
            CaseEventKind::RefundReversal => Operation::ReverseRefund,
            CaseEventKind::Charge | CaseEventKind::Roll => return None,
        })
    }
}

/// Reads one `[[event]]`.
pub fn event(mut table: Table<'_, '_, '_>) -> ScenarioResult<Event> {
    let source = table.source;
    let effective_at = table.need("effective_at")?;
    let effective_at = source.moment("effective_at", effective_at)?;
    let recorded_at = table.take("recorded_at").map(|value| source.moment("recorded_at", value)).transpose()?;
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
        // The id of a refund may be given as that of its line item.
        Some("refund") => match table.take("refund") {
            Some(refund) => Some(source.text("refund", refund)?),
            None => Some(source.text("line_item_id", table.need("line_item_id")?)?),
        },
        Some(key) => Some(source.text(key, table.need(key)?)?),
        None => None,
    };
    let mut body = Map::new();
    for (key, value) in table.rest() {
        body.insert(key.get_ref().to_string(), source.json(key.get_ref(), value)?);
    }
    Ok(EventInput { kind, target, body })
}
