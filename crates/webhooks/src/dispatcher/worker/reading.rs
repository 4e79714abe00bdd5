//! Reads what to send: due failures, ranges being replayed, the log.

use super::{LONGEST_WINDOW, MessageSource, QueuedMessage, ReadBatch, STORE_AWAY, Worker};
use crate::dispatcher::window::Window;
use crate::signature::StandardKey;
use daybook_store::error::StoreError;
use daybook_store::outbox::{Outgoing, SubscriptionFilter};
use std::future::Future;
use std::sync::Arc;

/// How many messages are read at once.
const PAGE: usize = 512;
/// More are read when fewer than this are waiting.
const LOW_WATER: usize = 256;

impl Worker {
    /// Starts another read if there is room: due failures first, then alternately a range and the log.
    pub(super) fn read_on(&mut self) {
        if self.reading.is_some() || self.leaving.is_some() || self.queue.len() >= LOW_WATER {
            return;
        }
        let (shared, org, id) = (self.shared.clone(), self.subscription.org, self.subscription.id);
        let now = shared.clock.now();
        if self.look_for_failures && self.retrying.is_empty() {
            self.look_for_failures = false;
            self.retries.ask();
            return self.read(async move {
                let due = shared.outbox.due_failures(org, id, now, PAGE).await?;
                Ok(ReadBatch::Failures(due, shared.outbox.next_retry(org, id).await?))
            });
        }
        if self.look_for_ranges && self.range.is_none() {
            self.look_for_ranges = false;
            return self.read(async move { Ok(ReadBatch::Ranges(shared.outbox.replaying(org, id).await?)) });
        }
        self.range_turn = !self.range_turn;
        if self.range_turn && self.read_range() {
            return;
        }
        if !self.read_log() {
            self.read_range();
        }
    }

    pub(super) fn read_log(&mut self) -> bool {
        let (after, through) = (self.log.read_to(), self.through);
        if after >= through || self.log.len() >= LONGEST_WINDOW {
            return false;
        }
        let (shared, subscription) = (self.shared.clone(), self.subscription.clone());
        self.read(async move {
            Ok(ReadBatch::Log(
                shared.outbox.feed(subscription.subscription_filter(), after, through, PAGE).await?,
                through,
            ))
        });
        true
    }

    pub(super) fn read_range(&mut self) -> bool {
        let Some((range, window)) = &self.range else { return false };
        let after = window.read_to();
        if after >= range.last || window.len() >= LONGEST_WINDOW {
            return false;
        }
        let (shared, range) = (self.shared.clone(), range.clone());
        let (org, uuid) = (self.subscription.org, self.subscription.uuid.clone());
        self.read(async move {
            let reader = SubscriptionFilter { org, filter: range.filter.as_deref(), uuid: &uuid, missed: true };
            Ok(ReadBatch::Range(shared.outbox.feed(reader, after, range.last, PAGE).await?))
        });
        true
    }

    /// Reads a page and, if there is something to send, the keys that sign it.
    pub(super) fn read(&mut self, page: impl Future<Output = Result<ReadBatch, StoreError>> + Send + 'static) {
        let (shared, org) = (self.shared.clone(), self.subscription.org);
        self.reading = Some(Box::pin(async move {
            let page = page.await;
            let is_empty = match &page {
                Ok(ReadBatch::Failures(due, _)) => due.is_empty(),
                Ok(ReadBatch::Log(messages, _) | ReadBatch::Range(messages)) => messages.is_empty(),
                Ok(ReadBatch::Ranges(_)) | Err(_) => true,
            };
            if is_empty {
                return (page, None);
            }
            match shared.support.keys(org).await {
                Ok(keys) => (page, Some(keys.iter().map(|key| key.standard()).collect())),
                Err(reason) => (Err(StoreError::Unavailable(reason)), None),
            }
        }));
    }

    pub(super) async fn take_page(&mut self, page: Result<ReadBatch, StoreError>, keys: Option<Vec<StandardKey>>) {
        if let Some(keys) = keys {
            self.keys = Arc::new(keys);
        }
        match page {
            Ok(ReadBatch::Failures(due, next_retry)) => {
                // The failures just read stay the next ones in the store until they are recorded; then the store is
                // queried again.
                self.retries.answered(next_retry.filter(|_| due.is_empty()));
                for (failure, message) in due {
                    self.retrying.insert(failure.position);
                    self.put(MessageSource::Failures(Box::new(failure)), message);
                }
            }
            Ok(ReadBatch::Ranges(ranges)) => {
                self.range = ranges.into_iter().next().map(|range| {
                    let window = Window::after(range.after, range.ahead.clone());
                    (range, window)
                });
            }
            Ok(ReadBatch::Range(messages)) => {
                let Some((range, window)) = &mut self.range else { return };
                let is_last = messages.len() < PAGE;
                let to_send: Vec<_> = messages.into_iter().filter(|message| window.read(message.position)).collect();
                if is_last {
                    window.pass_over(range.last);
                }
                let id = range.id;
                to_send.into_iter().for_each(|message| self.put(MessageSource::Range(id), message));
            }
            Ok(ReadBatch::Log(messages, through)) => {
                let is_last = messages.len() < PAGE;
                let to_send: Vec<_> = messages.into_iter().filter(|message| self.log.read(message.position)).collect();
                if is_last {
                    self.log.pass_over(through);
                }
                to_send.into_iter().for_each(|message| self.put(MessageSource::Log, message));
            }
            Err(error) => {
                let webhook_uuid = &self.subscription.uuid;
                tracing::warn!(%error, %webhook_uuid, "webhook messages could not be read; reading is retried");
                self.look_for_failures = true;
                self.look_for_ranges = self.range.is_none();
                tokio::time::sleep(STORE_AWAY).await;
            }
        }
    }

    pub(super) fn put(&mut self, source: MessageSource, message: Outgoing) {
        let account = message.account.clone();
        self.queue.put(account.as_ref(), QueuedMessage { source, message });
    }
}
