//! The `redis` crate: its commands on strings, keys and hashes.
//!
//!     api api|session|restart HOST PORT

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redis::{
    Client, Commands, Connection, ConnectionAddr, ConnectionInfo, ExistenceCheck, Expiry, FromRedisValue, IntoConnectionInfo, RedisResult,
    RedisConnectionInfo, ScanOptions, SetExpiry, SetOptions, TlsCertificates, Value, cmd, pipe,
};

type CheckResult = Result<(), Box<dyn std::error::Error>>;
type Check = (&'static str, &'static str, fn(&mut Connection) -> CheckResult);

const WRONG_TYPE: &str = "Operation against a key holding the wrong kind of value";

/// A key that no other check uses.
fn key() -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos());
    format!("rust:{}:{started}:{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed))
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs() as i64)
}

/// Bytes that look random and are the same for the same length.
fn noise(length: usize) -> Vec<u8> {
    let mut state = length as u64 + 0x9E37_79B9_7F4A_7C15;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

fn large() -> Vec<u8> {
    noise((1 << 20) - 512)
}

fn all_bytes() -> Vec<u8> {
    (0..=255).collect()
}

fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

/// The reply must be this one.
fn equal<T: PartialEq + std::fmt::Debug>(got: RedisResult<T>, expected: T) -> CheckResult {
    let got = got?;
    if got == expected {
        return Ok(());
    }
    let mut said = format!("expected {expected:?}, got {got:?}");
    let most = said.len().min(400);
    let end = (0..=most).rev().find(|&at| said.is_char_boundary(at)).unwrap_or(0);
    said.truncate(end);
    Err(said.into())
}

/// A time to live that began a moment ago.
fn near(got: RedisResult<i64>, expected: i64) -> CheckResult {
    let got = got?;
    if (expected - 2..=expected).contains(&got) { Ok(()) } else { Err(format!("expected about {expected}, got {got}").into()) }
}

/// The server must refuse it, with this in its words.
fn refused(got: RedisResult<Value>, words: &str) -> CheckResult {
    match got {
        Err(error) if error.to_string().contains(words) => Ok(()),
        other => Err(format!("expected an error with `{words}`, got {other:?}").into()),
    }
}

/// How to connect; the password may be another than the given one.
fn client(password: Option<String>) -> RedisResult<Client> {
    let words: Vec<String> = env::args().collect();
    let (host, port) = (words[2].clone(), words[3].parse().unwrap_or(0));
    let ca = env::var("CA_FILE").ok();
    let address = match ca {
        Some(_) => ConnectionAddr::TcpTls { host: "localhost".to_owned(), port, insecure: false, tls_params: None },
        None => ConnectionAddr::Tcp(host, port),
    };
    let mut settings = RedisConnectionInfo::default();
    if let Ok(user) = env::var("USERNAME") {
        settings = settings.set_username(user);
    }
    if let Some(password) = password {
        settings = settings.set_password(password);
    }
    let info: ConnectionInfo = address.into_connection_info()?.set_redis_settings(settings);
    match ca {
        Some(path) => {
            let root_cert = Some(std::fs::read(path)?);
            Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
        }
        None => Client::open(info),
    }
}

fn password() -> Option<String> {
    env::var("PASSWORD").ok()
}

fn set_and_get(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.get(&k), None::<String>)?;
    equal(c.set(&k, "a"), "OK".to_owned())?;
    equal(c.set(&k, "b"), "OK".to_owned())?;
    equal(c.get(&k), text("b"))
}

fn set_conditions(c: &mut Connection) -> CheckResult {
    let (k, nx, xx) = (key(), ExistenceCheck::NX, ExistenceCheck::XX);
    equal(c.set_options(&k, "a", SetOptions::default().conditional_set(xx)), None::<String>)?;
    let nx = SetOptions::default().conditional_set(nx);
    equal(c.set_options(&k, "a", nx.clone()), text("OK"))?;
    equal(c.set_options(&k, "b", nx), None::<String>)?;
    equal(c.get(&k), text("a"))
}

fn set_expiries(c: &mut Connection) -> CheckResult {
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

fn set_keepttl_and_get(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 100)?;
    let options = SetOptions::default().with_expiration(SetExpiry::KEEPTTL).get(true);
    equal(c.set_options(&k, "b", options), text("a"))?;
    near(c.ttl(&k), 100)
}

