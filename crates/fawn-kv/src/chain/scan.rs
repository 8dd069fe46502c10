//! What those see of a range who are no members: parts of all that is in it, and what was committed meanwhile. So the range is
//! read as a learner copies it, and what was read is at last exactly what the range had as of one record
//! (`crate::scan` does so).
//!
//! Whoever has seen nothing yet asks the tail, which must hold a lease: so nothing is missing that was acknowledged before.
//! From then on any replica will do that is all there, has committed all that the asker has seen, and goes on from it. In a
//! weak range the owner alone answers, as each member has a log of its own.

use super::context::Context;
use super::replica::{Phase, Replica};
use super::scanning::{Question, Scanning};
use crate::ids::{Asker, Position};
use crate::range::entry::{Change, Entry, Kept};
use crate::scan::{Found, Sought};
use crate::store::{Part, RangeStore, Scan, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;

/// Scans of a range that wait for flash, at most.
const MOST_SCANS: usize = 4;

/// Whoever cannot be answered just now may ask again after this.
pub(super) const LATER_US: u64 = 20_000;

impl Replica {
    /// One who is no member asks what is in the range.
    pub(super) fn scan<S: RangeStore>(&mut self, question: Question, sought: Sought, context: &mut Context<'_, S>) {
        self.log.note_follower(context.now_us);
        let answer = match self.may_scan(&question, context) {
            Err(refusal) => Some(refusal),
            Ok(()) => match sought {
                Sought::Part { since, began } => self.look_for_part(question, since, began, context),
                Sought::Records { after } => Some(self.found_after(&question, after, context)),
            },
        };
        if let Some(found) = answer {
            self.show(&question, found, context);
        }
    }

    /// Whether this replica may answer, and if not, what it says.
    fn may_scan<S: RangeStore>(&self, question: &Question, context: &Context<'_, S>) -> Result<(), Found> {
        let Question { keys, least, .. } = *question;
        let has_all = self.log.keys().contains(&keys.low) && self.log.keys().contains(&keys.high) && self.is_complete();
        let silent = match &self.phase {
            Phase::Active(active) => active.is_silent(),
            // What is left of a weak range says nothing: its positions mean nothing to anybody else.
            _ => self.follows.is_some(),
        };
        // Nobody else has what a sole member has: it shows what it can read.
        let others_have = self.damaged && self.chain().is_none_or(|chain| chain.members.len() > 1);
        if !has_all || others_have || silent {
            return Err(Found::NotMine);
        }
        if least == Position::default() && !planted(Bug::ScanOfAnyMember) {
            let Phase::Active(active) = &self.phase else { return Err(Found::NotMine) };
            if !active.is_tail() {
                return Err(Found::NotMine);
            }
            if !context.has_lease(active.since_us) {
                return Err(Found::Later { wait_us: LATER_US });
            }
        }
        if self.log.committed() < least {
            return Err(Found::Later { wait_us: LATER_US });
        }
        if self.log.goes_on_from(least) { Ok(()) } else { Err(Found::TooOld) }
    }

    /// Begins to read a part; says something if it does not.
    fn look_for_part<S: RangeStore>(
        &mut self,
        question: Question,
        since: Position,
        began: Option<Position>,
        context: &mut Context<'_, S>,
    ) -> Option<Found> {
        let due_in_us = context.pace.due_in_us(context.now_us);
        if self.scans.values().any(|scanning| scanning.question == question) {
            // It is on its way.
            return None;
        }
        if due_in_us > 0 || self.scans.len() >= MOST_SCANS {
            return Some(Found::Later { wait_us: due_in_us.max(LATER_US) });
        }
        if self.lacks_gone(since, context) {
            return Some(Found::TooOld);
        }
        took(if since == Position::default() { Path::ScanPart } else { Path::ScanSince });
        let (at, ticket) = (self.log.committed(), context.tickets.1);
        let scanning = Scanning { question, since, at };
        let least = began.unwrap_or(at);
        match context.store.scan(self.log.range(), Some(question.keys.low), since.seq, least, ticket) {
            Scan::Known(part) => Some(self.found_part(&scanning, part, context)),
            Scan::Later => {
                context.tickets.0.insert(ticket, self.log.range());
                context.tickets.1 += 1;
                // Whoever asks for something else does not wait for what it asked before.
                self.scans.retain(|_, other| other.question.asker != question.asker);
                self.scans.insert(ticket, scanning);
                None
            }
        }
    }

    /// Whether it is forgotten here what has gone since, or the log does not go on from there.
    fn lacks_gone<S: RangeStore>(&self, since: Position, context: &Context<'_, S>) -> bool {
        let forgotten = since.seq < context.store.forgotten(self.log.range());
        since != Position::default() && (forgotten || !self.log.goes_on_from(since))
    }

    /// A part has been read.
    pub(super) fn show_part<S: RangeStore>(&mut self, scanning: Scanning, part: Part, context: &mut Context<'_, S>) {
        let found = if self.is_complete() { self.found_part(&scanning, part, context) } else { Found::NotMine };
        self.show(&scanning.question, found, context);
    }

    fn found_part<S: RangeStore>(&self, scanning: &Scanning, part: Part, context: &mut Context<'_, S>) -> Found {
        let Scanning { question: Question { keys, .. }, since, at } = *scanning;
        if self.lacks_gone(since, context) {
            return Found::TooOld;
        }
        let (alive, is_since) = (&self.log.meta().alive, since != Position::default());
        let mut kept = part.kept;
        kept.retain_mut(|kept| {
            let lies = context.secret.position(&kept.key);
            let seq = kept.position.seq;
            kept.version = kept.version.take_if(|version| alive.shows_at(&lies, version, seq, alive.time));
            let is_gone = kept.version.is_none();
            let is_shown = !is_gone || (is_since && !planted(Bug::ScanKeepsDeleted));
            keys.contains(&lies) && is_shown
        });
        let next = part.next.filter(|next| *next <= keys.high);
        let bytes = kept.iter().map(Kept::bytes).sum();
        context.pace.took(bytes, context.now_us, context.timing.copy_bytes_per_s);
        Found::Part { kept, next, at, upto: self.log.committed() }
    }

    /// What was committed of some keys after a position.
    fn found_after<S: RangeStore>(&self, question: &Question, after: Position, context: &Context<'_, S>) -> Found {
        let (keys, committed) = (question.keys, self.log.committed());
        if committed < after {
            return Found::Later { wait_us: LATER_US };
        }
        if !self.log.goes_on_from(after) {
            return Found::TooOld;
        }
        let rest = self.log.history().skip_while(|entry| entry.position <= after);
        let entries = super::stretch::batch(rest, context.timing.batch, context.timing.batch_bytes);
        let upto = entries.last().map_or(after, |entry| entry.position);
        // What does not follow is after a gap; so is what follows nothing that is here.
        let has_gap = entries.first().map_or(after < committed, |entry| !entry.follows(after));
        if has_gap {
            return Found::TooOld;
        }
        let kept = entries.iter().filter_map(|entry| kept_by(entry));
        let kept = kept.filter(|kept| keys.contains(&context.secret.position(&kept.key))).collect();
        let ended = (upto == committed).then(|| Box::new(self.log.meta().alive.shown_of(keys)));
        if ended.is_some() {
            took(Path::ScanEnded);
        }
        Found::Records { kept, upto, ended }
    }

    /// A part is not read, which whoever asked is told by `found`.
    pub(super) fn give_up_scan<S: RangeStore>(&mut self, ticket: Ticket, found: Found, context: &mut Context<'_, S>) {
        if let Some(scanning) = self.scans.remove(&ticket) {
            self.show(&scanning.question, found, context);
        }
    }

    fn show<S: RangeStore>(&self, question: &Question, found: Found, context: &mut Context<'_, S>) {
        let Question { id, asker: Asker { address, tag }, .. } = *question;
        context.out.push((address, Message::Scanned { id, tag, from: self.log.member(), found }));
    }
}

/// What a record makes of its key.
fn kept_by(entry: &Entry) -> Option<Kept> {
    let version = match &entry.change {
        Change::Value(version) => Some(version.clone()),
        Change::Delete if !planted(Bug::ScanKeepsDeleted) => None,
        _ => return None,
    };
    Some(Kept { key: entry.key.clone(), position: entry.position, version })
}

#[cfg(test)]
mod tests;
