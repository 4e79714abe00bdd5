//! Every sample matches its schema, and a broken one does not.

use super::*;
use jsonschema::Validator;
use serde_json::{Value, json};

fn catalogue() -> Vec<Value> {
    let catalogue = serde_json::to_value(make().unwrap()).unwrap();
    catalogue["results"].as_array().unwrap().clone()
}

fn validator(entry: &Value) -> Validator {
    jsonschema::draft202012::meta::validate(&entry["schema"]).unwrap();
    jsonschema::draft202012::options().should_validate_formats(true).build(&entry["schema"]).unwrap()
}

fn named<'a>(catalogue: &'a [Value], name: &str) -> &'a Value {
    catalogue.iter().find(|entry| entry["name"] == name).unwrap()
}

#[test]
fn every_event_has_a_schema_that_its_sample_obeys() {
    let catalogue = catalogue();
    assert_eq!(catalogue.len(), EVENTS.len());
    for entry in &catalogue {
        let found = validator(entry).iter_errors(&entry["sample"]).map(|error| error.to_string()).collect::<Vec<_>>();
        assert_eq!(found, Vec::<String>::new(), "{}", entry["name"]);
        for field in ["event_id", "changed_at", "effective_at", "account_sequence", "object"] {
            assert!(!entry["sample"][field].is_null(), "{}: {field}", entry["name"]);
        }
    }
}

#[test]
fn broken_samples_are_found() {
    let catalogue = catalogue();
    for entry in &catalogue {
        let validator = validator(entry);
        for field in entry["schema"]["required"].as_array().unwrap() {
            let mut broken = entry["sample"].clone();
            broken.as_object_mut().unwrap().remove(field.as_str().unwrap());
            assert!(!validator.is_valid(&broken), "{} without {field}", entry["name"]);
            broken[field.as_str().unwrap()] = json!(null);
            assert!(!validator.is_valid(&broken), "{} with null for {field}", entry["name"]);
        }
        for (field, wrong) in [("account_sequence", json!(1.5)), ("changed_at", json!("yesterday"))] {
            let mut broken = entry["sample"].clone();
            broken[field] = wrong;
            assert!(!validator.is_valid(&broken), "{}: {broken}", entry["name"]);
        }
    }
    let entry = named(&catalogue, "account_closed");
    let mut broken = entry["sample"].clone();
    broken["object"]["summary"]["principal_cents"] = json!("12.00");
    assert!(!validator(entry).is_valid(&broken), "cents are whole numbers");
}

#[test]
fn events_carry_what_is_theirs() {
    let catalogue = catalogue();
    let properties = |name: &str| named(&catalogue, name)["schema"]["properties"].clone();
    assert!(properties("due_date_passed")["paid"].is_object());
    assert_eq!(properties("due_date_passed")["instalment"]["type"], "integer");
    assert!(properties("account_create")["paid"].is_null());
    assert_eq!(named(&catalogue, "payment_missed")["sample"]["instalment"], 1);
    assert_eq!(named(&catalogue, "account_status_change")["sample"]["previous_status"]["account_status"], "ACTIVE");
    let recalculation = &named(&catalogue, "account_recalculated")["sample"]["recalculation"];
    assert!(recalculation["line_items"].as_array().is_some_and(|items| !items.is_empty()), "{recalculation}");
    assert_eq!(named(&catalogue, "line_item_create")["sample"]["object"]["line_item_id"], "payment-1");
    assert_eq!(named(&catalogue, "account_closed")["sample"]["object"]["account_overview"]["account_status"], "CLOSED");
}

/// Schemas are self-contained: each `$ref` points into the schema's own `$defs`, and each of those is used.
#[test]
fn schemas_stand_by_themselves() {
    for entry in catalogue() {
        let text = entry["schema"].to_string();
        assert!(!text.contains("#/components"), "{text}");
        for name in entry["schema"]["$defs"].as_object().unwrap().keys() {
            assert!(text.contains(&format!("\"#/$defs/{name}\"")), "{}: {name} is not used", entry["name"]);
        }
    }
}
