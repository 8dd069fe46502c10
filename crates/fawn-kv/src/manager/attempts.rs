//! How an attempt is driven to its end: seal, equalise, activate.

use super::effects::Effects;
use super::lease::NodeLeases;
use super::plan::{NewAttempt, Placement, PlanStep};
use super::range_proposals::RangeProposals;
use super::state::{Command, Into, Pending, State};
use crate::ids::{Ack, Address, Attempt, Chain, Member, Position, RangeId, Seq};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use std::collections::{BTreeMap, BTreeSet};

/// What an attempt waits for.
enum Next {
    /// Members that write beforehand what they can.
    Prepared,
    /// Seals.
    Seals,
    /// Logs like the source's, which ends there.
    Logs(Position),
    /// Nothing: every log ends there.
    Nothing(Position),
    /// Nothing will come of it.
    Never,
}

/// How far an attempt is.
#[derive(Debug, Default)]
struct Drive {
    attempt: Attempt,
    begun_us: u64,
    /// Who has written beforehand what has to be durable.
    prepared: BTreeSet<Member>,
    /// Who has sealed, and where its log ends.
    sealed: BTreeMap<Member, Position>,
    /// Whose log is durable up to there, so that it is level if the source's ends there.
    synced: BTreeSet<Member>,
    /// Who has been made level.
    level: BTreeSet<Member>,
    /// When orders to prepare, seals, and orders to equalise were last sent for it.
    sent_us: [Option<u64>; 3],
}

impl Drive {
    /// Whether a member's log is known to be like the source's, which ends at `last`, and durable.
    fn is_level(&self, member: Member, last: Position) -> bool {
        let ends_there = self.sealed.get(&member) == Some(&last) || planted(Bug::LevelAnyEnd);
        self.level.contains(&member) || (self.synced.contains(&member) && ends_there)
    }
}

/// The attempts that this leader drives, and what it has proposed for ranges.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    drives: BTreeMap<RangeId, Drive>,
    proposals: RangeProposals,
}

impl Attempts {
    /// Nothing is under way.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// An attempt was decided on.
    pub(super) fn start(&mut self, range: RangeId, attempt: Attempt, now_us: u64) {
        self.drives.insert(range, Drive { attempt, begun_us: now_us, ..Drive::default() });
        self.proposals.remove(range);
    }

    /// The attempt of a range has come to its end. Returns who has sealed for it.
    pub(super) fn end(&mut self, range: RangeId) -> impl Iterator<Item = Member> {
        self.proposals.remove(range);
        self.drives.remove(&range).into_iter().flat_map(|drive| drive.sealed.into_keys())
    }

    /// What was proposed for a range is decided.
    pub(super) fn decide(&mut self, range: RangeId) {
        self.proposals.remove(range);
    }

    /// Whether a chain that the node is in is being changed, and it has not said yet that it answers no more reads in it.
    pub(super) fn must_seal(&self, member: Member, state: &State) -> bool {
        if planted(Bug::GrantWhileSealing) {
            return false;
        }
        let ranges = state.by_node.get(&member.node).into_iter().flatten();
        ranges.filter(|id| state.under_way.contains(id)).any(|id| {
            let sealed = self.drives.get(id).is_some_and(|drive| drive.sealed.contains_key(&member));
            state.ranges[id].chain.place(member).is_some() && !sealed
        })
    }

    fn drive_of(&mut self, range: RangeId, attempt: Attempt) -> Option<&mut Drive> {
        self.drives.get_mut(&range).filter(|drive| drive.attempt == attempt)
    }

    /// A member has written beforehand what has to be durable. Returns whether the attempt is under way.
    pub(super) fn note_prepared(&mut self, member: Member, range: RangeId, attempt: Attempt) -> bool {
        self.drive_of(range, attempt).map(|drive| drive.prepared.insert(member)).is_some()
    }

