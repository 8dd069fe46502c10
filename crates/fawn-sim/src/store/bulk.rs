//! Bulk loads, by the same code that loads into real directories.

use std::collections::BTreeMap;
use std::sync::Arc;

use fawn_store::bulk::{Batch, Built, Bulk};
use fawn_store::flash::Flash;
use fawn_store::large::Stub;
use fawn_store::record::Kind;
use fawn_store::{Options, Write};

use super::machine::{Extras, Machine};
use super::oracle::Item;
use crate::flash::SimFlash;

/// One record of a load.
#[derive(Clone, Debug)]
pub struct Loaded {
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
    records: &[Loaded],
    batch_bytes: usize,
) -> Result<Built, String> {
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

impl Machine {
    /// Loads `records` into the store, whatever state it is in on the device, and opens it again. What was loaded must be
    /// there then; it is compared with all else by later gets.
    ///
    /// # Errors
    /// What went wrong.
    pub fn bulk_load(&mut self, records: &[Loaded], batch_bytes: usize) -> Result<(), String> {
        bulk_load(&self.program.flash, &self.options, self.now(), records, batch_bytes)?;
        self.reopen()?;
        let last: BTreeMap<&[u8], &Loaded> = records.iter().map(|record| (&*record.name, record)).collect();
        for (name, record) in last {
            let found = self.get_unchecked(name).map_err(|failure| format!("{failure:?}"))?;
            let Extras { client_flags, expiry, client_cas, .. } = record.extras;
            let seq = found.as_ref().map_or(u64::MAX, |item| item.seq);
            let value = Arc::from(&*record.value);
            let item =
                Item { value, client_flags, expiry, marks: fawn_store::record::Marks::default(), client_cas, seq };
            let expected = item.alive(self.now());
            if found.as_ref() != expected {
                let name = String::from_utf8_lossy(name);
                return Err(format!("{name:?}: {expected:?} was loaded, and {found:?} is there"));
            }
            if found.is_some() {
                self.history.note_seq(name, seq);
            }
            self.history.oracle.change(name, Some(item));
        }
        self.history.acknowledge_all();
        self.check_recovered().map(drop)
    }
}
