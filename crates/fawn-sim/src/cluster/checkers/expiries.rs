//! Values that expire: when each key's checker is told that one may be gone, and that it is.

use std::collections::BTreeSet;

use fawn_check::KvOperation;

use crate::cluster::checkers::histories::Histories;
use crate::cluster::checkers::wrong_clocks::WrongClocks;
use crate::cluster::event::{Event, Kernel};
use crate::cluster::time::{WRONG_US, time_of};

/// Values that may expire, and those of puts that may come late.
#[derive(Default)]
pub struct Expiries {
    /// Key, value and expiry of what may expire later.
    expiring: BTreeSet<(u64, u64, u32)>,
    /// Values of puts that nobody knows the outcome of.
    given_up: BTreeSet<u64>,
}

impl Expiries {
    /// A value is put that expires.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn put(
        &mut self,
        kernel: &mut Kernel,
        histories: &mut Histories,
        clocks: &WrongClocks,
        (key, value, expiry): (u64, u64, u32),
    ) -> Result<(), String> {
        self.expiring.insert((key, value, expiry));
        if clocks.is_any_wrong() {
            // It may be gone from now on, and need not be.
            return self.may_expire(kernel, histories, clocks, (key, value, expiry));
        }
        let delay = time_of(expiry).saturating_sub(WRONG_US).saturating_sub(kernel.now_us());
        kernel.after(delay, Event::MayExpire { key, value, expiry });
        Ok(())
    }

    /// Clocks are wrong from now on: whatever has an expiry may be gone, and nothing needs to be.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn may_all_expire(
        &mut self,
        kernel: &mut Kernel,
        histories: &mut Histories,
        clocks: &WrongClocks,
    ) -> Result<(), String> {
        for value in self.expiring.clone() {
            self.may_expire(kernel, histories, clocks, value)?;
        }
        Ok(())
    }

    /// A value may be gone from now on, by one clock or another.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn may_expire(
        &mut self,
        kernel: &mut Kernel,
        histories: &mut Histories,
        clocks: &WrongClocks,
        (key, value, expiry): (u64, u64, u32),
    ) -> Result<(), String> {
        if !self.expiring.remove(&(key, value, expiry)) {
            // The checker was told before, as clocks were wrong.
            return Ok(());
        }
        let (operation, at_us) = (histories.new_operation(), kernel.now_us());
        histories.tell(key, |checker| checker.invoke(at_us, operation, KvOperation::Expire { value }))?;
        if clocks.all_know_the_time() {
            let delay = time_of(expiry).saturating_sub(at_us) + WRONG_US + 100_000;
            kernel.after(delay, Event::Expired { key, value, expiry, operation });
        }
        Ok(())
    }

    /// By all clocks a value is expired.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn expired(
        &self,
        now_us: u64,
        histories: &mut Histories,
        clocks: &WrongClocks,
        (key, value, expiry, operation): (u64, u64, u32, u64),
    ) -> Result<(), String> {
        if self.given_up.contains(&value) || clocks.is_any_wrong() {
            histories.tell(key, |checker| checker.unknown(operation))
        } else {
            histories.tell_gone(now_us, key, (operation, expiry))
        }
    }

    /// Nobody knows what became of the put of a value.
    pub fn give_up(&mut self, value: u64) {
        self.given_up.insert(value);
    }
}