    /// A member has sealed; `held` is the attempt as of which it has all of the range. Returns whether that counts, for the
    /// attempt that is under way.
    pub(super) fn note_sealed(
        &mut self,
        member: Member,
        (range, attempt): (RangeId, Attempt),
        (last, is_synced): (Position, bool),
        held: Option<Attempt>,
        state: &State,
    ) -> bool {
        if !may_be_source(range, member, held, state) {
            return false;
        }
        let Some(drive) = self.drive_of(range, attempt) else { return false };
        drive.sealed.insert(member, last);
        if is_synced {
            drive.synced.insert(member);
        }
        true
    }

    /// A member's log has been made level. Returns whether the attempt is under way.
    pub(super) fn note_level(&mut self, member: Member, range: RangeId, attempt: Attempt) -> bool {
        self.drive_of(range, attempt).map(|drive| drive.level.insert(member)).is_some()
    }

    /// Takes the next step for a range; whether there is none.
    pub(super) fn advance(
        &mut self,
        id: RangeId,
        placement: &Placement<'_>,
        leases: &NodeLeases,
        effects: &mut Effects,
    ) -> bool {
        let Some(range) = placement.state().ranges.get(&id) else { return true };
        if range.pending.is_some() {
            self.drive(id, placement, leases, effects);
            return false;
        }
        if self.proposals.is_fresh(id, placement.view.timing(), placement.now_us) {
            return false;
        }
        match placement.plan(id, &self.proposals) {
            PlanStep::None => return true,
            PlanStep::Wait => {}
            PlanStep::Begin(new) => self.begin(id, new, placement, effects),
            PlanStep::Teach { learner, source } => {
                let (incarnation, over, keys) = (learner.incarnation, range.attempt, range.chain.keys);
                let consistency = range.chain.rules.consistency;
                let message = Message::Learn { incarnation, range: id, keys, source, over, consistency };
                effects.send.push((Address::Node(learner.node), message));
                self.proposals.add(id, placement.now_us);
            }
            PlanStep::Learner(learner) => {
                self.proposals.add(id, placement.now_us);
                effects.propose.push(Command::Learner { range: id, learner });
            }
        }
        false
    }

    fn begin(&mut self, id: RangeId, new: NewAttempt, placement: &Placement<'_>, effects: &mut Effects) {
        let NewAttempt { target, source, into } = new;
        let ranges = &placement.state().ranges;
        if ranges[&id].pending.is_some() {
            took(match self.drives.get(&id) {
                None => Path::NewLeaderSupersedes,
                Some(drive) if drive.sent_us[2].is_some() => Path::FailedInEqualise,
                Some(_) => Path::FailedInSeal,
            });
        }
        let mut highest = ranges[&id].attempt;
        if let Into::Merge { upper } = into {
            highest = highest.max(ranges[&upper].attempt);
            self.proposals.add(upper, placement.now_us);
        }
        self.proposals.add(id, placement.now_us);
        effects.propose.push(Command::Begin { range: id, attempt: highest.next(), target, source, into });
    }

    /// Drives the attempt that is under way, or supersedes it.
    pub(super) fn drive(&mut self, id: RangeId, placement: &Placement<'_>, leases: &NodeLeases, effects: &mut Effects) {
        if self.proposals.is_fresh(id, placement.view.timing(), placement.now_us) {
            return;
        }
        let Some(Pending { target, source, into }) = placement.state().ranges[&id].pending.clone() else { return };
        match self.next(id, placement, leases) {
            Next::Never => {
                if placement.awaits_members(id) {
                    return took(Path::SupersedeWaits);
                }
                // A begun attempt is never taken back: another one takes its place.
                if let Some(new) = placement.mend_or_begin_again(id) {
                    self.begin(id, new, placement, effects);
                }
            }
            Next::Prepared => self.send_prepare(id, placement, effects),
            Next::Seals => self.send_seals(id, placement, effects),
            Next::Logs(last) => self.send_equalise(id, (&target, source), last, placement, effects),
            Next::Nothing(last) => match into {
                Into::Itself | Into::Split { .. } => self.activate(id, last, placement, effects),
                Into::Merge { upper } => self.activate_merged(id, upper, placement, leases, effects),
                Into::MergedBy { lower } => {
                    if placement.state().ranges.contains_key(&lower) {
                        self.drive(lower, placement, leases, effects);
                    }
                }
            },
        }
    }