fn set_expires(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 1)?;
    equal(c.get(&k), text("a"))?;
    thread::sleep(Duration::from_millis(2200));
    equal(c.get(&k), None::<String>)
}

fn setnx(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.set_nx(&k, "a"), true)?;
    equal(c.set_nx(&k, "b"), false)
}

fn setex(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 100)?;
    near(c.ttl(&k), 100)
}

fn psetex(c: &mut Connection) -> CheckResult {
    let k = key();
    c.pset_ex::<_, _, ()>(&k, "a", 100_000)?;
    near(c.ttl(&k), 100)
}

fn getex(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.get_ex(&k, Expiry::EX(10)), None::<String>)?;
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.get_ex(&k, Expiry::EX(100)), text("a"))?;
    near(c.ttl(&k), 100)?;
    equal(c.get_ex(&k, Expiry::PERSIST), text("a"))?;
    equal(c.ttl(&k), -1)
}

fn getdel(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.get_del(&k), text("a"))?;
    equal(c.get_del(&k), None::<String>)
}

fn getset(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.getset(&k, "a"), None::<String>)?;
    equal(c.getset(&k, "b"), text("a"))
}

fn mset(c: &mut Connection) -> CheckResult {
    let items: Vec<(String, String)> = (0..500).map(|n| (key(), n.to_string())).collect();
    c.mset::<_, _, ()>(&items)?;
    let (keys, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
    equal(c.mget(keys), values)
}

fn mget(c: &mut Connection) -> CheckResult {
    let (a, h) = (key(), key());
    c.set::<_, _, ()>(&a, "1")?;
    c.hset::<_, _, _, ()>(&h, "f", "v")?;
    equal(c.mget(&[a, key(), h]), vec![text("1"), None, None])
}

fn msetnx(c: &mut Connection) -> CheckResult {
    let a = key();
    equal(c.mset_nx(&[(a.clone(), "1"), (key(), "2")]), true)?;
    equal(c.mset_nx(&[(a, "1"), (key(), "2")]), false)
}

fn append(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.append(&k, "ab"), 2)?;
    equal(c.append(&k, "cd"), 4)?;
    equal(c.get(&k), text("abcd"))
}

fn strlen(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "héllo")?;
    equal(c.strlen(&k), 6)
}

fn getrange(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "This is a string")?;
    equal(c.getrange(&k, 0, 3), text("This"))?;
    equal(c.getrange(&k, -3, -1), text("ing"))
}

fn setrange(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "Hello World")?;
    equal(c.setrange(&k, 6, "Redis"), 11)?;
    equal(c.get(&k), text("Hello Redis"))
}

fn incr(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(cmd("INCR").arg(&k).query(c), 1)?;
    c.set::<_, _, ()>(&k, i64::MAX)?;
    refused(cmd("INCR").arg(&k).query(c), "increment or decrement would overflow")
}

fn incrby(c: &mut Connection) -> CheckResult {
    equal(c.incr(key(), -40), -40)
}

fn incrbyfloat(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.incr(&k, 10.5), 10.5)?;
    equal(c.incr(&k, 0.1), 10.6)
}

fn decr(c: &mut Connection) -> CheckResult {
    equal(cmd("DECR").arg(key()).query(c), -1)
}

fn decrby(c: &mut Connection) -> CheckResult {
    equal(c.decr(key(), 7), -7)
}

fn del(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.del(&[k, key()]), 1)
}

fn unlink(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.unlink(&[k, key()]), 1)
}

fn exists(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.exists(&[k.clone(), k, key()]), 2)
}

fn expire(c: &mut Connection) -> CheckResult {
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

fn pexpire(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.pexpire(&k, 100_000), true)?;
    near(c.ttl(&k), 100)
}

fn expireat(c: &mut Connection) -> CheckResult {
    let (k, at) = (key(), now() + 100);
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.expire_at(&k, at), true)?;
    equal(c.expire_time(&k), at)
}

fn pexpireat(c: &mut Connection) -> CheckResult {
    let (k, at) = (key(), now() + 100);
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.pexpire_at(&k, at * 1000), true)?;
    equal(c.pexpire_time(&k), at * 1000)
}

