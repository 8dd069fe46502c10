//! How an attempt is driven to its end: seal, equalise, activate.

use super::leader::{Drive, Effects, Manager};
use super::state::{Command, Into, Pending};
use crate::ids::{Ack, Address, Attempt, Chain, Member, Position, RangeId, Seq};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;

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

impl Drive {
    /// Whether a member's log is known to be like the source's, which ends at `last`, and durable.
    fn is_level(&self, member: Member, last: Position) -> bool {
        let ends_there = self.sealed.get(&member) == Some(&last) || planted(Bug::LevelAnyEnd);
        self.level.contains(&member) || (self.synced.contains(&member) && ends_there)
    }
}

impl Manager {
    /// Drives the attempt that is under way, or supersedes it.
    pub(super) fn drive(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        if self.proposed_us.get(&id).is_some_and(|at| now_us < at + self.timing.resend_us) {
            return;
        }
        let Some(Pending { target, source, into }) = self.state.ranges[&id].pending.clone() else { return };
        match self.next(id, now_us) {
            Next::Never => {
                if self.awaits_members(id, now_us) {
                    return took(Path::SupersedeWaits);
                }
                // A begun attempt is never taken back: another one takes its place.
                let alive = self.alive(id, now_us);
                self.mend_or_begin_again(id, &alive, now_us, effects);
            }
            Next::Prepared => self.send_prepare(id, now_us, effects),
            Next::Seals => self.send_seals(id, now_us, effects),
            Next::Logs(last) => self.send_equalise(id, &target, source, last, now_us, effects),
            Next::Nothing(last) => match into {
                Into::Itself | Into::Split { .. } => self.activate(id, last, now_us, effects),
                Into::Merge { upper } => self.activate_merged(id, upper, now_us, effects),
                Into::MergedBy { lower } => {
                    if self.state.ranges.contains_key(&lower) {
                        self.drive(lower, now_us, effects);
                    }
                }
            },
        }
    }

    /// Whether a member of the chain, or of the one that is to be, may live that this leader has yet to hear.
    fn awaits_members(&self, id: RangeId, now_us: u64) -> bool {
        let range = &self.state.ranges[&id];
        let target = range.pending.iter().flat_map(|pending| &pending.target);
        range.chain.members.iter().chain(target).any(|member| self.may_live(*member, now_us))
    }

    fn mend_or_begin_again(&mut self, id: RangeId, alive: &[Member], now_us: u64, effects: &mut Effects) {
        if self.state.ranges[&id].chain.epoch.0 > 0 {
            return self.mend(id, alive, now_us, effects);
        }
        self.first(id, now_us, effects);
    }

    /// Whether a member that has sealed has what it must, as the attempt's source if it is that. It may still have to hear
    /// what its range comes of.
    pub(super) fn may_be_source(&self, id: RangeId, member: Member, held: Option<Attempt>) -> bool {
        let Some(range) = self.state.ranges.get(&id) else { return false };
        let is_source = range.pending.as_ref().is_some_and(|pending| pending.source == Some(member));
        let anyone = planted(Bug::LearnerAsSource) || planted(Bug::ReviveFromAnyone) || planted(Bug::SourceChosenAgain);
        !is_source || held >= Some(range.chain.attempt) || anyone
    }

