//! Trains a dictionary by which messages are compressed.
//!
//! ```text
//! daybook serve --demo --database sqlite:demo.db                           # the scenarios, as demo data; then stop it
//! curl -H "Authorization: Bearer $KEY" $URL/organization/event_types > events.json
//! cargo run --release -p daybook-store --example train_dictionary -- sqlite:demo.db events.json messages-2.zdict
//! ```
//!
//! A dictionary is never changed once a build with it was used: add a new one to `message_groups/dictionary.rs`.

use daybook_store::{Tables, open_as};
use std::error::Error;

/// More makes messages hardly smaller, and takes memory on each node.
const DICTIONARY_BYTES: usize = 32 << 10;
/// Messages read at once.
const PAGE: usize = 1_000;
/// A sample of a rare event counts as much as this many messages.
const WEIGHT_OF_SAMPLES: usize = 4;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, events, to] = &arguments[..] else {
        return Err("usage: train_dictionary DATABASE EVENTS.json DICTIONARY".into());
    };
    let mut messages: Vec<Vec<u8>> = Vec::new();
    let store = open_as(database, Tables::MustBeCurrent).await?;
    for organization in store.organizations().await? {
        let mut after = 0;
        loop {
            let page = store.messages(organization.org, after, PAGE).await?;
            let Some(last) = page.last().and_then(|message| message.position) else { break };
            after = last;
            messages.extend(page.into_iter().map(|message| message.data.to_vec()));
        }
    }
    let catalogue: serde_json::Value = serde_json::from_slice(&std::fs::read(events)?)?;
    let listed = catalogue["results"].as_array().ok_or("the file has no list of event types")?;
    for event in listed {
        let sample = serde_json::to_vec(&event["sample"])?;
        messages.extend(std::iter::repeat_n(sample, WEIGHT_OF_SAMPLES));
    }
    let dictionary = zstd::dict::from_samples(&messages, DICTIONARY_BYTES)?;
    std::fs::write(to, &dictionary)?;
    println!("{} messages, {} bytes", messages.len(), dictionary.len());
    Ok(())
}
