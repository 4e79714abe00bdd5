//! The built-in cases: the folder `scenarios`, compiled into the program.

/// Compiles files of the folder into the program.
macro_rules! cases {
    ($($file:literal),* $(,)?) => { &[$(($file, include_str!(concat!("../../../scenarios/", $file)))),*] };
}

/// The built-in cases: file name and text of each.
pub fn builtin() -> &'static [(&'static str, &'static str)] {
    CASES
}

const CASES: &[(&str, &str)] = cases![
    "01-on-time.toml",
    "02-two-missed-then-catch-up.toml",
    "03-backdated-payment-as-posted.toml",
    "04-migration-in-shuffled-order.toml",
    "05-bounced-payment.toml",
    "06-fee-waiver.toml",
    "07-early-payoff.toml",
    "08-charge-off.toml",
    "09-biweekly-daily-interest.toml",
    "10-month-end.toml",
    "11-late-within-grace.toml",
    "12-partial-payments.toml",
    "13-late-fee-least-most-cap.toml",
    "14-late-fee-percent-of-payment.toml",
    "15-late-fee-percent-of-principal.toml",
    "16-grace-counts-due-date.toml",
    "17-surplus-last-installment.toml",
    "18-surplus-next-installment.toml",
    "19-surplus-reduce-principal.toml",
    "20-oldest-installment-first.toml",
    "21-bucket-first.toml",
    "22-principal-first.toml",
    "23-past-due-first.toml",
    "24-allocation-to-interest.toml",
    "25-backdated-payment-replay.toml",
    "26-bounced-payment-replay.toml",
    "27-pending-then-declined.toml",
    "28-pending-then-cleared.toml",
    "29-authorized-then-valid.toml",
    "30-debit-offset.toml",
    "31-credit-offset.toml",
    "32-cure-in-two-steps.toml",
    "33-two-strikes.toml",
    "34-no-pyramiding.toml",
    "35-payment-after-charge-off.toml",
    "36-paid-off-then-bounced.toml",
    "37-paid-off-then-bounced-replay.toml",
    "38-paid-too-much.toml",
    "39-month-end-roll.toml",
    "40-leap-day.toml",
    "41-actual-actual-over-new-year.toml",
    "42-actual-360.toml",
    "43-paid-ten-days-early.toml",
    "44-skipped-hour.toml",
    "45-doubled-hour.toml",
    "46-a-day-of-23-hours.toml",
    "47-auckland.toml",
    "48-another-day-in-another-zone.toml",
    "49-reminders.toml",
    "50-summary-every-month.toml",
    "51-reminder-changed-and-switched-off.toml",
    "52-equal-principal.toml",
    "53-flat-interest.toml",
    "54-interest-only.toml",
    "55-half-to-even.toml",
    "56-half-up.toml",
    "57-whole-units.toml",
    "58-smooth-last-installment.toml",
    "59-after-maturity.toml",
    "60-no-interest-after-maturity.toml",
    "61-weekly-without-interest.toml",
    "62-fees-and-penalties.toml",
    "63-bankruptcy.toml",
    "64-settlement.toml",
    "65-due-after-the-cycle.toml",
    "66-short-first-cycle.toml",
    "67-terms-of-ones-own.toml",
    "68-bounced-in-a-loaded-history.toml",
    "69-at-the-last-second.toml",
    "70-recorded-late-nothing-missed.toml",
    "71-reminder-in-the-skipped-hour.toml",
    "72-paid-ahead.toml",
    "73-reduce-principal-mid-month.toml",
    "74-allocation-to-principal.toml",
    "75-allocation-to-fees.toml",
    "76-bounced-surplus.toml",
    "77-equal-principal-by-the-day.toml",
    "78-late-without-a-fee.toml",
    "79-paid-after-maturity.toml",
    "80-equal-principal-paid-ahead.toml",
    "81-grace-does-not-spare-the-next.toml",
    "82-bounce-after-a-cure.toml",
];

#[cfg(test)]
mod tests {
    use super::builtin;
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_case_of_the_folder_is_taken_in() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let names =
            fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").file_name());
        let names = names.filter_map(|name| name.into_string().ok());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(".toml")).collect();
        names.sort();
        let taken: Vec<&str> = builtin().iter().map(|(file, _)| *file).collect();
        assert_eq!(names, taken);
    }
}
