//! Who is to be in a chain, and the next step towards it.
//!
//! The ring says who should hold what; a range gets there by itself, a step at a time, each of them one attempt:
//!
//! 1. without members that are gone: what is left of the chain goes on;
//! 2. a learner for whoever is missing, then a chain with it at its place and without the one too many;
//! 3. cut where a place of the ring is inside it, or made one with the next where none is between them any more;
//! 4. a chain of the same members, where others than its rules are set.

use super::leader::{Effects, Manager};
use super::state::{Command, Into, Standing};
use crate::ids::{Ack, Address, Health, Member, NodeId, Position, RangeId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::wire::Message;
use crate::wire::version::RELAYS;
use fawn_ring::{Key, Ring, VirtualId};
use std::collections::{BTreeMap, BTreeSet};

impl Manager {
    pub(super) fn is_alive(&self, member: Member, now_us: u64) -> bool {
        self.state.lives(member)
            && self
                .heard
                .get(&member.node)
                .is_some_and(|heard| heard.member == member && now_us < heard.at_us + self.timing.dead_us)
    }

    /// Since when a member that says that it lives has been heard without a break; another life of a node begins with
    /// nothing.
    pub(super) fn heard_since(&mut self, member: Member, now_us: u64) -> u64 {
        let before = self.heard.get(&member.node).filter(|heard| heard.member == member);
        let before = before.map(|heard| (heard.since_us, heard.at_us));
        if before.is_none() {
            let is_long = |other: &&NodeId| **other != member.node && self.is_heard_long(**other, now_us);
            let others: Vec<NodeId> = self.heard.keys().filter(is_long).copied().collect();
            self.outages.begun_anew(member.node, &others);
        }
        let is_new = self.registered.get(&member.node) == Some(&member.incarnation);
        let may_be_old = before.is_none() && !is_new && self.may_live(member, now_us);
        let goes_on = before.filter(|(_, at_us)| now_us < at_us + self.timing.dead_us);
        goes_on.map_or(if may_be_old { 0 } else { now_us }, |(since_us, _)| since_us)
    }

    /// Whether a node lives, and has for so long that others would hear it by now if they could.
    pub(super) fn is_heard_long(&self, node: NodeId, now_us: u64) -> bool {
        let heard = self.heard.get(&node).filter(|heard| self.is_alive(heard.member, now_us));
        heard.is_some_and(|heard| heard.since_us == 0 || now_us >= heard.since_us + 2 * self.timing.silent_us)
    }

    /// Whether there are other nodes that would have answered a node by now if they could. One that has just come, and that
    /// nobody is connected to yet, is none: those that were there before must not make room for it. A leader that has just
    /// begun cannot tell the two apart, and waits.
    pub(super) fn has_others_heard_long(&self, node: NodeId, now_us: u64) -> bool {
        if planted(Bug::NewcomerIsHeardLong) {
            return true;
        }
        let leads_long = self.leads_since_us.is_some_and(|since_us| now_us >= since_us + 2 * self.timing.silent_us);
        leads_long && self.heard.keys().any(|other| *other != node && self.is_heard_long(*other, now_us))
    }

    /// Nodes that are kept out of chains with others, and with which: one of the two does not hear the other.
    pub fn kept_out(&self) -> BTreeSet<(NodeId, NodeId)> {
        let order = |(one, other)| if self.worse.contains(&one) { (one, other) } else { (other, one) };
        self.outages.cut().map(order).filter(|(node, _)| self.worse.contains(node)).collect()
    }

    /// Whether a member may live although this leader has not heard it: it has not led for long enough to know.
    pub(super) fn may_live(&self, member: Member, now_us: u64) -> bool {
        let heard = self.heard.get(&member.node).is_some_and(|heard| heard.member == member);
        let is_new = self.leads_since_us.is_none_or(|since| now_us < since + self.timing.dead_us);
        !heard && is_new && self.state.lives(member)
    }

    /// Looks who lives, and who hears whom; whoever was not heard of for long loses its places.
    pub(super) fn look_who_lives(&mut self, now_us: u64, effects: &mut Effects) {
        let heard: Vec<Member> = self.heard.values().map(|heard| heard.member).collect();
        let alive: Vec<Member> = heard.into_iter().filter(|member| self.is_alive(*member, now_us)).collect();
        self.outages.pass(now_us, &self.timing);
        let cut_off = self.cut_off_from_all(&alive, now_us);
        let worse = self.worse_connected(&alive, &cut_off, now_us);
        if alive != self.lived || worse != self.worse || cut_off != self.cut_off {
            (self.lived, self.worse, self.cut_off) = (alive, worse, cut_off);
            self.unsettled.extend(self.state.ranges.keys());
        }
        // Where no other machine could take its places, whoever is away keeps them, and what it has of its ranges.
        let mut may_go = self.ring.machines() > self.state.settings.replicas as usize;
        for (id, node) in &self.state.nodes {
            let is_gone = self.is_gone(*id, now_us);
            if is_gone && node.standing == Standing::Member && !std::mem::take(&mut may_go) {
                continue;
            }
            let standing = if is_gone { Standing::Gone } else { Standing::Member };
            let was = if is_gone { Standing::Member } else { Standing::Gone };
            if node.standing == was && (is_gone || self.heard.contains_key(id)) {
                let (node, incarnation) = (*id, node.incarnation);
                effects.propose.push(Command::Stand { node, incarnation, standing });
            }
        }
        let enough = self.lived.len() >= self.state.settings.first_nodes.max(1) as usize;
        if enough && self.state.is_unformed() && !self.awaits_offers(now_us) {
            effects.propose.push(Command::Form);
        }
    }

    /// Whether a node was not heard of for so long that it is not waited for.
    fn is_gone(&self, node: NodeId, now_us: u64) -> bool {
        let last = self.heard.get(&node).map_or(self.leads_since_us.unwrap_or(now_us), |heard| heard.at_us);
        now_us >= last + self.timing.gone_us
    }

    /// Whether the members of the range's chain are chains of their own.
    pub(super) fn is_weak(&self, id: RangeId) -> bool {
        self.state.ranges.get(&id).is_some_and(|range| range.chain.is_weak())
    }

    /// Whose log whoever has none gets: the tail's, which has the least that is not committed; in a weak chain the owner's,
    /// which is what gets have shown.
    /// Rather one that stays: whoever leaves need not be waited for.
    fn source_of(&self, id: RangeId, alive: &[Member], wanted: &[Member]) -> Option<Member> {
        if self.is_weak(id) {
            return alive.first().copied();
        }
        let stays = alive.iter().rfind(|member| wanted.contains(member));
        stays.or(alive.last()).copied()
    }

    /// Nodes that no other member answers. None if that is so of all that live: then nothing is better without them. So a node
    /// counts only when the others have had time to say the same.
    fn cut_off_from_all(&self, alive: &[Member], now_us: u64) -> BTreeSet<NodeId> {
        let all_had_time = |since_us: u64| now_us >= since_us + 2 * self.timing.heartbeat_us;
        let since_us = |node: &NodeId| self.outages.since_us((*node, *node));
        let said: BTreeSet<NodeId> =
            alive.iter().map(|member| member.node).filter(|node| since_us(node).is_some()).collect();
        if said.len() == alive.len() {
            return BTreeSet::new();
        }
        said.into_iter().filter(|node| since_us(node).is_some_and(all_had_time)).collect()
    }

    /// Nodes that are cut off from all others; and of those that are cut off from each other, the ones with the most such
    /// links, until none is left. `alive` is in the order of nodes.
    fn worse_connected(&self, alive: &[Member], cut_off: &BTreeSet<NodeId>, now_us: u64) -> BTreeSet<NodeId> {
        let counts =
            |node: &NodeId| alive.binary_search_by_key(node, |member| member.node).is_ok() && !cut_off.contains(node);
        let is_link = |(one, other): &(NodeId, NodeId)| counts(one) && counts(other);
        let mut links: Vec<(NodeId, NodeId)> = self.outages.cut().filter(is_link).collect();
        let mut worse = cut_off.clone();
        while !links.is_empty() {
            let mut counts: BTreeMap<NodeId, usize> = BTreeMap::new();
            for (one, other) in &links {
                *counts.entry(*one).or_default() += 1;
                *counts.entry(*other).or_default() += 1;
            }
            // Of as many, whoever is heard again for the shortest time.
            let since_us = |node: &NodeId| self.heard.get(node).map_or(0, |heard| heard.since_us);
            let worst = counts.iter().map(|(node, count)| (*count, since_us(node), *node)).max();
            let (most, _, worst) = worst.expect("there are links");
            let of_worst = |(one, other): &(NodeId, NodeId)| *one == worst || *other == worst;
            let is_even = |(one, other): &(NodeId, NodeId)| counts[one] == most && counts[other] == most;
            let is_open = |link: &(NodeId, NodeId)| {
                of_worst(link) && is_even(link) && self.may_be_one_sided(*link, alive, now_us)
            };
            if let Some(at) = links.iter().position(is_open) {
                took(Path::CutOffAwaited);
                links.remove(at);
                continue;
            }
            links.retain(|(one, other)| *one != worst && *other != worst);
            worse.insert(worst);
        }
        worse
    }

    /// Of two nodes, one of which does not hear the other, one may still say that no other member answers it: it takes longer to
    /// find that out. A chain that went on with that one alone would be out of reach, and nobody could copy what it took meanwhile.
    /// Where both have another neighbour, that one would miss whoever is cut off at about the same time.
    fn may_be_one_sided(&self, link: (NodeId, NodeId), alive: &[Member], now_us: u64) -> bool {
        let are_watched =
            || self.has_other_neighbour(link.0, link.1, alive) && self.has_other_neighbour(link.1, link.0, alive);
        let is_new = |since_us: u64| {
            let (soon_us, late_us) = (since_us + 3 * self.timing.heartbeat_us, since_us + 2 * self.timing.silent_us);
            now_us < soon_us || (now_us < late_us && !are_watched())
        };
        match (self.outages.is_cut_off(link.0), self.outages.is_cut_off(link.1)) {
            (true, true) => false,
            // It is about to count.
            (true, false) | (false, true) => true,
            (false, false) => self.version >= RELAYS && self.outages.since_us(link).is_some_and(is_new),
        }
    }

    /// Whether a node is in a chain next to one that lives, other than `but`.
    fn has_other_neighbour(&self, node: NodeId, but: NodeId, alive: &[Member]) -> bool {
        let lives = |other: NodeId| alive.binary_search_by_key(&other, |member| member.node).is_ok();
        self.state.ranges.values().any(|range| {
            range.chain.members.windows(2).any(|pair| {
                let (one, next) = (pair[0].node, pair[1].node);
                let other = if one == node { next } else { one };
                (one == node || next == node) && other != but && lives(other)
            })
        })
    }

    /// Whether two nodes are not to be in one chain.
    fn is_cut(&self, one: NodeId, other: NodeId) -> bool {
        let is_cut_off = self.cut_off.contains(&one) || self.cut_off.contains(&other);
        one != other && (is_cut_off || self.outages.is_cut(one, other))
    }

    /// Whether a node had better not be in a chain with these.
    fn is_cut_off(&self, node: NodeId, from: &[NodeId]) -> bool {
        self.worse.contains(&node) && from.iter().any(|other| self.is_cut(node, *other))
    }

    /// The members of the range's chain that live, in their order. Whoever is cut off from others that live is left out; where
    /// that is so of all, the first goes on alone.
    pub(super) fn alive(&self, id: RangeId, now_us: u64) -> Vec<Member> {
        let members = self.state.ranges[&id].chain.members.iter().copied();
        let mut live: Vec<Member> = members.filter(|member| self.is_alive(*member, now_us)).collect();
        let nodes: Vec<NodeId> = live.iter().map(|member| member.node).collect();
        let cut_off = |member: &Member| {
            let cut_off = self.is_cut_off(member.node, &nodes);
            if cut_off {
                took(Path::LinkAvoided);
            }
            cut_off
        };
        let usable: Vec<Member> = live.iter().copied().filter(|member| !cut_off(member)).collect();
        if usable.is_empty() {
            live.truncate(1);
            return live;
        }
        let sound: Vec<Member> = usable.iter().copied().filter(|member| !self.is_damaged(id, *member)).collect();
        if sound.is_empty() || sound.len() == usable.len() {
            return usable;
        }
        took(Path::DamagedLeft);
        sound
    }

    /// Whether a node has said that it cannot read some of its copy.
    pub(super) fn is_damaged(&self, id: RangeId, member: Member) -> bool {
        let heard = self.heard.get(&member.node).filter(|heard| heard.member == member);
        let report = heard.and_then(|heard| heard.reports.get(&id));
        report.is_some_and(|report| report.health == Health::Damaged) && !planted(Bug::DamagedStays)
    }

    /// Whom the ring wants in the range's chain, head first, and who of them lives.
    fn wanted(&self, last: &Key, now_us: u64) -> Vec<Member> {
        let count = self.state.settings.replicas as usize;
        let nodes_of = |ring: &Ring| -> Vec<NodeId> {
            let chain = ring.chain_of_key(last, count).unwrap_or_default();
            chain.into_iter().map(|place| place.node).collect()
        };
        let mut nodes = nodes_of(&self.ring);
        if nodes.iter().any(|node| self.is_cut_off(*node, &nodes)) {
            let mut ring = self.ring.clone();
            for node in &self.worse {
                ring.remove_node(*node);
            }
            nodes = nodes_of(&ring);
        }
        let lives = |node: &NodeId| {
            let member = self.heard.get(node)?.member;
            self.is_alive(member, now_us).then_some(member)
        };
        nodes.iter().filter_map(lives).collect()
    }

    /// Takes the next step for a range; whether there is none.
    pub(super) fn plan(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) -> bool {
        let Some(range) = self.state.ranges.get(&id) else { return true };
        if range.pending.is_some() {
            self.drive(id, now_us, effects);
            return false;
        }
        if self.proposed_us.get(&id).is_some_and(|at| now_us < at + self.timing.resend_us) {
            return false;
        }
        let alive = self.alive(id, now_us);
        if range.chain.epoch.0 == 0 {
            self.first(id, now_us, effects);
            return false;
        }
        if range.chain.members.iter().any(|member| self.may_live(*member, now_us)) {
            return false;
        }
        if alive.len() < range.chain.members.len() {
            self.mend(id, &alive, now_us, effects);
            return false;
        }
        let wanted = self.wanted(&range.chain.keys.high, now_us);
        if wanted.is_empty() {
            return false;
        }
        let mut missing = wanted.iter().filter(|member| range.chain.place(**member).is_none()).peekable();
        if missing.peek().is_some() || range.learner.is_some() {
            let is_complete = missing.peek().is_none();
            let missing = missing.find(|member| self.chain_with(**member, &alive, &wanted).is_some()).copied();
            if missing.is_some() || is_complete {
                self.bring_in(id, missing, &alive, &wanted, now_us, effects);
            }
            return false;
        }
        if range.chain.members != wanted {
            // Whom the ring wants may not have been heard of yet: until then nobody leaves that is one of enough.
            if wanted.len() < alive.len().min(self.replicas()) {
                return false;
            }
            let source = self.source_of(id, &alive, &wanted);
            self.begin(id, wanted, source, Into::Itself, now_us, effects);
            return false;
        }
        self.cut_or_join(id, now_us, effects) && self.goes_by_the_rules(id, now_us, effects)
    }

    /// A range that is as it should be: whether its chain goes by the rules that are set. If not, it begins anew with them.
    fn goes_by_the_rules(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) -> bool {
        let chain = &self.state.ranges[&id].chain;
        if chain.rules == self.state.settings.rules || planted(Bug::RulesLinger) {
            return true;
        }
        took(Path::RulesTakeHold);
        let members = chain.members.clone();
        let source = self.source_of(id, &members, &members);
        self.begin(id, members, source, Into::Itself, now_us, effects);
        false
    }

    /// The first chain of a range, which has nothing in it yet.
    pub(super) fn first(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) {
        if self.state.is_unformed() {
            return;
        }
        let wanted = self.wanted(&self.state.ranges[&id].chain.keys.high, now_us);
        if !wanted.is_empty() && wanted.len() >= self.replicas_without_cut_off() {
            self.begin(id, wanted, None, Into::Itself, now_us, effects);
        }
    }

    /// Members that a chain is to have while those that are cut off from all others are not waited for.
    fn replicas_without_cut_off(&self) -> usize {
        let mut most = self.replicas();
        if !self.cut_off.is_empty() {
            let mut ring = self.ring.clone();
            self.cut_off.iter().for_each(|node| drop(ring.remove_node(*node)));
            most = most.min(ring.machines());
        }
        most
    }

    /// The chain of those who live and one more, head first. Whoever the ring does not want makes room for it, or for others
    /// from whom it is cut off: if it stayed, the next step would be to leave out one of the two. `None`: the chain would
    /// be a shorter one, or it would hold two that are cut off from each other.
    fn chain_with(&self, learner: Member, alive: &[Member], wanted: &[Member]) -> Option<Vec<Member>> {
        let rank = |member: &Member| wanted.iter().position(|other| other == member).unwrap_or(usize::MAX);
        let mut chain = alive.to_vec();
        chain.push(learner);
        chain.sort_by_key(rank);
        let is_cut_off = |member: &Member| wanted.iter().any(|other| self.is_cut(member.node, other.node));
        chain.retain(|member| wanted.contains(member) || !is_cut_off(member));
        let replicas = (self.state.settings.replicas as usize).max(1);
        chain.truncate(replicas);
        if chain.iter().any(|member| self.is_cut(member.node, learner.node)) {
            return None;
        }
        (chain.len() >= alive.len().min(replicas)).then_some(chain)
    }

    /// Has a missing member learn the range, and takes it in once it lacks nothing.
    fn bring_in(
        &mut self,
        id: RangeId,
        missing: Option<Member>,
        alive: &[Member],
        wanted: &[Member],
        now_us: u64,
        effects: &mut Effects,
    ) {
        let range = &self.state.ranges[&id];
        let learner = range.learner.filter(|learner| self.is_alive(*learner, now_us) && wanted.contains(learner));
        let with = learner.and_then(|learner| Some((learner, self.chain_with(learner, alive, wanted)?)));
        let source = self.source_of(id, alive, wanted).expect("an active chain has members");
        match (with, missing) {
            (Some((learner, target)), Some(_)) if self.is_caught_up(id, learner) => {
                let source = if planted(Bug::LearnerAsSource) { learner } else { source };
                self.begin(id, target, Some(source), Into::Itself, now_us, effects);
            }
            (Some((learner, _)), Some(_)) => {
                let (incarnation, over, keys) = (learner.incarnation, range.attempt, range.chain.keys);
                let consistency = range.chain.rules.consistency;
                let message = Message::Learn { incarnation, range: id, keys, source, over, consistency };
                effects.send.push((Address::Node(learner.node), message));
                self.proposed_us.insert(id, now_us);
            }
            (_, missing) if missing != range.learner => {
                if range.learner.is_some() && missing.is_some() {
                    took(Path::LearnerGone);
                }
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

    /// A range whose members are the right ones: cuts it at a place of the ring, or joins it to the next; whether neither is
    /// due.
    fn cut_or_join(&mut self, id: RangeId, now_us: u64, effects: &mut Effects) -> bool {
        let range = &self.state.ranges[&id];
        let (keys, members) = (range.chain.keys, range.chain.members.clone());
        let source = self.source_of(id, &members, &members).expect("an active chain has members");
        let places = self.ring.virtual_nodes();
        let from = places.partition_point(|place| place.id.0 < keys.low);
        let to = places.partition_point(|place| place.id.0 < keys.high);
        if from < to {
            // The middle one, so that many are made in few rounds.
            let at = places[from + (to - from) / 2].id.0;
            self.begin(id, members, Some(source), Into::Split { at }, now_us, effects);
            return false;
        }
        if keys.high == Key::MAX || self.ring.get(&VirtualId(keys.high)).is_some() {
            return true;
        }
        let Some(next) = self.state.next_to(id) else { return true };
        let upper = &self.state.ranges[&next];
        let quiet = upper.pending.is_none() && upper.learner.is_none() && !self.proposed_us.contains_key(&next);
        if quiet && upper.chain.members == members && self.wanted(&upper.chain.keys.high, now_us) == members {
            self.begin(id, members, Some(source), Into::Merge { upper: next }, now_us, effects);
        }
        false
    }

    /// Members of the chain are gone; `alive` are not.
    pub(super) fn mend(&mut self, id: RangeId, alive: &[Member], now_us: u64, effects: &mut Effects) {
        if let Some(source) = self.source_of(id, alive, alive) {
            took(Path::Mended);
            return self.begin(id, alive.to_vec(), Some(source), Into::Itself, now_us, effects);
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
        // Where not all is synced that was acknowledged, one that is missing may have more.
        let is_missing = |member: &Member| {
            let heard = self.heard.get(&member.node).filter(|heard| self.is_alive(heard.member, now_us));
            heard.is_none_or(|heard| {
                // It has yet to hear what the range comes of, and has that.
                let parent = |range: &RangeId| self.state.over.get(range).is_some_and(|over| over.ranges.contains(&id));
                heard.reports.keys().any(parent)
            })
        };
        // In a weak chain each has what the others may lack: they are waited for while they may still come.
        let waits_for = |member: &Member| {
            (chain.rules.ack == Ack::Replicated || (chain.is_weak() && !self.is_gone(member.node, now_us)))
                && is_missing(member)
        };
        if chain.members.iter().any(waits_for) && !planted(Bug::RevivesEarly) {
            return;
        }
        let longest = if chain.is_weak() { back.first() } else { back.iter().max() };
        if let Some((_, source)) = longest.copied() {
            took(Path::Revived);
            let target = back.into_iter().map(|(_, member)| member).collect();
            self.begin(id, target, Some(source), Into::Itself, now_us, effects);
        }
    }

    pub(super) fn begin(
        &mut self,
        id: RangeId,
        target: Vec<Member>,
        source: Option<Member>,
        into: Into,
        now_us: u64,
        effects: &mut Effects,
    ) {
        if self.state.ranges[&id].pending.is_some() {
            took(match self.drives.get(&id) {
                None => Path::NewLeaderSupersedes,
                Some(drive) if drive.sent_us[2].is_some() => Path::FailedInEqualise,
                Some(_) => Path::FailedInSeal,
            });
        }
        let mut highest = self.state.ranges[&id].attempt;
        if let Into::Merge { upper } = into {
            highest = highest.max(self.state.ranges[&upper].attempt);
            self.proposed_us.insert(upper, now_us);
        }
        self.proposed_us.insert(id, now_us);
        effects.propose.push(Command::Begin { range: id, attempt: highest.next(), target, source, into });
    }
}
