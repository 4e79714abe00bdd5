//! Stopping: nothing more is sent, messages in flight get a little time, and all responses are recorded.

use super::Dispatcher;
use futures_util::future::join_all;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long messages in flight may take to be answered once the dispatcher stops.
const FAREWELL: Duration = Duration::from_secs(5);

impl Dispatcher {
    /// Ends all workers. Waits briefly for the responses to messages in flight: a message without a response by then is
    /// sent again after the next start. All responses received are recorded.
    pub async fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let mut registry = self.registry.lock().await;
        // All at once: no worker may continue sending while another is waited for.
        let (orders, workers): (Vec<_>, Vec<_>) =
            registry.workers.drain().map(|(_, hand)| (hand.orders, hand.task)).unzip();
        drop(orders);
        let probes = registry.probes.drain().map(|(_, probe)| probe.task);
        // A worker that panicked has nothing more to record.
        let mut ended = Box::pin(join_all(workers.into_iter().chain(probes)));
        tokio::select! {
            _ = &mut ended => {}
            () = tokio::time::sleep(FAREWELL) => {
                self.shared.hurry.send_replace(true);
                ended.await;
            }
        }
        if let Err(error) = self.shared.outbox.release(&self.shared.token).await {
            tracing::debug!(%error, "leases could not be released; they will expire");
        }
    }
}
