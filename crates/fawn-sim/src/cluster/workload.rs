//! What clients do, and what the checkers are told of it.

use fawn_check::{CheckFailure, Checker, KvModel, KvOperation, KvOutcome};

use super::client::{About, Asking, Ended};
use super::coverage::Seen;
use super::events::Event;
use super::world::{BEGIN_UNIX, Party, WRONG_US, World};

impl World {
    pub(super) fn client_tick(&mut self, number: usize) -> Result<(), String> {
        let (now_us, unix) = (self.now_us, self.unix());
        if self.clients[number].asking.is_none() && !self.healing && !self.plan.fixed {
            let asking = self.clients[number].begin(self.plan.keys, now_us, unix).clone();
            self.begun(number, &asking)?;
            if let (About::Key(key), KvOperation::Put { value }, 1..) = (asking.about, asking.operation, asking.expiry)
            {
                self.may_expire_later(key, value, asking.expiry)?;
            }
        }
        if self.healing {
            self.ask_last(number)?;
        }
        let mut out = Vec::new();
        let ended = self.clients[number].tick(now_us, &mut out);
        for (to, message) in out {
            self.send(Party::Client(number), to, &message);
        }
        self.tick_dump(number)?;
        self.look_at_wait(number)?;
        let delay = self.delay(500, 15_000);
        self.after(delay, Event::ClientTick(number));
        match ended {
            Some(ended) => self.ended(number, ended),
            None => Ok(()),
        }
    }

    /// A value is put that expires.
    pub(super) fn may_expire_later(&mut self, key: u64, value: u64, expiry: u32) -> Result<(), String> {
        if self.lying.is_some() {
            return self.expires_ever(key, value, expiry);
        }
        self.expiring.insert((key, value, expiry));
        let delay = time_of(expiry).saturating_sub(WRONG_US).saturating_sub(self.now_us);
        self.after(delay, Event::MayExpire { key, value, expiry });
        Ok(())
    }

    /// A value may be gone from now on, and need not be: clocks are wrong.
    pub(super) fn expires_ever(&mut self, key: u64, value: u64, expiry: u32) -> Result<(), String> {
        self.expiring.insert((key, value, expiry));
        self.may_expire(key, value, expiry)
    }

    /// The checkers are told of what a client asks.
    fn begun(&mut self, number: usize, asking: &Asking) -> Result<(), String> {
        let (id, now_us) = (self.next_operation, self.now_us);
        self.next_operation += 1;
        self.open[number] = Some(id);
        let keys = self.keys_of(asking.about);
        self.note_asked(&keys, asking.operation);
        if self.begun_flush(number, id, asking) {
            return Ok(());
        }
        for key in keys {
            self.check(key, |checker| checker.invoke(now_us, id, asking.operation))?;
        }
        Ok(())
    }

    /// A client asks what the script says.
    pub(super) fn ask(&mut self, number: usize, key: u64, operation: KvOperation) -> Result<(), String> {
        if self.clients[number].asking.is_some() {
            return Err(format!(
                "client {number} still waits for an answer when it is to ask {operation}: have another ask"
            ));
        }
        let (now_us, unix) = (self.now_us, self.unix());
        let asking = self.clients[number].begin_with(key, operation, now_us, unix).clone();
        self.begun(number, &asking)
    }

    /// Tells a key's checker something.
    pub(super) fn check(
        &mut self,
        key: u64,
        step: impl FnOnce(&mut Checker<KvModel>) -> Result<(), CheckFailure>,
    ) -> Result<(), String> {
        let Some(checker) = &mut self.checkers[key as usize] else { return Ok(()) };
        match step(checker) {
            Err(CheckFailure::TooHard) => {
                self.checkers[key as usize] = None;
                self.summary.undecided += 1;
                Ok(())
            }
            verdict => verdict.map_err(|failure| failure.to_string()),
        }
    }

