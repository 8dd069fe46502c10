//! Checks of keys, their expiry and scans.

use std::collections::BTreeSet;

use redis::{Commands, Connection, RedisResult, ScanOptions, cmd};

use crate::support::{CheckResult, equal, key, near, now, text};
pub fn del(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.del(&[k, key()]), 1)
}

pub fn unlink(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.unlink(&[k, key()]), 1)
}

pub fn exists(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.exists(&[k.clone(), k, key()]), 2)
}

pub fn expire(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.expire(&k, 100), false)?;
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.expire(&k, 100), true)?;
    near(c.ttl(&k), 100)?;
    equal(cmd("EXPIRE").arg(&k).arg(50).arg("GT").query(c), 0)?;
    equal(cmd("EXPIRE").arg(&k).arg(50).arg("NX").query(c), 0)?;
    equal(cmd("EXPIRE").arg(&k).arg(50).arg("LT").query(c), 1)?;
    equal(cmd("EXPIRE").arg(&k).arg(60).arg("XX").query(c), 1)
}

pub fn pexpire(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.pexpire(&k, 100_000), true)?;
    near(c.ttl(&k), 100)
}

pub fn expireat(c: &mut Connection) -> CheckResult {
    let (k, at) = (key(), now() + 100);
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.expire_at(&k, at), true)?;
    equal(c.expire_time(&k), at)
}

pub fn pexpireat(c: &mut Connection) -> CheckResult {
    let (k, at) = (key(), now() + 100);
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.pexpire_at(&k, at * 1000), true)?;
    equal(c.pexpire_time(&k), at * 1000)
}

pub fn ttl(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.ttl(&k), -2)?;
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.ttl(&k), -1)
}

pub fn pttl(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 10)?;
    let left: i64 = c.pttl(&k)?;
    equal(Ok((8000..=11000).contains(&left)), true)
}

pub fn persist(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 10)?;
    equal(c.persist(&k), true)?;
    equal(c.ttl(&k), -1)
}

pub fn touch(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(cmd("TOUCH").arg(&k).arg(key()).query(c), 1)
}

pub fn types(c: &mut Connection) -> CheckResult {
    let (s, h) = (key(), key());
    c.set::<_, _, ()>(&s, "a")?;
    c.hset::<_, _, _, ()>(&h, "f", "v")?;
    equal(c.key_type(&s), text("string"))?;
    equal(c.key_type(&h), text("hash"))?;
    equal(c.key_type(key()), text("none"))
}

pub fn rename(c: &mut Connection) -> CheckResult {
    let (a, b) = (key(), key());
    c.set::<_, _, ()>(&a, "1")?;
    equal(c.rename(&a, &b), text("OK"))?;
    equal(c.get(&b), text("1"))
}

pub fn copy(c: &mut Connection) -> CheckResult {
    let (a, b) = (key(), key());
    c.set::<_, _, ()>(&a, "1")?;
    equal(cmd("COPY").arg(&a).arg(&b).query(c), 1)?;
    equal(c.get(&b), text("1"))
}

pub fn scan(c: &mut Connection) -> CheckResult {
    let prefix = key();
    let items: Vec<(String, &str)> = (0..1000).map(|n| (format!("{prefix}:{n}"), "a")).collect();
    c.mset::<_, _, ()>(&items)?;
    c.hset::<_, _, _, ()>(format!("{prefix}:h"), "f", "v")?;
    let options = || ScanOptions::default().with_pattern(format!("{prefix}:*"));
    let found: RedisResult<BTreeSet<String>> = c.scan_options(options().with_count(100))?.collect();
    equal(found.map(|found| found.len()), 1001)?;
    let hashes: RedisResult<BTreeSet<String>> = c.scan_options(options().with_type("hash"))?.collect();
    equal(hashes, BTreeSet::from([format!("{prefix}:h")]))
}

pub fn keys(c: &mut Connection) -> CheckResult {
    let prefix = key();
    c.mset::<_, _, ()>(&[(format!("{prefix}:one"), "1"), (format!("{prefix}:two"), "2")])?;
    equal(c.keys(format!("{prefix}:t[a-z]?")), vec![format!("{prefix}:two")])
}

pub fn randomkey(c: &mut Connection) -> CheckResult {
    c.set::<_, _, ()>(key(), "a")?;
    let some: String = cmd("RANDOMKEY").query(c)?;
    equal(c.exists(some), true)
}

pub fn dbsize(c: &mut Connection) -> CheckResult {
    let before: i64 = cmd("DBSIZE").query(c)?;
    c.set::<_, _, ()>(key(), "a")?;
    equal(cmd("DBSIZE").query(c), before + 1)
}
