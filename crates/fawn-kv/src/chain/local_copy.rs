//! What a node has of a range: whether all of it, whether it can be read, and how far a copy is that comes in.

use super::context::Context;
use super::copying::CopyPart;
use super::log::RangeLog;
use crate::ids::{Attempt, Health, Member, Position, Seq};
use crate::range::entry::Kept;
use crate::range::meta::Meta;
use crate::status::CopyFigures;
use crate::store::RangeStore;
use crate::testing::coverage::{Path, took};
use crate::wire::Message;
use fawn_ring::{Interval, Key};

/// A copy under way.
#[derive(Debug)]
struct Copying {
    /// Where the next part begins; `None`: nothing has come yet.
    from: Option<Key>,
    /// Bytes that have come.
    bytes: u64,
    /// Only what was written after this is copied.
    since: Position,
    /// What was committed when the copy began: what is copied is as of then, or newer.
    began: Option<Meta>,
    /// Deletions up to here may be lacking.
    forgotten: Seq,
}

impl Copying {
    /// A copy of what was written after `since`.
    fn since(since: Position) -> Self {
        Self { from: None, bytes: 0, since, began: None, forgotten: Seq(0) }
    }
}

/// What comes of a part of a copy that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartOutcome {
    /// It is of another copy, or there is no room for it: it is asked for again when the time has come.
    Ignored,
    /// The source has no use for what is here: everything must be copied.
    Restart,
    /// It is here, and what comes next is asked for.
    Installed,
}

/// What is here of a range, beside its log.
#[derive(Debug)]
pub(super) struct LocalCopy {
    /// Everything that is committed, as far as the log knows, is here.
    complete: bool,
    /// Some of what is here could not be read: others are to take its place.
    damaged: bool,
    /// A copy of what is in the range, or of what it lacks, that has not come to its end.
    copying: Option<Copying>,
    /// In a weak range: the member whose log this one was last made to follow, and the attempt that was over then. With
    /// any other member's log it has nothing in common.
    follows: Option<(Member, Attempt)>,
    /// Bytes that have come in copies.
    copied_bytes: u64,
}

impl LocalCopy {
    /// All of a range, or nothing that is of use by itself.
    pub(super) fn new(complete: bool) -> Self {
        Self { complete, damaged: false, copying: None, follows: None, copied_bytes: 0 }
    }

    /// Whether everything that is committed is here, as far as is known here.
    pub(super) fn is_complete(&self) -> bool {
        self.complete && self.copying.is_none()
    }

    /// Whether something is lacking, and no copy of it has begun.
    pub(super) fn is_stuck(&self) -> bool {
        !self.complete && self.copying.is_none()
    }

    /// Whether some of the copy that is under way has come.
    pub(super) fn has_begun(&self) -> bool {
        self.copying.as_ref().is_some_and(|copying| copying.from.is_some())
    }

    /// Whether some of what is here could not be read.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Some of what is here cannot be read.
    pub(super) fn damage(&mut self) {
        self.damaged = true;
    }

    /// How this copy is; `full`: the node has no room for more values.
    pub(super) fn health(&self, full: bool) -> Health {
        match (self.damaged, full) {
            (true, _) => Health::Damaged,
            (false, true) => Health::Full,
            (false, false) => Health::Sound,
        }
    }

    /// Whether the range is weak: this log was made to follow another member's in this life.
    pub(super) fn is_weak(&self) -> bool {
        self.follows.is_some()
    }

    /// Whether this log is known to be like that of `source` as of an attempt.
    pub(super) fn follows(&self, source: Member, known: Attempt) -> bool {
        self.follows == Some((source, known))
    }

    /// The log is made to follow that of `source`, as of an attempt.
    pub(super) fn follow(&mut self, source: Member, now: Attempt) {
        self.follows = Some((source, now));
    }

    /// The life in which the log followed another is over.
    pub(super) fn follow_none(&mut self) {
        self.follows = None;
    }

    /// What was here is gone: everything is to be copied.
    pub(super) fn copy_all(&mut self) {
        (self.complete, self.damaged) = (false, false);
        self.copying = Some(Copying::since(Position::default()));
    }

    /// What was written after `since` is to be copied.
    pub(super) fn copy_since(&mut self, since: Position) {
        self.copying = Some(Copying::since(since));
    }

    /// The range begins, and nothing is in it.
    pub(super) fn begin_empty(&mut self) {
        (self.complete, self.damaged, self.copying) = (true, false, None);
    }

    /// What the source is asked for, if something is to be copied.
    pub(super) fn next_question(&self, log: &RangeLog) -> Option<Message> {
        let Copying { from, since, began, .. } = self.copying.as_ref()?;
        let least = began.as_ref().map_or_else(Position::default, |meta| meta.committed);
        Some(Message::Copy { range: log.range(), learner: log.member(), from: *from, since: *since, least })
    }

