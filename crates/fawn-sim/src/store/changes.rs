//! Changes: puts, deletes and flushes, what is known of their acknowledgement, and what may never repeat.

use std::sync::Arc;

use fawn_store::record::{Kind, Marks};
use fawn_store::{AppendReceipt, Gate, Refusal, Write};

use super::machine::{Extras, Machine, STUCK_TURNS};
use super::oracle::OracleItem;

impl Machine {
    /// Stores `value`; returns once the store has taken it, which is before it is acknowledged.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`]: that is waited out.
    pub fn issue_put(&mut self, name: &[u8], value: &[u8], extras: Extras) -> Result<AppendReceipt, Refusal> {
        let mut write = Write::value(name, value);
        write.client_flags = extras.client_flags;
        write.expiry = extras.expiry;
        write.marks = extras.marks;
        write.client_cas = extras.client_cas;
        let appended = match self.append(&write) {
            Err(Refusal::TooLarge) => {
                let stub = self.program.write_value(value)?;
                let appended = self.append(&Write { kind: Kind::Stub, value: &stub.encode(), ..write })?;
                self.stubs.insert(appended.seq, stub);
                appended
            }
            other => other?,
        };
        let item = OracleItem {
            value: Arc::from(value),
            client_flags: extras.client_flags,
            expiry: extras.expiry,
            marks: extras.marks,
            client_cas: extras.client_cas,
            seq: appended.seq,
        };
        self.history.change(name, Some(item), appended.gate);
        self.history.release(self.program.store.durable());
        Ok(appended)
    }

