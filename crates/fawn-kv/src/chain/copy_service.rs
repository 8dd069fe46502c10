//! What a member does for those that copy a range from it, or follow it: it reads parts, and gives records of its log.

use super::context::Context;
use super::copying::PartRequest;
use super::log::RangeLog;
use crate::ids::{Attempt, Member, Position, Seq};
use crate::range::meta::Meta;
use crate::store::{Part, RangeStore, Scan, Ticket};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::{Given, Message};
use std::collections::BTreeMap;

/// Epochs of which a log has records that are not committed, at most.
const MOST_ENDS: usize = 1024;

/// What is committed, before a part is read.
type AsOf = (Position, Option<Meta>);

/// Those that copy from here, by the scan that they wait for.
#[derive(Debug, Default)]
pub(super) struct CopyService {
    waiting: BTreeMap<Ticket, (PartRequest, AsOf)>,
}

impl CopyService {
    /// Nobody is given anything any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// A learner asks for a part of everything, which is all here.
    pub(super) fn give_part<S: RangeStore>(
        &mut self,
        mut wanted: PartRequest,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) {
        if log.committed() < wanted.least || wanted.learner == log.member() {
            return;
        }
        log.note_follower(context.now_us);
        if is_too_old(wanted, log, context) {
            (wanted.from, wanted.since) = (None, Position::default());
        }
        // Who knows of less than the learner has would take it back.
        if log.committed() < wanted.since || self.waiting.values().any(|(other, _)| *other == wanted) {
            return;
        }
        let as_of = (log.committed(), meta_for(wanted, log));
        let least = if wanted.from.is_none() { log.committed() } else { wanted.least };
        match context.store.scan(log.range(), wanted.from, wanted.since.seq, least, context.tickets.1) {
            Scan::Known(part) => send_part(wanted, part, as_of, log, context),
            Scan::Later => {
                let ticket = context.wait(log.range());
                self.waiting.retain(|_, (other, _)| other.learner.node != wanted.learner.node);
                self.waiting.insert(ticket, (wanted, as_of));
            }
        }
    }

    /// A part that somebody waits for was read.
    pub(super) fn read<S: RangeStore>(
        &mut self,
        ticket: Ticket,
        part: Part,
        log: &RangeLog,
        context: &mut Context<'_, S>,
    ) {
        if let Some((wanted, as_of)) = self.waiting.remove(&ticket) {
            send_part(wanted, part, as_of, log, context);
        }
    }

    /// A part cannot be read: the learner asks again by itself.
    pub(super) fn give_up(&mut self, ticket: Ticket) {
        self.waiting.remove(&ticket);
    }
}

/// Whether what the learner has is of no use: it lacks deletions that are forgotten, or has what this log does not go on
/// from.
fn is_too_old<S: RangeStore>(wanted: PartRequest, log: &RangeLog, context: &Context<'_, S>) -> bool {
    let since = wanted.since;
    let lacks_deletions = since.seq < context.store.forgotten(log.range()) && !planted(Bug::OldTooOld);
    since != Position::default() && (lacks_deletions || !log.goes_on_from(since))
}

/// What goes with a part: as of before it is read.
fn meta_for(wanted: PartRequest, log: &RangeLog) -> Option<Meta> {
    let needed = wanted.from.is_none() || planted(Bug::CopyNotFollowed);
    needed.then(|| log.meta().clone())
}

fn send_part<S: RangeStore>(
    wanted: PartRequest,
    part: Part,
    (at, meta): AsOf,
    log: &RangeLog,
    context: &mut Context<'_, S>,
) {
    if is_too_old(wanted, log, context) {
        return;
    }
    let forgotten = context.store.forgotten(log.range());
    let forgotten = if planted(Bug::CopyLosesForgotten) { Seq(0) } else { forgotten };
    let (range, from, Part { kept, next }) = (log.range(), log.member(), part);
    let PartRequest { learner, from: asked, since, .. } = wanted;
    let to = learner.incarnation;
    context.send(
        learner,
        Message::CopyPart { range, to, from, asked, since, kept, next, at, forgotten, meta: meta.map(Box::new) },
    );
}

/// A learner, or a member that is made level for an attempt, asks for what follows up to `last` in a log that is committed up to
/// `committed`, and whose further records' epochs end at `ends`.
pub(super) fn give_records<S: RangeStore>(
    attempt: Option<Attempt>,
    learner: Member,
    (committed, ends): (Position, &[Position]),
    last: Position,
    log: &mut RangeLog,
    context: &mut Context<'_, S>,
) -> Result<(), &'static str> {
    if learner == log.member() {
        return Ok(());
    }
    if ends.len() > MOST_ENDS {
        return Err("Fetch: a log has too many ends of epochs");
    }
    log.note_follower(context.now_us);
    let records = if log.goes_on_from(committed) {
        let records = log.records_after(committed, ends, last, &context.timing);
        records.map_or(Given::TooOld, Given::Records)
    } else {
        Given::Another
    };
    let (range, from) = (log.range(), log.member());
    context.send(learner, Message::Fetched { range, attempt, to: learner.incarnation, from, records });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{ME, Plain, SECRET, step_part};
    use crate::ids::{Epoch, Incarnation, NodeId, RangeId};
    use fawn_ring::Interval;

    const LEARNER: Member = Member { node: NodeId(7), incarnation: Incarnation(2) };

    fn at(seq: u64) -> Position {
        Position { epoch: Epoch(3), seq: Seq(seq) }
    }

    fn log() -> RangeLog {
        let meta = Meta { committed: at(9), ..Meta::default() };
        RangeLog::new((RangeId(0), Interval::ALL, ME), meta, Vec::new(), &SECRET)
    }

    /// From where a part is given, and whether what is committed goes with it.
    fn given(wanted: PartRequest, forgotten: Seq) -> Option<(Position, bool)> {
        let mut store = Plain { forgotten, ..Plain::default() };
        let give = |context: &mut Context<'_, Plain>| CopyService::default().give_part(wanted, &mut log(), context);
        step_part(&mut store, give).1.into_iter().find_map(|message| match message {
            Message::CopyPart { since, meta, .. } => Some((since, meta.is_some())),
            _ => None,
        })
    }

    #[test]
    fn whoever_lacks_deletions_that_are_forgotten_gets_everything() {
        let part = |since, least| PartRequest { learner: LEARNER, from: None, since: at(since), least: at(least) };
        assert_eq!(given(part(5, 0), Seq(5)), Some((at(5), true)));
        assert_eq!(given(part(5, 0), Seq(6)), Some((Position::default(), true)));
        assert_eq!(given(part(10, 0), Seq(0)), None, "it has more");
        assert_eq!(given(part(5, 10), Seq(0)), None, "it knows of more");
        assert_eq!(given(PartRequest { learner: ME, ..part(5, 0) }, Seq(0)), None);
    }

    #[test]
    fn records_are_given_to_others_unless_too_much_is_asked() {
        let give = |learner, ends: usize| {
            let (mut log, ends) = (log(), vec![at(1); ends]);
            let asked = (at(9), &ends[..]);
            step_part(&mut Plain::default(), |context| give_records(None, learner, asked, at(9), &mut log, context))
        };
        let (done, sent) = give(LEARNER, MOST_ENDS);
        assert!(done.is_ok() && matches!(sent[..], [Message::Fetched { records: Given::Records(_), .. }]), "{sent:?}");
        assert!(give(LEARNER, MOST_ENDS + 1).0.is_err());
        assert!(give(ME, 0).1.is_empty());
    }
}
