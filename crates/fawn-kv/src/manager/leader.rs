//! What the leader of the managers does. All that it knows beside the decided state is lost with its lead, and learnt anew.

use super::frontends::Fronts;
use super::link_failures::LinkFailures;
use super::offers::{Offer, StoreOffer};
use super::questions::LeaseRequest;
use super::settings::{Settings, SettingsError, check_virtual_ids};
use super::state::{Command, Standing, State, StateChange};
use super::wedge_state::Wedges;
use crate::ids::{Address, Attempt, ClusterId, Epoch, Health, Incarnation, Member, NodeId, Position, RangeId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::{InvalidMessages, Message, Report};
use fawn_ring::Ring;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

/// What a step of the manager wants done.
#[derive(Debug, Default)]
pub struct Effects {
    /// Messages to be sent.
    pub send: Vec<(Address, Message)>,
    /// Commands to be put into the managers' log.
    pub propose: Vec<Command>,
    /// Questions whether it leads still, to be answered with [`Manager::confirmed`].
    pub confirm: Vec<u64>,
}

/// Ranges of a node, and neighbours that it does not hear, at most.
const MOST_REPORTS: usize = 1 << 20;

/// What was heard of a node last.
#[derive(Debug)]
pub(super) struct NodeContact {
    pub(super) member: Member,
    /// Since when it is heard without a break as long as makes it dead; 0 if this manager has not led for long enough to
    /// know.
    pub(super) since_us: u64,
    pub(super) at_us: u64,
    pub(super) reports: BTreeMap<RangeId, Report>,
}

/// How far an attempt is.
#[derive(Debug, Default)]
pub(super) struct Drive {
    pub(super) attempt: Attempt,
    pub(super) begun_us: u64,
    /// Who has written beforehand what has to be durable.
    pub(super) prepared: BTreeSet<Member>,
    /// Who has sealed, and where its log ends.
    pub(super) sealed: BTreeMap<Member, Position>,
    /// Whose log is durable up to there, so that it is level if the source's ends there.
    pub(super) synced: BTreeSet<Member>,
    /// Who has been made level.
    pub(super) level: BTreeSet<Member>,
    /// When orders to prepare, seals, and orders to equalise were last sent for it.
    pub(super) sent_us: [Option<u64>; 3],
}

/// A manager.
#[derive(Debug)]
pub struct Manager {
    pub(super) timing: Timing,
    draw: ClusterId,
    pub(super) state: State,
    /// The places of all nodes that are members.
    pub(super) ring: Ring,
    /// Since when it leads, if it does.
    pub(super) leads_since_us: Option<u64>,
    pub(super) heard: BTreeMap<NodeId, NodeContact>,
    /// Nodes whose present life began while this manager leads.
    pub(super) registered: BTreeMap<NodeId, Incarnation>,
    /// Until when a node may have a lease, in each of its lives.
    pub(super) leases: BTreeMap<Member, u64>,
    /// Heartbeats that ask for a lease, by the question whether this manager leads.
    pub(super) asked: BTreeMap<u64, LeaseRequest>,
    pub(super) next_question: u64,
    pub(super) drives: BTreeMap<RangeId, Drive>,
    /// When something was last proposed for a range.
    pub(super) proposed_us: BTreeMap<RangeId, u64>,
    /// When each range's chain became active, as long as this one leads: its members were told then.
    pub(super) activated_us: BTreeMap<RangeId, u64>,
    /// Ranges that may not be as they should be.
    pub(super) unsettled: BTreeSet<RangeId>,
    /// Who lived when all ranges were last looked at.
    pub(super) lived: Vec<Member>,
    pub(super) outages: LinkFailures,
    /// Nodes that had better be in no chain with those that they are cut off from.
    pub(super) worse: BTreeSet<NodeId>,
    /// Those of them that are cut off from all others.
    pub(super) cut_off: BTreeSet<NodeId>,
    pub(super) fronts: Fronts,
    /// Nodes that have keys of no cluster, while no range was made.
    pub(super) offers: BTreeMap<NodeId, StoreOffer>,
    /// The cluster's.
    pub(super) version: u8,
    /// Messages that cannot be true, and were dropped.
    invalid: InvalidMessages,
}

impl Manager {
    /// A manager of a cluster that begins with these settings. `draw` was drawn at random: if the cluster has no name when
    /// its first node says hello, and this manager leads, that is its name.
    ///
    /// # Errors
    /// No cluster can go by the settings.
    pub fn new(timing: Timing, settings: Settings, draw: ClusterId) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self::with_state(timing, State::new(settings), draw))
    }

    /// A manager that knows no node yet, whatever the state says.
    pub(super) fn with_state(timing: Timing, state: State, draw: ClusterId) -> Self {
        Self {
            timing,
            draw,
            state,
            ring: Ring::new(),
            leads_since_us: None,
            heard: BTreeMap::new(),
            registered: BTreeMap::new(),
            leases: BTreeMap::new(),
            asked: BTreeMap::new(),
            next_question: 0,
            drives: BTreeMap::new(),
            proposed_us: BTreeMap::new(),
            activated_us: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            lived: Vec::new(),
            outages: LinkFailures::default(),
            worse: BTreeSet::new(),
            cut_off: BTreeSet::new(),
            fronts: Fronts::default(),
            offers: BTreeMap::new(),
            version: crate::wire::version::OLDEST,
            invalid: InvalidMessages::default(),
        }
    }

    /// What the cluster is called, if this manager hears its first node.
    pub(super) fn draw(&self) -> ClusterId {
        self.draw
    }

    /// The same, of a cluster with front-ends between which the key space is cut into `count` wedges.
    #[must_use]
    pub fn with_wedges(mut self, count: u32) -> Self {
        self.state.wedges = Wedges::new(count);
        self
    }

    /// What is decided, as far as this manager knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Messages that cannot be true, and were dropped.
    pub fn invalid_mut(&mut self) -> &mut InvalidMessages {
        &mut self.invalid
    }

    /// See [`invalid_mut`](Self::invalid_mut).
    pub fn invalid(&self) -> &InvalidMessages {
        &self.invalid
    }

    /// Whether it believes that it leads.
    pub fn leads(&self) -> bool {
        self.leads_since_us.is_some()
    }

    /// Whether it leads and knows of nothing to do: all who live are where they should be.
    pub fn is_settled(&self) -> bool {
        self.leads() && self.unsettled.is_empty() && !self.fronts.passed_on
    }

    /// It leads from now on, or it no longer does.
    pub fn lead(&mut self, now_us: u64, leads: bool) {
        self.leads_since_us = leads.then_some(now_us);
        self.heard.clear();
        self.registered.clear();
        self.leases.clear();
        self.asked.clear();
        self.drives.clear();
        self.proposed_us.clear();
        self.activated_us.clear();
        self.lived.clear();
        self.outages.clear();
        self.worse.clear();
        self.cut_off.clear();
        self.fronts = Fronts::default();
        self.offers.clear();
        self.unsettled = self.state.ranges.keys().copied().collect();
    }

    /// A command of the log is committed.
    pub fn committed(&mut self, now_us: u64, command: &Command, effects: &mut Effects) {
        let did = self.state.apply(command);
        if let (Some(_), Command::Register { node, .. } | Command::Stand { node, .. }) = (&did, command) {
            self.place(*node);
        }
        if let (Some(_), Command::Stand { node, standing: Standing::Gone, .. }) = (&did, command) {
            // What was heard before must not bring it back.
            self.heard.remove(node);
        }
        if !self.leads() {
            return;
        }
        match (command, did) {
            (Command::Register { node, nonce, .. }, did) => {
                self.welcome(*node, *nonce, effects);
                self.tell_to_adopt(*node, *nonce, effects);
                if did.is_some() {
                    self.registered.extend(self.state.nodes.get(node).map(|known| (*node, known.incarnation)));
                    self.unsettle_all();
                }
            }
            (Command::FrontRegister { front, nonce }, _) => self.welcome_front(*front, *nonce, effects),
            (Command::WedgeGrant { owner, .. }, Some(_)) => self.granted(owner.front, effects),
            (Command::Stand { .. } | Command::Set(_) | Command::Form, Some(_)) => self.unsettle_all(),
            (Command::End { member }, Some(_)) => {
                self.ended(*member);
                self.unsettle_all();
            }
            (Command::Adopt { .. }, Some(_)) => {
                self.adopted(effects);
                self.unsettle_all();
            }
            (Command::Begin { range, attempt, into, .. }, Some(_)) => {
                let upper = if let super::state::Into::Merge { upper } = into { Some(*upper) } else { None };
                for range in std::iter::once(*range).chain(upper) {
                    let drive = Drive { attempt: *attempt, begun_us: now_us, ..Drive::default() };
                    self.drives.insert(range, drive);
                    self.unsettled.insert(range);
                    self.proposed_us.remove(&range);
                    self.drive(range, now_us, effects);
                }
            }
            (Command::Activate { attempt, .. }, Some(did)) => self.activated(*attempt, &did, now_us, effects),
            _ => {}
        }
        if let Command::Learner { range, .. } | Command::Begin { range, .. } | Command::Activate { range, .. } = command
        {
            self.proposed_us.remove(range);
        }
    }

    /// Puts a node on the ring, where it is to stand now, or takes it off; with all others of its machine, whose domain may be
    /// another now.
    pub(super) fn place(&mut self, id: NodeId) {
        let Some(machine) = self.state.nodes.get(&id).map(|node| node.machine) else { return };
        let of_machine = || self.state.nodes.iter().filter(|(_, node)| node.machine == machine);
        for (node, _) in of_machine() {
            self.ring.remove_node(*node);
        }
        for (id, node) in of_machine().filter(|(_, node)| node.standing == Standing::Member) {
            self.ring
                .insert_node(&node.place(*id))
                .expect("names of nodes give distinct places, and a machine is in one domain");
        }
    }

    fn unsettle_all(&mut self) {
        self.unsettled.extend(self.state.ranges.keys());
    }

    /// Tells whoever was and is in the chains what has become of them.
    fn activated(&mut self, attempt: Attempt, did: &StateChange, now_us: u64, effects: &mut Effects) {
        let mut members: BTreeSet<Member> = BTreeSet::new();
        for range in did.over.iter().chain(&did.active) {
            members.extend(self.drives.remove(range).iter().flat_map(|drive| drive.sealed.keys()));
            self.proposed_us.remove(range);
            self.unsettled.remove(range);
            self.activated_us.remove(range);
        }
        for range in &did.active {
            self.activated_us.insert(*range, now_us);
            members.extend(&self.state.ranges[range].chain.members);
            self.unsettled.insert(*range);
            // The one before may now be merged with it.
            let before = self.state.by_last.range(..self.state.ranges[range].chain.keys.low).next_back();
            self.unsettled.extend(before.map(|(_, range)| *range));
        }
        for member in members {
            self.tell(attempt, &did.over, &did.active, member, effects);
        }
    }

    /// Tells a node of chains that are active.
    fn tell(&self, attempt: Attempt, over: &[RangeId], active: &[RangeId], to: Member, effects: &mut Effects) {
        let chains = active.iter().filter_map(|id| Some((*id, self.state.ranges.get(id)?.chain.clone()))).collect();
        let message = Message::Activate { incarnation: to.incarnation, attempt, over: over.to_vec(), chains };
        effects.send.push((Address::Node(to.node), message));
    }

    fn welcome(&self, node: NodeId, nonce: u64, effects: &mut Effects) {
        let registered = self.state.nodes.get(&node).filter(|registered| registered.nonce == nonce);
        if let Some((registered, cluster)) = registered.zip(self.state.cluster) {
            let message = Message::Welcome { cluster, nonce, incarnation: registered.incarnation };
            effects.send.push((Address::Node(node), message));
        }
    }

    pub(super) fn show_view(&self, asker: Address, known: u64, effects: &mut Effects) {
        let newer = self.state.by_change.range((Excluded((known, RangeId(u32::MAX))), Unbounded));
        let chains = newer.map(|(_, id)| (*id, self.state.ranges[id].chain.clone())).collect();
        let wedges = self.state.wedges.wedges().to_vec();
        effects.send.push((asker, Message::View { since: known, number: self.state.changes, chains, wedges }));
    }

    /// A message has come.
    pub fn receive(&mut self, now_us: u64, message: Message, effects: &mut Effects) {
        if !self.leads() {
            return;
        }
        match message {
            Message::Hello { cluster: Some(cluster), node, .. }
            | Message::Heartbeat { cluster, member: Member { node, .. }, .. }
                if self.state.cluster != Some(cluster) && !planted(Bug::AnyCluster) =>
            {
                took(Path::OtherCluster);
                let message = Message::OtherCluster { cluster: self.state.cluster };
                effects.send.push((Address::Node(node), message));
            }
            Message::Hello { node, nonce, machine, domain, virtual_ids, .. } => {
                if self.state.cluster.is_none() {
                    effects.propose.push(Command::Found(self.draw));
                }
                if self.state.nodes.get(&node).is_some_and(|registered| registered.nonce == nonce) {
                    self.welcome(node, nonce, effects);
                } else if check_virtual_ids(virtual_ids).is_ok() {
                    effects.propose.push(Command::Register { node, nonce, machine, domain, virtual_ids });
                }
            }
            Message::Offer { node, nonce, machine, domain, virtual_ids, plain } => {
                let offer = Offer { node, nonce, machine, domain, virtual_ids, plain };
                self.offered(&offer, now_us, effects);
            }
            Message::Heartbeat { member, reports, silent, .. }
                if reports.len() > MOST_REPORTS || silent.len() > MOST_REPORTS =>
            {
                self.invalid.note(Address::Node(member.node), "Heartbeat: it reports more ranges than a node can have");
            }
            Message::Heartbeat { member, nonce, reports, silent, .. } if self.state.lives(member) => {
                let active = reports.iter().filter(|report| report.epoch.0 > 0);
                let active = active.map(|report| (report.range, report.epoch)).collect();
                self.ask_for_lease(LeaseRequest { member, nonce, active }, now_us, effects);
                for report in &reports {
                    self.look_at(member, report, now_us, effects);
                    if report.health == Health::Damaged {
                        self.unsettled.insert(report.range);
                    }
                }
                let since_us = self.heard_since(member, now_us);
                for other in silent {
                    if self.is_heard_long(other, now_us) {
                        self.outages.said(member.node, other, now_us, &self.timing);
                    }
                }
                let reports = reports.into_iter().map(|report| (report.range, report)).collect();
                self.heard.insert(member.node, NodeContact { member, since_us, at_us: now_us, reports });
            }
            Message::NodeCutOff { member } if self.state.lives(member) && !planted(Bug::CutOffStaysInChain) => {
                if self.is_heard_long(member.node, now_us) && self.has_others_heard_long(member.node, now_us) {
                    took(Path::NodeCutOff);
                    self.outages.said_cut_off(member.node, now_us, &self.timing);
                }
            }
            Message::Heartbeat { member: Member { node, incarnation }, .. }
                if self.state.nodes.get(&node).is_some_and(|known| known.incarnation > incarnation) =>
            {
                effects.send.push((Address::Node(node), Message::Superseded { incarnation }));
            }
            Message::Farewell { cluster, member }
                if self.state.cluster == Some(cluster) && self.state.lives(member) =>
            {
                self.farewell(member, effects);
            }
            Message::Prepared { member, range, attempt } if self.state.lives(member) => {
                if let Some(drive) = self.drives.get_mut(&range).filter(|drive| drive.attempt == attempt) {
                    drive.prepared.insert(member);
                    self.drive(range, now_us, effects);
                }
            }
            Message::Sealed { member, range, attempt, last, held, synced } if self.state.lives(member) => {
                if !last.is_possible() {
                    let from = Address::Node(member.node);
                    return self.invalid.note(from, "Sealed: the log ends beyond all records");
                }
                if !self.may_be_source(range, member, held) {
                    return;
                }
                if let Some(drive) = self.drives.get_mut(&range).filter(|drive| drive.attempt == attempt) {
                    drive.sealed.insert(member, last);
                    if synced {
                        drive.synced.insert(member);
                    }
                    self.drive(range, now_us, effects);
                }
            }
            Message::Level { member, range, attempt } if self.state.lives(member) => {
                if let Some(drive) = self.drives.get_mut(&range).filter(|drive| drive.attempt == attempt) {
                    drive.level.insert(member);
                    self.drive(range, now_us, effects);
                }
            }
            Message::AskView { asker, known } => self.show_view(asker, known, effects),
            message => self.receive_of_front(now_us, &message, effects),
        }
    }

    /// What a node says of one of its ranges: perhaps it has to hear what has become of it.
    fn look_at(&self, member: Member, report: &Report, now_us: u64, effects: &mut Effects) {
        let id = report.range;
        if let Some(range) = self.state.ranges.get(&id) {
            let chain = &range.chain;
            let is_in = chain.place(member).is_some();
            // What it was told just now may be on its way.
            let is_on_way = self.activated_us.get(&id).is_some_and(|at| now_us < at + self.timing.resend_us);
            if (is_in || report.epoch.0 > 0) && report.epoch < chain.epoch && !is_on_way {
                self.tell(chain.attempt, &[], &[id], member, effects);
            }
            let wanted = range.pending.iter().any(|pending| pending.target.contains(&member));
            let is_good = chain.members.len() >= self.replicas() && range.pending.is_none();
            if !is_in && !chain.has_node(member.node) && !wanted && range.learner != Some(member) && is_good {
                self.drop_range(member, id, chain.epoch, effects);
            }
        } else if let Some(over) = self.state.over.get(&id) {
            // Both that were merged have to be told of at once.
            let same = over.ranges.first().map(|range| &self.state.ranges[range].came_of[..]);
            self.tell(over.attempt, same.unwrap_or(&[]), &over.ranges, member, effects);
        } else if (id < self.state.next_range && !self.state.may_be_lost(id)) || planted(Bug::DropUnknown) {
            self.drop_range(member, id, Epoch(u32::MAX), effects);
        }
    }

    fn drop_range(&self, member: Member, range: RangeId, epoch: Epoch, effects: &mut Effects) {
        let over = self.state.ranges.get(&range).map_or(Attempt(0), |range| range.attempt);
        let message = Message::Drop { incarnation: member.incarnation, range, epoch, over };
        effects.send.push((Address::Node(member.node), message));
    }

    /// Members that a chain is to have: no more than there are machines.
    pub(super) fn replicas(&self) -> usize {
        (self.state.settings.replicas as usize).min(self.ring.machines())
    }

    /// Time has passed.
    pub fn tick(&mut self, now_us: u64, effects: &mut Effects) {
        if !self.leads() {
            return;
        }
        self.look_who_lives(now_us, effects);
        self.tell_of_wedges(effects);
        self.plan_wedges(now_us, effects);
        for range in self.unsettled.iter().copied().collect::<Vec<_>>() {
            if self.plan(range, now_us, effects) {
                self.unsettled.remove(&range);
            }
        }
    }
}
