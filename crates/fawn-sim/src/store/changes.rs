//! Changes: puts, deletes and flushes, what is known of their acknowledgement, and what may never repeat.

use std::sync::Arc;

use fawn_store::flash::{Flash, FlashError};
use fawn_store::large::Stub;
use fawn_store::record::{Kind, MAX_VALUE_BYTES, Marks};
use fawn_store::{Ack, Appended, Gate, Refusal, Write};

use super::machine::{Extras, Machine, STUCK_TURNS, seconds};
use super::oracle::Item;

impl Machine {
    /// Stores `value`; returns once the store has taken it, which is before it is acknowledged.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`]: that is waited out.
    pub fn issue_put(&mut self, name: &[u8], value: &[u8], extras: Extras) -> Result<Appended, Refusal> {
        let mut write = Write::value(name, value);
        write.client_flags = extras.client_flags;
        write.expiry = extras.expiry;
        write.marks = extras.marks;
        write.client_cas = extras.client_cas;
        let appended = match self.append(&write) {
            Err(Refusal::TooLarge) => self.append_large(write)?,
            other => other?,
        };
        let item = Item {
            value: Arc::from(value),
            client_flags: extras.client_flags,
            expiry: extras.expiry,
            marks: extras.marks,
            client_cas: extras.client_cas,
            seq: appended.seq,
        };
        let state = self.oracle.change(name, Some(item));
        self.pending.push_back((appended.gate, state));
        self.release_acknowledgements();
        Ok(appended)
    }

    /// Gives what `name` holds another expiry, as memcached's touch does: a large value stays in its file, which the new
    /// record names as well. Whether there was anything; returns once the store has taken it.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn issue_touch(&mut self, name: &[u8], expiry: u32) -> Result<bool, Refusal> {
        let key = self.store.secret().position(name);
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
            let Item { client_flags, marks, client_cas, .. } = item;
            let write = Write { kind, marks, client_flags, expiry, client_cas, key: name, value };
            match self.store.append(&key, write, seconds(self.clock_ms)) {
                Ok(appended) => {
                    self.stubs.extend(stub.map(|stub| (appended.seq, stub)));
                    self.note_seq(name, appended.seq);
                    let state = self.oracle.change(name, Some(Item { expiry, seq: appended.seq, ..item }));
                    self.pending.push_back((appended.gate, state));
                    self.release_acknowledgements();
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
        panic!("the store stays busy for ever: {:?}", self.store.stats());
    }

    /// Stores `value` if the store takes it at once; does not wait.
    ///
    /// # Errors
    /// The store's, [`Refusal::Busy`] among them.
    pub fn try_put(&mut self, name: &[u8], value: &[u8]) -> Result<Appended, Refusal> {
        let key = self.store.secret().position(name);
        let appended = self.store.append(&key, Write::value(name, value), seconds(self.clock_ms))?;
        self.note_seq(name, appended.seq);
        let (marks, seq) = (Marks::default(), appended.seq);
        let item = Item { value: Arc::from(value), client_flags: 0, expiry: 0, marks, client_cas: None, seq };
        let state = self.oracle.change(name, Some(item));
        self.pending.push_back((appended.gate, state));
        Ok(appended)
    }

    /// Deletes `name`; returns once the store has taken it, which is before it is acknowledged.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn issue_delete(&mut self, name: &[u8]) -> Result<Appended, Refusal> {
        let appended = self.append(&Write::delete(name))?;
        let state = self.oracle.change(name, None);
        self.pending.push_back((appended.gate, state));
        self.release_acknowledgements();
        Ok(appended)
    }

    /// Deletes everything there is; returns once the store has taken it, which is before it is acknowledged.
    ///
    /// # Errors
    /// The store's, but never [`Refusal::Busy`].
    pub fn issue_flush_all(&mut self) -> Result<Gate, Refusal> {
        let gate = self.wait_out_busy(|machine| {
            let now = machine.now();
            machine.store.flush_all(0, now)
        })?;
        let state = self.oracle.flush(|_| true);
        self.pending.push_back((gate, state));
        self.release_acknowledgements();
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
            machine.store.flush_all(at, now)
        })?;
        self.flush_due = Some(at);
        Ok(self.wait_for(gate))
    }

    /// A flush has fallen due. Everything before it is made durable first, so that it is clear what it covers.
    pub(super) fn flush_falls_due(&mut self) {
        self.flush_due = None;
        self.sync_log();
        let state = self.oracle.flush(|_| true);
        self.oracle.acknowledge(state);
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
        self.turn_until(|machine| machine.store.durable() >= gate)
    }

    fn append(&mut self, write: &Write<'_>) -> Result<Appended, Refusal> {
        let key = self.store.secret().position(write.key);
        let appended = self.wait_out_busy(|machine| {
            let now = machine.now();
            machine.store.append(&key, *write, now)
        })?;
        self.note_seq(write.key, appended.seq);
        Ok(appended)
    }

    /// Sequence numbers (and so cas) never repeat, even those of changes that a power cut took back: an answer to a get
    /// may have shown them.
    pub(super) fn note_seq(&mut self, name: &[u8], seq: u64) {
        let highest = match self.highest_seq.get_mut(name) {
            Some(highest) => highest,
            None => self.highest_seq.entry(name.to_vec()).or_default(),
        };
        assert!(
            seq > *highest,
            "a sequence number of {:?} repeats: {seq} after {highest}",
            String::from_utf8_lossy(name)
        );
        *highest = seq;
    }

    /// Gives the value a file of its own, then appends its stub.
    fn append_large(&mut self, write: Write<'_>) -> Result<Appended, Refusal> {
        if write.value.len() > MAX_VALUE_BYTES {
            return Err(Refusal::TooLarge);
        }
        let stub = Stub::of(self.store.new_value_file(), write.value);
        let written = (|| {
            self.flash.create(stub.id(), stub.pages())?;
            for (n, chunk) in write.value.chunks(4 << 20).enumerate() {
                let pages = Stub::lay_out(chunk);
                self.flash.write(stub.id(), n as u64 * 1024, pages.pages())?;
            }
            self.flash.sync(stub.id())?;
            self.flash.sync_names()
        })();
        match written {
            Err(FlashError::NoSpace) => {
                // As the program would: nothing is left of what did not fit.
                if self.flash.remove(stub.id()).is_ok() {
                    self.flash.sync_names().map_err(|error| Refusal::Stopped(error.to_string()))?;
                }
                return Err(Refusal::NoSpace);
            }
            Err(error) => return Err(Refusal::Stopped(error.to_string())),
            Ok(()) => {}
        }
        let appended = self.append(&Write { kind: Kind::Stub, value: &stub.encode(), ..write })?;
        self.stubs.insert(appended.seq, stub);
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
        let (idle, cleaning) = (self.store.is_idle(), self.store.is_cleaning());
        panic!("the store stays busy for ever (idle {idle}, cleaning {cleaning}): {:?}", self.store.stats());
    }

    pub(super) fn release_acknowledgements(&mut self) {
        if self.options.ack != Ack::Durable {
            return;
        }
        let durable = self.store.durable();
        while let Some(&(gate, state)) = self.pending.front()
            && gate <= durable
        {
            self.oracle.acknowledge(state);
            self.pending.pop_front();
        }
    }
}
