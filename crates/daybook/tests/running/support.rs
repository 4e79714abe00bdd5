//! A folder, the command in it, and some data.

use daybook_clock::{Clock, System};
use daybook_engine::time::Time;
use daybook_testkit::server::{Daybook, Server};
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// An empty folder, and the command in it.
pub fn fresh() -> (TempDir, Daybook) {
    let folder = tempfile::tempdir().expect("a folder");
    let daybook = Daybook::new(env!("CARGO_BIN_EXE_daybook"), folder.path());
    (folder, daybook)
}

/// An address of this machine with a free port.
pub fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("an address")
}

/// Makes a named pipe.
pub fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

/// The metrics page at an address in plain HTTP.
pub fn metrics_at(address: SocketAddr) -> String {
    let mut answer = ureq::get(format!("http://{address}/metrics")).call().expect("an answer");
    answer.body_mut().read_to_string().expect("a page")
}

/// The time, to the second, a number of days from now.
pub fn in_days(days: i64) -> Time {
    Time::from_seconds(System.now().seconds() + days * 86_400)
}

/// Creates a product and a loan of 1,200.00 over 12 months with one payment.
pub fn lend(server: &Server, secret: &str, account: &str) {
    let product = json!({
        "product_id": "auto-12",
        "product_overview": { "product_name": "Auto 12", "product_type": "INSTALLMENT" },
        "post_promotional_policies": { "post_promo_len": 12, "post_promo_default_interest_rate_percent": 12.0 },
    });
    server.post("/products", secret, &product).good();
    let loan = json!({
        "account_id": account,
        "product_id": "auto-12",
        "effective_at": "2025-01-15T09:00:00-05:00",
        "summary": { "initial_principal_cents": 120_000 },
    });
    server.post("/accounts", secret, &loan).good();
    let payment = json!({ "line_item_id": "p1", "original_amount_cents": 10_662 });
    server.post(&format!("/accounts/{account}/line_items/payments/payment_record"), secret, &payment).good();
}
