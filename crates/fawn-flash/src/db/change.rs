//! Writes of one key, conditional or not, large or small.

use fawn_ring::Key;
use fawn_store::flash::{Flash as _, FlashError};
use fawn_store::large::Stub;
use fawn_store::record::Kind;
use fawn_store::{Gate, Refusal, Write};

use super::error::Error;
use super::get::LockedVersion;
use super::shard::Shard;
use super::types::{Condition, WriteOutcome};
use crate::os::clock;

/// Bytes of a large value that are laid out in pages at once.
const CHUNK_BYTES: usize = 4 << 20;

impl Shard {
    /// Appends `write`, whose key has position `key`, if `condition` holds, and waits as long as the acknowledgement
    /// demands.
    pub fn change(&self, key: &Key, write: &Write<'_>, condition: Condition) -> Result<WriteOutcome, Error> {
        let mut large = None;
        let result = self.change_with(key, write, condition, &mut large);
        if let Some(stub) = large {
            // Written for nothing: the condition failed, or the store took nothing.
            self.remove_value(&stub)?;
        }
        result
    }

    /// As [`change`](Self::change). What is left in `large` is a file that no record names.
    fn change_with(
        &self,
        key: &Key,
        write: &Write<'_>,
        condition: Condition,
        large: &mut Option<Stub>,
    ) -> Result<WriteOutcome, Error> {
        loop {
            let heard = self.events.listen();
            let now = clock::unix();
            let LockedVersion { mut core, seq, gate } = match condition {
                Condition::Always => LockedVersion { core: self.open_core()?, seq: None, gate: Gate::NONE },
                _ => match self.version(key, write.key, now)? {
                    Some(version) => version,
                    None => continue,
                },
            };
            if !condition.holds(seq) {
                drop(core);
                self.wait(gate)?;
                return Ok(WriteOutcome::Refused { version: seq });
            }
            let encoded = large.as_ref().map(Stub::encode);
            let write = match &encoded {
                Some(stub) => Write { kind: Kind::Stub, value: stub, ..*write },
                None => *write,
            };
            match core.store.append(key, write, now) {
                Ok(appended) => {
                    core.note_write(key);
                    *large = None;
                    return Ok(WriteOutcome::Stored { version: self.acknowledge(core, appended)? });
                }
                Err(Refusal::Busy) => self.pause(core, heard)?,
                Err(Refusal::TooLarge) if large.is_none() && write.kind == Kind::Value => {
                    let file = core.new_value_file();
                    drop(core);
                    *large = Some(self.write_value(file, write.value)?);
                }
                Err(refusal) => return Err(Error::refused(refusal)),
            }
        }
    }

    /// Gives `value` a file of its own, durably. Leaves nothing behind when that fails.
    fn write_value(&self, file: u64, value: &[u8]) -> Result<Stub, Error> {
        let stub = Stub::of(file, value);
        let written = self.write_pages(&stub, value);
        match written {
            Ok(()) => Ok(stub),
            Err(error) => {
                self.remove_value(&stub)?;
                Err(if error == FlashError::NoSpace { Error::NoSpace } else { error.into() })
            }
        }
    }

    fn write_pages(&self, stub: &Stub, value: &[u8]) -> Result<(), FlashError> {
        self.files.create(stub.id(), stub.pages())?;
        for (number, chunk) in value.chunks(CHUNK_BYTES).enumerate() {
            let first = (number * (CHUNK_BYTES / fawn_store::page::PAGE_BYTES)) as u64;
            self.files.write(stub.id(), first, Stub::lay_out(chunk).pages())?;
        }
        self.files.sync(stub.id())?;
        self.files.sync_names()
    }

    fn remove_value(&self, stub: &Stub) -> Result<(), Error> {
        match self.files.remove(stub.id()) {
            Ok(()) | Err(FlashError::NotFound(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
