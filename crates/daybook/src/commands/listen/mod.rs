//! `daybook listen`: a webhook receiver on a developer's machine.
//!
//! ```text
//! subscribe ─► server ── POST ─► receiver ─► judge: signatures, attempt ─► a line on stdout
//!                                    │
//!                                    └─► forward: a developer's own server, whose status is the answer
//! ```
//!
//! The command creates its own subscription and removes it at the end: on Ctrl+C, on SIGTERM, and when it has received
//! enough messages. If a run was killed, the next one removes its subscription: it recognizes it by its path and its
//! closed port.

mod forward;
mod judge;
mod receiver;

use super::remote::ServerConnection;
use super::serve::Stop;
use super::{Failure, say, wait_for};
use crate::cli::ListenArgs;
use daybook_client::{Client, Trouble};
use daybook_operations::Operation;
use daybook_webhooks::signature::SigningKey;
use forward::Forward;
use judge::Judge;
use receiver::{Ended, ListenReceiver, ResponseSource};
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;
use tokio::net::TcpListener;

/// The path of the subscribed URL: it identifies the command's own subscriptions.
const PATH: &str = "/daybook-listen";
/// The time limit for reaching a receiver that may no longer exist.
const REACHING: Duration = Duration::from_millis(500);

/// Receives messages until it is stopped or has received enough.
pub fn run(args: &ListenArgs) -> Result<(), Failure> {
    let forward = args.forward_to.as_deref().map(Forward::to).transpose()?;
    let connection = ServerConnection::open(&args.remote)?;
    let client = connection.client.clone();
    // The connection outlives the runtime: dropping it makes one more call to the server.
    wait_for(async {
        // From here on, Ctrl+C does not end the process before the subscription is removed.
        let mut stop = Stop::of_a_tool()?;
        let (listener, address) = bind(args.port).await?;
        let url = format!("http://{address}{PATH}");
        ask(&client, move |client| remove_leftovers(client, address)).await?;
        let subscription = ask(&client, {
            let (url, events) = (url.clone(), args.events.clone());
            move |client| subscribe(client, &url, &events)
        })
        .await?;
        let judge = match ask(&client, signing_key).await {
            Ok(key) => Judge::new(key),
            Err(failure) => {
                leave(&client, subscription).await?;
                return Err(failure);
            }
        };
        let events = if args.events.is_empty() { "all events".to_owned() } else { args.events.join(", ") };
        say(&format!("Listening on {url}, subscribed to {events} of {}. Press Ctrl+C to stop.\n", client.url()));
        let answering = match forward {
            Some(forward) => ResponseSource::Forwarded(forward),
            None => ResponseSource::Listed(args.answer.clone()),
        };
        let receiver = ListenReceiver::new(client.clone(), judge, answering, args.json, args.count);
        let ended = receiver.serve(listener, stop.told()).await;
        let left = leave(&client, subscription).await;
        let ended = ended?;
        left?;
        report(&ended, args.count.is_some())
    })
}

/// Prints the summary at the end.
fn report(ended: &Ended, was_counted: bool) -> Result<(), Failure> {
    say(&format!("The subscription is removed. {} received, {} accepted.\n", ended.lines(), ended.taken));
    if was_counted && ended.wrong > 0 {
        return Err(Failure::Failed(format!("{} of them had an invalid signature", ended.wrong)));
    }
    Ok(())
}

async fn bind(port: u16) -> Result<(TcpListener, SocketAddr), Failure> {
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |error| Failure::Failed(format!("--port: cannot listen on {wanted}: {error}"));
    let listener = TcpListener::bind(wanted).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Makes a blocking call to the server on a separate thread.
async fn ask<T: Send + 'static>(
    client: &Client,
    question: impl FnOnce(&Client) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let client = client.clone();
    let answer = tokio::task::spawn_blocking(move || question(&client)).await;
    answer.map_err(|error| Failure::Failed(format!("a request to the server failed: {error}")))?
}

/// Removes the subscriptions of killed earlier runs, whose ports are closed.
fn remove_leftovers(client: &Client, own: SocketAddr) -> Result<(), Failure> {
    let all = client.call(&Operation::ListSubscriptions.request([]), None)?;
    for one in all["results"].as_array().into_iter().flatten() {
        let Some(address) = one["webhook_url"].as_str().and_then(address_of_listener) else { continue };
        let is_gone = || match TcpStream::connect_timeout(&address, REACHING) {
            Err(error) => error.kind() == io::ErrorKind::ConnectionRefused,
            Ok(_) => false,
        };
        if address != own && is_gone() {
            let id = one["webhook_uuid"].as_str().unwrap_or_default();
            match client.call(&Operation::DeleteSubscription.request([id]), None) {
                // Another run removed it.
                Err(Trouble::Refused { status: 404, .. }) => {}
                removed => {
                    removed?;
                    say(&format!(
                        "The subscription of {address} is removed: the command that listened there has ended.\n"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// The address in a URL that this command subscribed.
fn address_of_listener(url: &str) -> Option<SocketAddr> {
    url.strip_prefix("http://")?
        .strip_suffix(PATH)?
        .parse()
        .ok()
        .filter(|address: &SocketAddr| address.ip().is_loopback())
}

/// Subscribes the receiver's URL and returns the id of the subscription.
fn subscribe(client: &Client, url: &str, events: &[String]) -> Result<String, Failure> {
    let mut form = json!({ "webhook_url": url });
    if !events.is_empty() {
        form["filter_events"] = json!(events);
    }
    let made = client.call(&Operation::Subscribe.request([]), Some(&form));
    let made = made.map_err(|trouble| explained(client.url(), trouble))?;
    let id = made["webhook_uuid"].as_str().unwrap_or_default().to_owned();
    // If the port was used before, earlier failures may have paused the subscription.
    if made["status"] == "PAUSED" {
        client.call(&Operation::Resubscribe.request([&id]), Some(&Value::Null))?;
    }
    Ok(id)
}

/// Explains the error if the server does not send to its own machine because it does not run with `--dev`.
pub(super) fn explained(server: &str, trouble: Trouble) -> Failure {
    let is_about_the_url = matches!(&trouble, Trouble::Refused { details, .. }
        if details.iter().any(|detail| detail.field == "webhook_url"));
    if !is_about_the_url {
        return trouble.into();
    }
    Failure::Failed(format!(
        "{trouble}\nThe server at {server} sends no webhooks to its own machine. Start it with `daybook serve --dev`, or with \
         `--allow-network 127.0.0.1/32`, and try again. It must run on this machine."
    ))
}

/// The current signing key.
fn signing_key(client: &Client) -> Result<SigningKey, Failure> {
    let shown = client.call(&Operation::GetHmacKey.request([]), None).map_err(|trouble| match &trouble {
        Trouble::Refused { status: 403, .. } => Failure::Failed(format!(
            "{trouble}\nOnly an API key with the role ADMIN may read the signing key: `daybook keys create --role ADMIN` makes \
             one."
        )),
        _ => trouble.into(),
    })?;
    Ok(SigningKey::from_text(shown["hmac_secret_key"].as_str().unwrap_or_default()))
}

/// Removes the subscription.
async fn leave(client: &Client, subscription: String) -> Result<(), Failure> {
    ask(client, move |client| {
        match client.call(&Operation::DeleteSubscription.request([&subscription]), None) {
            // It was removed by another command or user.
            Err(Trouble::Refused { status: 404, .. }) | Ok(_) => Ok(()),
            Err(trouble) => {
                Err(Failure::Failed(format!("the subscription {subscription} could not be removed: {trouble}")))
            }
        }
    })
    .await
}
