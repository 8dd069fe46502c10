//! What those see of a range who are no members: parts of all that is in it, and what was committed meanwhile. So the range is
//! read as a learner copies it, and what was read is at last exactly what the range had as of one record
//! (`crate::scan` does so).
//!
//! Whoever has seen nothing yet asks the reader, which must hold a lease: so nothing is missing that was acknowledged before.
//! A reader before archives first waits until all is committed that is in its log, as the tail may have acknowledged it.
//! From then on any replica will do that is all there, has committed all that the asker has seen, and goes on from it. In a
//! weak range the owner alone answers, as each member has a log of its own.

use super::active_chain::ActiveChain;
use super::context::Context;
use super::local_copy::LocalCopy;
use super::log::RangeLog;
use super::phase::Phase;
use crate::ids::{Asker, Position, RequestId, Seq};
use crate::range::entry::{Change, Entry, Kept};
use crate::scan::{Found, Sought};
use crate::store::{Part, RangeStore, Scan, Ticket};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use fawn_ring::Interval;
use std::collections::BTreeMap;

/// Scans of a range that wait for flash, at most.
const MOST_SCANS: usize = 4;

/// Whoever cannot be answered just now may ask again after this.
pub(super) const LATER_US: u64 = 20_000;

/// Who asks, about what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) id: RequestId,
    pub(super) asker: Asker,
    pub(super) keys: Interval,
    pub(super) least: Position,
}

/// A part that waits for flash.
#[derive(Clone, Copy, Debug)]
struct Scanning {
    question: Question,
    since: Position,
    /// What was committed before it is read.
    at: Position,
}

/// Those who are no members and read from here.
#[derive(Debug, Default)]
pub(super) struct Scans {
    /// By the scan that they wait for.
    waiting: BTreeMap<Ticket, Scanning>,
    /// For the commit of what was in the log when they asked.
    uncommitted: Vec<(Seq, Question, Sought)>,
}

impl Scans {
    /// Nobody is answered any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.uncommitted.clear();
    }

    /// One who is no member asks what is in the range.
    pub(super) fn scan<S: RangeStore>(
        &mut self,
        question: Question,
        sought: Sought,
        (phase, copy): (&Phase, &LocalCopy),
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        log.note_follower(context.now_us);
        let begins = question.least == Position::default() && !planted(Bug::ScanOfAnyMember);
        let lags = phase.active_chain().is_some_and(|chain| chain.is_reader() && !chain.is_tail());
        if begins && lags && log.committed() < log.last() && !planted(Bug::ReaderDoesNotWait) {
            // Whoever asks for something else does not wait for what it asked before.
            self.uncommitted.retain(|(_, other, _)| other.asker != question.asker);
            if self.uncommitted.len() < MOST_SCANS {
                took(Path::CommitAwaited);
                self.uncommitted.push((log.last().seq, question, sought));
            } else {
                show(&question, Found::Later { wait_us: LATER_US }, log, context);
            }
            return;
        }
        self.begin(question, sought, (phase, copy), log, context);
    }

    /// Goes on with those who have waited for a commit.
    pub(super) fn resume<S: RangeStore>(
        &mut self,
        (phase, copy): (&Phase, &LocalCopy),
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let committed = log.committed().seq;
        while let Some(at) = self.uncommitted.iter().position(|(upto, ..)| *upto <= committed) {
            let (_, question, sought) = self.uncommitted.remove(at);
            self.begin(question, sought, (phase, copy), log, context);
        }
    }

    fn begin<S: RangeStore>(
        &mut self,
        question: Question,
        sought: Sought,
        (phase, copy): (&Phase, &LocalCopy),
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let answer = match may_scan(&question, phase, copy, log, context) {
            Err(refusal) => Some(refusal),
            Ok(()) => match sought {
                Sought::Part { since, began } => self.look_for_part(question, since, began, log, context),
                Sought::Records { after } => Some(found_after(&question, after, log, context)),
            },
        };
        if let Some(found) = answer {
            show(&question, found, log, context);
        }
    }

    /// Begins to read a part; says something if it does not.
    fn look_for_part<S: RangeStore>(
        &mut self,
        question: Question,
        since: Position,
        began: Option<Position>,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) -> Option<Found> {
        let due_in_us = context.pace.due_in_us(context.now_us);
        if self.waiting.values().any(|scanning| scanning.question == question) {
            // It is on its way.
            return None;
        }
        if due_in_us > 0 || self.waiting.len() >= MOST_SCANS {
            return Some(Found::Later { wait_us: due_in_us.max(LATER_US) });
        }
        if lacks_gone(since, log, context) {
            return Some(Found::TooOld);
        }
        took(if since == Position::default() { Path::ScanPart } else { Path::ScanSince });
        let at = log.committed();
        let scanning = Scanning { question, since, at };
        let least = began.unwrap_or(at);
        match context.store.scan(log.range(), Some(question.keys.low), since.seq, least, context.tickets.1) {
            Scan::Known(part) => Some(found_part(&scanning, part, log, context)),
            Scan::Later => {
                let ticket = context.wait(log.range());
                // Whoever asks for something else does not wait for what it asked before.
                self.waiting.retain(|_, other| other.question.asker != question.asker);
                self.waiting.insert(ticket, scanning);
                None
            }
        }
    }

    /// Whether somebody waits for this scan.
    pub(super) fn waits_for(&self, ticket: Ticket) -> bool {
        self.waiting.contains_key(&ticket)
    }

    /// A part that somebody waits for was read; `is_complete`: the range is still all here.
    pub(super) fn read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        part: Part,
        is_complete: bool,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        let Some(scanning) = self.waiting.remove(&ticket) else { return };
        let found = if is_complete { found_part(&scanning, part, log, context) } else { Found::NotMine };
        show(&scanning.question, found, log, context);
    }

    /// A part is not read, which whoever asked is told by `found`.
    pub(super) fn give_up<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        found: Found,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        if let Some(scanning) = self.waiting.remove(&ticket) {
            show(&scanning.question, found, log, context);
        }
    }
}

