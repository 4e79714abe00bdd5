//! Stopping: no more is sent, what is in flight is waited for a while, and everything that was answered is recorded.

use super::Dispatcher;
use futures_util::future::join_all;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long what is in flight may take to be answered once the dispatcher is told to stop.
const FAREWELL: Duration = Duration::from_secs(5);

impl Dispatcher {
    /// Ends all workers. Waits for the answers to what they have in flight, but not for long: what is not answered by then
    /// is sent again after the next start. Everything that was answered is recorded.
    pub async fn stop(&self) {
        self.shared.stopping.store(true, Ordering::Relaxed);
        let mut desk = self.desk.lock().await;
        // All at once: none may go on sending while another is waited for.
        let (orders, workers): (Vec<_>, Vec<_>) =
            desk.workers.drain().map(|(_, hand)| (hand.orders, hand.task)).unzip();
        drop(orders);
        let probes = desk.probes.drain().map(|(_, probe)| probe.task);
        // One that panicked has nothing more to record.
        let mut ended = Box::pin(join_all(workers.into_iter().chain(probes)));
        tokio::select! {
            _ = &mut ended => {}
            () = tokio::time::sleep(FAREWELL) => {
                self.shared.hurry.send_replace(true);
                ended.await;
            }
        }
        if let Err(error) = self.shared.outbox.release(&self.shared.token).await {
            tracing::debug!(%error, "leases were not given back; they end by themselves");
        }
    }
}
