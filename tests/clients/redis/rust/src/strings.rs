//! Checks of strings.

use std::thread;
use std::time::Duration;

use redis::{Commands, Connection, ExistenceCheck, Expiry, SetExpiry, SetOptions, cmd};

use crate::support::{CheckResult, equal, key, near, now, refused, text};
pub fn set_and_get(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.get(&k), None::<String>)?;
    equal(c.set(&k, "a"), "OK".to_owned())?;
    equal(c.set(&k, "b"), "OK".to_owned())?;
    equal(c.get(&k), text("b"))
}

pub fn set_conditions(c: &mut Connection) -> CheckResult {
    let (k, nx, xx) = (key(), ExistenceCheck::NX, ExistenceCheck::XX);
    equal(c.set_options(&k, "a", SetOptions::default().conditional_set(xx)), None::<String>)?;
    let nx = SetOptions::default().conditional_set(nx);
    equal(c.set_options(&k, "a", nx.clone()), text("OK"))?;
    equal(c.set_options(&k, "b", nx), None::<String>)?;
    equal(c.get(&k), text("a"))
}

pub fn set_expiries(c: &mut Connection) -> CheckResult {
    let (k, at) = (key(), now() + 300);
    let with = |expiry| SetOptions::default().with_expiration(expiry);
    c.set_options::<_, _, ()>(&k, "a", with(SetExpiry::EX(100)))?;
    near(c.ttl(&k), 100)?;
    c.set_options::<_, _, ()>(&k, "a", with(SetExpiry::PX(200_000)))?;
    near(c.ttl(&k), 200)?;
    c.set_options::<_, _, ()>(&k, "a", with(SetExpiry::EXAT(at as u64)))?;
    equal(c.expire_time(&k), at)?;
    c.set_options::<_, _, ()>(&k, "a", with(SetExpiry::PXAT(at as u64 * 1000)))?;
    equal(c.pexpire_time(&k), at * 1000)
}

pub fn set_keepttl_and_get(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 100)?;
    let options = SetOptions::default().with_expiration(SetExpiry::KEEPTTL).get(true);
    equal(c.set_options(&k, "b", options), text("a"))?;
    near(c.ttl(&k), 100)
}

pub fn set_expires(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 1)?;
    equal(c.get(&k), text("a"))?;
    thread::sleep(Duration::from_millis(2200));
    equal(c.get(&k), None::<String>)
}

pub fn setnx(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.set_nx(&k, "a"), true)?;
    equal(c.set_nx(&k, "b"), false)
}

pub fn setex(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 100)?;
    near(c.ttl(&k), 100)
}

pub fn psetex(c: &mut Connection) -> CheckResult {
    let k = key();
    c.pset_ex::<_, _, ()>(&k, "a", 100_000)?;
    near(c.ttl(&k), 100)
}

pub fn getex(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.get_ex(&k, Expiry::EX(10)), None::<String>)?;
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.get_ex(&k, Expiry::EX(100)), text("a"))?;
    near(c.ttl(&k), 100)?;
    equal(c.get_ex(&k, Expiry::PERSIST), text("a"))?;
    equal(c.ttl(&k), -1)
}

pub fn getdel(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.get_del(&k), text("a"))?;
    equal(c.get_del(&k), None::<String>)
}

pub fn getset(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.getset(&k, "a"), None::<String>)?;
    equal(c.getset(&k, "b"), text("a"))
}

pub fn mset(c: &mut Connection) -> CheckResult {
    let items: Vec<(String, String)> = (0..500).map(|n| (key(), n.to_string())).collect();
    c.mset::<_, _, ()>(&items)?;
    let (keys, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    equal(c.mget(keys), values)
}

pub fn mget(c: &mut Connection) -> CheckResult {
    let (a, h) = (key(), key());
    c.set::<_, _, ()>(&a, "1")?;
    c.hset::<_, _, _, ()>(&h, "f", "v")?;
    equal(c.mget(&[a, key(), h]), vec![text("1"), None, None])
}

pub fn msetnx(c: &mut Connection) -> CheckResult {
    let a = key();
    equal(c.mset_nx(&[(a.clone(), "1"), (key(), "2")]), true)?;
    equal(c.mset_nx(&[(a, "1"), (key(), "2")]), false)
}

pub fn append(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.append(&k, "ab"), 2)?;
    equal(c.append(&k, "cd"), 4)?;
    equal(c.get(&k), text("abcd"))
}

pub fn strlen(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "héllo")?;
    equal(c.strlen(&k), 6)
}

pub fn getrange(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "This is a string")?;
    equal(c.getrange(&k, 0, 3), text("This"))?;
    equal(c.getrange(&k, -3, -1), text("ing"))
}

pub fn setrange(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "Hello World")?;
    equal(c.setrange(&k, 6, "Redis"), 11)?;
    equal(c.get(&k), text("Hello Redis"))
}

pub fn incr(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(cmd("INCR").arg(&k).query(c), 1)?;
    c.set::<_, _, ()>(&k, i64::MAX)?;
    refused(cmd("INCR").arg(&k).query(c), "increment or decrement would overflow")
}

pub fn incrby(c: &mut Connection) -> CheckResult {
    equal(c.incr(key(), -40), -40)
}

pub fn incrbyfloat(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.incr(&k, 10.5), 10.5)?;
    equal(c.incr(&k, 0.1), 10.6)
}

pub fn decr(c: &mut Connection) -> CheckResult {
    equal(cmd("DECR").arg(key()).query(c), -1)
}

pub fn decrby(c: &mut Connection) -> CheckResult {
    equal(c.decr(key(), 7), -7)
}
