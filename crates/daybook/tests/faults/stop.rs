//! SIGTERM under load: calls that have begun are answered, the exit code is 0, and nothing acknowledged is lost.
//!
//! A call has begun when the server requests its body (`100 Continue`). The test sends the bodies only after the server
//! has stopped accepting connections, so these calls are in progress at the stop, at any speed of the machine.
//!
//! `DAYBOOK_STOPS` is the number of stops; the default is 3. A campaign: `DAYBOOK_STOPS=200 cargo test -p daybook
//! --test faults stop -- --nocapture`.

use crate::common::api_client::until;
use crate::common::chance::{Chance, seed, setting};
use crate::common::installation::{Installation, SECRET};
use crate::common::loans::payments_of;
use crate::load::{Load, assert_all_there_once, make_accounts};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

#[test]
fn calls_in_flight_on_sqlite_are_answered_at_a_stop() {
    calls_in_flight_are_answered_at_a_stop("SQLite", &Installation::sqlite());
}

#[test]
fn calls_in_flight_on_postgres_are_answered_at_a_stop() {
    calls_in_flight_are_answered_at_a_stop("PostgreSQL", &Installation::postgres());
}

const IN_FLIGHT: u64 = 20;

/// A call whose body the server is waiting for.
struct InFlight {
    id: String,
    body: String,
    connection: TcpStream,
}

impl InFlight {
    fn begin(address: &str, id: String) -> InFlight {
        let body = json!({ "line_item_id": id, "original_amount_cents": 7 }).to_string();
        let mut connection = TcpStream::connect(address).expect("the server is there");
        let (path, length) = (payments_of("loan-0"), body.len());
        write!(
            connection,
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {SECRET}\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {length}\r\nexpect: 100-continue\r\n\r\n"
        )
        .expect("the head is sent");
        let mut answer = BufReader::new(connection.try_clone().expect("the other half"));
        let mut line = String::new();
        answer.read_line(&mut line).expect("an interim answer");
        assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
        answer.read_line(&mut line).expect("its end");
        InFlight { id, body, connection }
    }

    fn end(mut self) {
        self.connection.write_all(self.body.as_bytes()).expect("the body is sent");
        let mut answer = String::new();
        self.connection.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("HTTP/1.1 200 OK") && answer.contains(&self.id), "{answer}");
    }
}

fn calls_in_flight_are_answered_at_a_stop(database: &str, installation: &Installation) {
    let stops = setting("DAYBOOK_STOPS", 3);
    let (mut server, client) = installation.open();
    make_accounts(&client);
    let load = Load::start(&Chance::of_seed(seed()), |_| client.another());
    let mut ids = Vec::new();
    for stop in 0..stops {
        let before = load.counts.acknowledged();
        until("load", || if load.counts.acknowledged() > before + 20 { Ok(()) } else { Err("none".to_owned()) });
        let address = server.url().trim_start_matches("http://").to_owned();
        let begun: Vec<InFlight> =
            (0..IN_FLIGHT).map(|number| InFlight::begin(&address, format!("in-flight-{stop}-{number}"))).collect();
        server.signal_stop();
        until("a closed port", || match TcpStream::connect(&address) {
            Ok(_) => Err("it is open".to_owned()),
            Err(_) => Ok(()),
        });
        ids.extend(begun.iter().map(|call| call.id.clone()));
        begun.into_iter().for_each(InFlight::end);
        let (status, _, stderr) = server.wait();
        assert_eq!(status.code(), Some(0), "{stderr}");
        server = installation.serve();
        client.lead_to(server.url());
    }
    let mut acknowledged = load.end();
    let paid = acknowledged.len();
    acknowledged.extend(ids.into_iter().map(|id| (("loan-0".to_owned(), id), 7)));
    assert_all_there_once(&client, &acknowledged);
    installation.verify();
    server.stop();
    println!(
        "stops on {database}: {stops} stops, {} calls in flight answered, {paid} payments acknowledged beside them, \
         0 lost, 0 twice, 0 differences, seed {}",
        stops * IN_FLIGHT,
        seed()
    );
}
