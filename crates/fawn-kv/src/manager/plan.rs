//! Who is to be in a chain, and how a change of it is driven to its end.

use super::lead::{Effects, Manager};
use super::state::{Command, Pending};
use crate::ids::{Address, Chain, Incarnation, Member, NodeId, Position, RangeId, Seq};
use crate::message::Message;
use crate::planted::{Bug, planted};

impl Manager {
    fn is_alive(&self, member: Member, now_us: u64) -> bool {
        self.state.lives(member)
            && self
                .heard
                .get(&member.node)
                .is_some_and(|heard| heard.member == member && now_us < heard.at_us + self.timing.dead_us)
    }

    /// The nodes that live, the most wanted for the range first.
    fn wanted(&self, range: RangeId, now_us: u64) -> Vec<Member> {
        let mut alive: Vec<Member> =
            self.heard.values().map(|heard| heard.member).filter(|member| self.is_alive(*member, now_us)).collect();
        alive.sort_by_key(|member| rank(range, member.node));
        alive
    }

    /// Looks whether the range's chain is as it should be.
    pub(super) fn plan(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        if self.state.ranges[&id].pending.is_some() {
            return self.drive(id, now_us, effects);
        }
        if self.proposed_us.get(&id).is_some_and(|at| now_us < at + self.timing.resend_us) {
            return;
        }
        let range = &self.state.ranges[&id];
        let alive = self.alive(id, now_us);
        if range.chain.epoch.0 == 0 || alive.len() < range.chain.members.len() {
            return self.mend(id, &alive, now_us, effects);
        }
        let wanted = self.wanted(id, now_us);
        let best = &wanted[..self.replicas.min(wanted.len())];
        let missing = best.iter().find(|member| range.chain.place(**member).is_none()).copied();
        let learner = range.learner.filter(|learner| self.is_alive(*learner, now_us));
        match (learner, missing) {
            (Some(learner), Some(_)) if self.is_caught_up(id, learner) => {
                let mut target = alive.clone();
                target.push(learner);
                target.sort_by_key(|member| rank(id, member.node));
                target.truncate(self.replicas);
                let source = *alive.last().expect("an active chain has members");
                let source = if planted(Bug::LearnerAsSource) { learner } else { source };
                self.begin(id, target, Some(source), now_us, effects);
            }
            (Some(learner), Some(missing)) if learner == missing => {
                let source = *alive.last().expect("an active chain has members");
                let over = range.attempt;
                let message = Message::Learn { incarnation: learner.incarnation, range: id, source, over };
                effects.send.push((Address::Node(learner.node), message));
                self.proposed_us.insert(id, now_us);
            }
            (_, missing) if missing != range.learner => {
                self.proposed_us.insert(id, now_us);
                effects.propose.push(Command::Learner { range: id, learner: missing });
            }
            _ => {}
        }
    }

    fn is_caught_up(&self, range: RangeId, learner: Member) -> bool {
        let heard = self.heard.get(&learner.node).filter(|heard| heard.member == learner);
        heard.and_then(|heard| heard.reports.get(&range)).is_some_and(|report| report.caught_up)
    }

    /// The members of the range's chain that live, in their order.
    fn alive(&self, id: RangeId, now_us: u64) -> Vec<Member> {
        let members = self.state.ranges[&id].chain.members.iter().copied();
        members.filter(|member| self.is_alive(*member, now_us)).collect()
    }

    /// There is no chain yet, or members of it are gone; `alive` are not.
    fn mend(&mut self, id: RangeId, alive: &[Member], now_us: u64, effects: &mut Effects) {
        if self.state.ranges[&id].chain.epoch.0 == 0 {
            let mut wanted = self.wanted(id, now_us);
            if wanted.len() >= self.replicas {
                wanted.truncate(self.replicas);
                self.begin(id, wanted, None, now_us, effects);
            }
            return;
        }
        if let Some(source) = alive.last() {
            self.begin(id, alive.to_vec(), Some(*source), now_us, effects);
            return;
        }
        // Nobody of the chain lives as the member that it was. Whoever was a member, and lives again, has everything
        // that was acknowledged.
        let chain = &self.state.ranges[&id].chain;
        let mut back: Vec<(Position, Member)> = Vec::new();
        let nodes: Vec<NodeId> = if planted(Bug::ReviveFromAnyone) {
            self.heard.keys().copied().collect()
        } else {
            chain.members.iter().map(|old| old.node).collect()
        };
        for old in nodes {
            let Some(heard) = self.heard.get(&old).filter(|heard| self.is_alive(heard.member, now_us)) else {
                continue;
            };
            let report = heard.reports.get(&id);
            let any = planted(Bug::ReviveFromAnyone);
            if let Some(report) = report.filter(|report| report.held >= Some(chain.attempt) || any) {
                back.push((report.last, heard.member));
            }
        }
        if let Some((_, source)) = back.iter().max().copied() {
            let target = back.into_iter().map(|(_, member)| member).collect();
            self.begin(id, target, Some(source), now_us, effects);
        }
    }

