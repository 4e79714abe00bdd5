//! Invalid bodies and their errors; valid bodies and their results.

use super::fields::*;
use super::*;
use daybook_engine::money::Percent;
use daybook_engine::time::Time;
use serde_json::json;

/// The field and the message of a refused body.
fn refused<T: serde::de::DeserializeOwned + fmt::Debug>(body: &str) -> (String, String) {
    match parse::<T>(body.as_bytes()) {
        Err(BadForm::Invalid { field, message }) => (field, message),
        other => panic!("{body} gave {other:?}"),
    }
}

fn is_malformed<T: serde::de::DeserializeOwned + fmt::Debug>(body: &[u8], fragment: &str) {
    match parse::<T>(body) {
        Err(BadForm::Malformed { message }) => assert!(message.contains(fragment), "{message}"),
        other => panic!("{body:?} gave {other:?}"),
    }
}

/// A small product with additional lines.
fn product(more: &str) -> String {
    format!(
        r#"{{"product_overview": {{"product_name": "Auto", "product_type": "INSTALLMENT"}},
            "post_promotional_policies": {{"post_promo_len": 36}}{more}}}"#
    )
}

fn payment(more: &str) -> String {
    format!(r#"{{"line_item_id": "p1", "original_amount_cents": 100{more}}}"#)
}

fn moment(text: &str) -> String {
    payment(&format!(r#", "effective_at": "{text}""#))
}

#[test]
fn what_is_no_json_is_malformed() {
    is_malformed::<PaymentRecord>(b"{\"line_item_id\": ", "line 1 column");
    is_malformed::<PaymentRecord>(format!("{} x", payment("")).as_bytes(), "trailing characters");
    is_malformed::<PaymentRecord>(b"\xff{}", "not UTF-8");
    is_malformed::<PaymentReversal>(b"[1,", "line 1 column");
    // The unknown field comes first, and the rest is not JSON.
    is_malformed::<PaymentRecord>(br#"{"wrong": 1, "#, "line 1 column");
}

#[test]
fn no_body_is_an_empty_form() {
    assert_eq!(parse::<PaymentReversal>(b""), Ok(PaymentReversal::default()));
    assert_eq!(parse::<PaymentReversal>(b" \n"), parse::<PaymentReversal>(b"{}"));
    assert_eq!(refused::<PaymentRecord>("").1, "is required");
}

#[test]
fn a_payment_says_what_is_wrong_with_it() {
    for (body, field, fragment) in [
        ("[]".to_owned(), "", "must be an object"),
        ("{}".to_owned(), "line_item_id", "is required"),
        // An array is not an object, even if its entries match the fields in order.
        (payment(r#", "external_fields": [["key", "value"]]"#), "external_fields[0]", "must be an object"),
        (payment(r#", "efective_at": 1"#), "efective_at", "is not a known field; the known ones are: line_item_id, "),
        (payment(r#", "line_item_id": "p2""#), "line_item_id", "is given twice"),
        (
            payment(r#", "line_item_status": "DONE""#),
            "line_item_status",
            "must be one of VALID, PENDING, AUTHORIZED, INVALID",
        ),
        (payment(r#", "line_item_status": 1"#), "line_item_status", "must be one of VALID"),
        (payment(r#", "allocation": "FEES""#), "allocation", "must be one of PRINCIPAL, INTEREST, FEE"),
        (r#"{"line_item_id": "dbk_1"}"#.to_owned(), "line_item_id", "must not start with dbk_"),
        (
            r#"{"line_item_id": "a b"}"#.to_owned(),
            "line_item_id",
            "must be 1 to 128 characters of A-Z a-z 0-9 . _ : ~ -",
        ),
        (r#"{"line_item_id": 7}"#.to_owned(), "line_item_id", "must be 1 to 128 characters of"),
        (r#"{"original_amount_cents": 0}"#.to_owned(), "original_amount_cents", "cents from 1 to 10000000000000"),
        (r#"{"original_amount_cents": 10000000000001}"#.to_owned(), "original_amount_cents", "must be a whole number"),
        (r#"{"original_amount_cents": 1.5}"#.to_owned(), "original_amount_cents", "must be a whole number of cents"),
        (r#"{"original_amount_cents": "5"}"#.to_owned(), "original_amount_cents", "must be a whole number of cents"),
        (r#"{"original_amount_cents": 99999999999999999999}"#.to_owned(), "original_amount_cents", "must be a whole"),
        (payment(r#", "external_fields": [{"key": "k"}]"#), "external_fields[0].value", "is required"),
        (payment(r#", "external_fields": [{"key": "", "value": ""}]"#), "external_fields[0].key", "text of 1 to 100"),
        (payment(r#", "external_fields": [{"key": "a\u0000", "value": ""}]"#), "external_fields[0].key", "U+0000"),
    ] {
        let (named, message) = refused::<PaymentRecord>(&body);
        assert_eq!(named, field, "{body}: {message}");
        assert!(message.contains(fragment), "{body}: {message}");
    }
    let fields: Vec<_> = (0..11).map(|n| json!({"key": format!("k{n}"), "value": "v"})).collect();
    let body = json!({"line_item_id": "p", "original_amount_cents": 1, "external_fields": fields}).to_string();
    assert_eq!(refused::<PaymentRecord>(&body).1, "must have at most 10 entries, not 11");
}

#[test]
fn times_need_their_offset_and_must_exist() {
    for (text, fragment) in [
        ("2025-02-15T09:00:00", "must end with an offset"),
        ("2025-02-15", "must be an RFC 3339 time with an offset"),
        ("2025-02-29T09:00:00Z", "must be a date and time that exist"),
        ("2025-13-01T09:00:00Z", "must be a date and time that exist"),
        ("2025-02-15T24:00:00Z", "must be a date and time that exist"),
        ("2025-02-15T09:00:00.1234567Z", "at most 6 decimal places"),
        ("2025-02-15T09:00:00-0500", "must be an RFC 3339"),
        ("2025-02-15T09:00:00-05:60", "must be an RFC 3339"),
        ("1899-12-31T09:00:00Z", "must be in the years 1900 to 2299"),
        ("2300-01-01T09:00:00Z", "must be in the years 1900 to 2299"),
        ("\u{ff12}025-02-15T09:00:00Z", "must be an RFC 3339"),
    ] {
        let (field, message) = refused::<PaymentRecord>(&moment(text));
        assert_eq!(field, "effective_at");
        assert!(message.contains(fragment), "{text}: {message}");
    }
    for text in ["2025-02-15T09:00:00-05:00", "2024-02-29t23:59:59.123456z", "2025-02-15T09:00:00.1234560+05:45"] {
        let form: PaymentRecord = parse(moment(text).as_bytes()).unwrap();
        assert_eq!(form.effective_at.map(|moment| *moment.get()), Time::parse(text), "{text}");
    }
}

#[test]
fn percentages_are_exact() {
    let policies = |rate: &str| {
        format!(
            r#"{{"product_overview": {{"product_name": "A", "product_type": "INSTALLMENT"}},
                "post_promotional_policies": {{"post_promo_default_interest_rate_percent": {rate}}}}}"#
        )
    };
    for (text, millionths, written) in [
        ("12.0", 12_000_000, "12"),
        ("6.2", 6_200_000, "6.2"),
        ("0.000101", 101, "0.000101"),
        ("9999.999999", 9_999_999_999, "9999.999999"),
        ("6.20000000000", 6_200_000, "6.2"),
    ] {
        let form: NewProduct = parse(policies(text).as_bytes()).unwrap();
        let post = form.post_promotional_policies.clone().unwrap();
        let rate = post.post_promo_default_interest_rate_percent.unwrap();
        assert_eq!(rate.get(), Percent::from_millionths(millionths), "{text}");
        let stored = serde_json::to_string(&form).unwrap();
        assert!(stored.contains(&format!("rate_percent\":{written}}}")), "{stored}");
        assert_eq!(parse::<NewProduct>(stored.as_bytes()), Ok(form));
    }
    for text in ["1e1", "0.0000001", "0.000099", "-1", "\"6.2\"", "10000.000001", "{}"] {
        let (field, message) = refused::<NewProduct>(&policies(text));
        assert_eq!(field, "post_promotional_policies.post_promo_default_interest_rate_percent");
        assert!(message.contains("at most 6 decimal places and no exponent"), "{message}");
    }
}

#[test]
fn a_product_says_what_is_wrong_with_it() {
    let billing =
        |line: &str| product(&format!(r#", "product_lifecycle_policies": {{"billing_cycle_policies": {{{line}}}}}"#));
    let path = "product_lifecycle_policies.billing_cycle_policies";
    for (body, field, fragment) in [
        (billing(r#""cycle_interval": "monthly""#), format!("{path}.cycle_interval"), "must be an interval, such as"),
        (billing(r#""cycle_interval": "1 day - -2147483648 days""#), format!("{path}.cycle_interval"), "an interval"),
        (
            billing(r#""cycle_interval": "9999 days + 2147483647 days""#),
            format!("{path}.cycle_interval"),
            "an interval",
        ),
        (billing(r#""product_time_zone": "Mars/Base""#), format!("{path}.product_time_zone"), "IANA name"),
        (billing(r#""close_of_business_time": "5pm""#), format!("{path}.close_of_business_time"), "HH:MM:SS"),
        (billing(r#""close_of_business_time": "17:00:00-5""#), format!("{path}.close_of_business_time"), "HH:MM:SS"),
        (billing(r#""cycle": "1 month""#), format!("{path}.cycle"), "is not a known field"),
        (product(r#", "promotional_policies": {"len": 1}"#), "promotional_policies".into(), "begin with promo_"),
        (product(r#", "admin": {"migration_mode": "on"}"#), "admin.migration_mode".into(), "must be a boolean"),
        (product(r#", "admin": true"#), "admin".into(), "must be an object"),
        (r#"{"product_overview": {"product_name": ""}}"#.into(), "product_overview.product_name".into(), "1 to 200"),
        (
            r#"{"product_overview": {"product_name": "A"}}"#.into(),
            "product_overview.product_type".into(),
            "is required",
        ),
        ("{}".into(), "product_overview".into(), "is required"),
    ] {
        let (named, message) = refused::<NewProduct>(&body);
        assert_eq!(named, field, "{body}: {message}");
        assert!(message.contains(fragment), "{body}: {message}");
    }
    let long = "x".repeat(201);
    let body = format!(r#"{{"product_overview": {{"product_name": "{long}"}}}}"#);
    assert_eq!(refused::<NewProduct>(&body).1, "must be text of 1 to 200 characters");
}

#[test]
fn fields_without_effect_are_named() {
    let body = product(
        r#", "plaid_config": {"a": 1.5}, "promotional_policies": {"promo_len": 0, "promo_min_pay_type": "AM"}"#,
    );
    let form: NewProduct = parse(body.as_bytes()).unwrap();
    assert_eq!(
        form.warnings(),
        [
            "promotional_policies.promo_min_pay_type is accepted, but not supported: it has no effect",
            "plaid_config is accepted, but not supported: it has no effect"
        ]
    );
    assert!(parse::<NewProduct>(product("").as_bytes()).unwrap().warnings().is_empty());
    let account: NewAccount = parse(br#"{"product_id": "dbk_7", "discounts": [], "promo_overview": {}}"#).unwrap();
    assert_eq!(account.warnings(), ["discounts is accepted, but not supported: it has no effect"]);
    let customer: NewCustomer = parse(br#"{"name_last": "L", "metro2_config": {}}"#).unwrap();
    assert_eq!(
        customer.warnings(),
        ["metro2_config is stored and returned, but not supported: nothing is reported to credit bureaus"]
    );
}

#[test]
fn a_close_of_business_is_a_local_time_whatever_offset_of_the_zone_follows() {
    let settled = |time: &str, zone: &str| {
        let body = product(&format!(
            r#", "product_lifecycle_policies": {{"billing_cycle_policies":
                {{"close_of_business_time": "{time}", "product_time_zone": "{zone}"}}}}"#
        ));
        let mut form: NewProduct = parse(body.as_bytes()).unwrap();
        form.settle_close_of_business()?;
        let written = serde_json::to_value(&form).unwrap();
        let billing = &written["product_lifecycle_policies"]["billing_cycle_policies"];
        Ok::<_, FieldProblem>(billing["close_of_business_time"].as_str().unwrap().to_owned())
    };
    for (time, zone) in [
        ("17:00:00", "America/New_York"),
        ("17:00:00-05:00", "America/New_York"),
        ("17:00:00-04:00", "America/New_York"),
        ("17:00:00-0400", "America/New_York"),
        ("17:00:00-05", "America/New_York"),
        ("17:00:00-00:00", "America/New_York"),
        ("17:00:00+01:00", "Europe/London"),
        ("17:00:00Z", "Europe/London"),
        ("17:00:00+05:45", "Asia/Kathmandu"),
    ] {
        assert_eq!(settled(time, zone).unwrap(), "17:00:00", "{time} {zone}");
    }
    for (time, zone, fragment) in [
        ("17:00:00-06:00", "America/New_York", "whose offset is -05:00 or -04:00, not -06:00"),
        ("17:00:00Z", "America/New_York", "not +00:00; leave the offset out"),
        ("17:00:00+00:00", "America/New_York", "a local time of America/New_York"),
        ("17:00:00-05:00", "Europe/London", "whose offset is +00:00 or +01:00, not -05:00"),
        // Lisbon used it until 1996.
        ("17:00:00+02:00", "Europe/Lisbon", "not +02:00"),
    ] {
        let problem = settled(time, zone).unwrap_err();
        assert_eq!(problem.field, "product_lifecycle_policies.billing_cycle_policies.close_of_business_time");
        assert!(problem.message.contains(fragment), "{time} {zone}: {problem}");
    }
}

#[test]
fn customers_need_a_name_and_keep_their_secrets() {
    let check = |body: &str| parse::<NewCustomer>(body.as_bytes()).unwrap().check();
    assert_eq!(check("{}").unwrap_err().field, "name_first");
    assert!(check(r#"{"name_last": " "}"#).is_err());
    assert_eq!(check(r#"{"name_last": "Lovelace"}"#), Ok(()));
    assert_eq!(check(r#"{"business_details": {"business_name": "Looms"}}"#), Ok(()));
    for (body, field) in [
        (r#"{"ssn": "123-456-789"}"#, "ssn"),
        (r#"{"ssn": 123456789}"#, "ssn"),
        (r#"{"email": "nobody"}"#, "email"),
        (r#"{"phone_number": "2125550123"}"#, "phone_number"),
        (r#"{"date_of_birth": "1980-02-30"}"#, "date_of_birth"),
        (r#"{"address_country_code": "U"}"#, "address_country_code"),
        (
            r#"{"assign_to_accounts": [{"account_id": "a", "customer_account_role": "BOSS"}]}"#,
            "assign_to_accounts[0].customer_account_role",
        ),
    ] {
        let (named, message) = refused::<NewCustomer>(body);
        assert_eq!(named, field);
        assert!(message.starts_with("must be ") && !message.contains("123456789"), "{message}");
    }
    let customer: NewCustomer = parse(br#"{"name_last": "L", "ssn": "123-45-6789"}"#).unwrap();
    assert_eq!(customer.ssn.as_ref().unwrap().last_four(), "6789");
    assert!(!format!("{customer:?}").contains("6789"));
    assert_eq!(serde_json::to_string(&customer).unwrap(), r#"{"name_last":"L"}"#);
}

#[test]
fn an_update_changes_what_it_names() {
    let mut customer: NewCustomer = parse(
        br#"{"name_first": "Ada", "name_last": "Byron", "email": "a@b.c",
            "assign_to_accounts": [{"account_id": "a1"}]}"#,
    )
    .unwrap();
    let update: CustomerUpdate = parse(
        br#"{"name_last": "Lovelace", "email": null,
            "assign_to_accounts": [{"account_id": "a1", "customer_account_role": "SECONDARY"}, {"account_id": "a2"}]}"#,
    )
    .unwrap();
    update.apply(&mut customer).unwrap();
    let expected = json!({
        "name_first": "Ada", "name_last": "Lovelace",
        "assign_to_accounts": [{"account_id": "a1", "customer_account_role": "SECONDARY"}, {"account_id": "a2"}],
    });
    assert_eq!(serde_json::to_value(&customer).unwrap(), expected);
    let nameless: CustomerUpdate = parse(br#"{"name_first": null, "name_last": null}"#).unwrap();
    assert!(nameless.apply(&mut customer).is_err());
}

#[test]
fn only_pairs_that_exist_are_a_status() {
    let status = |body: &str| parse::<SetStatus>(body.as_bytes()).unwrap().status();
    assert_eq!(status(r#"{"account_status": "ACTIVE"}"#).unwrap().to_string(), "ACTIVE");
    let fraud = r#"{"account_status": "CLOSED", "account_substatus": "FRAUD"}"#;
    assert_eq!(status(fraud).unwrap().to_string(), "CLOSED/FRAUD");
    let problem = status(r#"{"account_status": "SUSPENDED"}"#).unwrap_err();
    assert_eq!(problem.field, "account_substatus");
    assert!(problem.message.contains("be one of DELINQUENT, BANKRUPTCY"), "{problem}");
}

#[test]
fn a_notice_has_the_schedule_of_its_kind() {
    let setting = |body: &str| parse::<NotificationConfig>(body.as_bytes()).unwrap().setting();
    let due = r#"{"notification_type": "payment_due_date", "time_offset": "-1 days", "time": "09:00:00"}"#;
    assert_eq!(setting(due).unwrap().when, daybook_engine::notify::When::Offset(-1));
    assert!(setting(r#"{"notification_type": "account_summary", "enabled": false}"#).is_ok());
    for (body, field) in [
        (r#"{"notification_type": "payment_due_date"}"#, "time_offset"),
        (r#"{"notification_type": "payment_due_date", "interval": "7 days"}"#, "interval"),
        (r#"{"notification_type": "account_summary"}"#, "interval"),
        (r#"{"notification_type": "account_summary", "interval": "0 days"}"#, "interval"),
        (r#"{"notification_type": "account_summary", "time_offset": "1 days"}"#, "time_offset"),
    ] {
        assert_eq!(setting(body).unwrap_err().field, field, "{body}");
    }
    for offset in ["367 days", "-367 days", "1 month", "1", "days"] {
        let body = format!(r#"{{"notification_type": "loan_end_date", "time_offset": "{offset}"}}"#);
        assert_eq!(refused::<NotificationConfig>(&body).0, "time_offset");
    }
}

#[test]
fn a_roll_comes_from_query_and_body() {
    let query = Roll::from_query([("account_id", "a1"), ("exclusive_end", "2025-03-01T00:00:00 01:00")]).unwrap();
    let order = query.or(parse(br#"{"roll_webhooks": true}"#).unwrap()).order().unwrap();
    assert_eq!(order.until, Time::parse("2025-02-28T22:59:59.999999Z").unwrap());
    assert!(order.roll_webhooks);
    assert_eq!(Roll::default().order().unwrap_err().field, "account_id");
    assert!(Roll::from_query([("acount_id", "a1")]).is_err());
}

#[test]
fn history_is_suppressed_only_by_a_release_that_says_so() {
    let mode = |body: &str| parse::<SetMigrationMode>(body.as_bytes()).unwrap();
    let quiet = mode(r#"{"migration_mode": false, "historical_webhooks": "SUPPRESS"}"#);
    assert!(quiet.suppresses_history() && quiet.check().is_ok());
    assert!(!mode(r#"{"migration_mode": false}"#).suppresses_history());
    assert!(!mode(r#"{"migration_mode": false, "historical_webhooks": "SEND"}"#).suppresses_history());
    let holding = mode(r#"{"migration_mode": true, "historical_webhooks": "SUPPRESS"}"#);
    assert_eq!(holding.check().unwrap_err().field, "historical_webhooks");
}

#[test]
fn declined_means_invalid() {
    let makes_valid = |status: &str| {
        let body = format!(r#"{{"line_item_status": "{status}"}}"#);
        parse::<ChangeLineItem>(body.as_bytes()).unwrap().makes_valid()
    };
    assert!(makes_valid("VALID"));
    assert!(!makes_valid("DECLINED") && !makes_valid("INVALID"));
}

#[test]
fn the_reference_says_the_same_rules() {
    let schema = |schema: utoipa::openapi::RefOr<utoipa::openapi::Schema>| serde_json::to_value(schema).unwrap();
    let amount = schema(<Amount as utoipa::PartialSchema>::schema());
    assert_eq!(amount["type"], "integer");
    assert_eq!(amount["format"], "int64");
    assert_eq!((&amount["minimum"], &amount["maximum"]), (&json!(1), &json!(10_000_000_000_000_i64)));
    let payment = schema(<PaymentRecord as utoipa::PartialSchema>::schema());
    assert_eq!(payment["required"], json!(["line_item_id", "original_amount_cents"]));
    assert_eq!(payment["additionalProperties"], false);
    assert_eq!(schema(<Moment as utoipa::PartialSchema>::schema())["format"], "date-time");
}
