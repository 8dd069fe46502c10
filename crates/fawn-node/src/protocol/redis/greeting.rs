//! What the server says of itself.

use fawn_resp::reply::{self, RespVersion};

/// The release whose replies these are.
pub const VERSION: &str = "7.0.15";

/// What the server says of itself to a client of this number.
pub fn write_greeting(out: &mut Vec<u8>, version: RespVersion, id: u64) {
    reply::map(out, 7, version);
    for (name, value) in [("server", "redis"), ("version", VERSION)] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, value.as_bytes());
    }
    reply::bulk(out, b"proto");
    reply::integer(out, if version == RespVersion::Two { 2 } else { 3 });
    reply::bulk(out, b"id");
    reply::integer(out, id.cast_signed());
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, value.as_bytes());
    }
    reply::bulk(out, b"modules");
    reply::array(out, 0);
}