    fn next(&self, id: RangeId, placement: &Placement<'_>, leases: &NodeLeases) -> Next {
        let (range, now_us) = (&placement.state().ranges[&id], placement.now_us);
        let Some(Pending { target, source, .. }) = &range.pending else { return Next::Never };
        let gone = target.iter().any(|member| !placement.is_alive(*member));
        let late = |begun: u64| now_us >= begun + placement.view.timing().attempt_us;
        let Some(drive) = self.drives.get(&id).filter(|drive| !gone && !late(drive.begun_us)) else {
            return Next::Never;
        };
        if self.to_prepare(id, placement).next().is_some() {
            return Next::Prepared;
        }
        let source = if planted(Bug::SourceChosenAgain) {
            source.and(drive.sealed.iter().max_by_key(|(_, last)| **last).map(|(member, _)| *member))
        } else {
            *source
        };
        let source_end = match source {
            None => Some(Position::default()),
            Some(source) => drive.sealed.get(&source).copied(),
        };
        let quiet = |member: &Member| {
            planted(Bug::NoLeaseWait)
                || drive.sealed.contains_key(member)
                || leases.has_none(*member, placement.view, now_us)
        };
        let all_sealed = target.iter().all(|member| drive.sealed.contains_key(member));
        let ready = source_end.filter(|_| all_sealed && range.chain.members.iter().all(quiet));
        let Some(last) = ready else { return Next::Seals };
        let early = planted(Bug::ActivateBeforeLevel) && !drive.level.is_empty();
        if early || target.iter().all(|member| drive.is_level(*member, last)) {
            if !target.iter().all(|member| drive.level.contains(member)) {
                took(Path::LevelAtSeal);
            }
            return Next::Nothing(last);
        }
        Next::Logs(last)
    }

    /// Members that stay, and have yet to prepare: while all of the chain live, and for a short time, so that a change that
    /// mends a chain does not wait.
    fn to_prepare(&self, id: RangeId, placement: &Placement<'_>) -> impl Iterator<Item = Member> {
        let (range, drive) = (&placement.state().ranges[&id], &self.drives[&id]);
        let (members, pending) = (&range.chain.members, range.pending.as_ref());
        let is_planned = drive.sealed.is_empty()
            && placement.now_us < drive.begun_us + placement.view.timing().resend_us
            && !range.chain.is_weak()
            && members.iter().all(|member| placement.is_alive(*member));
        let stay = members.iter().filter(move |member| pending.is_some_and(|pending| pending.target.contains(member)));
        stay.copied().filter(move |member| is_planned && !drive.prepared.contains(member))
    }

    fn send_prepare(&mut self, id: RangeId, placement: &Placement<'_>, effects: &mut Effects) {
        let attempt = placement.state().ranges[&id].attempt;
        let order = |to: Member| (to, Message::Prepare { incarnation: to.incarnation, range: id, attempt });
        let orders = self.to_prepare(id, placement).map(order).collect();
        self.send_for(id, 0, orders, placement, effects);
    }

