//! What all checks share: keys of their own, what replies must be, and how to connect.

use std::env;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use redis::{
    Client, ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo, RedisResult, TlsCertificates,
    Value,
};

pub type CheckResult = Result<(), Box<dyn std::error::Error>>;

pub const WRONG_TYPE: &str = "Operation against a key holding the wrong kind of value";

/// A key that no other check uses.
pub fn key() -> String {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos());
    format!("rust:{}:{started}:{}", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed))
}

pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs() as i64)
}

/// Bytes that look random and are the same for the same length.
pub fn noise(length: usize) -> Vec<u8> {
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

pub fn large() -> Vec<u8> {
    noise((1 << 20) - 512)
}

pub fn all_bytes() -> Vec<u8> {
    (0..=255).collect()
}

pub fn text(value: &str) -> Option<String> {
    Some(value.to_owned())
}

/// The reply must be this one.
pub fn equal<T: PartialEq + std::fmt::Debug>(got: RedisResult<T>, expected: T) -> CheckResult {
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
pub fn near(got: RedisResult<i64>, expected: i64) -> CheckResult {
    let got = got?;
    if (expected - 2..=expected).contains(&got) {
        Ok(())
    } else {
        Err(format!("expected about {expected}, got {got}").into())
    }
}

/// The server must refuse it, with this in its words.
pub fn refused(got: RedisResult<Value>, words: &str) -> CheckResult {
    match got {
        Err(error) if error.to_string().contains(words) => Ok(()),
        other => Err(format!("expected an error with `{words}`, got {other:?}").into()),
    }
}

/// How to connect; the password may be another than the given one.
pub fn client(password: Option<String>) -> RedisResult<Client> {
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

pub fn password() -> Option<String> {
    env::var("PASSWORD").ok()
}
