//! Restarts of a store: power cuts, clean stops and loads, and what must be there afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use fawn_store::record::Marks;
use fawn_store::{Ack, Options};

use super::bulk::{LoadedRecord, bulk_load};
use super::gets::{PendingGet, PendingGets};
use super::machine::{Extras, Machine, STUCK_TURNS};
use super::oracle::{Oracle, OracleItem};
use super::program::Failure;
use crate::flash::PowerCut;

impl Machine {
    /// Stops, faults and loads, after each of which the store is opened again.
    pub fn restart(&mut self) -> Restart<'_> {
        Restart(self)
    }

    /// A machine of its own that goes on from what a power cut now would leave, after checking that; this one is as it
    /// was.
    ///
    /// # Errors
    /// As [`Restart::after_power_cut`].
    pub fn fork_after_power_cut(&self, cut: PowerCut, seed: u64) -> Result<Self, String> {
        let flash = self.program.flash.clone();
        flash.power_cut(cut, seed);
        let mut forked = Self::on(flash, self.options.clone(), seed, Oracle::default())
            .map_err(|error| format!("the store does not open: {error}"))?;
        forked.history = self.history.fork();
        forked.program.clock_ms = self.program.clock_ms;
        forked.stubs.clone_from(&self.stubs);
        forked.restart().check()?;
        Ok(forked)
    }
}

/// A machine whose store stops, or whose device fails, and that opens it again: [`Machine::restart`].
pub struct Restart<'a>(&'a mut Machine);

impl Restart<'_> {
    /// Cuts the power, opens the store again and checks that what is left is a state that may be left. Returns that
    /// state's number.
    ///
    /// # Errors
    /// Why the store does not open, or what is wrong with what it recovered.
    pub fn after_power_cut(&mut self, cut: PowerCut, seed: u64) -> Result<u64, String> {
        self.0.program.flash.power_cut(cut, seed);
        self.reopen()?;
        self.check()
    }

    /// As [`after_power_cut`](Self::after_power_cut), but the power fails again `points` write points into the recovery.
    ///
    /// # Errors
    /// As there.
    pub fn after_two_power_cuts(&mut self, cut: PowerCut, seed: u64, points: u64) -> Result<u64, String> {
        self.0.program.flash.power_cut(cut, seed);
        self.0.program.flash.crash_after(points);
        let opened = self.reopen();
        if opened.is_ok() {
            // Recovery's own maintenance runs on to the crash.
            for _ in 0..1000 {
                if self.0.is_down() {
                    break;
                }
                self.0.turn_maintenance();
                self.0.turn_install();
            }
        } else if !self.0.is_down() {
            return opened.map(|()| 0);
        }
        self.after_power_cut(cut, seed ^ 0x5555)
    }

    /// Stops as the program does on a signal, opens again and checks that nothing is missing.
    ///
    /// # Errors
    /// Why the store does not open, or what is wrong with what it recovered.
    pub fn after_clean_stop(&mut self) -> Result<u64, String> {
        self.stop();
        // Whatever a clean stop leaves survives a power cut right after it.
        self.0.program.flash.power_cut(PowerCut::Lost, 0);
        self.reopen()?;
        self.check()
    }

    /// Loads `records` into the store, whatever state it is in on the device, and opens it again. What was loaded must be
    /// there then; it is compared with all else by later gets.
    ///
    /// # Errors
    /// What went wrong.
    pub fn after_bulk_load(&mut self, records: &[LoadedRecord], batch_bytes: usize) -> Result<(), String> {
        let machine = &*self.0;
        bulk_load(&machine.program.flash, &machine.options, machine.now(), records, batch_bytes)?;
        self.reopen()?;
        let last: BTreeMap<&[u8], &LoadedRecord> = records.iter().map(|record| (&*record.name, record)).collect();
        for (name, record) in last {
            let found = self.get(name).map_err(|failure| format!("{failure:?}"))?;
            let Extras { client_flags, expiry, client_cas, .. } = record.extras;
            let seq = found.as_ref().map_or(u64::MAX, |item| item.seq);
            let value = Arc::from(&*record.value);
            let item = OracleItem { value, client_flags, expiry, marks: Marks::default(), client_cas, seq };
            let expected = item.alive(self.0.now());
            if found.as_ref() != expected {
                let name = String::from_utf8_lossy(name);
                return Err(format!("{name:?}: {expected:?} was loaded, and {found:?} is there"));
            }
            if found.is_some() {
                self.0.history.note_seq(name, seq);
            }
            self.0.history.oracle.change(name, Some(item));
        }
        self.0.history.acknowledge_all();
        self.check().map(drop)
    }

    /// Stops as the program does on a signal. The machine is only good for reopening then.
    pub fn stop(&mut self) {
        let machine = &mut *self.0;
        machine.finish_gets();
        if machine.options.ack == Ack::Memory {
            machine.seal().expect("a store that stops can still seal");
            machine.settle();
        }
        machine.program.store.hurry();
        machine.sync_log();
        machine.program.store.close();
        let stopped = machine.turn_until(|machine| machine.program.store.upkeep().is_closed());
        assert!(stopped, "a clean stop comes to its end");
        machine.history.acknowledge_all();
    }

    /// From the next opening on, the store has other options.
    pub fn set_options(&mut self, options: Options) {
        self.0.history.set_ack(options.ack);
        self.0.options = options;
    }

    /// Opens the store again, whatever happened; nothing is checked.
    ///
    /// # Errors
    /// Why the store does not open.
    pub fn reopen(&mut self) -> Result<(), String> {
        self.0.gets = PendingGets::default();
        self.0.history.forget_pending();
        let opened = self.0.program.reopen(self.0.options.clone());
        opened.map_err(|error| format!("the store does not open: {error}"))
    }

    /// Reads every key that was ever issued and checks that together they are a state that may be left.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&mut self) -> Result<u64, String> {
        let names: Vec<Vec<u8>> = self.0.history.oracle.names().map(<[u8]>::to_vec).collect();
        let mut recovered = BTreeMap::new();
        for name in names {
            // The oracle does not know the state yet: answers are checked all together.
            match self.get(&name) {
                Ok(Some(item)) => drop(recovered.insert(name, item)),
                Ok(None) => {}
                Err(failure) => {
                    return Err(format!("{:?} cannot be read: {failure:?}", String::from_utf8_lossy(&name)));
                }
            }
        }
        self.0.history.oracle.recover(&recovered, self.0.program.now())
    }

    /// As [`Machine::get`], but the answer is compared with nothing.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn get(&mut self, name: &[u8]) -> Result<Option<OracleItem>, Failure> {
        let machine = &mut *self.0;
        let mut get = PendingGet::begin_unchecked(&machine.program, &machine.history, name);
        for _ in 0..STUCK_TURNS {
            if let Some(answer) = get.advance(&mut machine.program, &mut machine.history) {
                return answer;
            }
            machine.turn();
        }
        panic!("a get of {:?} is never answered", String::from_utf8_lossy(name));
    }
}
