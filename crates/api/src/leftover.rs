//! What a caller still sends when the answer is there already.
//!
//! A call may be refused before its body is read: it is too large, or its key is unknown. A caller who is still sending
//! would then meet a closed connection and never see the answer. So what is left of a large body is read and thrown away
//! before a refusal is sent, up to a limit in bytes and time.

use axum::body::{Body, BodyDataStream, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use futures_util::{StreamExt, stream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A body up to this length comes with its head, or right after it: the server reads it by itself.
const SMALL_BYTES: u64 = 16 << 10;
/// The most that is read and thrown away.
const MOST_BYTES: usize = 64 << 20;
/// For how long.
const PATIENCE: Duration = Duration::from_secs(5);

type Slot = Arc<Mutex<Option<BodyDataStream>>>;

/// What is left of a body when its call is done.
#[derive(Debug)]
pub struct Leftover(Slot);

/// A body that is being read; what is left of it goes back when its reader drops it.
struct Kept {
    body: Option<BodyDataStream>,
    slot: Slot,
}

impl Drop for Kept {
    fn drop(&mut self) {
        *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = self.body.take();
    }
}

impl Leftover {
    /// Watches the body of a request, where it may be large.
    pub fn of(request: Request) -> (Request, Option<Leftover>) {
        let headers = request.headers();
        let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        // A caller who asks first sends nothing before it is told to.
        let is_small = match length {
            Some(length) => length <= SMALL_BYTES,
            None => request.body().is_end_stream(),
        };
        if is_small || headers.contains_key(EXPECT) {
            return (request, None);
        }
        let slot = Slot::default();
        let watched = request.map(|body| {
            let kept = Kept { body: Some(body.into_data_stream()), slot: slot.clone() };
            Body::from_stream(stream::unfold(kept, |mut kept| async move {
                let chunk = kept.body.as_mut()?.next().await;
                if chunk.is_none() {
                    kept.body = None;
                }
                chunk.map(|chunk| (chunk, kept))
            }))
        });
        (watched, Some(Leftover(slot)))
    }

    /// Reads what is left, up to a limit, and throws it away.
    pub async fn drain(self) {
        let left = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut left) = left else { return };
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
