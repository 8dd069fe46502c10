//! The commit thread of a store: it writes the commit log's batches, one at a time.

use std::sync::mpsc::Receiver;

use fawn_store::flash::{FileId, Flash as _};
use fawn_store::{Batch, WrittenBatch};

use crate::files::Files;

/// Writes one batch of the commit log.
pub fn write_batch(files: &Files, batch: Batch) -> WrittenBatch {
    let result = files.write_durably(FileId::CommitLog, batch.first, batch.pages.pages());
    WrittenBatch { batch, result }
}

/// What a commit thread does: writes batches until the other end of `inbox` is dropped. `deliver` may answer with the
/// batch to write next.
pub fn commit(files: &Files, inbox: &Receiver<Batch>, mut deliver: impl FnMut(WrittenBatch) -> Option<Batch>) {
    while let Ok(batch) = inbox.recv() {
        let mut next = Some(batch);
        while let Some(batch) = next.take() {
            next = deliver(write_batch(files, batch));
        }
    }
}
