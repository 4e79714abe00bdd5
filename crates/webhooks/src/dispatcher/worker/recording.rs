//! Records results, and ends so that the store knows exactly what was not sent.

use super::sending::CONSECUTIVE_ERRORS;
use super::{STORE_AWAY, Task, Worker, WorkerExit};
use crate::dispatcher::WorkerContext;
use crate::dispatcher::window::Window;
use daybook_engine::time::Time;
use daybook_store::error::StoreError;
use daybook_store::outbox::{Deliveries, Pause, RangeProgress, Recorded, Subscription};
use daybook_store::records::MessageRow;
use std::sync::Arc;

impl Worker {
    pub(super) fn begin_recording(&mut self) {
        if self.recording.is_some() {
            return;
        }
        self.record_timer = None;
        self.is_changed = false;
        let mut deliveries = self.ledger.take(&self.subscription, &self.shared.token);
        deliveries.cursor = self.log.finished_through();
        deliveries.ahead = self.log.ahead();
        deliveries.held_until = self.held();
        if let Some((range, window)) = &self.range {
            self.recorded_range_to = window.finished_through();
            let (through, ahead) = (self.recorded_range_to, window.ahead());
            deliveries.ranges.push(RangeProgress { range: range.id, through, ahead });
        }
        self.recorded_retries = deliveries
            .failed
            .iter()
            .map(|failure| failure.position)
            .chain(deliveries.recovered.iter().copied())
            .filter(|position| self.retrying.contains(position))
            .collect();
        self.retries.record(&deliveries);
        self.recording = Some(self.record(deliveries));
    }

    /// Records results, retrying while the store is unavailable: they must not be lost.
    pub(super) fn record(&self, deliveries: Deliveries) -> Task<Result<Recorded, StoreError>> {
        let (shared, hurry) = (self.shared.clone(), self.hurry.clone());
        Box::pin(async move {
            loop {
                match shared.outbox.record(deliveries.clone()).await {
                    Err(reason) if reason.is_unavailable() && !*hurry.borrow() => {
                        tracing::warn!(%reason, "deliveries could not be recorded; recording is retried");
                        tokio::time::sleep(STORE_AWAY).await;
                    }
                    recorded => return recorded,
                }
            }
        })
    }

    pub(super) async fn take_recorded(&mut self, recorded: Result<Recorded, StoreError>) -> bool {
        match recorded {
            Ok(Recorded::Kept(row)) => {
                self.retries.recorded();
                self.look_for_failures |=
                    !self.recorded_retries.is_empty() || self.retries.is_due(self.shared.clock.now());
                for position in self.recorded_retries.drain(..) {
                    self.retrying.remove(&position);
                }
                self.subscription.cursor = row.cursor;
                if row.version == self.subscription.version {
                    self.known_counts = (row.consecutive_errors, row.streak);
                }
                if self.range.as_ref().is_some_and(|(range, _)| self.recorded_range_to >= range.last) {
                    self.range = None;
                    self.look_for_ranges = true;
                }
                if row.paused.is_some() {
                    self.leaving.get_or_insert(WorkerExit::PausedOrRemoved);
                } else {
                    self.change(*row);
                }
                true
            }
            Ok(Recorded::Lost) => {
                tracing::debug!(webhook_uuid = %self.subscription.uuid, "another node took over sending to a URL");
                false
            }
            Err(error) => {
                tracing::error!(
                    %error, webhook_uuid = %self.subscription.uuid,
                    "deliveries could not be recorded; their messages are sent again"
                );
                tokio::time::sleep(STORE_AWAY).await;
                false
            }
        }
    }

    /// Records the last results. If the subscription is paused, this is exact: unsent messages before the last one that
    /// was sent become single dead letters. If it is not, the next worker continues from the cursor.
    pub(super) async fn leave(&mut self) {
        let now = self.shared.clock.now();
        let Some(WorkerExit::Pausing(reason)) = self.leaving.take() else {
            if self.record_last(Window::finished_through, None).await.is_some_and(|row| row.paused.is_some()) {
                self.bury_holes(now);
                self.record_last(Window::last_finished, None).await;
            }
            return;
        };
        let probe_at = (reason == CONSECUTIVE_ERRORS).then(|| self.shared.schedule.next_probe(now, now)).flatten();
        let pause = Pause { reason: reason.to_owned(), at: now, probe_at };
        let mut paused = self.subscription.clone();
        paused.paused = Some(pause.clone());
        paused.consecutive_errors = self.ledger.consecutive_errors();
        let Some(message) = announcement(self.shared.clone(), paused, pause.clone()).await else { return };
        tracing::warn!(webhook_uuid = %self.subscription.uuid, reason, "a webhook URL is paused");
        self.bury_holes(now);
        self.record_last(Window::last_finished, Some((pause, Box::new(message)))).await;
    }

    /// Messages that were not sent although later ones were become dead.
    fn bury_holes(&mut self, now: Time) {
        let ranges = self.range.iter().flat_map(|(_, window)| window.holes());
        let holes: Vec<i64> = self.log.holes().into_iter().chain(ranges).collect();
        for position in holes {
            self.ledger.note_untried(position, now, "it was not sent: the URL was paused");
        }
    }

    /// Records all results, up to the position that `end` gives for each window; returns the subscription as it is
    /// then.
    async fn record_last(
        &mut self,
        end: fn(&Window) -> i64,
        pause: Option<(Pause, Box<MessageRow>)>,
    ) -> Option<Box<Subscription>> {
        let mut deliveries = self.ledger.take(&self.subscription, &self.shared.token);
        deliveries.cursor = end(&self.log);
        deliveries.ahead = self.log.ahead();
        deliveries.held_until = self.held();
        deliveries.ranges.extend(self.range.as_ref().map(|(range, window)| RangeProgress {
            range: range.id,
            through: end(window),
            ahead: window.ahead(),
        }));
        deliveries.pause = pause;
        match self.record(deliveries).await {
            Ok(Recorded::Kept(row)) => Some(row),
            Ok(Recorded::Lost) => None,
            Err(error) => {
                tracing::error!(%error, webhook_uuid = %self.subscription.uuid, "the last deliveries could not be recorded");
                None
            }
        }
    }
}

/// The message to publish when a URL is paused; `None` if the server stops before it can be made.
async fn announcement(shared: Arc<WorkerContext>, paused: Subscription, pause: Pause) -> Option<MessageRow> {
    loop {
        match shared.support.paused(&paused, &pause).await {
            Ok(message) => return Some(message),
            Err(_) if shared.is_stopping() => return None,
            Err(reason) => {
                tracing::warn!(%reason, "the pause of a webhook URL could not be announced; this is retried");
                tokio::time::sleep(STORE_AWAY).await;
            }
        }
    }
}