    /// Tells all keys' checkers that nothing follows.
    pub(super) fn end_checks(&mut self) -> Result<(), String> {
        for checker in std::mem::take(&mut self.checkers).into_iter().flatten() {
            match checker.finish() {
                Err(CheckFailure::TooHard) => self.summary.undecided += 1,
                verdict => verdict.map_err(|failure| failure.to_string())?,
            }
        }
        Ok(())
    }

    /// The keys that an operation is about, by their numbers.
    pub(super) fn keys_of(&self, about: About) -> Vec<u64> {
        match about {
            About::Key(key) => vec![key],
            About::Keys(first, count) => (first..first + count).collect(),
            About::Range(_, keys) => {
                (0..self.plan.keys).filter(|key| keys.contains(&self.positions[*key as usize])).collect()
            }
            About::All => (0..self.plan.keys).collect(),
        }
    }

    pub(super) fn ended(&mut self, number: usize, ended: Ended) -> Result<(), String> {
        let id = self.open[number].take().expect("what ends was begun");
        self.look_at_last(number, &ended)?;
        self.look_at_given_up(number, &ended)?;
        let (asking, outcomes) = match ended {
            Ended::Answered(asking, outcomes) => (asking, outcomes),
            Ended::GivenUp(asking) => (asking, Vec::new()),
            Ended::ShownNoMore(asking) => {
                self.summary.coverage.see(Seen::ShownNoMore);
                (asking, Vec::new())
            }
        };
        if let (true, KvOperation::Put { value }) = (outcomes.is_empty(), asking.operation) {
            self.given_up.insert(value);
        }
        self.summary.operations += u64::from(!outcomes.is_empty());
        self.summary.given_up += u64::from(outcomes.is_empty());
        if self.ended_flush(id, &asking, !outcomes.is_empty()) {
            return Ok(());
        }
        for (at, key) in self.keys_of(asking.about).into_iter().enumerate() {
            let at_us = self.now_us;
            // What is about a whole range has one outcome for all keys.
            let outcome = outcomes.get(at).or(outcomes.first()).copied();
            self.look_at_answer(key, outcome)?;
            self.check(key, |checker| match outcome {
                Some(outcome) => checker.complete(at_us, id, outcome),
                None => checker.unknown(id),
            })?;
        }
        Ok(())
    }

    /// A value may be gone from now on, by one clock or another.
    pub(super) fn may_expire(&mut self, key: u64, value: u64, expiry: u32) -> Result<(), String> {
        if !self.expiring.remove(&(key, value, expiry)) {
            // It was told before, as clocks were wrong.
            return Ok(());
        }
        let (operation, at_us) = (self.next_operation, self.now_us);
        self.next_operation += 1;
        self.check(key, |checker| checker.invoke(at_us, operation, KvOperation::Expire { value }))?;
        if !self.plan.lost_clock && self.lying.is_none() {
            let delay = time_of(expiry).saturating_sub(at_us) + WRONG_US + 100_000;
            self.after(delay, Event::Expired { key, value, operation });
        }
        Ok(())
    }

    /// By all clocks a value is expired.
    pub(super) fn expired(&mut self, key: u64, value: u64, operation: u64) -> Result<(), String> {
        // A put that comes late is gone at once.
        let puts = |asking: &Asking| asking.operation == KvOperation::Put { value };
        if self.clients.iter().any(|client| client.asking.as_ref().is_some_and(puts)) {
            self.after(100_000, Event::Expired { key, value, operation });
            return Ok(());
        }
        let (at_us, is_unknown) = (self.now_us, self.given_up.contains(&value) || self.lying.is_some());
        self.check(key, |checker| {
            if is_unknown { checker.unknown(operation) } else { checker.complete(at_us, operation, KvOutcome::Gone) }
        })
    }
}

/// When it is that second by a clock that is right.
pub(super) fn time_of(unix: u32) -> u64 {
    u64::from(unix.saturating_sub(BEGIN_UNIX)) * 1_000_000
}
