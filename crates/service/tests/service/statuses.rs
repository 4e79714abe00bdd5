//! What a status stops, on stored accounts.

use crate::support::{Home, Trial, balances, json_of, on_both};
use serde_json::json;

on_both!(a_status_stops_what_the_product_says, a_bounce_after_a_cure_is_late_at_once);

const OPENING: &str = "2026-03-15T00:00:00-04:00";

/// The product stops late fees under review and charges them in bankruptcy; by default it is the opposite. The accounts
/// miss the instalment of 15 April.
async fn a_status_stops_what_the_product_says(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("usual", json!({})).await;
    let effects = json!({ "status_effects": {
        "SUSPENDED/RISK_REVIEW": { "late_fees": "STOP", "interest": "STOP" },
        "SUSPENDED/BANKRUPTCY": { "late_fees": "CHARGE" },
    }});
    trial.product("other", effects).await;
    let cases = [
        ("usual", "BANKRUPTCY", false),
        ("usual", "RISK_REVIEW", true),
        ("other", "BANKRUPTCY", true),
        ("other", "RISK_REVIEW", false),
    ];
    for (product, reason, _) in cases {
        let id = format!("{product}-{reason}");
        trial.account(product, &id, OPENING).await;
        let body = json!({ "account_status": "SUSPENDED", "account_substatus": reason });
        json_of(trial.status(&id, &body).await);
    }
    trial.go_to("2026-04-16T12:00:00-04:00").await;
    for (product, reason, fee) in cases {
        let id = format!("{product}-{reason}");
        let [_, interest, fees, _] = balances(&trial.read(&id).await);
        assert_eq!(fees > 0, fee, "{id}");
        assert_eq!(trial.items(&id, "LATE_FEE").await.len(), usize::from(fee), "{id}");
        // 5 of the period's 31 days had passed on 20 March: 12.00 x 5 / 31.
        assert_eq!(interest, if id == "other-RISK_REVIEW" { 194 } else { 1_200 }, "{id}");
    }
    trial.verify().await;
}

/// Late, cured, bounced: delinquent again, without a second fee. Past-due fees are shown separately.
async fn a_bounce_after_a_cure_is_late_at_once(home: Home) {
    let trial = Trial::at(home, "2026-03-20T12:00:00-04:00").await;
    trial.product("auto-12", json!({})).await;
    trial.account("auto-12", "a1", OPENING).await;
    trial.go_to("2026-04-20T12:00:00-04:00").await;
    assert_eq!(trial.standing("a1").await, "SUSPENDED/DELINQUENT");
    json_of(trial.pay("a1", "p", 10_662, "2026-04-20T12:00:00-04:00").await);
    assert_eq!(trial.standing("a1").await, "ACTIVE");
    json_of(trial.reverse("a1", "p", &json!({})).await);
    assert_eq!(trial.standing("a1").await, "SUSPENDED/DELINQUENT");
    assert_eq!(trial.items("a1", "LATE_FEE").await.len(), 1);
    trial.go_to("2026-05-15T23:59:59-04:00").await;
    let delinquency = trial.read("a1").await["delinquency"].clone();
    // Without grace, a late fee is charged at the closing instant of its instalment's period: both periods have ended.
    assert_eq!(delinquency["past_due_fees_cents"], 2 * 1_500);
    assert_eq!(delinquency["past_due_cents"], 2 * 10_662 + 2 * 1_500);
    trial.verify().await;
}
