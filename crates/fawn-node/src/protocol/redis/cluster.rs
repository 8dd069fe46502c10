//! `CLUSTER`: every node answers for every key, so to clients of Redis Cluster the node that they ask is the only one, and has
//! all hash slots.

use super::answer::{Answer, OwnResult};
use super::arguments::word;
use super::client_state::ClientState;
use fawn_resp::Words;
use fawn_resp::reply::{self, RespVersion};

/// The node's name.
const NODE: &str = "6661776e00000000000000000000000000000000";
/// Number of hash slots.
const SLOTS: u16 = 16_384;

/// Host and port that the client has connected to: it is to go on there. Redis leaves the host empty, too, where it does not
/// know what it is called.
fn endpoint(client: &ClientState) -> (String, u16) {
    client.local().map_or((String::new(), 0), |local| (local.ip().to_string(), local.port()))
}

pub fn info<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let text = "cluster_enabled:0\r\ncluster_state:ok\r\ncluster_slots_assigned:16384\r\ncluster_slots_ok:16384\r\n\
                cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:1\r\ncluster_size:1\r\n\
                cluster_current_epoch:1\r\ncluster_my_epoch:1\r\n";
    reply::text(out, text, client.version);
    Ok(Answer::Written)
}

pub fn myid<'a>(_: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::bulk(out, NODE.as_bytes());
    Ok(Answer::Written)
}

pub fn slots<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let (host, port) = endpoint(client);
    reply::array(out, 1);
    reply::array(out, 3);
    reply::integer(out, 0);
    reply::integer(out, (SLOTS - 1).into());
    reply::array(out, 4);
    reply::bulk(out, host.as_bytes());
    reply::integer(out, port.into());
    reply::bulk(out, NODE.as_bytes());
    reply::array(out, 0);
    Ok(Answer::Written)
}

pub fn shards<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let ((host, port), version) = (endpoint(client), client.version);
    reply::array(out, 1);
    reply::map(out, 2, version);
    reply::bulk(out, b"slots");
    reply::array(out, 2);
    reply::integer(out, 0);
    reply::integer(out, (SLOTS - 1).into());
    reply::bulk(out, b"nodes");
    reply::array(out, 1);
    write_shard_node(out, &host, port, version);
    Ok(Answer::Written)
}

fn write_shard_node(out: &mut Vec<u8>, host: &str, port: u16, version: RespVersion) {
    reply::map(out, 7, version);
    for (name, value) in [("id", NODE), ("ip", host), ("endpoint", host), ("role", "master"), ("health", "online")] {
        reply::bulk(out, name.as_bytes());
        reply::bulk(out, value.as_bytes());
    }
    for (name, value) in [("port", i64::from(port)), ("replication-offset", 0)] {
        reply::bulk(out, name.as_bytes());
        reply::integer(out, value);
    }
}

pub fn nodes<'a>(_: &Words<'a>, client: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    let (host, port) = endpoint(client);
    let text = format!("{NODE} {host}:{port}@0 myself,master - 0 0 1 connected 0-{}\n", SLOTS - 1);
    reply::text(out, &text, client.version);
    Ok(Answer::Written)
}

pub fn keyslot<'a>(words: &Words<'a>, _: &mut ClientState, out: &mut Vec<u8>) -> OwnResult<'a> {
    reply::integer(out, slot(word(words, 2)).into());
    Ok(Answer::Written)
}

/// The hash slot of a key: that of what is between its first braces, if there is something.
fn slot(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        let close = rest.iter().position(|byte| *byte == b'}')?;
        (close > 0).then(|| &rest[..close])
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// The checksum CRC-16/XMODEM.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        (0..8)
            .fold(crc ^ (u16::from(*byte) << 8), |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_slots_of_redis_cluster() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12_182);
        assert_eq!(slot(b"{foo}.bar"), slot(b"foo"));
        assert_eq!(slot(b"{}foo"), crc16(b"{}foo") % SLOTS);
        assert_eq!(slot(b"a{foo"), crc16(b"a{foo") % SLOTS);
    }
}
