//! Crashes, clean stops, and what must be there afterwards.

use std::collections::BTreeMap;

use fawn_store::{Ack, Options};

use super::gets::{PendingGet, PendingGets};
use super::machine::{Machine, STUCK_TURNS};
use super::oracle::Item;
use super::program::Failure;
use crate::flash::PowerCut;

impl Machine {
    /// Cuts the power, opens the store again and checks that what is left is a state that may be left. Returns that
    /// state's number.
    ///
    /// # Errors
    /// Why the store does not open, or what is wrong with what it recovered.
    pub fn crash_and_reopen(&mut self, cut: PowerCut, seed: u64) -> Result<u64, String> {
        self.program.flash.power_cut(cut, seed);
        self.reopen()?;
        self.check_recovered()
    }

    /// A machine of its own that goes on from what a power cut now would leave, after checking that; this one is as it
    /// was.
    ///
    /// # Errors
    /// As [`crash_and_reopen`](Self::crash_and_reopen).
    pub fn fork_after_power_cut(&self, cut: PowerCut, seed: u64) -> Result<Self, String> {
        let flash = self.program.flash.clone();
        flash.power_cut(cut, seed);
        let mut forked = Self::with_history(flash, self.options.clone(), seed, self.history.fork())
            .map_err(|error| format!("the store does not open: {error}"))?;
        forked.program.clock_ms = self.program.clock_ms;
        forked.stubs.clone_from(&self.stubs);
        forked.check_recovered()?;
        Ok(forked)
    }

    /// As [`crash_and_reopen`](Self::crash_and_reopen), but the power fails again `points` write points into the
    /// recovery.
    ///
    /// # Errors
    /// As there.
    pub fn crash_again_while_reopening(&mut self, cut: PowerCut, seed: u64, points: u64) -> Result<u64, String> {
        self.program.flash.power_cut(cut, seed);
        self.program.flash.crash_after(points);
        let opened = self.reopen();
        if opened.is_ok() {
            // Recovery's own maintenance runs on to the crash.
            for _ in 0..1000 {
                if self.is_down() {
                    break;
                }
                self.turn_maintenance();
                self.turn_install();
            }
        } else if !self.is_down() {
            return opened.map(|()| 0);
        }
        self.crash_and_reopen(cut, seed ^ 0x5555)
    }

    /// Stops as the program does on a signal, opens again and checks that nothing is missing.
    ///
    /// # Errors
    /// Why the store does not open, or what is wrong with what it recovered.
    pub fn clean_stop_and_reopen(&mut self) -> Result<u64, String> {
        self.clean_stop();
        // Whatever a clean stop leaves survives a power cut right after it.
        self.program.flash.power_cut(PowerCut::Lost, 0);
        self.reopen()?;
        self.check_recovered()
    }

    /// Stops as the program does on a signal. The machine is only good for reopening then.
    pub fn clean_stop(&mut self) {
        self.finish_gets();
        if self.options.ack == Ack::Memory {
            self.seal().expect("a store that stops can still seal");
            self.settle();
        }
        self.program.store.hurry();
        self.sync_log();
        self.program.store.close();
        assert!(self.turn_until(|machine| machine.program.store.upkeep().is_closed()), "a clean stop comes to its end");
        self.history.acknowledge_all();
    }

    /// From the next opening on, the store has other options.
    pub fn set_options(&mut self, options: Options) {
        self.history.set_ack(options.ack);
        self.options = options;
    }

    /// Opens the store again, whatever happened; nothing is checked.
    ///
    /// # Errors
    /// Why the store does not open.
    pub fn reopen(&mut self) -> Result<(), String> {
        self.gets = PendingGets::default();
        self.history.forget_pending();
        let opened = self.program.reopen(self.options.clone());
        opened.map_err(|error| format!("the store does not open: {error}"))
    }

    /// Reads every key that was ever issued and checks that together they are a state that may be left.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_recovered(&mut self) -> Result<u64, String> {
        let names: Vec<Vec<u8>> = self.history.oracle.names().map(<[u8]>::to_vec).collect();
        let mut recovered = BTreeMap::new();
        for name in names {
            // The oracle does not know the state yet: answers are checked all together.
            match self.get_unchecked(&name) {
                Ok(Some(item)) => drop(recovered.insert(name, item)),
                Ok(None) => {}
                Err(failure) => {
                    return Err(format!("{:?} cannot be read: {failure:?}", String::from_utf8_lossy(&name)));
                }
            }
        }
        self.history.oracle.recover(&recovered, self.program.now())
    }

    /// As [`get`](Self::get), but the answer is compared with nothing.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn get_unchecked(&mut self, name: &[u8]) -> Result<Option<Item>, Failure> {
        let mut get = PendingGet::begin_unchecked(&self.program, &self.history, name);
        for _ in 0..STUCK_TURNS {
            if let Some(answer) = get.advance(&mut self.program, &mut self.history) {
                return answer;
            }
            self.turn();
        }
        panic!("a get of {:?} is never answered", String::from_utf8_lossy(name));
    }
}