/// Whether this replica may answer, and if not, what it says.
fn may_scan<S: RangeStore>(
    question: &Question,
    phase: &Phase,
    copy: &LocalCopy,
    log: &RangeLog,
    context: &Context<'_, S>,
) -> Result<(), Found> {
    let Question { keys, least, .. } = *question;
    let has_all = log.keys().contains(&keys.low) && log.keys().contains(&keys.high) && copy.is_complete();
    let chain = phase.active_chain();
    // What is left of a weak range says nothing: its positions mean nothing to anybody else.
    let silent = chain.map_or(copy.is_weak(), ActiveChain::is_silent);
    // Nobody else has what a sole member has: it shows what it can read.
    let others_have = copy.is_damaged() && chain.is_none_or(|chain| chain.config().members.len() > 1);
    if !has_all || others_have || silent {
        return Err(Found::NotMine);
    }
    if least == Position::default() && !planted(Bug::ScanOfAnyMember) {
        let Some(chain) = chain.filter(|chain| chain.is_reader() || chain.is_tail()) else {
            return Err(Found::NotMine);
        };
        if !context.has_lease(chain.since_us()) {
            return Err(Found::Later { wait_us: LATER_US });
        }
    }
    if log.committed() < least {
        return Err(Found::Later { wait_us: LATER_US });
    }
    if log.goes_on_from(least) { Ok(()) } else { Err(Found::TooOld) }
}

/// Whether it is forgotten here what has gone since, or the log does not go on from there.
fn lacks_gone<S: RangeStore>(since: Position, log: &RangeLog, context: &Context<'_, S>) -> bool {
    let forgotten = since.seq < context.store.forgotten(log.range());
    since != Position::default() && (forgotten || !log.goes_on_from(since))
}

fn found_part<S: RangeStore>(scanning: &Scanning, part: Part, log: &RangeLog, context: &mut Context<'_, S>) -> Found {
    let Scanning { question: Question { keys, .. }, since, at } = *scanning;
    if lacks_gone(since, log, context) {
        return Found::TooOld;
    }
    let (alive, is_since) = (&log.meta().alive, since != Position::default());
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
    Found::Part { kept, next, at, upto: log.committed() }
}

/// What was committed of some keys after a position.
fn found_after<S: RangeStore>(question: &Question, after: Position, log: &RangeLog, context: &Context<'_, S>) -> Found {
    let (keys, committed) = (question.keys, log.committed());
    if committed < after {
        return Found::Later { wait_us: LATER_US };
    }
    if !log.goes_on_from(after) {
        return Found::TooOld;
    }
    let rest = log.history().skip_while(|entry| entry.position <= after);
    let entries = super::stretch::batch(rest, context.timing.batch, context.timing.batch_bytes);
    let upto = entries.last().map_or(after, |entry| entry.position);
    // What does not follow is after a gap; so is what follows nothing that is here.
    let has_gap = entries.first().map_or(after < committed, |entry| !entry.follows(after));
    if has_gap {
        return Found::TooOld;
    }
    let kept = entries.iter().filter_map(|entry| kept_by(entry));
    let kept = kept.filter(|kept| keys.contains(&context.secret.position(&kept.key))).collect();
    let ended = (upto == committed).then(|| Box::new(log.meta().alive.shown_of(keys)));
    if ended.is_some() {
        took(Path::ScanEnded);
    }
    Found::Records { kept, upto, ended }
}

fn show<S: RangeStore>(question: &Question, found: Found, log: &RangeLog, context: &mut Context<'_, S>) {
    let Question { id, asker: Asker { address, tag }, .. } = *question;
    context.out.push((address, Message::Scanned { id, tag, from: log.member(), found }));
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
