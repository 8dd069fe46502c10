//! Checks of everything else: pipelines, bytes, errors, the server, pools, and what it takes to connect.

use std::collections::BTreeMap;
use std::thread;

use redis::{Client, Commands, Connection, FromRedisValue, Value, cmd, pipe};

use crate::support::{CheckResult, WRONG_TYPE, all_bytes, client, equal, key, large, password, refused, text};
pub fn pipeline(c: &mut Connection) -> CheckResult {
    let (k, mut many) = (key(), pipe());
    for _ in 0..1000 {
        many.cmd("INCR").arg(&k);
    }
    let got: Vec<i64> = many.query(c)?;
    equal(Ok(got), (1..=1000).collect())
}

pub fn transaction(c: &mut Connection) -> CheckResult {
    let k = key();
    // The crate panics where a server refuses MULTI in a pipeline, so it is asked for alone first.
    equal(cmd("MULTI").query(c), text("OK"))?;
    equal(cmd("DISCARD").query(c), text("OK"))?;
    equal(pipe().atomic().set(&k, 1).ignore().incr(&k, 1).query(c), vec![2])
}

pub fn binary(c: &mut Connection) -> CheckResult {
    let (k, all) = ([all_bytes(), key().into_bytes()].concat(), all_bytes());
    c.set::<_, _, ()>(&k, &all)?;
    equal(c.get(&k), all.clone())?;
    let h = key();
    c.hset::<_, _, _, ()>(&h, &all, &all)?;
    equal(c.hgetall(&h), BTreeMap::from([(all.clone(), all)]))
}

pub fn large_values(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, large())?;
    equal(c.get(&k), large())
}

pub fn wrong_types(c: &mut Connection) -> CheckResult {
    let (s, h) = (key(), key());
    c.set::<_, _, ()>(&s, "a")?;
    c.hset::<_, _, _, ()>(&h, "f", "v")?;
    refused(c.get(&h), WRONG_TYPE)?;
    refused(c.incr(&h, 1), WRONG_TYPE)?;
    refused(c.hgetall(&s), WRONG_TYPE)
}

pub fn no_integers(c: &mut Connection) -> CheckResult {
    let k = key();
    c.set::<_, _, ()>(&k, "text")?;
    refused(c.incr(&k, 1), "value is not an integer or out of range")?;
    refused(c.incr(&k, 1.5), "value is not a valid float")
}

pub fn unknown_commands(c: &mut Connection) -> CheckResult {
    refused(cmd("BOGUS").arg("a").query(c), "unknown command 'BOGUS', with args beginning with: 'a'")?;
    equal(cmd("PING").query(c), text("PONG"))
}

pub fn client_names(c: &mut Connection) -> CheckResult {
    equal(c.client_setname("a-name"), text("OK"))?;
    equal(c.client_getname(), text("a-name"))?;
    let id: i64 = c.client_id()?;
    equal(Ok(id > 0), true)
}

pub fn echo(c: &mut Connection) -> CheckResult {
    equal(cmd("ECHO").arg("hello").query(c), text("hello"))
}

pub fn info(c: &mut Connection) -> CheckResult {
    let info: redis::InfoDict = cmd("INFO").query(c)?;
    equal(Ok(info.get::<String>("redis_mode")), text("standalone"))?;
    equal(Ok(info.get::<String>("role")), text("master"))
}

pub fn config(c: &mut Connection) -> CheckResult {
    let settings: BTreeMap<String, String> = cmd("CONFIG").arg("GET").arg("appendonly").query(c)?;
    equal(Ok(settings.len()), 1)
}

pub fn pool(_: &mut Connection) -> CheckResult {
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

pub fn resp3(_: &mut Connection) -> CheckResult {
    let info = client(password())?.get_connection_info().clone();
    let settings = info.redis_settings().clone().set_protocol(redis::ProtocolVersion::RESP3);
    let mut c = Client::open(info.set_redis_settings(settings))?.get_connection()?;
    let k = key();
    c.hset::<_, _, _, ()>(&k, "a", 1)?;
    let got: Value = c.hgetall(&k)?;
    equal(Ok(matches!(got, Value::Map(_))), true)?;
    equal(BTreeMap::from_redis_value(got).map_err(Into::into), BTreeMap::from([("a".to_owned(), 1)]))
}

pub fn flushdb(c: &mut Connection) -> CheckResult {
    c.set::<_, _, ()>(key(), "a")?;
    equal(c.flushdb(), text("OK"))?;
    equal(cmd("DBSIZE").query(c), 0)
}

pub fn wrong_password(_: &mut Connection) -> CheckResult {
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

pub fn restart(c: &mut Connection) -> CheckResult {
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
