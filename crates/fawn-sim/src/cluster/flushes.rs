//! Flushes with a delay: when each key's checker is told that all is gone.
//!
//! Nothing is gone before a clock may say that the flush is due, and all is once all clocks do and the flush was answered.
//! Another flush, of which nobody knows whether it came later, may have taken its place: then it may never happen.

use fawn_check::{KvOperation, KvOutcome};

use super::client::{About, Asking};
use super::events::Event;
use super::workload::time_of;
use super::world::{WRONG_US, World};

/// A flush that is not due yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Later {
    /// What the checkers call it.
    pub(super) operation: u64,
    about: About,
    due: u32,
    /// The checkers were told that it may come.
    told: bool,
    /// Its client is no longer waiting.
    ended: bool,
    /// It was answered, and no other flush was asked for since, nor can one come late.
    certain: bool,
}

impl World {
    /// A client asks for a flush; whether the checkers are told later.
    pub(super) fn begun_flush(&mut self, number: usize, operation: u64, asking: &Asking) -> bool {
        let is_flush = |about: About| matches!(about, About::Range(..) | About::All);
        if !is_flush(asking.about) {
            return false;
        }
        self.later.iter_mut().for_each(|later| later.certain = false);
        if asking.due == 0 {
            return false;
        }
        let others = self.clients.iter().enumerate().filter(|(other, _)| *other != number);
        let mut others = others.filter_map(|(_, client)| client.asking.as_ref());
        let certain = !self.flush_in_doubt && !others.any(|asking| is_flush(asking.about));
        let Asking { about, due, .. } = *asking;
        self.later.push(Later { operation, about, due, told: false, ended: false, certain });
        self.may_flush_later(operation, due);
        true
    }

    /// A flush of some keys was asked for, and acknowledged, before anybody else asks for any.
    pub(super) fn flush_later(&mut self, operation: u64, about: About, due: u32) {
        self.later.push(Later { operation, about, due, told: false, ended: true, certain: true });
        self.may_flush_later(operation, due);
    }

    fn may_flush_later(&mut self, operation: u64, due: u32) {
        let is_lying = self.lying.is_some();
        let delay = if is_lying { 0 } else { time_of(due).saturating_sub(WRONG_US).saturating_sub(self.now_us) };
        self.after(delay, Event::MayFlush(operation));
    }

    /// A client's flush has ended, answered or not; whether the checkers are told later.
    pub(super) fn ended_flush(&mut self, operation: u64, asking: &Asking, is_answered: bool) -> bool {
        let is_flush = matches!(asking.about, About::Range(..) | About::All);
        // It may still come, and take the place of any other.
        self.flush_in_doubt |= is_flush && !is_answered;
        if let Some(later) = self.later.iter_mut().find(|later| later.operation == operation) {
            later.ended = true;
            later.certain &= is_answered;
        }
        if is_flush && !is_answered {
            self.later.iter_mut().for_each(|later| later.certain = false);
        }
        is_flush && asking.due > 0
    }

    /// By one clock or another a flush is due.
    pub(super) fn may_flush(&mut self, operation: u64) -> Result<(), String> {
        let now_us = self.now_us;
        let is_lying = self.lying.is_some();
        let Some(later) = self.later.iter_mut().find(|later| later.operation == operation) else { return Ok(()) };
        // By a clock that is wrong it need not come, and may come before.
        later.certain &= !is_lying;
        if std::mem::replace(&mut later.told, true) {
            return Ok(());
        }
        let later = *later;
        for key in self.keys_of(later.about) {
            self.check(key, |checker| checker.invoke(now_us, operation, KvOperation::Delete))?;
        }
        if !self.plan.lost_clock && !is_lying {
            let delay = time_of(later.due).saturating_sub(now_us) + WRONG_US + 100_000;
            self.after(delay, Event::Flushed(operation));
        }
        Ok(())
    }

    /// By all clocks a flush is due.
    pub(super) fn flushed(&mut self, operation: u64) -> Result<(), String> {
        let now_us = self.now_us;
        let Some(at) = self.later.iter().position(|later| later.operation == operation) else { return Ok(()) };
        if !self.later[at].ended {
            self.after(100_000, Event::Flushed(operation));
            return Ok(());
        }
        let later = self.later.remove(at);
        let certain = later.certain && self.lying.is_none();
        self.summary.flushes_came_due += u64::from(certain);
        for key in self.keys_of(later.about) {
            self.check(key, |checker| {
                if certain { checker.complete(now_us, operation, KvOutcome::Gone) } else { checker.unknown(operation) }
            })?;
        }
        Ok(())
    }
}
