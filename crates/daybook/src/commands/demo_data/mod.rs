//! `daybook demo-data`: generates a portfolio for `daybook import`.
//!
//! ```text
//! seed ─► chance ─► loan (people, plan) ─► product.json, loans.csv, payments.csv
//!                     └► some expectations made wrong ─► wrong.txt, some rows broken (breaking) ─► broken.txt
//! ```
//!
//! The expected balances are calculated independently of the engine ([`plan`], [`loan`]), so an import that matches
//! them confirms the engine. The same seed and date generate the same files, byte for byte.

mod breaking;
mod loan;
mod people;
mod plan;

use super::{Failure, print};
use crate::chance::Chance;
use crate::cli::DemoDataArgs;
use breaking::{Break, WAYS};
use daybook_clock::{Clock, System};
use daybook_engine::calendar::Day;
use daybook_engine::zone::Zone;
use daybook_service::form::fields::Id;
use daybook_service::policy::DEFAULT_ZONE;
use loan::{DemoLoan, LATE_FEE_CENTS, MONTHS};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::Path;

const LOAN_COLUMNS: [&str; 13] = [
    "account_id",
    "name_first",
    "name_last",
    "email",
    "effective_at",
    "initial_principal_cents",
    "post_promo_impl_interest_rate_percent",
    "external_fields.branch",
    "expected_as_of",
    "expected_principal_cents",
    "expected_total_balance_cents",
    "expected_fees_balance_cents",
    "expected_status",
];
const PAYMENT_COLUMNS: [&str; 4] = ["account_id", "line_item_id", "original_amount_cents", "effective_at"];
const BRANCHES: [&str; 4] = ["Duluth", "São Paulo", "Zürich", "Québec"];

/// Writes the files.
pub fn run(args: &DemoDataArgs) -> Result<(), Failure> {
    let as_of = as_of(args)?;
    Id::read(&args.product).map_err(|rule| Failure::Failed(format!("--product: {rule}")))?;
    let chance = Chance::of_seed(args.seed);
    let mut draw = chance.for_one(u64::MAX - 1);
    let wrong: BTreeSet<u64> = draw.some_below(args.loans, args.wrong).into_iter().collect();
    let broken: HashMap<u64, Break> =
        draw.some_below(args.loans, args.broken).into_iter().zip(WAYS.into_iter().cycle()).collect();
    fs::create_dir_all(&args.to).map_err(|error| cannot(&args.to, &error))?;
    let mut files = Files::make(&args.to)?;
    files.product.write_all(format!("{:#}\n", product(&args.product)).as_bytes()).map_err(Failure::Output)?;
    for number in 0..args.loans {
        let mut loan = DemoLoan::make(number, args.payments as u32, as_of, &chance);
        if wrong.contains(&number) {
            loan.expected_principal_cents += 1 + draw.below(9_999);
            writeln!(files.wrong, "{}", loan.account_id).map_err(Failure::Output)?;
        }
        files.write(&loan, as_of, broken.get(&number))?;
    }
    let (payments, to) = (files.payment_line - 1, args.to.display());
    files.finish()?;
    let mut said = format!("{} loans of the product {} with {payments} payments in {to}", args.loans, args.product);
    for (count, what, file) in [
        (wrong.len(), "have a wrong expected principal", "wrong.txt"),
        (broken.len(), "rows are invalid", "broken.txt"),
    ] {
        if count > 0 {
            said.push_str(&format!("; {count} {what}, see {file}"));
        }
    }
    print(&format!("{said}\n"))
}

/// The day as of whose start the loans are generated.
fn as_of(args: &DemoDataArgs) -> Result<Day, Failure> {
    let zone = Zone::named(DEFAULT_ZONE).ok_or_else(|| Failure::Failed("the default zone is unknown".to_owned()))?;
    let today = zone.day_at(System.now());
    let Some(text) = &args.as_of else { return Ok(today) };
    match Day::parse(text) {
        Some(day) if day <= today => Ok(day),
        Some(_) => Err(Failure::Failed(format!("--as-of: {text} is in the future"))),
        None => Err(Failure::Failed(format!("--as-of: must be a date such as 2026-06-30, not {text}"))),
    }
}

