//! The `redis` crate: its commands on strings, keys and hashes.
//!
//!     api api|session|restart HOST PORT

mod bits;
mod hashes;
mod keys;
mod service;
mod strings;
mod support;

use std::env;

use redis::Connection;

use crate::support::{CheckResult, client, password};

type Check = (&'static str, &'static str, fn(&mut Connection) -> CheckResult);

const CHECKS: &[Check] = &[
    ("api", "SET stores and replaces", strings::set_and_get),
    ("api", "SET nx and xx", strings::set_conditions),
    ("api", "SET ex px exat and pxat", strings::set_expiries),
    ("api", "SET keepttl and get", strings::set_keepttl_and_get),
    ("api", "SET expires", strings::set_expires),
    ("api", "SETNX stores only what is absent", strings::setnx),
    ("api", "SETEX stores with an expiry", strings::setex),
    ("api", "PSETEX stores with an expiry in milliseconds", strings::psetex),
    ("api", "GETEX reads and changes the expiry", strings::getex),
    ("api", "GETDEL reads and deletes", strings::getdel),
    ("api", "GETSET replaces and returns", strings::getset),
    ("api", "MSET stores all", strings::mset),
    ("api", "MGET reads all with holes", strings::mget),
    ("api", "MSETNX stores all or none", strings::msetnx),
    ("api", "APPEND appends and creates", strings::append),
    ("api", "STRLEN counts bytes", strings::strlen),
    ("api", "GETRANGE reads a part", strings::getrange),
    ("api", "SETRANGE writes a part", strings::setrange),
    ("api", "INCR counts up", strings::incr),
    ("api", "INCRBY adds", strings::incrby),
    ("api", "INCRBYFLOAT adds fractions", strings::incrbyfloat),
    ("api", "DECR counts down", strings::decr),
    ("api", "DECRBY subtracts", strings::decrby),
    ("api", "DEL deletes and counts", keys::del),
    ("api", "UNLINK deletes too", keys::unlink),
    ("api", "EXISTS counts repeats", keys::exists),
    ("api", "EXPIRE nx xx gt and lt", keys::expire),
    ("api", "PEXPIRE takes milliseconds", keys::pexpire),
    ("api", "EXPIREAT takes a moment", keys::expireat),
    ("api", "PEXPIREAT takes a moment in milliseconds", keys::pexpireat),
    ("api", "TTL tells absent from unlimited", keys::ttl),
    ("api", "PTTL counts milliseconds", keys::pttl),
    ("api", "PERSIST removes the expiry", keys::persist),
    ("api", "TOUCH counts what is there", keys::touch),
    ("api", "TYPE names strings and hashes", keys::types),
    ("api", "RENAME moves a value", keys::rename),
    ("api", "COPY copies a value", keys::copy),
    ("api", "SCAN iterates with match, count and type", keys::scan),
    ("api", "KEYS matches patterns", keys::keys),
    ("api", "RANDOMKEY gives some key", keys::randomkey),
    ("api", "DBSIZE counts keys", keys::dbsize),
    ("api", "SETBIT sets and returns the old bit", bits::setbit),
    ("api", "GETBIT reads a bit", bits::getbit),
    ("api", "BITCOUNT counts in ranges", bits::bitcount),
    ("api", "BITPOS finds the first", bits::bitpos),
    ("api", "BITFIELD gets sets and adds", bits::bitfield),
    ("api", "HSET adds and replaces fields", hashes::hset),
    ("api", "HSETNX adds only an absent field", hashes::hsetnx),
    ("api", "HGET reads a field", hashes::hget),
    ("api", "HMGET reads fields with holes", hashes::hmget),
    ("api", "HGETALL reads large hashes", hashes::hgetall),
    ("api", "HDEL removes fields and then the key", hashes::hdel),
    ("api", "HLEN counts fields", hashes::hlen),
    ("api", "HEXISTS looks for a field", hashes::hexists),
    ("api", "HKEYS lists fields", hashes::hkeys),
    ("api", "HVALS lists values", hashes::hvals),
    ("api", "HINCRBY adds to a field", hashes::hincrby),
    ("api", "HINCRBYFLOAT adds fractions to a field", hashes::hincrbyfloat),
    ("api", "HSTRLEN counts bytes of a field", hashes::hstrlen),
    ("api", "HSCAN iterates over fields", hashes::hscan),
    ("api", "HRANDFIELD gives some fields", hashes::hrandfield),
    ("api", "pipeline many commands in one write", service::pipeline),
    ("api", "MULTI runs a transaction", service::transaction),
    ("api", "binary keys, values and fields of any bytes", service::binary),
    ("api", "large values of a mebibyte less a little", service::large_values),
    ("api", "errors wrong types", service::wrong_types),
    ("api", "errors no integers", service::no_integers),
    ("api", "errors unknown commands", service::unknown_commands),
    ("api", "CLIENT names and numbers", service::client_names),
    ("api", "ECHO echoes", service::echo),
    ("api", "INFO reports", service::info),
    ("api", "CONFIG gets settings", service::config),
    ("api", "pool of fifty connections on threads", service::pool),
    ("api", "RESP3 works too", service::resp3),
    ("api", "FLUSHDB removes all", service::flushdb),
    ("session", "connects and works", service::large_values),
    ("session", "connects but not with a wrong password", service::wrong_password),
    ("restart", "restart values are still there", service::restart),
];

fn main() {
    let mode = env::args().nth(1).unwrap_or_default();
    for (_, name, check) in CHECKS.iter().filter(|(of, _, _)| *of == mode) {
        let done = client(password())
            .and_then(|client| client.get_connection())
            .map_err(Into::into)
            .and_then(|mut c| check(&mut c));
        match done {
            Ok(()) => println!("ok {name}"),
            Err(problem) => println!("not ok {name}: {}", problem.to_string().replace('\n', " ")),
        }
    }
    println!("done");
}
