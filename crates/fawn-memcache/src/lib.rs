//! The memcached text and meta protocol as a pure codec and session.
//!
//! Bytes come in, [`CommandRequest`]s come out, [`CommandOutcome`]s go in, bytes come out. The crate knows nothing of storage,
//! sockets or clocks, so the same parser serves a socket, a simulator and a fuzzer. What it accepts and what it prints follow
//! memcached 1.6.45, with these deviations:
//!
//! * The binary protocol is refused: a connection whose first byte is 0x80 is closed.
//! * A command line other than `get`, `gets`, `gat` and `gats` has at most [`MAX_LINE_BYTES`] bytes; a longer one closes
//!   the connection, whether or not its newline has arrived (memcached decides by what one read happened to hold).
//! * A refused `get` line ends with one line break (memcached sends two).
//! * An expiry of `set` above 2³¹ is a Unix time up to the year 2106 (memcached truncates it to 32 signed bits).
//! * Whether a key was given in base64 is a property of the request, not of the item.
//! * An opaque or key that cannot be echoed refuses a meta command before it changes anything.
//! * `me` with a base64 key takes the documented `me <key> b`.
//!
//! # Layout
//!
//! * [`Session`]: one connection's parser state; [`Session::next`] is the step.
//! * [`CommandRequest`], [`Command`]: what a client asks.
//! * [`Responder`], [`CommandOutcome`]: how it is told.
//! * [`report`]: `STAT` lines and key dumps.
//! * [`lines`]: the fixed answer lines.
//! * [`client`]: the other half, requests and replies of a client.
//!
//! # The loop
//!
//! ```
//! use fawn_memcache::{CommandOutcome, Command, SessionEvent, Hit, SessionLimits, Session};
//! use std::collections::HashMap;
//!
//! let mut items: HashMap<Vec<u8>, (u32, Vec<u8>)> = HashMap::new();
//! let mut session = Session::new(SessionLimits::default());
//! let mut input: &[u8] = b"set greeting 7 0 5\r\nhello\r\nget greeting nothing\r\nversion\r\n";
//! let mut out = Vec::new();
//! loop {
//!     let step = session.next(input);
//!     input = &input[step.consumed..];
//!     match step.event {
//!         SessionEvent::Request(request) => {
//!             let answer = match request.command {
//!                 Command::Store(store) => {
//!                     items.insert(request.key.to_vec(), (store.flags, store.value.to_vec()));
//!                     CommandOutcome::Stored { cas: 1, size: store.value.len() }
//!                 }
//!                 Command::Get => match items.get(request.key) {
//!                     Some((flags, value)) => CommandOutcome::Hit(Hit { flags: *flags, cas: 1, ..Hit::of(value) }),
//!                     None => CommandOutcome::Miss,
//!                 },
//!                 Command::Version => CommandOutcome::Version("1.0.0"),
//!                 _ => CommandOutcome::Error("SERVER_ERROR not in this example"),
//!             };
//!             request.responder.write(&mut out, request.key, &answer);
//!         }
//!         SessionEvent::Reply(line) => out.extend_from_slice(line.as_bytes()),
//!         // A server that sends the values of a get line as it goes has to hold them until the line is whole.
//!         SessionEvent::Abandon(line) => out = line.as_bytes().to_vec(),
//!         SessionEvent::NeedMore { .. } | SessionEvent::Close => break,
//!     }
//! }
//! assert_eq!(out, b"STORED\r\nVALUE greeting 7 5\r\nhello\r\nEND\r\nVERSION 1.0.0\r\n");
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admin;
mod base64;
pub mod client;
mod command;
mod command_line;
mod limits;
pub mod lines;
mod meta;
mod number;
mod parse;
mod reply;
pub mod report;
mod session;
mod tokens;
mod upcoming;

pub use command::{
    Arithmetic, Command, CommandRequest, Delete, Detail, Dump, Exptime, MetaGet, MetaRecache, Mode, Stats,
    StoreRequest, ValueTooLarge,
};
pub use limits::SessionLimits;
pub use reply::{CommandOutcome, CounterValue, Debug, Hit, Responder};
pub use session::{Session, SessionEvent, SessionStep};
pub use upcoming::Upcoming;

/// The version of memcached whose protocol is spoken, as `version` tells it: clients choose what they send by it.
pub const VERSION: &str = "1.6.45";

/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 250;
/// Longest command line without its line break, in bytes, but for lines of keys.
pub const MAX_LINE_BYTES: usize = 2048;