/// The product. Under its terms, a payment covers a late instalment before the next one.
fn product(product_id: &str) -> Value {
    json!({
        "product_id": product_id,
        "product_overview": { "product_name": "Auto 36", "product_type": "INSTALLMENT" },
        "product_lifecycle_policies": {
            "billing_cycle_policies": { "product_time_zone": DEFAULT_ZONE },
            "payment_pouring_policies": { "span": "OLDEST_INSTALLMENT_FIRST" },
            "default_attributes": { "default_late_fee_cents": LATE_FEE_CENTS },
        },
        "post_promotional_policies": { "post_promo_len": MONTHS, "post_promo_default_interest_rate_percent": 12 },
    })
}

/// The output files, and their line counts.
struct Files {
    product: File,
    loans: csv::Writer<BufWriter<File>>,
    payments: csv::Writer<BufWriter<File>>,
    wrong: BufWriter<File>,
    broken: BufWriter<File>,
    loan_line: u64,
    payment_line: u64,
}

impl Files {
    /// Creates all files. Existing files are not overwritten.
    fn make(folder: &Path) -> Result<Files, Failure> {
        let make = |name: &str| {
            let path = folder.join(name);
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| cannot(&path, &error))
        };
        let mut files = Files {
            product: make("product.json")?,
            loans: csv::Writer::from_writer(BufWriter::new(make("loans.csv")?)),
            payments: csv::Writer::from_writer(BufWriter::new(make("payments.csv")?)),
            wrong: BufWriter::new(make("wrong.txt")?),
            broken: BufWriter::new(make("broken.txt")?),
            loan_line: 1,
            payment_line: 1,
        };
        files.loans.write_record(LOAN_COLUMNS).map_err(not_written)?;
        files.payments.write_record(PAYMENT_COLUMNS).map_err(not_written)?;
        Ok(files)
    }

    fn write(&mut self, loan: &DemoLoan, as_of: Day, way: Option<&Break>) -> Result<(), Failure> {
        self.loan_line += 1;
        let mut row = loan_row(loan, as_of);
        if let Some(way) = way.filter(|way| way.in_loans) {
            self.spoil(way, &LOAN_COLUMNS, &mut row, "", "loans.csv", self.loan_line)?;
        }
        self.loans.write_record(&row).map_err(not_written)?;
        for (index, (day, cents)) in loan.payments.iter().enumerate() {
            self.payment_line += 1;
            let mut row = [loan.account_id.clone(), format!("p{}", index + 1), cents.to_string(), day.to_string()];
            if let Some(way) = way.filter(|way| !way.in_loans && index == 1.min(loan.payments.len() - 1)) {
                self.spoil(way, &PAYMENT_COLUMNS, &mut row, "p1", "payments.csv", self.payment_line)?;
            }
            self.payments.write_record(&row).map_err(not_written)?;
        }
        Ok(())
    }

    /// Makes a row invalid and records it.
    fn spoil(
        &mut self,
        way: &Break,
        columns: &[&str],
        row: &mut [String],
        above: &str,
        file: &str,
        line: u64,
    ) -> Result<(), Failure> {
        if let Some(place) = columns.iter().position(|column| *column == way.column) {
            row[place] = way.value.unwrap_or(above).to_owned();
        }
        writeln!(self.broken, "{file},{line},{}", way.column).map_err(Failure::Output)
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.loans.flush().and_then(|()| self.payments.flush()).map_err(Failure::Output)?;
        self.wrong.flush().and_then(|()| self.broken.flush()).map_err(Failure::Output)
    }
}

fn loan_row(loan: &DemoLoan, as_of: Day) -> [String; LOAN_COLUMNS.len()] {
    let number = loan.account_id.bytes().fold(0_usize, |sum, byte| sum + usize::from(byte));
    [
        loan.account_id.clone(),
        loan.name.0.to_owned(),
        loan.name.1.to_owned(),
        format!("{}@example.com", loan.account_id),
        loan.start.to_string(),
        loan.principal_cents.to_string(),
        format!("{}.{}", loan.rate_tenths / 10, loan.rate_tenths % 10),
        BRANCHES[number % BRANCHES.len()].to_owned(),
        as_of.to_string(),
        loan.expected_principal_cents.to_string(),
        loan.expected_total_cents.to_string(),
        loan.expected_fees_cents.to_string(),
        loan.expected_status.to_owned(),
    ]
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{} cannot be created: {error}", path.display()))
}

fn not_written(error: csv::Error) -> Failure {
    Failure::Output(std::io::Error::other(error))
}