fn ttl(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.ttl(&k), -2)?;
    c.set::<_, _, ()>(&k, "a")?;
    equal(c.ttl(&k), -1)
}

fn pttl(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 10)?;
    let left: i64 = c.pttl(&k)?;
    equal(Ok((8000..=11000).contains(&left)), true)
}

fn persist(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set_ex::<_, _, ()>(&k, "a", 10)?;
    equal(c.persist(&k), true)?;
    equal(c.ttl(&k), -1)
}

fn touch(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "a")?;
    equal(cmd("TOUCH").arg(&k).arg(key()).query(c), 1)
}

fn types(c: &mut Connection) -> CheckResult {
    let (s, h) = (key(), key());
    c.set::<_, _, ()>(&s, "a")?;
    c.hset::<_, _, _, ()>(&h, "f", "v")?;
    equal(c.key_type(&s), text("string"))?;
    equal(c.key_type(&h), text("hash"))?;
    equal(c.key_type(key()), text("none"))
}

fn rename(c: &mut Connection) -> CheckResult {
    let (a, b) = (key(), key());
    c.set::<_, _, ()>(&a, "1")?;
    equal(c.rename(&a, &b), text("OK"))?;
    equal(c.get(&b), text("1"))
}

fn copy(c: &mut Connection) -> CheckResult {
    let (a, b) = (key(), key());
    c.set::<_, _, ()>(&a, "1")?;
    equal(cmd("COPY").arg(&a).arg(&b).query(c), 1)?;
    equal(c.get(&b), text("1"))
}

fn scan(c: &mut Connection) -> CheckResult {
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

fn keys(c: &mut Connection) -> CheckResult {
    let prefix = key();
    c.mset::<_, _, ()>(&[(format!("{prefix}:one"), "1"), (format!("{prefix}:two"), "2")])?;
    equal(c.keys(format!("{prefix}:t[a-z]?")), vec![format!("{prefix}:two")])
}

fn randomkey(c: &mut Connection) -> CheckResult {
    c.set::<_, _, ()>(key(), "a")?;
    let some: String = cmd("RANDOMKEY").query(c)?;
    equal(c.exists(some), true)
}

fn dbsize(c: &mut Connection) -> CheckResult {
    let before: i64 = cmd("DBSIZE").query(c)?;
    c.set::<_, _, ()>(key(), "a")?;
    equal(cmd("DBSIZE").query(c), before + 1)
}

fn setbit(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.setbit(&k, 7, true), false)?;
    equal(c.setbit(&k, 7, false), true)
}

fn getbit(c: &mut Connection) -> CheckResult {
    let k = key();
    c.setbit::<_, ()>(&k, 7, true)?;
    equal(c.getbit(&k, 7), true)?;
    equal(c.getbit(&k, 100), false)
}

fn bitcount(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "foobar")?;
    equal(c.bitcount(&k), 26)?;
    equal(c.bitcount_range(&k, 1, 1), 6)
}

fn bitpos(c: &mut Connection) -> CheckResult {
    let k = key();
    c.setbit::<_, ()>(&k, 12, true)?;
    equal(cmd("BITPOS").arg(&k).arg(1).query(c), 12)
}

fn bitfield(c: &mut Connection) -> CheckResult {
    let words = ["SET", "u8", "#1", "255", "OVERFLOW", "FAIL", "INCRBY", "u8", "#1", "1", "GET", "u8", "#1"];
    equal(cmd("BITFIELD").arg(key()).arg(&words).query(c), vec![Some(0), None, Some(255)])
}

fn hset(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.hset(&k, "a", "1"), 1)?;
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    let expected = BTreeMap::from([("a".to_owned(), 5), ("b".to_owned(), 3)]);
    equal(c.hgetall(&k), expected)
}

fn hsetnx(c: &mut Connection) -> CheckResult {
    let k = key();
    equal(c.hset_nx(&k, "a", "1"), true)?;
    equal(c.hset_nx(&k, "a", "2"), false)
}

fn hget(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    equal(c.hget(&k, "a"), text("1"))?;
    equal(c.hget(&k, "b"), None::<String>)
}

fn hmget(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    equal(c.hmget(&k, &["a", "x"]), vec![text("1"), None])
}

