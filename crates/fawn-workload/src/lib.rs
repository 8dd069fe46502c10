//! What a load generator writes and reads, computed and never remembered.
//!
//! Keys and values follow from an entry's index and version, and the version that an entry must have follows from a few phases of
//! writing. So every value that is read is verified, and a generator's memory does not grow with the number of entries.
//!
//! No I/O, no clock, no random source: seeds are arguments.
//!
//! ```
//! use fawn_workload::{Order, WriteHistory, key_of, version_of, write_value};
//!
//! // A store of 1,000 entries, of which 600 are written.
//! let mut store = std::collections::BTreeMap::new();
//! let mut history = WriteHistory::new(1000, Vec::new());
//! history.begin(Order::Shuffled);
//! for _ in 0..600 {
//!     let (index, version) = history.next().expect("a phase writes every entry once");
//!     let mut value = [0; 100];
//!     write_value(index, version, &mut value);
//!     store.insert(key_of(index), value);
//!     history.wrote();
//! }
//! // Every get is verified, hits and misses.
//! for index in 0..1000 {
//!     let found = store.get(&key_of(index)).map(|value| version_of(index, value).expect("the value is whole"));
//!     assert!(history.admits(index, history.least(index), found));
//! }
//! ```
//!
//! # Layout
//!
//! * [`entry`]: keys and values of entries.
//! * [`permutation`]: an order of all entries, computed both ways. [`draw`]: entries at random.
//! * [`history`]: which versions an entry may have.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod draw;
pub mod entry;
pub mod history;
pub mod permutation;

pub use draw::Draw;
pub use entry::{KEY_BYTES, LEAST_VALUE_BYTES, key_of, mix, version_of, write_value};
pub use history::{Order, WriteHistory, WritePhase};
pub use permutation::Permutation;