    fn activate(&mut self, id: RangeId, after: Position, placement: &Placement<'_>, effects: &mut Effects) {
        self.proposals.add(id, placement.now_us);
        let range = &placement.state().ranges[&id];
        if range.chain.members.iter().any(|member| !self.drives[&id].sealed.contains_key(member)) {
            took(Path::LeaseWaited);
        }
        // What was acknowledged and never synced has numbers that nobody may get again; so has perhaps all that the last chain
        // has given out, from its first. Nor may any below that, whether the chain has begun or not.
        let revives = range
            .pending
            .iter()
            .filter_map(|pending| pending.source)
            .any(|source| acknowledges_unsynced(&range.chain) && range.chain.place(source).is_none());
        let (attempt, end, begun) = (range.attempt, self.highest(id, after, placement.state()).seq, range.chain.first);
        let first = if revives && !planted(Bug::NumbersAgain) {
            Seq(end.max(begun).0 + 2 * u64::from(range.chain.rules.unsynced)).next()
        } else {
            end.next().max(begun)
        };
        let Some(Pending { target, into, .. }) = range.pending.clone() else { return };
        if planted(Bug::ActBeforeCommit) && into == Into::Itself {
            let chain = &range.chain;
            let (epoch, rules) = (chain.epoch.next(), placement.view.settings().rules);
            let chain = Chain { keys: chain.keys, epoch, attempt, members: target.clone(), after, first, rules };
            for member in &target {
                let chains = vec![(id, chain.clone())];
                let message = Message::Activate { incarnation: member.incarnation, attempt, over: Vec::new(), chains };
                effects.send.push((Address::Node(member.node), message));
            }
        }
        effects.propose.push(Command::Activate { range: id, attempt, into, after, first });
    }

    /// Both ranges of a merge have to be level.
    fn activate_merged(
        &mut self,
        lower: RangeId,
        upper: RangeId,
        placement: &Placement<'_>,
        leases: &NodeLeases,
        effects: &mut Effects,
    ) {
        let ends = [lower, upper].map(|range| self.next(range, placement, leases));
        let [Next::Nothing(one), Next::Nothing(other)] = ends else { return };
        for range in [lower, upper] {
            self.proposals.add(range, placement.now_us);
        }
        let state = placement.state();
        // Numbers never restart: the first is above those of both.
        let (one, other) = (self.highest(lower, one, state), self.highest(upper, other, state));
        let epoch = one.epoch.max(other.epoch);
        let after = Position { epoch, seq: one.seq.max(other.seq) };
        let [lower_range, upper_range] = [lower, upper].map(|id| &state.ranges[&id]);
        let first = after.seq.next().max(lower_range.chain.first).max(upper_range.chain.first);
        let attempt = lower_range.attempt;
        effects.propose.push(Command::Activate { range: lower, attempt, into: Into::Merge { upper }, after, first });
    }

    /// A place that no log is beyond that the next chain goes on from; they end at `last`, but in a weak chain each where it
    /// does.
    fn highest(&self, id: RangeId, last: Position, state: &State) -> Position {
        if !state.is_weak(id) || planted(Bug::WeakNumbersFromOwner) {
            return last;
        }
        let ends = self.drives[&id].sealed.values();
        ends.fold(last, |high, end| Position { epoch: high.epoch.max(end.epoch), seq: high.seq.max(end.seq) })
    }

    fn send_equalise(
        &mut self,
        id: RangeId,
        (target, source): (&[Member], Option<Member>),
        last: Position,
        placement: &Placement<'_>,
        effects: &mut Effects,
    ) {
        let (range, drive) = (&placement.state().ranges[&id], &self.drives[&id]);
        let attempt = range.attempt;
        let source = if planted(Bug::SourceChosenAgain) {
            let sealed = &self.drives[&id].sealed;
            source.and(sealed.iter().max_by_key(|(_, last)| **last).map(|(member, _)| *member))
        } else {
            source
        };
        let rest = target.iter().filter(|member| !drive.is_level(**member, last));
        let orders = rest.map(|member| {
            let source = source_for(&range.chain, *member, source);
            let end = source.filter(|source| source == member).and_then(|own| self.drives[&id].sealed.get(&own));
            let last = end.copied().unwrap_or(last);
            (*member, Message::Equalise { incarnation: member.incarnation, range: id, attempt, source, last })
        });
        let orders = orders.collect();
        self.send_for(id, 2, orders, placement, effects);
    }