fn hgetall(c: &mut Connection) -> CheckResult {
    let k = key();
    let fields: BTreeMap<String, i64> = (0..2000).map(|n| (format!("field {n}"), n)).collect();
    let items: Vec<(String, i64)> = fields.clone().into_iter().collect();
    c.hset_multiple::<_, _, _, ()>(&k, &items)?;
    equal(c.hgetall(&k), fields)
}

fn hdel(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hdel(&k, &["a", "b", "x"]), 2)?;
    equal(c.exists(&k), false)
}

fn hlen(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hlen(&k), 2)
}

fn hexists(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    equal(c.hexists(&k, "a"), true)?;
    equal(c.hexists(&k, "b"), false)
}

fn hkeys(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hkeys(&k), BTreeSet::from(["a".to_owned(), "b".to_owned()]))
}

fn hvals(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    equal(c.hvals(&k), BTreeSet::from([3, 5]))
}

fn hincrby(c: &mut Connection) -> CheckResult {
    equal(c.hincr(key(), "a", -7), -7)
}

fn hincrbyfloat(c: &mut Connection) -> CheckResult {
    equal(c.hincr(key(), "a", 1.5), 1.5)
}

fn hstrlen(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", "hello")?;
    equal(cmd("HSTRLEN").arg(&k).arg("a").query(c), 5)
}

fn hscan(c: &mut Connection) -> CheckResult {
    let k = key();
    let items: Vec<(String, i64)> = (0..1000).map(|n| (format!("f{n}"), n)).collect();
    c.hset_multiple::<_, _, _, ()>(&k, &items)?;
    let got: RedisResult<BTreeMap<String, i64>> = c.hscan(&k)?.collect();
    equal(got, items.into_iter().collect())
}

fn hrandfield(c: &mut Connection) -> CheckResult {
    let k = key();
    c.hset_multiple::<_, _, _, ()>(&k, &[("a", "5"), ("b", "3")])?;
    let some: Vec<String> = cmd("HRANDFIELD").arg(&k).arg(-7).query(c)?;
    equal(Ok(some.len()), 7)
}

fn pipeline(c: &mut Connection) -> CheckResult {
    let (k, mut many) = (key(), pipe());
    for _ in 0..1000 {
        many.cmd("INCR").arg(&k);
    }
    let got: Vec<i64> = many.query(c)?;
    equal(Ok(got), (1..=1000).collect())
}

fn transaction(c: &mut Connection) -> CheckResult {
    let k = key();
    // The crate panics where a server refuses MULTI in a pipeline, so it is asked for alone first.
    equal(cmd("MULTI").query(c), text("OK"))?;
    equal(cmd("DISCARD").query(c), text("OK"))?;
    equal(pipe().atomic().set(&k, 1).ignore().incr(&k, 1).query(c), vec![2])
}

fn binary(c: &mut Connection) -> CheckResult {
    let (k, all) = ([all_bytes(), key().into_bytes()].concat(), all_bytes());
    c.set::<_, _, ()>(&k, &all)?;
    equal(c.get(&k), all.clone())?;
    let h = key();
    c.hset::<_, _, _, ()>(&h, &all, &all)?;
    equal(c.hgetall(&h), BTreeMap::from([(all.clone(), all)]))
}

fn large_values(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, large())?;
    equal(c.get(&k), large())
}

fn wrong_types(c: &mut Connection) -> CheckResult {
    let (s, h) = (key(), key());
    c.set::<_, _, ()>(&s, "a")?;
    c.hset::<_, _, _, ()>(&h, "f", "v")?;
    refused(c.get(&h), WRONG_TYPE)?;
    refused(c.incr(&h, 1), WRONG_TYPE)?;
    refused(c.hgetall(&s), WRONG_TYPE)
}

fn no_integers(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "text")?;
    refused(c.incr(&k, 1), "value is not an integer or out of range")?;
    refused(c.incr(&k, 1.5), "value is not a valid float")
}

fn unknown_commands(c: &mut Connection) -> CheckResult {
    refused(cmd("BOGUS").arg("a").query(c), "unknown command 'BOGUS', with args beginning with: 'a'")?;
    equal(cmd("PING").query(c), text("PONG"))
}

