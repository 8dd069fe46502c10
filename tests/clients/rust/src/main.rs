//! The `memcache` crate over the text protocol: its whole API.

use std::collections::HashMap;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use memcache::{Client, CommandError, MemcacheError};

type CheckResult = Result<(), Box<dyn std::error::Error>>;

/// A key that no other check uses.
fn key() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let run = std::process::id();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
    format!("rust-{run}-{started}-{}", SERIAL.fetch_add(1, Ordering::Relaxed))
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

fn equal<T: PartialEq + std::fmt::Debug>(got: T, expected: T) -> CheckResult {
    if got == expected {
        return Ok(());
    }
    let mut text = format!("expected {expected:?}, got {got:?}");
    text.truncate(400);
    Err(text.into())
}

/// The answer must be an error, and one that the server sent.
fn refused<T: std::fmt::Debug>(got: Result<T, MemcacheError>) -> CheckResult {
    match got {
        Err(MemcacheError::CommandError(_) | MemcacheError::ClientError(_) | MemcacheError::ServerError(_)) => Ok(()),
        other => Err(format!("expected a refusal, got {other:?}").into()),
    }
}

fn set_and_get(c: &Client) -> CheckResult {
    let k = key();
    equal(c.get::<String>(&k)?, None)?;
    c.set(&k, "value", 0)?;
    equal(c.get::<String>(&k)?, Some("value".to_owned()))?;
    equal(c.get::<(Vec<u8>, u32)>(&k)?.map(|(_, flags)| flags), Some(0))
}

fn numbers(c: &Client) -> CheckResult {
    let k = key();
    c.set(&k, 42_i32, 0)?;
    equal(c.get::<i32>(&k)?, Some(42))?;
    c.set(&k, 1.5_f64, 0)?;
    equal(c.get::<f64>(&k)?, Some(1.5))?;
    c.set(&k, true, 0)?;
    equal(c.get::<bool>(&k)?, Some(true))
}

fn add_and_replace(c: &Client) -> CheckResult {
    let k = key();
    // In this mode the crate does not tell NOT_STORED from STORED; the value does.
    c.replace(&k, "a", 0)?;
    equal(c.get::<String>(&k)?, None)?;
    c.add(&k, "b", 0)?;
    c.add(&k, "c", 0)?;
    equal(c.get::<String>(&k)?, Some("b".to_owned()))?;
    c.replace(&k, "d", 0)?;
    equal(c.get::<String>(&k)?, Some("d".to_owned()))
}

fn append_and_prepend(c: &Client) -> CheckResult {
    let k = key();
    c.append(&k, "x")?;
    c.prepend(&k, "x")?;
    equal(c.get::<String>(&k)?, None)?;
    c.set(&k, "b", 0)?;
    c.append(&k, "c")?;
    c.prepend(&k, "a")?;
    equal(c.get::<String>(&k)?, Some("abc".to_owned()))
}

fn gets_and_cas(c: &Client) -> CheckResult {
    let k = key();
    c.set(&k, "a", 0)?;
    let all: HashMap<String, (Vec<u8>, u32, Option<u64>)> = c.gets(&[&k])?;
    let unique = all[&k].2.ok_or("gets brought no cas number")?;
    equal(c.cas(&k, "b", 0, unique)?, true)?;
    equal(c.cas(&k, "c", 0, unique)?, false)?;
    equal(c.get::<String>(&k)?, Some("b".to_owned()))?;
    c.delete(&k)?;
    match c.cas(&k, "d", 0, unique) {
        Ok(false) | Err(MemcacheError::CommandError(CommandError::KeyNotFound)) => Ok(()),
        other => Err(format!("cas of a deleted key: {other:?}").into()),
    }
}

fn gets_of_five_thousand_keys(c: &Client) -> CheckResult {
    let prefix = key();
    let keys: Vec<String> = (0..5000).map(|n| format!("{prefix}-{n}")).collect();
    for (n, k) in keys.iter().enumerate() {
        c.set(k, n as u64, 0)?;
    }
    let asked: Vec<&str> = keys.iter().map(String::as_str).chain(["absent"]).collect();
    let got: HashMap<String, u64> = c.gets(&asked)?;
    equal(got.len(), 5000)?;
    for (n, k) in keys.iter().enumerate() {
        equal(got[k], n as u64)?;
    }
    Ok(())
}

fn delete(c: &Client) -> CheckResult {
    let k = key();
    c.set(&k, "a", 0)?;
    equal(c.delete(&k)?, true)?;
    equal(c.delete(&k)?, false)?;
    equal(c.get::<String>(&k)?, None)
}

