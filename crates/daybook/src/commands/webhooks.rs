//! `daybook webhooks …`: messages and URLs of a running server.

use super::org::text;
use super::remote::ServerConnection;
use super::table::table;
use super::{Failure, print, say};
use crate::cli::{
    WebhooksAction, WebhooksCommand, WebhooksGetArgs, WebhooksListArgs, WebhooksReplayArgs, WebhooksResendArgs,
    WebhooksSearchArgs,
};
use daybook_operations::Operation;
use serde_json::{Map, Value, json};
use std::io::Write as _;

/// The most messages requested at once.
const PAGE: usize = 200;

/// Runs `daybook webhooks …`.
pub fn run(command: &WebhooksCommand) -> Result<(), Failure> {
    match &command.command {
        WebhooksAction::List(args) => list(args),
        WebhooksAction::Search(args) => search(args),
        WebhooksAction::Get(args) => get(args),
        WebhooksAction::Resend(args) => resend(args),
        WebhooksAction::Replay(args) => replay(args),
    }
}

fn results(answer: &Value) -> &[Value] {
    answer["results"].as_array().map_or(&[], Vec::as_slice)
}

fn list(args: &WebhooksListArgs) -> Result<(), Failure> {
    let connection = ServerConnection::open(&args.remote)?;
    let answer = connection.client.call(&Operation::ListSubscriptions.request([]), None)?;
    if args.json {
        return print(&format!("{answer:#}\n"));
    }
    let mut rows = vec![["webhook_uuid", "status", "pending", "dead", "url"].map(str::to_owned)];
    let fields = ["webhook_uuid", "status", "pending", "dead_letters", "webhook_url"];
    rows.extend(results(&answer).iter().map(|one| fields.map(|field| text(one, field))));
    print(&table(&rows))?;
    for one in results(&answer).iter().filter(|one| !one["held_until"].is_null()) {
        let (uuid, until) = (text(one, "webhook_uuid"), text(one, "held_until"));
        say(&format!("{uuid} answered 429 and is held until {until}; resubscribe it to end the hold.\n"));
    }
    Ok(())
}

fn search(args: &WebhooksSearchArgs) -> Result<(), Failure> {
    let connection = ServerConnection::open(&args.remote)?;
    let filters = [
        ("event_id", args.event_id.as_deref()),
        ("account_id", args.account.as_deref()),
        ("event", args.event.as_deref()),
        ("state", args.state.map(|state| state.name())),
        ("webhook_uuid", args.webhook.as_deref()),
        ("since", args.since.as_deref()),
        ("until", args.until.as_deref()),
    ];
    let (mut found, mut after): (Vec<Value>, Option<String>) = (Vec::new(), None);
    let has_more = loop {
        let limit = PAGE.min(args.limit - found.len()).max(1);
        let request = Operation::ListMessages.request([]).with("limit", limit);
        let request = filters.iter().fold(request, |request, (name, value)| request.with_some(name, *value));
        let page = connection.client.call(&request.with_some("starting_after", after.take()), None)?;
        found.extend_from_slice(results(&page));
        let next = page["paging"]["starting_after"].as_str().filter(|_| page["paging"]["has_more"] == true);
        match next {
            Some(next) if found.len() < args.limit => after = Some(next.to_owned()),
            next => break next.is_some(),
        }
    };
    found.truncate(args.limit);
    if args.json {
        print(&format!("{:#}\n", json!({ "results": found })))?;
    } else {
        let mut rows = vec![["recorded_at", "event", "account", "event_id", "state"].map(str::to_owned)];
        rows.extend(found.iter().map(line));
        print(&table(&rows))?;
    }
    if has_more {
        say(&format!("There are more than {}: raise --limit, or narrow the search.\n", args.limit));
    }
    Ok(())
}

fn line(message: &Value) -> [String; 5] {
    let urls = message["urls"].as_array().map_or(&[][..], Vec::as_slice);
    let mut states: Vec<&str> = urls.iter().filter_map(|url| url["state"].as_str()).collect();
    states.retain(|state| *state != "NOT_WANTED");
    let stands = match (message["state"].as_str(), states.is_empty()) {
        (Some("PUBLISHED"), false) => states.join(","),
        (Some("PUBLISHED"), true) => "no URL".to_owned(),
        (state, _) => state.unwrap_or_default().to_owned(),
    };
    let account = message["account_id"].as_str().unwrap_or("-").to_owned();
    [text(message, "recorded_at"), text(message, "event"), account, text(message, "event_id"), stands]
}

