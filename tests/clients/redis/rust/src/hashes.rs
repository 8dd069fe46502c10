//! Checks of hashes.

use std::collections::{BTreeMap, BTreeSet};

use redis::{Commands, Connection, RedisResult, cmd};

use crate::support::{CheckResult, equal, key, text};
pub fn hset(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.hset(&k, "a", "1"), 1)?;
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    let expected = BTreeMap::from([("a".to_owned(), 5), ("b".to_owned(), 3)]);
    equal(c.hgetall(&k), expected)
}

pub fn hsetnx(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.hset_nx(&k, "a", "1"), true)?;
    equal(c.hset_nx(&k, "a", "2"), false)
}

pub fn hget(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    equal(c.hget(&k, "a"), text("1"))?;
    equal(c.hget(&k, "b"), None::<String>)
}

pub fn hmget(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    equal(c.hmget(&k, &["a", "x"]), vec![text("1"), None])
}

pub fn hgetall(c: &mut Connection) -> CheckResult {
    let k = key();
    let fields: BTreeMap<String, i64> = (0..2000).map(|n| (format!("field {n}"), n)).collect();
    let items: Vec<(String, i64)> = fields.clone().into_iter().collect();
    c.hset_multiple::<_, _, _, ()>(&k, &items)?;
    equal(c.hgetall(&k), fields)
}

pub fn hdel(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hdel(&k, &["a", "b", "x"]), 2)?;
    equal(c.exists(&k), false)
}

pub fn hlen(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hlen(&k), 2)
}

pub fn hexists(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    equal(c.hexists(&k, "a"), true)?;
    equal(c.hexists(&k, "b"), false)
}

pub fn hkeys(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hkeys(&k), BTreeSet::from(["a".to_owned(), "b".to_owned()]))
}

pub fn hvals(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hvals(&k), BTreeSet::from([3, 5]))
}

pub fn hincrby(c: &mut Connection) -> CheckResult {
    equal(c.hincr(key(), "a", -7), -7)
}

pub fn hincrbyfloat(c: &mut Connection) -> CheckResult {
    equal(c.hincr(key(), "a", 1.5), 1.5)
}

pub fn hstrlen(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "hello")?;
    equal(cmd("HSTRLEN").arg(&k).arg("a").query(c), 5)
}

pub fn hscan(c: &mut Connection) -> CheckResult {
    let k = key();
    let items: Vec<(String, i64)> = (0..1000).map(|n| (format!("f{n}"), n)).collect();
    c.hset_multiple::<_, _, _, ()>(&k, &items)?;
    let got: RedisResult<BTreeMap<String, i64>> = c.hscan(&k)?.collect();
    equal(got, items.into_iter().collect())
}

pub fn hrandfield(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    let some: Vec<String> = cmd("HRANDFIELD").arg(&k).arg(-7).query(c)?;
    equal(Ok(some.len()), 7)
}
