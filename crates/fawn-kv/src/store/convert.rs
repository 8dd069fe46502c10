//! Versions as the protocol has them and as the datastore's records have them.

use fawn_store::record::{Kind, Marks, Record};

use super::cas::CasNumbers;
use crate::ids::{Epoch, Position, Seq};
use crate::range::entry::{Change, Entry, Kept, Version};

/// The record of a version, or of there being none, that the record at `position` brought about.
pub(super) fn record<'a>(key: &'a [u8], position: Position, version: Option<&'a Version>) -> Record<'a> {
    let Position { epoch: Epoch(epoch), seq: Seq(seq) } = position;
    let mut record = Record {
        kind: Kind::Delete,
        marks: Marks::default(),
        epoch,
        seq,
        client_flags: 0,
        expiry: 0,
        client_cas: None,
        key,
        value: b"",
    };
    if let Some(version) = version {
        record.kind = Kind::Value;
        record.marks = Marks { stale: version.stale, won: version.won };
        record.client_flags = version.flags;
        record.expiry = version.expiry;
        record.client_cas = version.client_cas;
        record.value = &version.value;
    }
    record
}

/// The record of what an entry does to its key, if it does anything.
pub(super) fn record_of(entry: &Entry) -> Option<Record<'_>> {
    let version = match &entry.change {
        Change::Value(version) => Some(version),
        Change::Delete => None,
        Change::Nothing
        | Change::Begin { .. }
        | Change::Flush { .. }
        | Change::Expire { .. }
        | Change::Fence { .. } => return None,
    };
    Some(record(&entry.key, entry.position, version))
}

/// What a record keeps of its key; `cas` is what it may have been shown with before it was a range's.
pub(super) fn kept(record: &Record<'_>, cas: CasNumbers) -> Kept {
    let version = (record.kind == Kind::Value).then(|| Version {
        value: record.value.to_vec(),
        flags: record.client_flags,
        expiry: record.expiry,
        stale: record.marks.stale,
        won: record.marks.won,
        client_cas: cas.kept(record.epoch, record.seq, record.client_cas),
    });
    let position = Position { epoch: Epoch(record.epoch), seq: Seq(record.seq) };
    Kept { key: record.key.to_vec(), position, version }
}