fn get(args: &WebhooksGetArgs) -> Result<(), Failure> {
    let connection = ServerConnection::open(&args.remote)?;
    let message = connection.client.call(&Operation::GetMessage.request([&args.event_id]), None)?;
    if args.json {
        return print(&format!("{message:#}\n"));
    }
    if args.body {
        let body = message["body"].as_str().unwrap_or_default();
        return std::io::stdout().write_all(body.as_bytes()).map_err(|error| Failure::Failed(error.to_string()));
    }
    let mut shown = String::new();
    for field in ["event", "event_id", "account_id", "state", "effective_at", "recorded_at", "due_at", "cancelled_at"] {
        if !message[field].is_null() {
            shown += &format!("{field:<14} {}\n", text(&message, field));
        }
    }
    for url in message["urls"].as_array().map_or(&[][..], Vec::as_slice) {
        let paused = if url["paused"] == true { ", paused" } else { "" };
        let reason = url["reason"].as_str().map_or_else(String::new, |reason| format!(": {reason}"));
        shown += &format!(
            "\n{} {}{paused}{reason}\n  {}\n",
            text(url, "webhook_uuid"),
            text(url, "state"),
            text(url, "webhook_url")
        );
        for attempt in url["attempts"].as_array().map_or(&[][..], Vec::as_slice) {
            let answered =
                attempt["response_status"].as_u64().map_or("no response".to_owned(), |status| status.to_string());
            let error = attempt["error"].as_str().map_or_else(String::new, |error| format!(" {error}"));
            shown += &format!(
                "  attempt {} at {}: {answered}{error}\n",
                text(attempt, "attempt"),
                text(attempt, "attempted_at")
            );
        }
    }
    print(&format!("{shown}\n{}\n", message["body"].as_str().unwrap_or_default()))
}

fn resend(args: &WebhooksResendArgs) -> Result<(), Failure> {
    let connection = ServerConnection::open(&args.remote)?;
    let body = args.webhook.as_ref().map_or_else(|| json!({}), |uuid| json!({ "webhook_uuid": uuid }));
    let done = connection.client.call(&Operation::ResendMessage.request([&args.event_id]), Some(&body))?;
    if args.json {
        return print(&format!("{done:#}\n"));
    }
    for uuid in done["resent"].as_array().map_or(&[][..], Vec::as_slice) {
        print(&format!("{}\n", uuid.as_str().unwrap_or_default()))?;
    }
    for uuid in done["left_paused"].as_array().map_or(&[][..], Vec::as_slice) {
        say(&format!("Not sent to {}: the URL is paused.\n", uuid.as_str().unwrap_or_default()));
    }
    Ok(())
}

fn replay(args: &WebhooksReplayArgs) -> Result<(), Failure> {
    let connection = ServerConnection::open(&args.remote)?;
    let mut body = Map::new();
    if args.delivered {
        body.insert("state".to_owned(), json!("DELIVERED"));
    }
    if args.dry_run {
        body.insert("dry_run".to_owned(), json!(true));
    }
    let filters = [
        ("webhook_uuid", &args.webhook),
        ("event", &args.event),
        ("account_id", &args.account),
        ("since", &args.since),
        ("until", &args.until),
    ];
    for (name, value) in filters.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?))) {
        body.insert(name.to_owned(), json!(value));
    }
    let done = connection.client.call(&Operation::ReplayFailedEvents.request([]), Some(&Value::Object(body)))?;
    if args.json {
        return print(&format!("{done:#}\n"));
    }
    let is_one = done["replayed"] == 1;
    let what = match (args.delivered, is_one) {
        (true, true) => "delivered message",
        (true, false) => "delivered messages",
        (false, true) => "dead letter",
        (false, false) => "dead letters",
    };
    let verb = match (args.dry_run, is_one) {
        (true, _) => "would be sent again",
        (false, true) => "is sent again",
        (false, false) => "are sent again",
    };
    print(&format!("{} {what} {verb}\n", text(&done, "replayed")))?;
    match done["left_paused"].as_u64() {
        None | Some(0) => {}
        Some(1) => say("1 more message matches but is not sent, because its URL is paused.\n"),
        Some(count) => say(&format!("{count} more messages match but are not sent, because their URLs are paused.\n")),
    }
    Ok(())
}
