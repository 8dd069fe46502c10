//! The client half of the protocol: requests as bytes, and replies from bytes that may end anywhere.
//!
//! * [`MetaRequest`]: a request of the meta protocol. [`text`]: those of the text protocol.
//! * [`MetaReply`]: a reply of the meta protocol. [`LineReply`]: one of either dialect, as a line with its value.
//! * [`ValueCodec`]: gets and sets of values of one known length, whose replies are compared in place.

mod line_reply;
mod meta_reply;
mod meta_request;
pub mod text;
mod value_codec;

pub use line_reply::LineReply;
pub use meta_reply::{MalformedReply, MetaReply, find_line, flag, is_error};
pub use meta_request::{KeyForm, MetaRequest};
pub use value_codec::{CheckedReply, Dialect, ParseOutcome, RequestKind, ValueCodec};
