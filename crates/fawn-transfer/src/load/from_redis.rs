//! Loading from a running Redis.

use std::time::Instant;

use super::ack_tracker::{AckTracker, End, InputPosition};
use super::connection_pool::Origin;
use super::job::LoadJob;
use super::{FROM_THE_START, LoadOptions, LoadServer, Measure, OnError, largest_of, limit_of};
use crate::client::{ServerClock, ServerConnection};
use crate::key::{Binary, check_key};
use crate::records::Record;
use crate::redis::{RedisReader, RedisRecord, RedisSource};
use crate::summary::TransferSummary;
use crate::ui::{Notes, TransferExtent, Ui};
use fawn_kv::operation::hash::HASH_FLAGS;

/// Loads every string and every hash of a database of Redis. What else is there is counted, and so is what the server finds too
/// large.
///
/// # Errors
/// What was acknowledged before is loaded.
pub fn load_redis(
    options: &LoadOptions,
    source: &RedisSource,
    target: &LoadServer<'_>,
    ui: &dyn Ui,
) -> anyhow::Result<TransferSummary> {
    let endpoint = (target.endpoint)();
    let mut connection = ServerConnection::open(&endpoint)?;
    let (clock, largest) = (ServerClock::of(&mut connection)?, largest_of(&mut connection)?);
    drop(connection);
    let reader = RedisReader::open(source, largest, |key| check_key(key, Binary::Take).is_ok())?;

    let progress = ui.begin(TransferExtent::Records(reader.keys()), Box::new(|| FROM_THE_START.to_owned()))?;
    let notes = Notes::new(progress.as_ref());
    let say = |line: &str| notes.say(line);
    let mut reader = reader.telling(&say);
    let acks = AckTracker::new(InputPosition::default());
    let mut summary = TransferSummary::start();
    let skipping = LoadOptions { on_error: OnError::Skip, ..options.clone() };
    let load = LoadJob { options: &skipping, endpoint: &endpoint, input: None, acks: &acks, notes: &notes };
    let (_, fed) = load.drive(None, Measure::Records, |_, _, pool| {
        let (mut too_large, mut expired) = (0, 0);
        loop {
            let is_more = reader.read_some(&mut |record| {
                let RedisRecord { key, value, is_hash, expires } = record;
                let Some(value) = value else {
                    too_large += 1;
                    let (key, limit) = (key.escape_ascii(), limit_of(&endpoint.address, largest));
                    notes.bad(&format!("key {key}: skipped: {limit}"));
                    return Ok(());
                };
                let Some(exptime) = expiry(expires, clock) else {
                    expired += 1;
                    return Ok(());
                };
                let record = Record { key, value, flags: if is_hash { HASH_FLAGS } else { 0 }, exptime, cas: 0 };
                pool.push(&record, acks.enter(End::default()), Origin::Key(record.key.as_slice().into()))
            })?;
            pool.flush()?;
            if !is_more {
                return Ok((too_large, expired));
            }
        }
    });
    progress.finish();
    let (too_large, expired) = fed?;
    summary.finish(&acks.transferred());
    summary.too_large += too_large;
    summary.vanished = reader.vanished();
    let mut left_out = reader.left_out().clone();
    left_out.expired_before = expired;
    summary.left_out = Some(left_out);
    summary.may_leave_out = options.on_error == OnError::Skip;
    Ok(summary)
}

/// The Unix second at which a record expires by the target's clock, 0 for never; `None` for one that has by now. It is the second
/// after, so that nothing expires early by it.
fn expiry(expires: Option<Instant>, clock: ServerClock) -> Option<u32> {
    let Some(expires) = expires else { return Some(0) };
    let left = expires.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
    let seconds = u32::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u32::MAX);
    Some(clock.now().saturating_add(seconds).max(1))
}