    /// Gives what `name` holds another expiry, as memcached's touch does: a large value stays in its file, which the new
    /// record names as well. Whether there was anything; returns once the store has taken it.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn issue_touch(&mut self, name: &[u8], expiry: u32) -> Result<bool, Refusal> {
        let key = self.program.store.options().secret.position(name);
        for turn in 1..STUCK_TURNS {
            let item = match self.get(name) {
                Ok(Some(item)) => item,
                Ok(None) => return Ok(false),
                Err(_) if self.is_down() => return Err(Refusal::Stopped("crashed".into())),
                Err(failure) => panic!("a get on a sound device fails: {failure:?}"),
            };
            let stub = self.stubs.get(&item.seq).copied();
            let encoded = stub.map(|stub| stub.encode());
            let (kind, value) = match &encoded {
                Some(stub) => (Kind::Stub, &stub[..]),
                None => (Kind::Value, &*item.value),
            };
            let OracleItem { client_flags, marks, client_cas, .. } = item;
            let write = Write { kind, marks, client_flags, expiry, client_cas, key: name, value };
            match self.program.store.append(&key, write, self.now()) {
                Ok(appended) => {
                    self.stubs.extend(stub.map(|stub| (appended.seq, stub)));
                    self.history.note_seq(name, appended.seq);
                    self.history.change(name, Some(OracleItem { expiry, seq: appended.seq, ..item }), appended.gate);
                    self.history.release(self.program.store.durable());
                    return Ok(true);
                }
                // What is there may be another item when the store has time.
                Err(Refusal::Busy) if turn % 1000 == 0 => self.advance_clock(100),
                Err(Refusal::Busy) => self.turn(),
                // The expiry takes four bytes more: now the value needs a file of its own.
                Err(Refusal::TooLarge) if stub.is_none() => {
                    let extras = Extras { client_flags, expiry, marks, client_cas };
                    return self.issue_put(name, &item.value, extras).map(|_| true);
                }
                Err(refusal) => return Err(refusal),
            }
        }
        panic!("the store stays busy for ever: {:?}", self.program.store.stats());
    }

    /// Stores `value` if the store takes it at once; does not wait.
    ///
    /// # Errors
    /// The store's, [`Refusal::Busy`] among them.
    pub fn try_put(&mut self, name: &[u8], value: &[u8]) -> Result<AppendReceipt, Refusal> {
        let key = self.program.store.options().secret.position(name);
        let appended = self.program.store.append(&key, Write::value(name, value), self.now())?;
        self.history.note_seq(name, appended.seq);
        let (marks, seq) = (Marks::default(), appended.seq);
        let item = OracleItem { value: Arc::from(value), client_flags: 0, expiry: 0, marks, client_cas: None, seq };
        self.history.change(name, Some(item), appended.gate);
        Ok(appended)
    }

    /// Deletes `name`; returns once the store has taken it, which is before it is acknowledged.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn issue_delete(&mut self, name: &[u8]) -> Result<AppendReceipt, Refusal> {
        let appended = self.append(&Write::delete(name))?;
        self.history.change(name, None, appended.gate);
        self.history.release(self.program.store.durable());
        Ok(appended)
    }

    /// Deletes everything there is; returns once the store has taken it, which is before it is acknowledged.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn issue_flush_all(&mut self) -> Result<Gate, Refusal> {
        let gate = self.wait_out_busy(|machine| {
            let now = machine.now();
            machine.program.store.flush_all(0, now)
        })?;
        self.history.flush(gate);
        self.history.release(self.program.store.durable());
        Ok(gate)
    }

    /// Deletes everything there is at Unix second `at`, which is to come; returns once that is acknowledged, or false when
    /// the device crashed first. The flush falls due in [`advance_clock`](Self::advance_clock).
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn flush_all_at(&mut self, at: u32) -> Result<bool, Refusal> {
        let gate = self.wait_out_busy(|machine| {
            let now = machine.now();
            machine.program.store.flush_all(at, now)
        })?;
        self.flush_due = Some(at);
        Ok(self.wait_for(gate))
    }

    /// Stores `value` and waits until that is acknowledged. Returns its sequence number, or `None` when the device
    /// crashed first.
    ///
    /// # Errors
    /// The store's.
    pub fn put(&mut self, name: &[u8], value: &[u8]) -> Result<Option<u64>, Refusal> {
        let appended = self.issue_put(name, value, Extras::default())?;
        Ok(self.wait_for(appended.gate).then_some(appended.seq))
    }

    /// Deletes `name` and waits until that is acknowledged; whether it was before the device crashed.
    ///
    /// # Errors
    /// The store's.
    pub fn delete(&mut self, name: &[u8]) -> Result<bool, Refusal> {
        let appended = self.issue_delete(name)?;
        Ok(self.wait_for(appended.gate))
    }

    /// Deletes everything and waits until that is acknowledged; whether it was before the device crashed.
    ///
    /// # Errors
    /// The store's.
    pub fn flush_all(&mut self) -> Result<bool, Refusal> {
        let gate = self.issue_flush_all()?;
        Ok(self.wait_for(gate))
    }

    /// Turns until `gate` is durable; false when the store stops or the device crashes first.
    pub fn wait_for(&mut self, gate: Gate) -> bool {
        self.turn_until(|machine| machine.program.store.durable() >= gate)
    }

    fn append(&mut self, write: &Write<'_>) -> Result<AppendReceipt, Refusal> {
        let key = self.program.store.options().secret.position(write.key);
        let appended = self.wait_out_busy(|machine| {
            let now = machine.now();
            machine.program.store.append(&key, *write, now)
        })?;
        self.history.note_seq(write.key, appended.seq);
        Ok(appended)
    }

    pub(super) fn wait_out_busy<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        for turn in 1..STUCK_TURNS {
            match attempt(self) {
                Err(Refusal::Busy) if self.is_down() => return Err(Refusal::Stopped("crashed".into())),
                // Waiting takes time.
                Err(Refusal::Busy) if turn % 1000 == 0 => self.advance_clock(100),
                Err(Refusal::Busy) => self.turn(),
                other => return other,
            }
        }
        let (idle, cleaning) = (self.program.store.is_idle(), self.program.store.upkeep().is_cleaning());
        panic!("the store stays busy for ever (idle {idle}, cleaning {cleaning}): {:?}", self.program.store.stats());
    }
}
