//! `daybook serve --demo`: loads the test cases as a small portfolio.
//!
//! The cases are compiled in. Each is shifted by whole months so that its last event is in the month before today: a
//! case that ends with a missed instalment becomes a loan that missed one last month, not years ago. Products,
//! customers, accounts and events are loaded through the service in migration mode and then released. Rolls are left
//! out, as the accounts are in real time. An event that a live case records late is loaded with the time of recording,
//! which is when it took effect. Cases that name dates in their terms or changes, such as a due date, are left out: the
//! dates would not be those of the shifted loan.

use super::Failure;
use daybook_cases::scenario::Event;
use daybook_cases::submit::{read, submit};
use daybook_cases::{Scenario, builtin};
use daybook_engine::calendar::{Day, MonthEnd};
use daybook_engine::time::Time;
use daybook_engine::zone::Zone;
use daybook_service::Service;
use daybook_service::access::Caller;
use daybook_service::paging::Paging;
use daybook_service::policy::DEFAULT_ZONE;
use daybook_service::problem::Problem;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Fills an empty database. Returns a sentence about the result.
pub async fn load(service: &Service, now: Time) -> Result<String, Failure> {
    if !is_empty(service).await? {
        return Ok("The database is not empty: no demo data was loaded.".to_owned());
    }
    let who = service.operator(None).await?;
    let mut demo = Demo { service, who, products: BTreeSet::new(), accounts: 0 };
    let zone = Zone::named(DEFAULT_ZONE).ok_or_else(|| Failure::Failed("the default zone is unknown".to_owned()))?;
    for (file, text) in builtin() {
        let case = daybook_cases::parse(Path::new(file), text).map_err(|error| Failure::Failed(error.to_string()))?;
        if names_dates(&case) {
            continue;
        }
        let shift = Shift::until(&case, now, &zone);
        let loaded = demo.load(&case, &shift).await;
        loaded.map_err(|problem| Failure::Failed(format!("demo data, {file}: {}", Failure::from(problem))))?;
    }
    demo.release().await?;
    Ok(format!("Loaded {} accounts of {} products as demo data.", demo.accounts, demo.products.len()))
}

/// Whether the account or an event of a case names a date besides the time at which it takes effect.
fn names_dates(case: &Scenario) -> bool {
    let of_account = case.account.as_object().into_iter().flatten().filter(|(name, _)| *name != "effective_at");
    let of_events = case.events.iter().flat_map(|event| event.input.body.values());
    of_account.map(|(_, value)| value).chain(of_events).any(has_date)
}

fn has_date(value: &Value) -> bool {
    match value {
        Value::String(text) => Day::parse(text).is_some() || Time::parse(text).is_some(),
        Value::Array(values) => values.iter().any(has_date),
        Value::Object(fields) => fields.values().any(has_date),
        _ => false,
    }
}

async fn is_empty(service: &Service) -> Result<bool, Failure> {
    if service.organizations().await?.len() != 1 {
        return Ok(false);
    }
    let who = service.operator(None).await?;
    Ok(service.list_products(&who, Paging::default()).await?.results.is_empty())
}

/// Shifts times by whole months, in the local time of a zone.
struct Shift<'a> {
    zone: &'a Zone,
    months: i32,
}

impl Shift<'_> {
    /// The shift that moves a case's end as close to `now` as possible without passing it.
    fn until<'a>(case: &Scenario, now: Time, zone: &'a Zone) -> Shift<'a> {
        let end = case.ends_at().time;
        let (year, month, _) = zone.day_at(now).ymd();
        let (end_year, end_month, _) = zone.day_at(end).ymd();
        let whole = (year - end_year) * 12 + month as i32 - end_month as i32;
        let same_month = Shift { zone, months: whole };
        let months = if same_month.moved(end) < now { whole } else { whole - 1 };
        Shift { zone, months }
    }

    fn moved(&self, time: Time) -> Time {
        let (day, time_of_day) = self.zone.local(time);
        self.zone.at(day.plus_months(self.months, MonthEnd::Clamp), time_of_day)
    }

    fn text(&self, time: Time) -> Value {
        Value::from(self.moved(time).to_string())
    }
}

struct Demo<'a> {
    service: &'a Service,
    who: Caller,
    products: BTreeSet<String>,
    accounts: usize,
}

impl Demo<'_> {
    async fn load(&mut self, case: &Scenario, shift: &Shift<'_>) -> Result<(), Problem> {
        let product_id = case.product["product_id"].as_str().unwrap_or_default().to_owned();
        if self.products.insert(product_id.clone()) {
            self.service.create_product(&self.who, None, read(&case.product)?).await?;
            self.hold(&product_id, true).await?;
        }
        let mut account = case.account.clone();
        account["product_id"] = Value::from(product_id);
        account["effective_at"] = shift.text(case.account_effective_at.time);
        if let Some(customer) = &case.customer {
            self.service.create_customer(&self.who, None, read(customer)?).await?;
            account["assign_customers"] = json!([{ "customer_id": customer["customer_id"] }]);
        }
        self.service.create_account(&self.who, None, read(&account)?).await?;
        self.accounts += 1;
        let account_id = account["account_id"].as_str().unwrap_or_default();
        for event in &case.events {
            self.record(account_id, event, shift).await?;
        }
        Ok(())
    }

    async fn record(&self, account: &str, event: &Event, shift: &Shift<'_>) -> Result<(), Problem> {
        let effective_at = shift.moved(event.comes_in_at().time).to_string();
        submit(self.service, &self.who, account, &event.input, &effective_at).await
    }

    async fn hold(&self, product: &str, on: bool) -> Result<(), Problem> {
        let form = read(&json!({ "migration_mode": on }))?;
        self.service.set_migration_mode(&self.who, None, product, form).await.map(drop)
    }

    /// Releases everything that was loaded.
    async fn release(&self) -> Result<(), Failure> {
        for product in &self.products {
            self.hold(product, false).await?;
        }
        self.service.settle_due().await?;
        for product in &self.products {
            let progress = self.service.get_migration_mode(&self.who, product).await?;
            if progress.held_events != 0 || !progress.failed_accounts.is_empty() {
                return Err(Failure::Failed(format!(
                    "demo data, product {product}: the release is incomplete: {progress:?}"
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_moved_to_the_month_before_now() {
        let zone = Zone::named("America/New_York").expect("a zone");
        let time = |text: &str| Time::parse(text).expect("a time");
        let (file, text) = builtin()[7];
        let case = daybook_cases::parse(Path::new(file), text).expect("a case");
        assert_eq!(case.ends_at().text, "2025-06-01T12:00:00-04:00");
        // In winter the offset differs, but the local time is the same.
        for (now, end) in [
            ("2026-12-01T12:00:01-05:00", "2026-12-01T12:00:00-05:00"),
            ("2026-12-01T11:59:59-05:00", "2026-11-01T12:00:00-05:00"),
            ("2025-06-02T00:00:00-04:00", "2025-06-01T12:00:00-04:00"),
        ] {
            let shift = Shift::until(&case, time(now), &zone);
            assert_eq!(shift.moved(case.ends_at().time), time(end), "{now}");
        }
    }
}
