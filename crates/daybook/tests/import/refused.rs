//! Imports that are refused: errors are reported by row and column, and nothing is loaded.

use crate::common::api_client::ApiClient;
use crate::common::installation::Installation;
use crate::common::loans::progress;
use crate::support::{PRODUCT, counts, import, lines, make_portfolio, make_product, rows, write_portfolio};
use serde_json::{Value, json};
use std::collections::BTreeSet;

on_both!(
    broken_rows_are_all_named_and_nothing_is_loaded,
    every_rule_is_told_with_its_line_and_column,
    ids_of_other_loans_are_told_before_anything_is_loaded,
    a_file_that_is_read_is_not_written_over,
    a_loan_needs_a_borrower_and_a_file_needs_rows,
    quotes_are_as_the_format_has_them,
);

/// The file, line and column of each error in a report.
fn named(report: &Value) -> BTreeSet<String> {
    let shown = report["shown"].as_array().expect("a list");
    let name = |broken: &Value| {
        let file = broken["file"].as_str().expect("a file").trim_start_matches("p/").to_owned();
        format!("{file},{},{}", broken["line"], broken["column"].as_str().expect("a column"))
    };
    shown.iter().map(name).collect()
}

fn nothing_is_loaded(client: &ApiClient, before: &Value) {
    assert_eq!(counts(client), [0, 0, 0]);
    assert_eq!(&progress(client, PRODUCT), before);
}

fn broken_rows_are_all_named_and_nothing_is_loaded(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &["--broken", "10"]);
    make_product(installation, &client);
    let before = progress(&client, PRODUCT);
    let ended = import(installation, server.url(), &["--product", PRODUCT, "--report", "report.csv"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.ends_with("daybook: 10 values are invalid: nothing was loaded\n"), "{}", ended.stderr);
    let broken = lines(installation, "p/broken.txt");
    assert_eq!(broken.len(), 10);
    assert_eq!(named(&ended.json()), broken);
    let reported = rows(installation, "report.csv");
    let reported: BTreeSet<String> =
        reported.iter().map(|row| format!("{},{},{}", row[0].trim_start_matches("p/"), row[1], row[2])).collect();
    assert_eq!(reported, broken);
    nothing_is_loaded(&client, &before);
    server.stop();
}