    /// Tells whoever was in the chain, and whoever is to be, to seal.
    fn send_seals(&mut self, id: RangeId, placement: &Placement<'_>, effects: &mut Effects) {
        let range = &placement.state().ranges[&id];
        let (attempt, keys, sealed) = (range.attempt, range.chain.keys, &self.drives[&id].sealed);
        let target = range.pending.iter().flat_map(|pending| &pending.target);
        let mut rest: Vec<Member> = range.chain.members.iter().chain(target).copied().collect();
        rest.retain(|member| !sealed.contains_key(member));
        rest.sort_unstable();
        rest.dedup();
        // A member of the chain that is in force has all that is needed; any other has yet to show that.
        let pending = range.pending.as_ref();
        let source = pending.and_then(|pending| pending.source).filter(|source| range.chain.place(*source).is_some());
        let order = |to: Member| {
            let is_wanted = pending.is_some_and(|pending| pending.target.contains(&to)) && !range.chain.is_weak();
            let (incarnation, source) = (to.incarnation, source.filter(|_| is_wanted));
            (to, Message::Seal { incarnation, range: id, keys, attempt, source })
        };
        let orders = rest.into_iter().map(order).collect();
        self.send_for(id, 1, orders, placement, effects);
    }

    /// Sends the orders of a step of the attempt, not too often.
    fn send_for(
        &mut self,
        id: RangeId,
        step: usize,
        orders: Vec<(Member, Message)>,
        placement: &Placement<'_>,
        effects: &mut Effects,
    ) {
        let (resend_us, now_us) = (placement.view.timing().resend_us, placement.now_us);
        let drive = self.drives.get_mut(&id).expect("an attempt is driven");
        if drive.sent_us[step].is_some_and(|sent| now_us < sent + resend_us) {
            return;
        }
        drive.sent_us[step] = Some(now_us);
        effects.send.extend(orders.into_iter().map(|(to, order)| (Address::Node(to.node), order)));
    }
}

/// Whether a member that has sealed has what it must, as the attempt's source if it is that. It may still have to hear
/// what its range comes of.
fn may_be_source(id: RangeId, member: Member, held: Option<Attempt>, state: &State) -> bool {
    let Some(range) = state.ranges.get(&id) else { return false };
    let is_source = range.pending.as_ref().is_some_and(|pending| pending.source == Some(member));
    let anyone = planted(Bug::LearnerAsSource) || planted(Bug::ReviveFromAnyone) || planted(Bug::SourceChosenAgain);
    !is_source || held >= Some(range.chain.attempt) || anyone
}

/// Whose log a member of the next chain is to have: in a weak chain whoever was in the chain keeps its own, and so do
/// all that revive it.
fn source_for(chain: &Chain, member: Member, source: Option<Member>) -> Option<Member> {
    let revives = source.is_some_and(|source| chain.place(source).is_none());
    let keeps = chain.is_weak() && (revives || chain.place(member).is_some());
    source.map(|source| if keeps { member } else { source })
}

/// Whether a member of the chain may have acknowledged what it has not synced.
fn acknowledges_unsynced(chain: &Chain) -> bool {
    chain.rules.ack == Ack::Replicated || chain.members.iter().any(|member| member.node.is_archive())
}

#[cfg(test)]
mod tests {
    use super::super::connectivity::Connectivity;
    use super::super::liveness::NodeLiveness;
    use super::super::liveness::tests::beat;
    use super::super::view::LeaderView;
    use super::super::view::tests::{leading, member};
    use super::*;

    const RANGE: RangeId = RangeId(2);
    const ATTEMPT: Attempt = Attempt(1);

    /// What a leader wants done for the attempt of the range's first chain, of one member that lives.
    struct Bench {
        view: LeaderView,
        liveness: NodeLiveness,
        attempts: Attempts,
    }

    impl Bench {
        fn new() -> Self {
            let (mut view, mut liveness, mut attempts) = (leading(1, 1), NodeLiveness::default(), Attempts::default());
            let (range, attempt, into) = (RANGE, ATTEMPT, Into::Itself);
            view.apply(&Command::Begin { range, attempt, target: vec![member(1)], source: None, into }).unwrap();
            beat(&mut liveness, 1, &view, 0);
            attempts.start(range, attempt, 0);
            Self { view, liveness, attempts }
        }

