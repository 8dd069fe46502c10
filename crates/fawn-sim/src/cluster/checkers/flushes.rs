//! Flushes with a delay: when each key's checker is told that all is gone.
//!
//! Nothing is gone before a clock may say that the flush is due, and all is once all clocks do and the flush was answered.
//! Another flush, of which nobody knows whether it came later, may have taken its place: then it may never happen.

use fawn_check::KvOperation;

use crate::cluster::checkers::histories::Histories;
use crate::cluster::checkers::wrong_clocks::WrongClocks;
use crate::cluster::clients::operation::{About, Asking};
use crate::cluster::event::{Event, Kernel};
use crate::cluster::time::{WRONG_US, time_of};

/// A flush that is not due yet.
#[derive(Clone, Copy, Debug)]
struct DelayedFlush {
    /// What the checkers call it.
    operation: u64,
    about: About,
    due: u32,
    /// The checkers were told that it may come.
    told: bool,
    /// Its client is no longer waiting.
    ended: bool,
    /// It was answered, and no other flush was asked for since, nor can one come late.
    certain: bool,
}

/// What is known of flushes with a delay.
#[derive(Default)]
pub struct DelayedFlushes {
    /// Those that are not due yet.
    later: Vec<DelayedFlush>,
    /// Nobody knows what became of a flush.
    in_doubt: bool,
    /// Those that were judged when they were due.
    came_due: u64,
}

impl DelayedFlushes {
    /// Flushes that were judged when they were due.
    pub fn came_due(&self) -> u64 {
        self.came_due
    }

    /// A client asks for something, while others `do_flush` or not. Whether it is a flush of which the checkers are told later.
    pub fn begin(
        &mut self,
        kernel: &mut Kernel,
        clocks: &WrongClocks,
        (operation, asking): (u64, &Asking),
        do_others_flush: bool,
    ) -> bool {
        let Asking { about, due, .. } = *asking;
        if !about.is_flush() {
            return false;
        }
        self.later.iter_mut().for_each(|later| later.certain = false);
        if due == 0 {
            return false;
        }
        let certain = !self.in_doubt && !do_others_flush;
        self.add(kernel, clocks, DelayedFlush { operation, about, due, told: false, ended: false, certain });
        true
    }

    /// A flush of some keys was asked for, and acknowledged, before anybody else asks for any.
    pub fn acknowledged(
        &mut self,
        kernel: &mut Kernel,
        clocks: &WrongClocks,
        (operation, about, due): (u64, About, u32),
    ) {
        self.add(kernel, clocks, DelayedFlush { operation, about, due, told: false, ended: true, certain: true });
    }

    fn add(&mut self, kernel: &mut Kernel, clocks: &WrongClocks, flush: DelayedFlush) {
        self.later.push(flush);
        let until_us = time_of(flush.due).saturating_sub(WRONG_US).saturating_sub(kernel.now_us());
        let delay = if clocks.is_any_wrong() { 0 } else { until_us };
        kernel.after(delay, Event::MayFlush(flush.operation));
    }

    /// What a client asked has ended, answered or not. Whether it is a flush of which the checkers are told later.
    pub fn end(&mut self, operation: u64, asking: &Asking, is_answered: bool) -> bool {
        let is_flush = asking.about.is_flush();
        // It may still come, and take the place of any other.
        self.in_doubt |= is_flush && !is_answered;
        if let Some(later) = self.later.iter_mut().find(|later| later.operation == operation) {
            later.ended = true;
            later.certain &= is_answered;
        }
        if is_flush && !is_answered {
            self.later.iter_mut().for_each(|later| later.certain = false);
        }
        is_flush && asking.due > 0
    }

    /// Clocks are wrong from now on: by one or another all flushes are due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn may_all_be_due(
        &mut self,
        kernel: &mut Kernel,
        histories: &mut Histories,
        clocks: &WrongClocks,
    ) -> Result<(), String> {
        let flushes: Vec<u64> = self.later.iter().map(|later| later.operation).collect();
        flushes.into_iter().try_for_each(|operation| self.may_be_due(kernel, histories, clocks, operation))
    }

    /// By one clock or another a flush is due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn may_be_due(
        &mut self,
        kernel: &mut Kernel,
        histories: &mut Histories,
        clocks: &WrongClocks,
        operation: u64,
    ) -> Result<(), String> {
        let now_us = kernel.now_us();
        let Some(later) = self.later.iter_mut().find(|later| later.operation == operation) else { return Ok(()) };
        // By a clock that is wrong it need not come, and may come before.
        later.certain &= !clocks.is_any_wrong();
        if std::mem::replace(&mut later.told, true) {
            return Ok(());
        }
        for key in histories.keys_of(later.about) {
            histories.tell(key, |checker| checker.invoke(now_us, operation, KvOperation::Delete))?;
        }
        if clocks.all_know_the_time() {
            let delay = time_of(later.due).saturating_sub(now_us) + WRONG_US + 100_000;
            kernel.after(delay, Event::Flushed(operation));
        }
        Ok(())
    }

    /// By all clocks a flush is due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn due(
        &mut self,
        kernel: &mut Kernel,
        histories: &mut Histories,
        clocks: &WrongClocks,
        operation: u64,
    ) -> Result<(), String> {
        let now_us = kernel.now_us();
        let Some(at) = self.later.iter().position(|later| later.operation == operation) else { return Ok(()) };
        if !self.later[at].ended {
            kernel.after(100_000, Event::Flushed(operation));
            return Ok(());
        }
        let later = self.later.remove(at);
        let certain = later.certain && !clocks.is_any_wrong();
        self.came_due += u64::from(certain);
        for key in histories.keys_of(later.about) {
            if certain {
                histories.tell_gone(now_us, key, (operation, later.due))?;
            } else {
                histories.tell(key, |checker| checker.unknown(operation))?;
            }
        }
        Ok(())
    }
}
