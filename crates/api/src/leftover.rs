//! The rest of a request body when the response is ready already.
//!
//! A call may be refused before its body is read: it is too large, or its key is unknown. A caller who is still sending
//! would then find the connection closed and never see the response. So the rest of a body is read and discarded before a
//! refusal is sent, up to a limit in bytes and time. This includes small bodies: callers often send the head and the body
//! in two packets.

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use daybook_service::budget::CallMemory;
use futures_util::{StreamExt, stream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The most that is read and discarded.
const MOST_BYTES: usize = 64 << 20;
/// The longest time for that.
const PATIENCE: Duration = Duration::from_secs(5);

type Slot = Arc<Mutex<Option<BodyDataStream>>>;

/// The rest of a body when its call is done.
#[derive(Debug)]
pub struct Leftover {
    slot: Slot,
    memory: Option<CallMemory>,
}

/// A body that is being read; the rest of it goes back into the slot when its reader is dropped.
struct UnreadBody {
    body: Option<BodyDataStream>,
    slot: Slot,
}

impl Drop for UnreadBody {
    fn drop(&mut self) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = self.body.take();
    }
}

impl Leftover {
    /// Watches the body of a request, if it has one.
    pub fn of(request: Request) -> (Request, Option<Leftover>) {
        // A caller who sends `Expect` sends no body before the server allows it.
        if request.body().is_end_stream() || request.headers().contains_key(EXPECT) {
            return (request, None);
        }
        let slot = Slot::default();
        let memory = request.extensions().get::<CallMemory>().cloned();
        let watched = request.map(|body| {
            let kept = UnreadBody { body: Some(body.into_data_stream()), slot: slot.clone() };
            Body::from_stream(stream::unfold(kept, |mut kept| async move {
                let chunk = kept.body.as_mut()?.next().await;
                if chunk.is_none() {
                    kept.body = None;
                }
                chunk.map(|chunk| (chunk, kept))
            }))
        });
        (watched, Some(Leftover { slot, memory }))
    }

    /// Reads the rest, up to a limit, and discards it.
    pub async fn drain(self) {
        let left = self.slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut left) = left else { return };
        if let Some(memory) = self.memory {
            memory.body.discard();
        }
        let reading = async {
            let mut read = 0;
            while let Some(Ok(chunk)) = left.next().await {
                read += chunk.len();
                if read > MOST_BYTES {
                    break;
                }
            }
        };
        // A caller who sends too slowly is not waited for.
        let _ = tokio::time::timeout(PATIENCE, reading).await;
    }
}