fn client_names(c: &mut Connection) -> CheckResult {
    equal(c.client_setname("a-name"), text("OK"))?;
    equal(c.client_getname(), text("a-name"))?;
    let id: i64 = c.client_id()?;
    equal(Ok(id > 0), true)
}

fn echo(c: &mut Connection) -> CheckResult {
    equal(cmd("ECHO").arg("hello").query(c), text("hello"))
}

fn info(c: &mut Connection) -> CheckResult {
    let info: redis::InfoDict = cmd("INFO").query(c)?;
    equal(Ok(info.get::<String>("redis_mode")), text("standalone"))?;
    equal(Ok(info.get::<String>("role")), text("master"))
}

fn config(c: &mut Connection) -> CheckResult {
    let settings: BTreeMap<String, String> = cmd("CONFIG").arg("GET").arg("appendonly").query(c)?;
    equal(Ok(settings.len()), 1)
}

fn pool(_: &mut Connection) -> CheckResult {
    let pool = r2d2::Pool::builder().max_size(50).build(client(password())?)?;
    let threads: Vec<_> = (0..50)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || -> Result<(), String> {
                for _ in 0..40 {
                    let mut c = pool.get().map_err(|error| error.to_string())?;
                    let k = key();
                    c.set::<_, _, ()>(&k, &k).map_err(|error| error.to_string())?;
                    equal(c.get(&k), k.clone()).map_err(|error| error.to_string())?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a thread panicked")??;
    }
    Ok(())
}

fn resp3(_: &mut Connection) -> CheckResult {
    let info = client(password())?.get_connection_info().clone();
    let settings = info.redis_settings().clone().set_protocol(redis::ProtocolVersion::RESP3);
    let mut c = Client::open(info.set_redis_settings(settings))?.get_connection()?;
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", 1)?;
    let got: Value = c.hgetall(&k)?;
    equal(Ok(matches!(got, Value::Map(_))), true)?;
    equal(BTreeMap::from_redis_value(got).map_err(Into::into), BTreeMap::from([("a".to_owned(), 1)]))
}

fn flushdb(c: &mut Connection) -> CheckResult {
    c.set::<_, _, ()>(key(), "a")?;
    equal(c.flushdb(), text("OK"))?;
    equal(cmd("DBSIZE").query(c), 0)
}

fn wrong_password(_: &mut Connection) -> CheckResult {
    if password().is_none() {
        return Ok(());
    }
    match client(Some("wrong".to_owned()))?.get_connection() {
        // This client does not pass the server's words on.
        Err(error) if error.kind() == redis::ErrorKind::AuthenticationFailed => Ok(()),
        Err(error) => Err(format!("expected a refusal of the password, got `{error}`").into()),
        Ok(_) => Err("a wrong password was taken".into()),
    }
}

fn restart(c: &mut Connection) -> CheckResult {
    let k = key();
    for n in 0..300 {
        c.set::<_, _, ()>(format!("{k}{n}"), format!("value {n}"))?;
    }
    c.hset::<_, _, _, ()>(&k, "a", "1")?;
    println!("restart");
    std::io::stdin().read_line(&mut String::new())?;
    // A connection of this client does not connect again: its owner does.
    equal(Ok(c.get::<_, String>(&k).is_err()), true)?;
    let mut c = client(password())?.get_connection()?;
    for n in 0..300 {
        equal(c.get(format!("{k}{n}")), format!("value {n}"))?;
    }
    equal(c.hgetall(&k), BTreeMap::from([("a".to_owned(), 1)]))
}

const CHECKS: &[Check] = &[
    ("api", "SET stores and replaces", set_and_get),
    ("api", "SET nx and xx", set_conditions),
    ("api", "SET ex px exat and pxat", set_expiries),
    ("api", "SET keepttl and get", set_keepttl_and_get),
    ("api", "SET expires", set_expires),
    ("api", "SETNX stores only what is absent", setnx),
    ("api", "SETEX stores with an expiry", setex),
    ("api", "PSETEX stores with an expiry in milliseconds", psetex),
    ("api", "GETEX reads and changes the expiry", getex),
    ("api", "GETDEL reads and deletes", getdel),
    ("api", "GETSET replaces and returns", getset),
    ("api", "MSET stores all", mset),
    ("api", "MGET reads all with holes", mget),
    ("api", "MSETNX stores all or none", msetnx),
    ("api", "APPEND appends and creates", append),
    ("api", "STRLEN counts bytes", strlen),
    ("api", "GETRANGE reads a part", getrange),
    ("api", "SETRANGE writes a part", setrange),
    ("api", "INCR counts up", incr),
    ("api", "INCRBY adds", incrby),
    ("api", "INCRBYFLOAT adds fractions", incrbyfloat),
    ("api", "DECR counts down", decr),
    ("api", "DECRBY subtracts", decrby),
    ("api", "DEL deletes and counts", del),
    ("api", "UNLINK deletes too", unlink),
    ("api", "EXISTS counts repeats", exists),
    ("api", "EXPIRE nx xx gt and lt", expire),
    ("api", "PEXPIRE takes milliseconds", pexpire),
    ("api", "EXPIREAT takes a moment", expireat),
    ("api", "PEXPIREAT takes a moment in milliseconds", pexpireat),
    ("api", "TTL tells absent from unlimited", ttl),
    ("api", "PTTL counts milliseconds", pttl),
    ("api", "PERSIST removes the expiry", persist),
    ("api", "TOUCH counts what is there", touch),
    ("api", "TYPE names strings and hashes", types),
    ("api", "RENAME moves a value", rename),
    ("api", "COPY copies a value", copy),
    ("api", "SCAN iterates with match, count and type", scan),
    ("api", "KEYS matches patterns", keys),
    ("api", "RANDOMKEY gives some key", randomkey),
    ("api", "DBSIZE counts keys", dbsize),
    ("api", "SETBIT sets and returns the old bit", setbit),
    ("api", "GETBIT reads a bit", getbit),
    ("api", "BITCOUNT counts in ranges", bitcount),
    ("api", "BITPOS finds the first", bitpos),
    ("api", "BITFIELD gets sets and adds", bitfield),
    ("api", "HSET adds and replaces fields", hset),
    ("api", "HSETNX adds only an absent field", hsetnx),
    ("api", "HGET reads a field", hget),
    ("api", "HMGET reads fields with holes", hmget),
    ("api", "HGETALL reads large hashes", hgetall),
    ("api", "HDEL removes fields and then the key", hdel),
    ("api", "HLEN counts fields", hlen),
    ("api", "HEXISTS looks for a field", hexists),
    ("api", "HKEYS lists fields", hkeys),
    ("api", "HVALS lists values", hvals),
    ("api", "HINCRBY adds to a field", hincrby),
    ("api", "HINCRBYFLOAT adds fractions to a field", hincrbyfloat),
    ("api", "HSTRLEN counts bytes of a field", hstrlen),
    ("api", "HSCAN iterates over fields", hscan),
    ("api", "HRANDFIELD gives some fields", hrandfield),
    ("api", "pipeline many commands in one write", pipeline),
    ("api", "MULTI runs a transaction", transaction),
    ("api", "binary keys, values and fields of any bytes", binary),
    ("api", "large values of a mebibyte less a little", large_values),
    ("api", "errors wrong types", wrong_types),
    ("api", "errors no integers", no_integers),
    ("api", "errors unknown commands", unknown_commands),
    ("api", "CLIENT names and numbers", client_names),
    ("api", "ECHO echoes", echo),
    ("api", "INFO reports", info),
    ("api", "CONFIG gets settings", config),
    ("api", "pool of fifty connections on threads", pool),
    ("api", "RESP3 works too", resp3),
    ("api", "FLUSHDB removes all", flushdb),
    ("session", "connects and works", large_values),
    ("session", "connects but not with a wrong password", wrong_password),
    ("restart", "restart values are still there", restart),
];

fn main() {
    let mode = env::args().nth(1).unwrap_or_default();
    for (_, name, check) in CHECKS.iter().filter(|(of, _, _)| *of == mode) {
        let done = client(password()).and_then(|client| client.get_connection()).map_err(Into::into).and_then(|mut c| check(&mut c));
        match done {
            Ok(()) => println!("ok {name}"),
            Err(problem) => println!("not ok {name}: {}", problem.to_string().replace('\n', " ")),
        }
    }
    println!("done");
}