        fn drive(&mut self, now_us: u64) -> Effects {
            let (view, liveness, connectivity) = (&self.view, &self.liveness, &Connectivity::default());
            let (placement, mut effects) = (Placement { view, liveness, connectivity, now_us }, Effects::default());
            self.attempts.drive(RANGE, &placement, &NodeLeases::default(), &mut effects);
            effects
        }

        fn seal(&mut self) -> bool {
            let said = (Position::default(), false);
            self.attempts.note_sealed(member(1), (RANGE, ATTEMPT), said, None, self.view.state())
        }
    }

    #[test]
    fn an_attempt_seals_then_equalises_then_activates() {
        let mut bench = Bench::new();
        let sent = |effects: Effects| effects.send.into_iter().map(|(_, message)| message).collect::<Vec<_>>();
        assert!(matches!(sent(bench.drive(0))[..], [Message::Seal { .. }]));
        assert_eq!(sent(bench.drive(1)), [], "not too often");
        assert!(bench.seal());
        assert!(matches!(sent(bench.drive(1))[..], [Message::Equalise { .. }]));
        assert!(bench.attempts.note_level(member(1), RANGE, ATTEMPT));
        let propose = bench.drive(2).propose;
        assert!(matches!(propose[..], [Command::Activate { range: RANGE, attempt: ATTEMPT, .. }]), "{propose:?}");
        assert!(bench.drive(2).propose.is_empty(), "that was proposed just now");
        bench.attempts.decide(RANGE);
        assert_eq!(bench.drive(2).propose.len(), 1);
        assert!(bench.attempts.end(RANGE).eq([member(1)]));
    }

    #[test]
    fn an_attempt_that_takes_too_long_is_superseded() {
        let mut bench = Bench::new();
        let late_us = bench.view.timing().attempt_us;
        beat(&mut bench.liveness, 1, &bench.view, late_us);
        let propose = bench.drive(late_us).propose;
        assert!(matches!(propose[..], [Command::Begin { range: RANGE, attempt: Attempt(2), .. }]), "{propose:?}");
    }

    #[test]
    fn what_is_said_of_another_attempt_does_not_count() {
        let mut bench = Bench::new();
        bench.attempts.start(RANGE, Attempt(2), 0);
        assert!(!bench.seal());
        assert!(!bench.attempts.note_prepared(member(1), RANGE, ATTEMPT));
        assert!(!bench.attempts.note_level(member(1), RANGE, ATTEMPT));
        bench.attempts.clear();
        assert!(!bench.attempts.note_prepared(member(1), RANGE, Attempt(2)));
    }

    #[test]
    fn a_member_must_seal_while_its_chain_changes() {
        let (mut view, mut attempts) = (leading(1, 1), Attempts::default());
        let (range, into, after) = (RANGE, Into::Itself, Position::default());
        let begin = |attempt, source| Command::Begin { range, attempt, target: vec![member(1)], source, into };
        view.apply(&begin(ATTEMPT, None)).unwrap();
        view.apply(&Command::Activate { range, attempt: ATTEMPT, into, after, first: Seq(1) }).unwrap();
        assert!(!attempts.must_seal(member(1), view.state()));
        view.apply(&begin(Attempt(2), Some(member(1)))).unwrap();
        assert!(attempts.must_seal(member(1), view.state()), "even if this leader does not drive the attempt yet");
        attempts.start(range, Attempt(2), 0);
        let mut seal = |held| {
            let counts = attempts.note_sealed(member(1), (range, Attempt(2)), (after, true), held, view.state());
            (counts, attempts.must_seal(member(1), view.state()))
        };
        assert_eq!(seal(None), (false, true), "the source has to have all of the range");
        assert_eq!(seal(Some(ATTEMPT)), (true, false));
    }
}
