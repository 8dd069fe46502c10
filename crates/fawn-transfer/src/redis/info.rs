//! What a server says of itself in reply to INFO.

use std::collections::BTreeMap;

/// What matters of it. A server that does not say something leaves it empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RedisInfo {
    /// A name of its own for each start.
    pub run_id: Option<String>,
    /// Whether it has but a part of a cluster's keys.
    pub is_of_cluster: bool,
    /// Keys of each database that has any.
    pub keys: BTreeMap<u32, u64>,
}

impl RedisInfo {
    /// Takes over what a text says: lines of `name:value`.
    pub fn add(&mut self, text: &str) {
        for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
            match name {
                "run_id" => self.run_id = Some(value.to_owned()),
                "redis_mode" | "server_mode" => self.is_of_cluster = value == "cluster",
                _ => self.keys.extend(keyspace(name, value)),
            }
        }
    }
}

/// The keys of a database, as in `db0:keys=5,expires=1,avg_ttl=0`.
fn keyspace(name: &str, value: &str) -> Option<(u32, u64)> {
    let number = name.strip_prefix("db")?.parse().ok()?;
    Some((number, value.strip_prefix("keys=")?.split(',').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_found_among_the_lines() {
        let mut info = RedisInfo::default();
        info.add("# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\nrun_id:abc\r\n");
        info.add("# Keyspace\r\ndb0:keys=5,expires=1,avg_ttl=0\r\ndb12:keys=7\r\ndbx:keys=1\r\ndb3:expires=1\r\n");
        let keys = BTreeMap::from([(0, 5), (12, 7)]);
        assert_eq!(info, RedisInfo { run_id: Some("abc".to_owned()), is_of_cluster: true, keys });
    }
}
