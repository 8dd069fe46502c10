//! What this store takes of a machine: bytes a record, reads and answers a get, DRAM an entry.
//!
//! Facts of the software at hand, from its formats and measurements; reference/planning in the book says where each is
//! from.

/// Bytes of a key that is reckoned with, as the benchmarks have it.
pub const KEY_BYTES: f64 = 20.0;

/// Bytes that a record takes on flash beside key and value.
pub const RECORD_BYTES: f64 = 24.0;

/// Payload of a page of 4 KiB.
const PAGE_BYTES: f64 = 4088.0;

/// Bytes of an answer beside key and value: `VALUE `, ` 0 1000`, two line ends and `END` with its own.
const ANSWER_BYTES: f64 = 22.0;

/// DRAM an entry where the index holds every record, in bytes, under steady overwrites; after a load it is 4.7.
pub const INDEXED_BYTES: f64 = 7.3;

/// DRAM an entry where most records are found by page directories alone, in bytes.
pub const DRAINED_BYTES: f64 = 0.5;

/// Bytes of the largest item, key and value and what is beside them.
pub const ITEM_BYTES: f64 = 128.0 * 1024.0 * 1024.0;

/// Bytes a second that a node takes from others to make its copies, unless it is told otherwise (`--copy-rate`).
pub const COPY_BYTES_PER_SECOND: f64 = 32.0 * 1024.0 * 1024.0;

/// Bytes that a value takes on flash with its key.
pub fn record_bytes(value_bytes: f64) -> f64 {
    value_bytes + KEY_BYTES + RECORD_BYTES
}

/// Pages of 4 KiB that a get reads on average: records lie across pages' ends.
pub fn pages_a_get(value_bytes: f64) -> f64 {
    1.0 + (record_bytes(value_bytes) - 1.0) / PAGE_BYTES
}

/// Bytes that an answer takes on the network, in many answers a packet.
pub fn answer_bytes(value_bytes: f64) -> f64 {
    value_bytes + KEY_BYTES + ANSWER_BYTES
}