    /// A part of a copy has come from the source.
    pub(super) fn take_part<S: RangeStore>(
        &mut self,
        part: CopyPart,
        log: &mut RangeLog,
        context: &mut Context<'_, S>,
    ) -> Result<PartOutcome, &'static str> {
        let Some(copying) = &mut self.copying else { return Ok(PartOutcome::Ignored) };
        if part.since != copying.since {
            // The range has forgotten deletions that are lacking here, or does not have all that is here.
            let is_restart = part.since == Position::default() && part.asked.is_none();
            return Ok(if is_restart { PartOutcome::Restart } else { PartOutcome::Ignored });
        }
        // A part of an earlier copy may lack what was committed before this one began.
        let is_old = copying.began.as_ref().is_some_and(|meta| part.at < meta.committed);
        if copying.from != part.asked || is_old {
            took(Path::OtherPart);
            return Ok(PartOutcome::Ignored);
        }
        part.check(log.keys(), copying.from.is_none(), context)?;
        let bytes = part.kept.iter().map(Kept::bytes).sum();
        context.pace.took(bytes, context.now_us, context.timing.copy_bytes_per_s);
        if context.store.install(log.range(), &part.kept).is_none() {
            // It asks for it again.
            took(Path::LearnerWaits);
            return Ok(PartOutcome::Ignored);
        }
        if let Some(meta) = part.meta {
            copying.began = Some(meta);
        }
        copying.from = part.next;
        copying.bytes += bytes as u64;
        self.copied_bytes += bytes as u64;
        copying.forgotten = copying.forgotten.max(part.forgotten);
        if part.next.is_none() {
            let Some(meta) = copying.began.take() else { return Ok(PartOutcome::Ignored) };
            let forgotten = copying.forgotten;
            log.install(meta, forgotten, context);
            (self.copying, self.complete) = (None, true);
        }
        Ok(PartOutcome::Installed)
    }

    /// Bytes that have come in copies.
    pub(super) fn copied_bytes(&self) -> u64 {
        self.copied_bytes
    }

    /// How far the copy is that is under way, for an operator.
    pub(super) fn figures(&self, keys: &Interval) -> Option<CopyFigures> {
        let Copying { from, bytes, .. } = self.copying.as_ref()?;
        Some(CopyFigures { permille: from.map_or(0, |from| share(from, keys)), bytes: *bytes })
    }
}

/// Of a thousand parts of `keys`, how many are before `at`.
fn share(at: Key, keys: &Interval) -> u32 {
    let place = |key: Key| u128::from(u64::from_be_bytes(key.0[..8].try_into().expect("eight bytes")));
    let (low, high) = (place(keys.low), place(keys.high).max(place(keys.low) + 1));
    (place(at).saturating_sub(low) * 1000 / (high - low)).min(1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::wedge_fence::tests::{ME, Plain, SECRET, step_part};
    use crate::ids::{Epoch, RangeId};

    #[test]
    fn a_copy_is_as_far_as_the_keys_before_it() {
        let half = Interval::ALL.divide(2)[1].low;
        assert_eq!([Key::MIN, half, Key::MAX].map(|at| share(at, &Interval::ALL)), [0, 500, 1000]);
        let upper = Interval::new(half, Key::MAX);
        assert_eq!([half, Key::MAX].map(|at| share(at, &upper)), [0, 1000]);
    }

    fn at(seq: u64) -> Position {
        Position { epoch: Epoch(1), seq: Seq(seq) }
    }

    #[test]
    fn a_copy_is_complete_with_its_last_part_and_as_of_when_it_began() {
        let mut log = RangeLog::new((RangeId(0), Interval::ALL, ME), Meta::default(), Vec::new(), &SECRET);
        let (mut copy, half) = (LocalCopy::new(false), Interval::ALL.divide(2)[1].low);
        assert!(copy.is_stuck());
        copy.copy_all();
        let mut take = |copy: &mut LocalCopy, since, asked, next, read_at, is_first: bool| {
            let meta = is_first.then(|| Meta { committed: at(read_at), ..Meta::default() });
            let part =
                CopyPart { asked, since, kept: Vec::new(), next, at: at(read_at), forgotten: Seq(read_at), meta };
            let outcome = step_part(&mut Plain::default(), |context| copy.take_part(part, &mut log, context)).0;
            (outcome, log.committed())
        };
        let (all, none) = (Position::default(), Position::default());
        assert_eq!(take(&mut copy, all, Some(half), None, 9, false), (Ok(PartOutcome::Ignored), none));
        assert!(take(&mut copy, all, None, Some(half), 9, false).0.is_err(), "the first says what is committed");
        assert_eq!(take(&mut copy, all, None, Some(half), 9, true), (Ok(PartOutcome::Installed), none));
        assert!(copy.has_begun() && copy.figures(&Interval::ALL).is_some_and(|figures| figures.permille == 500));
        assert_eq!(take(&mut copy, all, Some(half), None, 8, false), (Ok(PartOutcome::Ignored), none));
        assert_eq!(take(&mut copy, all, Some(half), None, 12, false), (Ok(PartOutcome::Installed), at(9)));
        assert!(copy.is_complete() && copy.figures(&Interval::ALL).is_none());
        copy.copy_since(at(9));
        assert!(!copy.is_complete() && !copy.is_stuck());
        assert_eq!(take(&mut copy, at(3), None, None, 20, true), (Ok(PartOutcome::Ignored), at(9)));
        assert_eq!(take(&mut copy, all, None, None, 20, true), (Ok(PartOutcome::Restart), at(9)));
    }
}