/// Imports two files that are refused, and returns each broken rule with its file, line and column.
fn broken_rules(installation: &Installation, url: &str, loans: &str, payments: &str) -> Vec<String> {
    write_portfolio(installation, loans, payments);
    let ended = import(installation, url, &["--product", PRODUCT, "--allow-no-payments"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = ended.json();
    let told = |broken: &Value| {
        let text = |field: &str| broken[field].as_str().expect("text").to_owned();
        format!("{}:{} {}: {}", text("file"), broken["line"], text("column"), text("rule"))
    };
    report["shown"].as_array().expect("a list").iter().map(told).collect()
}

/// Columns are checked first: rows are read only if the columns are valid.
fn wrong_columns_are_told(try_it: &dyn Fn(&str, &str) -> Vec<String>) {
    let told = try_it("account_id,effective_at,principal\na,2025-01-15,100\n", "account_id,original_amount_cents\n");
    let no_column = "is not a column of this file; `daybook import --columns` lists them all";
    let expected = [
        format!("p/loans.csv:1 principal: {no_column}"),
        "p/loans.csv:1 initial_principal_cents: is a required column and is missing".to_owned(),
    ];
    assert_eq!(told, expected);
}

fn wrong_values_are_told(try_it: &dyn Fn(&str, &str) -> Vec<String>) {
    let loans = "account_id,effective_at,initial_principal_cents,post_promo_len,email,name_last,customer_id,expected_days_past_due\n\
                 a,2025-01-15,100000,12,ada@example.com,Lovelace,c,0\n\
                 b b,15.01.2025,0,0,ada,Byron,c,soon\n\
                 a,2025-01-15,100000,12,,,,\n\
                 c,2025-01-15,100000,12,ada@example.com,Byron,c,\n\
                 d,2025-01-15,100000,12,d@example.com,,,\n\
                 e,2025-01-15\n\
                 f,2025-01-15,100000,12,,,nobody,\n";
    let payments = "account_id,effective_at,original_amount_cents,line_item_id,line_item_status\n\
                    a,2025-02-15,10.50,p1,GOOD\n\
                    a,2025-01-14,100,p 2,\n\
                    x,,1,,\n";
    let moment = "must be a date such as 2025-02-15 (midnight in America/New_York), or a time with an offset such as \
                  2025-02-15T09:00:00-05:00";
    let expected = [
        format!("p/loans.csv:3 effective_at: {moment}"),
        "p/loans.csv:3 expected_days_past_due: must be a whole number".to_owned(),
        "p/loans.csv:4 account_id: is already the id of the loan in line 2".to_owned(),
        "p/loans.csv:5 customer_id: is also used in line 2, with a different name or details".to_owned(),
        "p/loans.csv:6 name_first: is required, unless name_last, business_details.business_name or \
         business_details.business_legal_name is given"
            .to_owned(),
        "p/loans.csv:7 the row: has 2 values, but there are 8 columns".to_owned(),
        "p/payments.csv:2 original_amount_cents: must be a whole number of cents from 1 to 10000000000000".to_owned(),
        "p/payments.csv:2 line_item_status: must be one of VALID, PENDING, AUTHORIZED, INVALID".to_owned(),
        "p/payments.csv:3 effective_at: is before the loan was made".to_owned(),
        "p/payments.csv:3 line_item_id: must be 1 to 128 characters of A-Z a-z 0-9 . _ : ~ - and must not start with dbk_"
            .to_owned(),
        "p/payments.csv:4 effective_at: must not be empty".to_owned(),
        "p/payments.csv:4 account_id: is not a loan in p/loans.csv".to_owned(),
    ];
    let told = try_it(loans, payments);
    for rule in &expected {
        assert!(told.contains(rule), "{rule}\nis not among\n{}", told.join("\n"));
    }
    // The other errors in the row with an invalid date are reported too.
    for column in ["account_id", "initial_principal_cents", "post_promo_len", "email"] {
        let head = format!("p/loans.csv:3 {column}: must be ");
        assert!(told.iter().any(|rule| rule.starts_with(&head)), "{head}\nis not among\n{}", told.join("\n"));
    }
    assert_eq!(told.len(), expected.len() + 4, "{}", told.join("\n"));
}

/// Line numbers are those of the file, including empty lines; an open quote does not hide the rows after it.
fn lines_are_counted_as_in_the_file(try_it: &dyn Fn(&str, &str) -> Vec<String>) {
    let heads = "account_id,effective_at,initial_principal_cents,expected_as_of,expected_status,name_last\n";
    let rows = "\n\na,2025-01-15,0,,,A\n\r\nb,2025-01-15,100,2025-01-14,OPEN,B\nc,2025-01-15,100,2999-01-01,,\"C\n\
                d,2025-01-15,100,,,D\n";
    let payments = "account_id,effective_at,original_amount_cents,external_fields.note\na,2025-02-15,1,\"x\n\
                    a,2025-03-15,1,y\n\na,2025-02-15,none,y";
    let told = try_it(&format!("{heads}{rows}"), payments);
    let expected = [
        "p/loans.csv:4 initial_principal_cents: must be ",
        "p/loans.csv:6 expected_as_of: is before the loan was made",
        "p/loans.csv:6 expected_status: must be one of ACTIVE, SUSPENDED, CLOSED",
        "p/loans.csv:7 name_last: spans several lines: a closing quote is missing",
        "p/payments.csv:2 external_fields.note: spans several lines: a closing quote is missing",
    ];
    for head in expected {
        assert!(told.iter().any(|rule| rule.starts_with(head)), "{head}\nis not among\n{}", told.join("\n"));
    }
    let told = try_it(&format!("{heads}c,2025-01-15,100,2999-01-01,,C"), payments);
    assert!(told.iter().any(|rule| rule == "p/loans.csv:2 expected_as_of: is in the future"), "{told:?}");
}

fn every_rule_is_told_with_its_line_and_column(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let before = progress(&client, PRODUCT);
    let try_it = |loans: &str, payments: &str| broken_rules(installation, server.url(), loans, payments);
    wrong_columns_are_told(&try_it);
    wrong_values_are_told(&try_it);
    lines_are_counted_as_in_the_file(&try_it);
    let loans = "account_id,effective_at,initial_principal_cents,customer_id\nf,2025-01-15,100000,nobody\n";
    let told = try_it(loans, "account_id,effective_at,original_amount_cents\n");
    let rule = "is not a customer on the server, and the row has no name to create one";
    assert_eq!(told, [format!("p/loans.csv:2 customer_id: {rule}")]);
    nothing_is_loaded(&client, &before);
    server.stop();
}

fn ids_of_other_loans_are_told_before_anything_is_loaded(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let other = json!({
        "product_id": "other",
        "product_overview": { "product_name": "Other", "product_type": "INSTALLMENT" },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12 },
    });
    client.post("/products", &other).good();
    for (product, account) in [("other", "loan-0000003"), (PRODUCT, "loan-0000007")] {
        let loan = json!({
            "product_id": product, "account_id": account, "effective_at": "2020-01-15T00:00:00-05:00",
            "summary": { "initial_principal_cents": 100 },
        });
        client.post("/accounts", &loan).good();
    }
    let before = progress(&client, PRODUCT);
    let ended = import(installation, server.url(), &["--product", PRODUCT]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let taken = ["loans.csv,5,account_id", "loans.csv,9,account_id"].map(str::to_owned);
    assert_eq!(named(&ended.json()), BTreeSet::from(taken));
    assert_eq!(counts(&client), [2, 0, 0]);
    assert_eq!(progress(&client, PRODUCT), before);
    server.stop();
}

fn a_file_that_is_read_is_not_written_over(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let before = lines(installation, "p/loans.csv");
    for flag in ["--differences", "--report"] {
        let ended = import(installation, server.url(), &["--product", PRODUCT, flag, "p/../p/loans.csv"]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.stderr.contains(&format!("{flag}: p/../p/loans.csv is an input file and must not be overwritten")),
            "{}",
            ended.stderr
        );
    }
    let ended = import(installation, server.url(), &["--product", PRODUCT, "--differences", "no/such/folder.csv"]);
    assert!(ended.stderr.contains("--differences: no/such/folder.csv cannot be written"), "{}", ended.stderr);
    assert_eq!(lines(installation, "p/loans.csv"), before);
    assert_eq!(counts(&client), [0, 0, 0]);
    server.stop();
}

/// The errors of an import of these files, one line each.
fn told(installation: &Installation, url: &str, loans: &str, payments: &str) -> Vec<String> {
    write_portfolio(installation, loans, payments);
    let ended = import(installation, url, &["--product", PRODUCT]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let report = ended.json();
    let told = |broken: &Value| {
        let text = |field: &str| broken[field].as_str().expect("text").to_owned();
        format!("{}:{} {}: {}", text("file"), broken["line"], text("column"), text("rule"))
    };
    report["shown"].as_array().expect("a list").iter().map(told).collect()
}

fn a_loan_needs_a_borrower_and_a_file_needs_rows(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let before = progress(&client, PRODUCT);
    let heads = "account_id,effective_at,initial_principal_cents,name_last,customer_id\n";
    let (loan, unnamed) = ("a,2025-01-15,100000,Li,\n", "b,2025-01-15,100000,,\n");
    let (payment_heads, payment) = ("account_id,effective_at,original_amount_cents\n", "a,2025-02-15,100\n");
    let rule = "is empty, and so is customer_id: a loan needs a borrower. --allow-no-customer loads loans without one";
    let paid = format!("{payment_heads}{payment}");
    let found = told(installation, server.url(), &format!("{heads}{loan}{unnamed}"), &paid);
    assert_eq!(found, [format!("p/loans.csv:3 name_last: {rule}")]);
    let bare = "account_id,effective_at,initial_principal_cents\na,2025-01-15,100000\n";
    assert_eq!(told(installation, server.url(), bare, &paid), [format!("p/loans.csv:2 name_last: {rule}")]);
    for (loans, payments, sentence) in [
        (heads.to_owned(), paid.clone(), "p/loans.csv has no rows below its header: nothing was loaded\n"),
        (heads.to_owned(), payment_heads.to_owned(), "p/loans.csv has no rows below its header: nothing was loaded\n"),
        (
            format!("{heads}{loan}"),
            payment_heads.to_owned(),
            "p/payments.csv has no rows below its header: nothing was loaded. If no loan was ever paid, use \
             --allow-no-payments\n",
        ),
    ] {
        write_portfolio(installation, &loans, &payments);
        let ended = import(installation, server.url(), &["--product", PRODUCT]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stderr.ends_with(sentence), "{sentence}: {ended:?}");
        assert!(!ended.stdout.contains("is not a loan in"), "{ended:?}");
    }
    nothing_is_loaded(&client, &before);
    write_portfolio(installation, &format!("{heads}{loan}{unnamed}"), payment_heads);
    let flags = ["--product", PRODUCT, "--allow-no-payments", "--allow-no-customer"];
    assert_eq!(import(installation, server.url(), &flags).good()["loans"], 2);
    assert_eq!(counts(&client), [2, 1, 0]);
    server.stop();
}

fn quotes_are_as_the_format_has_them(installation: &Installation) {
    let (server, client) = installation.open();
    make_portfolio(installation, &[]);
    make_product(installation, &client);
    let before = progress(&client, PRODUCT);
    let loans = "account_id,effective_at,initial_principal_cents,name_last,address_line_one\n\
                 a,2025-01-15,100000,\"Li, the \"\"elder\"\"\",x\n\
                 b,2025-01-15,100000,Li \"Bo\" Ho,x\n\
                 c,2025-01-15,100000,\"Li\" Bo,x\n\
                 d,2025-01-15,100000,Li, \"x\"\n";
    let payments = "account_id,effective_at,original_amount_cents,external_fields.note\na,2025-02-15,100,5\" pipe\n";
    let inside = "has a quote inside a value that does not begin with one: put the value in double quotes, and double \
                  each quote inside";
    let after = "has text after its closing quote: double each quote inside the value";
    let expected = [
        format!("p/loans.csv:3 name_last: {inside}"),
        format!("p/loans.csv:4 name_last: {after}"),
        format!("p/loans.csv:5 address_line_one: {inside}"),
        format!("p/payments.csv:2 external_fields.note: {inside}"),
    ];
    assert_eq!(told(installation, server.url(), loans, payments), expected);
    nothing_is_loaded(&client, &before);
    server.stop();
}
