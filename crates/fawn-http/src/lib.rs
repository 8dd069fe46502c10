//! HTTP/1.1 for small objects, as a pure codec.
//!
//! * [`RequestReader`]: requests out of the bytes of a connection, in bounded memory. It refuses what two readers could
//!   understand differently, and closes such a connection.
//! * [`Responder`]: what has to be known of a request to write its reply, in 48 bytes, and the replies.
//! * [`media_type`]: the media types that an item's client flags can name.
//!
//! Keys are at `/v1/keys/KEY`, counters at `/v1/counters/KEY`, gets of several keys at `/v1/batch`. Nothing here reads,
//! waits or looks at a clock.
//!
//! ```
//! use fawn_http::{Action, ReaderEvent, ReaderLimits, RequestReader};
//!
//! let mut reader = RequestReader::new(ReaderLimits { item_bytes: 1 << 20 }, false);
//! let (input, mut out) = (b"GET /v1/keys/caf%C3%A9 HTTP/1.1\r\nHost: a\r\n\r\n", Vec::new());
//! let ReaderEvent::Request(request) = reader.next(input, 1_800_000_000, &mut out).event else { panic!("it is whole") };
//! assert_eq!((request.key, request.action), ("café".as_bytes(), Action::Get));
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod batch;
mod chunked;
mod conditions;
mod credentials;
mod date;
mod fields;
mod head;
pub mod media_type;
mod plan;
mod range;
mod reader;
mod refusal;
mod reply;
mod responder;
mod target;
#[cfg(test)]
mod tests;

pub use plan::StoreMode;
pub use reader::{Action, ReaderEvent, ReaderLimits, ReaderStep, Request, RequestReader};
pub use refusal::{HttpStatus, RequestRefusal};
pub use reply::{FoundItem, ItemFacts, append_error};
pub use responder::{ReplyKind, Responder};

/// The longest key, in bytes.
pub const MOST_KEY_BYTES: usize = 250;

/// What a client is sent whose connection is one too many, before the connection is closed.
pub const TOO_MANY_CONNECTIONS: &str = "HTTP/1.1 503 Service Unavailable\r\nServer: fawn\r\nConnection: close\r\n\
    Retry-After: 1\r\nContent-Length: 0\r\n\r\n";
