//! `fawn get`, `fawn set` and `fawn delete`, for a person at a shell.

use std::io::{Read, Write};

use anyhow::{Context, bail};
use fawn_store::record::MAX_VALUE_BYTES;
use fawn_transfer::client::{
    Address, ClientError, MetaReply, ServerConnection, flag, push_delete, push_get, push_set_for, unix_now,
};
use fawn_transfer::key::{Binary, check_key};
use fawn_transfer::{Format, Record};

use crate::command::{DeleteArguments, GetArguments, SetArguments};
use crate::outcome::CommandStatus;
use crate::tell::{tell, unless_closed};

/// Prints the values of keys, in their order.
pub fn get(arguments: &GetArguments) -> anyhow::Result<CommandStatus> {
    let mut connection = ServerConnection::open(&arguments.server.endpoint())?;
    let mut stdout = std::io::stdout().lock();
    let mut outcome = CommandStatus::Done;
    for key in &arguments.keys {
        check(key)?;
        let mut request = Vec::new();
        push_get(&mut request, key.as_bytes());
        match connection.call(&request)? {
            MetaReply::Value { flags, data } => {
                let mut out = Vec::new();
                if arguments.json {
                    Format::Jsonl.push(&mut out, &record_of(key, flags, data));
                } else {
                    out.extend_from_slice(data);
                    out.extend_from_slice(if arguments.raw { b"" } else { b"\n" });
                }
                unless_closed(stdout.write_all(&out))?;
            }
            MetaReply::Miss | MetaReply::NotFound => outcome = missing(key),
            other => return Err(unexpected(other, &arguments.server.to)),
        }
    }
    unless_closed(stdout.flush())?;
    Ok(outcome)
}

/// Stores one value.
pub fn set(arguments: &SetArguments) -> anyhow::Result<CommandStatus> {
    check(&arguments.key)?;
    let value = match arguments.value.as_str() {
        "-" => {
            let mut value = Vec::new();
            let most = MAX_VALUE_BYTES as u64;
            std::io::stdin().take(most + 1).read_to_end(&mut value).context("cannot read standard input")?;
            if value.len() as u64 > most {
                bail!("the value has more than {most} bytes, which no server accepts: store a shorter one");
            }
            value
        }
        text => text.as_bytes().to_vec(),
    };
    let seconds = arguments.expire.map(|span| span.0.as_secs_f64().ceil() as u32);
    let exptime = seconds.map_or(0, |seconds| unix_now().saturating_add(seconds).max(1));
    let record = Record { key: arguments.key.as_bytes().to_vec(), value, flags: arguments.flags, exptime, cas: 0 };
    let mut connection = ServerConnection::open(&arguments.server.endpoint())?;
    let mut request = Vec::new();
    // This machine's clock and the server's may differ.
    push_set_for(&mut request, &record, seconds);
    match connection.call(&request)? {
        MetaReply::Done => Ok(CommandStatus::Done),
        other => Err(unexpected(other, &arguments.server.to)),
    }
}

/// Deletes keys.
pub fn delete(arguments: &DeleteArguments) -> anyhow::Result<CommandStatus> {
    let mut connection = ServerConnection::open(&arguments.server.endpoint())?;
    let mut outcome = CommandStatus::Done;
    for key in &arguments.keys {
        check(key)?;
        let mut request = Vec::new();
        push_delete(&mut request, key.as_bytes());
        match connection.call(&request)? {
            MetaReply::Done => {}
            MetaReply::NotFound => outcome = missing(key),
            other => return Err(unexpected(other, &arguments.server.to)),
        }
    }
    Ok(outcome)
}

/// Refuses what no server would take as a key. Someone who types a blank means it.
fn check(key: &str) -> anyhow::Result<()> {
    check_key(key.as_bytes(), Binary::Take).with_context(|| format!("cannot use the key `{}`", key.escape_debug()))
}

/// Says that a key is not there.
fn missing(key: &str) -> CommandStatus {
    tell(format_args!("fawn: `{}` was not found", key.escape_debug()));
    CommandStatus::Missing
}

/// A record as `fawn dump` would write it.
fn record_of(key: &str, flags: &[u8], data: &[u8]) -> Record {
    let exptime = match u32::try_from(flag(flags, b't').unwrap_or(-1)) {
        Ok(ttl) => unix_now().saturating_add(ttl).max(1),
        Err(_) => 0,
    };
    let client_flags = flag(flags, b'f').unwrap_or(0) as u32;
    Record { key: key.as_bytes().to_vec(), value: data.to_vec(), flags: client_flags, exptime, cas: 0 }
}

/// An answer that the command did not ask for.
fn unexpected(reply: MetaReply<'_>, server: &Address) -> anyhow::Error {
    let address = server.clone();
    match reply {
        MetaReply::Error(line) => {
            ClientError::Refused { address, line: String::from_utf8_lossy(line).into_owned() }.into()
        }
        other => ClientError::Garbled { address, line: format!("{other:?}") }.into(),
    }
}