    fn next(&self, id: RangeId, now_us: u64) -> Next {
        let range = &self.state.ranges[&id];
        let Some(Pending { target, source, .. }) = &range.pending else { return Next::Never };
        let gone = target.iter().any(|member| !self.is_alive(*member, now_us));
        let late = |begun: u64| now_us >= begun + self.timing.attempt_us;
        let Some(drive) = self.drives.get(&id).filter(|drive| !gone && !late(drive.begun_us)) else {
            return Next::Never;
        };
        if self.to_prepare(id, now_us).next().is_some() {
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
            planted(Bug::NoLeaseWait) || drive.sealed.contains_key(member) || self.has_no_lease(*member, now_us)
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
    fn to_prepare(&self, id: RangeId, now_us: u64) -> impl Iterator<Item = Member> {
        let (range, drive) = (&self.state.ranges[&id], &self.drives[&id]);
        let (members, pending) = (&range.chain.members, range.pending.as_ref());
        let is_planned = drive.sealed.is_empty()
            && now_us < drive.begun_us + self.timing.resend_us
            && !range.chain.is_weak()
            && members.iter().all(|member| self.is_alive(*member, now_us));
        let stay = members.iter().filter(move |member| pending.is_some_and(|pending| pending.target.contains(member)));
        stay.copied().filter(move |member| is_planned && !drive.prepared.contains(member))
    }

    fn send_prepare(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        let attempt = self.state.ranges[&id].attempt;
        let order = |to: Member| (to, Message::Prepare { incarnation: to.incarnation, range: id, attempt });
        let orders = self.to_prepare(id, now_us).map(order).collect();
        self.send_for(id, 0, orders, now_us, effects);
    }

    fn activate(&mut self, id: RangeId, after: Position, now_us: u64, effects: &mut Effects) {
        self.proposed_us.insert(id, now_us);
        let range = &self.state.ranges[&id];
        if range.chain.members.iter().any(|member| !self.drives[&id].sealed.contains_key(member)) {
            took(Path::LeaseWaited);
        }
        // What was acknowledged and never synced has numbers that nobody may get again; so has perhaps all that the last chain
        // has given out, from its first. Nor may any below that, whether the chain has begun or not.
        let revives = range
            .pending
            .iter()
            .filter_map(|pending| pending.source)
            .any(|source| range.chain.rules.ack == Ack::Replicated && range.chain.place(source).is_none());
        let (attempt, end, begun) = (range.attempt, self.highest(id, after).seq, range.chain.first);
        let first = if revives && !planted(Bug::NumbersAgain) {
            Seq(end.max(begun).0 + 2 * u64::from(range.chain.rules.unsynced)).next()
        } else {
            end.next().max(begun)
        };
        let Some(Pending { target, into, .. }) = range.pending.clone() else { return };
        if planted(Bug::ActBeforeCommit) && into == Into::Itself {
            let chain = &range.chain;
            let (epoch, rules) = (chain.epoch.next(), self.state.settings.rules);
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
    fn activate_merged(&mut self, lower: RangeId, upper: RangeId, now_us: u64, effects: &mut Effects) {
        let (Next::Nothing(one), Next::Nothing(other)) = (self.next(lower, now_us), self.next(upper, now_us)) else {
            return;
        };
        for range in [lower, upper] {
            self.proposed_us.insert(range, now_us);
        }
        // Numbers never restart: the first is above those of both.
        let (one, other) = (self.highest(lower, one), self.highest(upper, other));
        let epoch = one.epoch.max(other.epoch);
        let after = Position { epoch, seq: one.seq.max(other.seq) };
        let [lower_range, upper_range] = [lower, upper].map(|id| &self.state.ranges[&id]);
        let first = after.seq.next().max(lower_range.chain.first).max(upper_range.chain.first);
        let attempt = lower_range.attempt;
        effects.propose.push(Command::Activate { range: lower, attempt, into: Into::Merge { upper }, after, first });
    }

    /// A place that no log is beyond that the next chain goes on from; they end at `last`, but in a weak chain each where it
    /// does.
    fn highest(&self, id: RangeId, last: Position) -> Position {
        if !self.is_weak(id) || planted(Bug::WeakNumbersFromOwner) {
            return last;
        }
        let ends = self.drives[&id].sealed.values();
        ends.fold(last, |high, end| Position { epoch: high.epoch.max(end.epoch), seq: high.seq.max(end.seq) })
    }

    /// Whose log a member of the next chain is to have: in a weak chain whoever was in the chain keeps its own, and so do
    /// all that revive it.
    fn source_for(&self, id: RangeId, member: Member, source: Option<Member>) -> Option<Member> {
        let chain = &self.state.ranges[&id].chain;
        let revives = source.is_some_and(|source| chain.place(source).is_none());
        let keeps = chain.is_weak() && (revives || chain.place(member).is_some());
        source.map(|source| if keeps { member } else { source })
    }

    fn send_equalise(
        &mut self,
        id: RangeId,
        target: &[Member],
        source: Option<Member>,
        last: Position,
        now_us: u64,
        effects: &mut Effects,
    ) {
        let (attempt, drive) = (self.state.ranges[&id].attempt, &self.drives[&id]);
        let source = if planted(Bug::SourceChosenAgain) {
            let sealed = &self.drives[&id].sealed;
            source.and(sealed.iter().max_by_key(|(_, last)| **last).map(|(member, _)| *member))
        } else {
            source
        };
        let rest = target.iter().filter(|member| !drive.is_level(**member, last));
        let orders = rest.map(|member| {
            let source = self.source_for(id, *member, source);
            let end = source.filter(|source| source == member).and_then(|own| self.drives[&id].sealed.get(&own));
            let last = end.copied().unwrap_or(last);
            (*member, Message::Equalise { incarnation: member.incarnation, range: id, attempt, source, last })
        });
        let orders = orders.collect();
        self.send_for(id, 2, orders, now_us, effects);
    }

    /// Tells whoever was in the chain, and whoever is to be, to seal.
    fn send_seals(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        let range = &self.state.ranges[&id];
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
        self.send_for(id, 1, orders, now_us, effects);
    }

    /// Sends the orders of a step of the attempt, not too often.
    fn send_for(
        &mut self,
        id: RangeId,
        step: usize,
        orders: Vec<(Member, Message)>,
        now_us: u64,
        effects: &mut Effects,
    ) {
        let resend_us = self.timing.resend_us;
        let drive = self.drives.get_mut(&id).expect("an attempt is driven");
        if drive.sent_us[step].is_some_and(|sent| now_us < sent + resend_us) {
            return;
        }
        drive.sent_us[step] = Some(now_us);
        effects.send.extend(orders.into_iter().map(|(to, order)| (Address::Node(to.node), order)));
    }
}