    fn begin(&mut self, id: RangeId, target: Vec<Member>, source: Option<Member>, now_us: u64, effects: &mut Effects) {
        let attempt = self.state.ranges[&id].attempt.next();
        self.proposed_us.insert(id, now_us);
        effects.propose.push(Command::Begin { range: id, attempt, target, source });
    }

    /// Drives the attempt that is under way: seal, equalise, activate; or supersedes it.
    pub(super) fn drive(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        if self.proposed_us.get(&id).is_some_and(|at| now_us < at + self.timing.resend_us) {
            return;
        }
        let range = &self.state.ranges[&id];
        let Some(Pending { target, source }) = range.pending.clone() else { return };
        let gone = target.iter().any(|member| !self.is_alive(*member, now_us));
        let late = |begun: u64| now_us >= begun + self.timing.attempt_us;
        let source = if planted(Bug::SourceChosenAgain) {
            let sealed = self.drives.get(&id).into_iter().flat_map(|drive| &drive.sealed);
            source.and(sealed.max_by_key(|(_, (last, _))| *last).map(|(member, _)| *member))
        } else {
            source
        };
        let Some(drive) = self.drives.get(&id).filter(|drive| !gone && !late(drive.begun_us)) else {
            return self.supersede(id, now_us, effects);
        };
        let source_end = match source {
            None => Some((Position::default(), None)),
            Some(source) => drive.sealed.get(&source).copied(),
        };
        let quiet = |member: &Member| {
            planted(Bug::NoLeaseWait) || drive.sealed.contains_key(member) || self.has_no_lease(*member, now_us)
        };
        let all_sealed = target.iter().all(|member| drive.sealed.contains_key(member));
        let ready = source_end.filter(|_| all_sealed && range.chain.members.iter().all(quiet));
        let Some((last, held)) = ready else {
            return self.send_seals(id, now_us, effects);
        };
        let anyone = planted(Bug::LearnerAsSource) || planted(Bug::ReviveFromAnyone) || planted(Bug::SourceChosenAgain);
        if source.is_some() && held < Some(range.chain.attempt) && !anyone {
            return self.supersede(id, now_us, effects);
        }
        let early = planted(Bug::ActivateBeforeLevel) && !drive.level.is_empty();
        if early || target.iter().all(|member| drive.level.contains(member)) {
            self.proposed_us.insert(id, now_us);
            let (attempt, first) = (range.attempt, Seq(last.seq.0 + 1));
            if planted(Bug::ActBeforeCommit) {
                let chain = Chain { epoch: range.chain.epoch.next(), attempt, members: target.clone(), first };
                for member in &target {
                    let chain = chain.clone();
                    let message = Message::Activate { incarnation: member.incarnation, range: id, chain };
                    effects.send.push((Address::Node(member.node), message));
                }
            }
            effects.propose.push(Command::Activate { range: id, attempt, first });
            return;
        }
        let attempt = range.attempt;
        let rest = target.into_iter().filter(|member| !drive.level.contains(member)).collect();
        self.send_for(id, rest, now_us, effects, |incarnation| Message::Equalise {
            incarnation,
            range: id,
            attempt,
            source,
            last,
        });
    }

    /// Tells whoever was in the chain, and whoever is to be, to seal.
    fn send_seals(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        let range = &self.state.ranges[&id];
        let (attempt, sealed) = (range.attempt, &self.drives[&id].sealed);
        let target = range.pending.iter().flat_map(|pending| &pending.target);
        let mut rest: Vec<Member> = range.chain.members.iter().chain(target).copied().collect();
        rest.retain(|member| !sealed.contains_key(member));
        rest.sort_unstable();
        rest.dedup();
        self.send_for(id, rest, now_us, effects, |incarnation| Message::Seal { incarnation, range: id, attempt });
    }

    /// Sends a message of the attempt, not too often.
    fn send_for(
        &mut self,
        id: RangeId,
        to: Vec<Member>,
        now_us: u64,
        effects: &mut Effects,
        message: impl Fn(Incarnation) -> Message,
    ) {
        let resend_us = self.timing.resend_us;
        let drive = self.drives.get_mut(&id).expect("an attempt is driven");
        let step = usize::from(matches!(message(Incarnation(0)), Message::Equalise { .. }));
        if drive.sent_us[step].is_some_and(|sent| now_us < sent + resend_us) {
            return;
        }
        drive.sent_us[step] = Some(now_us);
        effects.send.extend(to.into_iter().map(|to| (Address::Node(to.node), message(to.incarnation))));
    }

    /// A begun attempt is never taken back: another one takes its place.
    fn supersede(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        let alive = self.alive(id, now_us);
        self.mend(id, &alive, now_us, effects);
    }
}

/// Orders nodes for a range, each range otherwise.
fn rank(range: RangeId, node: NodeId) -> u64 {
    let mixed = (u64::from(range.0) << 32 | u64::from(node.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}