fn increment_and_decrement_with_wrap_and_floor(c: &Client) -> CheckResult {
    let k = key();
    refused(c.increment(&k, 1))?;
    c.set(&k, 10, 0)?;
    equal(c.increment(&k, 5)?, 15)?;
    equal(c.decrement(&k, 6)?, 9)?;
    equal(c.decrement(&k, 100)?, 0)?;
    c.set(&k, u64::MAX, 0)?;
    equal(c.increment(&k, 1)?, 0)
}

fn touch_and_expiry(c: &Client) -> CheckResult {
    let (short, touched, late) = (key(), key(), key());
    c.set(&short, "a", 3)?;
    c.set(&touched, "a", 3)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    c.set(&late, "a", now as u32 + 100)?;
    equal(c.touch(&touched, 100)?, true)?;
    equal(c.touch(&key(), 100)?, false)?;
    equal(c.get::<String>(&short)?, Some("a".to_owned()))?;
    sleep(Duration::from_millis(4200));
    equal(c.get::<String>(&short)?, None)?;
    equal(c.get::<String>(&touched)?, Some("a".to_owned()))?;
    equal(c.get::<String>(&late)?, Some("a".to_owned()))
}

fn binary_empty_and_large_values(c: &Client) -> CheckResult {
    let k = key();
    for length in [0, 1, 2048, 65_535, 65_537, 1_000_000] {
        let bytes = noise(length);
        c.set(&k, &bytes[..], 0)?;
        equal(c.get::<Vec<u8>>(&k)?, Some(bytes))?;
    }
    Ok(())
}

fn large_multi_set(c: &Client) -> CheckResult {
    let values: HashMap<String, Vec<u8>> = (0..300).map(|n| (key(), noise(20_000 + n))).collect();
    for (k, value) in &values {
        c.set(k, &value[..], 0)?;
    }
    let keys: Vec<&str> = values.keys().map(String::as_str).collect();
    equal(c.gets::<Vec<u8>>(&keys)?, values)
}

fn errors_leave_the_connection_usable(c: &Client) -> CheckResult {
    let k = key();
    for _ in 0..5 {
        c.set(&k, "text", 0)?;
        refused(c.increment(&k, 1))?;
        equal(c.get::<String>(&k)?, Some("text".to_owned()))?;
        refused(c.set(&k, &noise(1 << 21)[..], 0))?;
        equal(c.get::<String>(&k)?, None)?;
    }
    Ok(())
}

fn keys_of_250_bytes(c: &Client) -> CheckResult {
    let k = "r".repeat(250);
    c.set(&k, "a", 0)?;
    equal(c.get::<String>(&k)?, Some("a".to_owned()))?;
    equal(c.delete(&k)?, true)?;
    refused(c.set(&format!("{k}r"), "a", 0))
}

// The crate's `stats` stops after the first line in this mode and leaves the rest unread.
fn version(c: &Client) -> CheckResult {
    let (_, version) = c.version()?.remove(0);
    equal(version.split('.').filter(|part| part.parse::<u32>().is_ok()).count(), 3)
}

fn flush_at_once_and_later(c: &Client) -> CheckResult {
    let k = key();
    c.set(&k, "a", 0)?;
    c.flush()?;
    equal(c.get::<String>(&k)?, None)?;
    c.set(&k, "b", 0)?;
    equal(c.get::<String>(&k)?, Some("b".to_owned()))?;
    c.flush_with_delay(2)?;
    equal(c.get::<String>(&k)?, Some("b".to_owned()))?;
    sleep(Duration::from_millis(3200));
    equal(c.get::<String>(&k)?, None)
}

const CHECKS: &[(&str, fn(&Client) -> CheckResult)] = &[
    ("set and get", set_and_get),
    ("numbers", numbers),
    ("add and replace", add_and_replace),
    ("append and prepend", append_and_prepend),
    ("gets and cas", gets_and_cas),
    ("gets of five thousand keys", gets_of_five_thousand_keys),
    ("delete", delete),
    ("increment and decrement with wrap and floor", increment_and_decrement_with_wrap_and_floor),
    ("touch and expiry", touch_and_expiry),
    ("binary, empty and large values", binary_empty_and_large_values),
    ("large multi set", large_multi_set),
    ("errors leave the connection usable", errors_leave_the_connection_usable),
    ("keys of 250 bytes", keys_of_250_bytes),
    ("version", version),
    ("flush at once and later", flush_at_once_and_later),
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let address = format!("memcache://{}:{}?timeout=10&protocol=ascii", arguments[1], arguments[2]);
    for (name, check) in CHECKS {
        let outcome = Client::with_pool_size(address.as_str(), 1).map_err(Into::into).and_then(|c| check(&c));
        match outcome {
            Ok(()) => println!("ok {name}"),
            Err(problem) => println!("not ok {name}: {}", problem.to_string().replace('\n', " ")),
        }
    }
    println!("done");
}
