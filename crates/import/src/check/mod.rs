//! Reads both files and checks every row, so that the server accepts all of them.
//!
//! | file | what is there |
//! |---|---|
//! | [`loans`] | the rows of the loans file |
//! | [`loan_row`] | what a row of the loans file becomes: an account and its borrower |
//! | [`payments`] | the rows of the payments file |
//!
//! The rules for the header and the form of the files are in [`csv_file`](crate::csv_file).

mod loan_row;
mod loans;
mod payments;

use crate::check_report::CheckReport;
use crate::csv_file::CsvFile;
use crate::error::ImportError;
use crate::observer::Observer;
use crate::portfolio::Portfolio;
use crate::product::ImportProduct;
use daybook_engine::time::Time;
use std::path::Path;

/// What the files may leave out.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckOptions {
    /// Whether a loan may have no borrower.
    pub allows_no_customer: bool,
    /// Whether the payments file may have no rows.
    pub allows_no_payments: bool,
    /// Whether accounts get borrowers that the file names only by their id. A scratch database does not have them.
    pub keeps_references: bool,
}

/// What the rows are checked against.
#[derive(Clone, Copy)]
pub struct PortfolioCheck<'a> {
    /// The product of the loans.
    pub product: &'a ImportProduct,
    /// The current time: nothing in the files may be later.
    pub now: Time,
    /// What the files may leave out.
    pub options: CheckOptions,
    /// Follows the check, and may interrupt it.
    pub observer: &'a dyn Observer,
}

impl PortfolioCheck<'_> {
    /// Reads both files. Invalid values are added to the report; the portfolio is complete only if there are none.
    pub fn run(&self, loans: &Path, payments: &Path, report: &mut CheckReport) -> Result<Portfolio, ImportError> {
        let (loans, payments) = (CsvFile::open(loans)?, CsvFile::open(payments)?);
        let mut portfolio = Portfolio::default();
        let is_readable = loans::read(loans, self, &mut portfolio, report)?;
        if report.count() == 0 && portfolio.loans.is_empty() {
            // Without loans, every payment would be rejected: report the cause once.
            return Err(ImportError::Failed(format!(
                "{} has no rows below its header: nothing was loaded",
                portfolio.loans_file
            )));
        }
        if is_readable {
            payments::read(payments, self, &mut portfolio, report)?;
        }
        if report.count() == 0 && portfolio.payments.is_empty() && !self.options.allows_no_payments {
            return Err(ImportError::NoPayments { file: portfolio.payments_file });
        }
        Ok(portfolio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::{Silent, Task};
    use std::fs;

    const PRODUCT: &str = r#"{ "product_id": "auto-12",
        "product_overview": { "product_name": "Auto 12", "product_type": "INSTALLMENT" },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12 } }"#;
    const LOANS: &str = "account_id,effective_at,initial_principal_cents,name_last,expected_principal_cents\n\
        loan-1,2025-01-15,120000,Lovelace,100000\n";
    const PAYMENTS: &str = "effective_at,account_id,original_amount_cents\n\
        2025-03-15,loan-1,10662\n2025-02-15,loan-1,10662\n2025-02-15,loan-1,10662\n";

    /// Ends the check at once.
    struct Ending;

    impl Observer for Ending {
        fn begin(&self, what: &str, total: u64) -> Box<dyn Task> {
            Silent.begin(what, total)
        }

        fn say(&self, _sentence: &str) {}

        fn is_interrupted(&self) -> bool {
            true
        }
    }

    fn check(loans: &str, payments: &str, observer: &dyn Observer) -> (Result<Portfolio, ImportError>, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            path
        };
        let product = ImportProduct::of_file(&file("product.json", PRODUCT)).expect("the product is valid");
        let now = Time::parse("2026-01-01T00:00:00Z").expect("a time");
        let check = PortfolioCheck { product: &product, now, options: CheckOptions::default(), observer };
        let mut report = CheckReport::new(None).expect("no file is made");
        let checked = check.run(&file("loans.csv", loans), &file("payments.csv", payments), &mut report);
        let told = report.as_text("").replace(&format!("{}/", folder.path().display()), "");
        (checked, told)
    }

    #[test]
    fn valid_files_become_a_portfolio() {
        let (portfolio, told) = check(LOANS, PAYMENTS, &Silent);
        let portfolio = portfolio.expect("the files are valid");
        assert_eq!(told, "");
        let loan = &portfolio.loans[0];
        assert_eq!((&*loan.account_id, loan.line, loan.expected.len()), ("loan-1", 2, 1));
        assert_eq!(loan.start.map(|start| start.to_string()).as_deref(), Some("2025-01-15T05:00:00Z"));
        assert_eq!(portfolio.customers[0].customer_id, "loan-1");
        let payments: Vec<(u64, &str)> = portfolio.payments.iter().map(|one| (one.line, &*one.id)).collect();
        let ids = ["payment-2025-02-15T05:00:00Z-10662", "payment-2025-02-15T05:00:00Z-10662-2"];
        assert_eq!(payments, [(3, ids[0]), (4, ids[1]), (2, "payment-2025-03-15T04:00:00Z-10662")]);
    }

    #[test]
    fn invalid_values_are_reported_with_line_and_column() {
        let payments = PAYMENTS.replace("2025-03-15,loan-1", "2024-03-15,loan-1").replace("10662\n2", "a lot\n2");
        let (checked, told) = check(LOANS, &payments, &Silent);
        checked.expect("the files can be read");
        let cents = "must be a whole number of cents from 1 to 10000000000000";
        let first = format!("payments.csv:2 original_amount_cents \"a lot\": {cents}\n");
        let second = "payments.csv:2 effective_at \"2024-03-15\": is before the loan was made\n";
        assert!(told.starts_with(&format!("{first}{second}")), "{told}");
    }

    #[test]
    fn an_empty_file_and_an_interrupt_end_the_check() {
        let head = |text: &str| text.lines().take(1).collect::<String>();
        let (checked, _) = check(LOANS, &head(PAYMENTS), &Silent);
        assert!(matches!(checked, Err(ImportError::NoPayments { .. })), "{checked:?}");
        let (checked, _) = check(&head(LOANS), PAYMENTS, &Silent);
        assert!(matches!(checked, Err(ImportError::Failed(_))), "{checked:?}");
        let (checked, _) = check(LOANS, PAYMENTS, &Ending);
        assert!(matches!(checked, Err(ImportError::Interrupted)), "{checked:?}");
    }
}
