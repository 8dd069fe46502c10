//! Bulk loads, by the same code that loads into real directories.

use std::sync::Arc;

use fawn_store::bulk::{Batch, Bulk, BulkSummary};
use fawn_store::flash::Flash;
use fawn_store::large::Stub;
use fawn_store::record::Kind;
use fawn_store::{Options, Write};

use super::machine::Extras;
use crate::flash::SimFlash;

/// One record of a load.
#[derive(Clone, Debug)]
pub struct LoadedRecord {
    /// Its key.
    pub name: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
    /// What it says beside; marks are not loaded.
    pub extras: Extras,
}

/// Loads `records` into the store on `flash`, which nobody has open, in batches of `batch_bytes`.
///
/// # Errors
/// What went wrong.
pub fn bulk_load(
    flash: &SimFlash,
    options: &Options,
    now: u32,
    records: &[LoadedRecord],
    batch_bytes: usize,
) -> Result<BulkSummary, String> {
    let secret = options.secret;
    let (mut bulk, _) = Bulk::open(options, flash, now).map_err(|error| error.to_string())?;
    let mut next_value = bulk.first_value_file();
    let mut batch = Batch::new(batch_bytes);
    for record in records {
        let Extras { client_flags, expiry, client_cas, .. } = record.extras;
        let mut write = Write { client_flags, expiry, client_cas, ..Write::value(&record.name, &record.value) };
        let stub;
        if Batch::record_bytes(&write) > bulk.most_in_line() {
            stub = write_value(flash, next_value, write.value)?.encode();
            next_value += 2;
            bulk.set_next_value_file(next_value);
            write = Write { kind: Kind::Stub, value: &stub, ..write };
        }
        if !batch.fits(write.key.len(), write.value.len()) {
            batch.sort(&secret);
            bulk.spool(flash, &batch).map_err(|error| error.to_string())?;
            batch.clear();
        }
        batch.push(&secret.position(write.key), &write);
    }
    batch.sort(&secret);
    bulk.build(flash, &Arc::new(batch), 1 << 20, &mut |_| {}).map_err(|error| error.to_string())
}

fn write_value(flash: &SimFlash, file: u64, value: &[u8]) -> Result<Stub, String> {
    let stub = Stub::of(file, value);
    let written = flash
        .create(stub.id(), stub.pages())
        .and_then(|()| flash.write(stub.id(), 0, Stub::lay_out(value).pages()))
        .and_then(|()| flash.sync(stub.id()));
    written.map(|()| stub).map_err(|error| error.to_string())
}
