//! What the leader of the managers does. All that it knows beside the decided state is lost with its lead, and learnt anew.
//!
//! Each part of what it knows has an owner; the leader passes messages, decisions and time to them, in an order that
//! callers may rely on.

use super::attempts::Attempts;
use super::connectivity::Connectivity;
use super::effects::Effects;
use super::lease::{LeaseRequest, NodeLeases};
use super::liveness::NodeLiveness;
use super::notices::{ChainNotices, show_view, tell_of_chains, welcome};
use super::offers::{Offer, Offers, tell_to_adopt};
use super::plan::Placement;
use super::questions::QuestionCounter;
use super::settings::{Settings, SettingsError, check_virtual_ids};
use super::state::{Command, Into, Standing, State, StateChange};
use super::view::LeaderView;
use super::wedges::{self, WedgeOwners};
use crate::ids::{Address, Attempt, ClusterId, Health, Member, NodeId, RangeId};
use crate::testing::coverage::{Path, took};
use crate::testing::injected_bugs::{Bug, planted};
use crate::timing::Timing;
use crate::wire::version::FAREWELLS;
use crate::wire::{InvalidMessages, Message, Report};
use std::collections::BTreeSet;

/// Ranges of a node, and neighbours that it does not hear, at most.
const MOST_REPORTS: usize = 1 << 20;

/// A manager.
#[derive(Debug)]
pub struct Manager {
    draw: ClusterId,
    pub(super) view: LeaderView,
    liveness: NodeLiveness,
    connectivity: Connectivity,
    questions: QuestionCounter,
    leases: NodeLeases,
    attempts: Attempts,
    notices: ChainNotices,
    /// Ranges that may not be as they should be.
    unsettled: BTreeSet<RangeId>,
    pub(super) owners: WedgeOwners,
    offers: Offers,
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
        Ok(Self::restored(timing, State::new(settings), draw))
    }

    /// A manager that goes on from a state that was decided, as [`State::encode`] kept it; `draw` as in [`new`](Self::new). It
    /// does not lead, and remembers nothing of what another manager asked before it.
    pub fn restored(timing: Timing, state: State, draw: ClusterId) -> Self {
        Self {
            draw,
            view: LeaderView::new(timing, state),
            liveness: NodeLiveness::default(),
            connectivity: Connectivity::default(),
            questions: QuestionCounter::default(),
            leases: NodeLeases::default(),
            attempts: Attempts::default(),
            notices: ChainNotices::default(),
            unsettled: BTreeSet::new(),
            owners: WedgeOwners::default(),
            offers: Offers::default(),
            invalid: InvalidMessages::default(),
        }
    }

    /// The same, of a cluster with front-ends between which the key space is cut into `count` wedges.
    #[must_use]
    pub fn with_wedges(mut self, count: u32) -> Self {
        self.view.cut_wedges(count);
        self
    }

    /// What is decided, as far as this manager knows.
    pub fn state(&self) -> &State {
        self.view.state()
    }

    /// Messages that cannot be true, and were dropped.
    pub fn invalid_mut(&mut self) -> &mut InvalidMessages {
        &mut self.invalid
    }

    /// See [`invalid_mut`](Self::invalid_mut).
    pub fn invalid(&self) -> &InvalidMessages {
        &self.invalid
    }

    /// The cluster's version is this: everybody speaks it.
    pub fn everybody_speaks(&mut self, version: u8) {
        self.view.everybody_speaks(version);
    }

    /// Whether it believes that it leads.
    pub fn leads(&self) -> bool {
        self.view.leads()
    }

    /// Whether it leads and knows of nothing to do: all who live are where they should be.
    pub fn is_settled(&self) -> bool {
        self.leads() && self.unsettled.is_empty() && self.owners.are_known()
    }

    /// Nodes that are kept out of chains with others, and with which: one of the two does not hear the other.
    pub fn kept_out(&self) -> BTreeSet<(NodeId, NodeId)> {
        self.connectivity.kept_out()
    }

    /// It leads from now on, or it no longer does.
    pub fn lead(&mut self, now_us: u64, leads: bool) {
        self.view.lead(leads.then_some(now_us));
        self.liveness.clear();
        self.connectivity.clear();
        self.leases.clear();
        self.attempts.clear();
        self.notices.clear();
        self.owners.clear();
        self.offers.clear();
        self.unsettled = self.state().ranges.keys().copied().collect();
    }

    /// A command of the log is committed.
    pub fn committed(&mut self, now_us: u64, command: &Command, effects: &mut Effects) {
        let did = self.view.apply(command);
        if let (Some(_), Command::Stand { node, standing: Standing::Gone, .. }) = (&did, command) {
            // What was heard before must not bring it back.
            self.liveness.forget(*node);
        }
        if !self.leads() {
            return;
        }
        match (command, did) {
            (Command::Register { node, nonce, .. }, did) => self.registered(*node, *nonce, did.is_some(), effects),
            (Command::FrontRegister { front, nonce }, _) => {
                wedges::welcome(*front, *nonce, self.view.state(), effects);
            }
            (Command::WedgeGrant { owner, .. }, Some(_)) => {
                self.owners.granted(owner.front, self.view.state(), effects);
            }
            (Command::Stand { .. } | Command::Set(_) | Command::Form, Some(_)) => self.unsettle_all(),
            (Command::End { member }, Some(_)) => {
                took(Path::LifeEnded);
                self.leases.end(*member);
                self.unsettle_all();
            }
            (Command::Adopt { .. }, Some(_)) => {
                self.offers.accept(self.view.state(), effects);
                self.unsettle_all();
            }
            (Command::Begin { range, attempt, into, .. }, Some(_)) => {
                let upper = if let Into::Merge { upper } = into { Some(*upper) } else { None };
                for range in std::iter::once(*range).chain(upper) {
                    self.attempts.start(range, *attempt, now_us);
                    self.unsettled.insert(range);
                    self.drive(range, now_us, effects);
                }
            }
            (Command::Activate { attempt, .. }, Some(did)) => self.activated(*attempt, &did, now_us, effects),
            _ => {}
        }
        if let Command::Learner { range, .. } | Command::Begin { range, .. } | Command::Activate { range, .. } = command
        {
            self.attempts.decide(*range);
        }
    }

    /// A node was registered, or would have been another time.
    fn registered(&mut self, node: NodeId, nonce: u64, is_new: bool, effects: &mut Effects) {
        welcome(node, nonce, self.view.state(), effects);
        tell_to_adopt(node, nonce, self.view.state(), effects);
        if is_new {
            if let Some(known) = self.view.state().nodes.get(&node) {
                self.liveness.register(node, known.incarnation);
            }
            self.unsettle_all();
        }
    }

    fn unsettle_all(&mut self) {
        self.unsettled.extend(self.view.state().ranges.keys());
    }

    /// Tells whoever was and is in the chains what has become of them.
    fn activated(&mut self, attempt: Attempt, did: &StateChange, now_us: u64, effects: &mut Effects) {
        let mut members: BTreeSet<Member> = BTreeSet::new();
        for range in did.over.iter().chain(&did.active) {
            members.extend(self.attempts.end(*range));
            self.unsettled.remove(range);
            self.notices.forget(*range);
        }
        let state = self.view.state();
        for range in &did.active {
            self.notices.activate(*range, now_us);
            members.extend(&state.ranges[range].chain.members);
            self.unsettled.insert(*range);
            // The one before may now be merged with it.
            let before = state.by_last.range(..state.ranges[range].chain.keys.low).next_back();
            self.unsettled.extend(before.map(|(_, range)| *range));
        }
        for member in members {
            tell_of_chains(attempt, (&did.over, &did.active), member, state, effects);
        }
    }

    /// Drives the attempt of a range, or supersedes it.
    fn drive(&mut self, range: RangeId, now_us: u64, effects: &mut Effects) {
        let Self { view, liveness, connectivity, .. } = self;
        let placement = Placement { view, liveness, connectivity, now_us };
        self.attempts.drive(range, &placement, &self.leases, effects);
    }

    /// A message has come.
    pub fn receive(&mut self, now_us: u64, message: Message, effects: &mut Effects) {
        if !self.leads() {
            return;
        }
        let state = self.view.state();
        match message {
            Message::Hello { cluster: Some(cluster), node, .. }
            | Message::Heartbeat { cluster, member: Member { node, .. }, .. }
                if state.cluster != Some(cluster) && !planted(Bug::AnyCluster) =>
            {
                took(Path::OtherCluster);
                let message = Message::OtherCluster { cluster: state.cluster };
                effects.send.push((Address::Node(node), message));
            }
            Message::Hello { node, nonce, machine, domain, virtual_ids, .. } => {
                if state.cluster.is_none() {
                    effects.propose.push(Command::Found(self.draw));
                }
                if state.nodes.get(&node).is_some_and(|registered| registered.nonce == nonce) {
                    welcome(node, nonce, state, effects);
                } else if check_virtual_ids(virtual_ids).is_ok() {
                    effects.propose.push(Command::Register { node, nonce, machine, domain, virtual_ids });
                }
            }
            Message::Offer { node, nonce, machine, domain, virtual_ids, plain } => {
                let offer = Offer { node, nonce, machine, domain, virtual_ids, plain, draw: self.draw };
                self.offers.note(&offer, &self.view, now_us, effects);
            }
            Message::Heartbeat { member, reports, silent, .. }
                if reports.len() > MOST_REPORTS || silent.len() > MOST_REPORTS =>
            {
                self.invalid.note(Address::Node(member.node), "Heartbeat: it reports more ranges than a node can have");
            }
            Message::Heartbeat { member, nonce, reports, silent, .. } if state.lives(member) => {
                self.heartbeat(member, nonce, (reports, silent), now_us, effects);
            }
            Message::NodeCutOff { member } if state.lives(member) && !planted(Bug::CutOffStaysInChain) => {
                self.cut_off(member, now_us);
            }
            Message::Heartbeat { member: Member { node, incarnation }, .. }
                if state.nodes.get(&node).is_some_and(|known| known.incarnation > incarnation) =>
            {
                effects.send.push((Address::Node(node), Message::Superseded { incarnation }));
            }
            Message::Farewell { cluster, member } if state.cluster == Some(cluster) && state.lives(member) => {
                // Before all managers know the command, a farewell does nothing, and the node is missed like any other.
                if self.view.version() >= FAREWELLS {
                    effects.propose.push(Command::End { member });
                }
            }
            Message::Prepared { member, range, attempt } if state.lives(member) => {
                if self.attempts.note_prepared(member, range, attempt) {
                    self.drive(range, now_us, effects);
                }
            }
            Message::Sealed { member, range, attempt, last, held, synced } if state.lives(member) => {
                if !last.is_possible() {
                    let from = Address::Node(member.node);
                    return self.invalid.note(from, "Sealed: the log ends beyond all records");
                }
                if self.attempts.note_sealed(member, (range, attempt), (last, synced), held, state) {
                    self.drive(range, now_us, effects);
                }
            }
            Message::Level { member, range, attempt } if state.lives(member) => {
                if self.attempts.note_level(member, range, attempt) {
                    self.drive(range, now_us, effects);
                }
            }
            Message::AskView { asker, known } => show_view(asker, known, state, effects),
            message => self.owners.receive(&message, &mut self.questions, &self.view, now_us, effects),
        }
    }

    /// A member says that it lives.
    fn heartbeat(
        &mut self,
        member: Member,
        nonce: u64,
        (reports, silent): (Vec<Report>, Vec<NodeId>),
        now_us: u64,
        effects: &mut Effects,
    ) {
        let active = reports.iter().filter(|report| report.epoch.0 > 0);
        let active = active.map(|report| (report.range, report.epoch)).collect();
        let request = LeaseRequest { member, nonce, active };
        let must_seal = |member| self.attempts.must_seal(member, self.view.state());
        self.leases.ask(request, &mut self.questions, (must_seal, &self.view), now_us, effects);
        for report in &reports {
            self.notices.answer_report(member, report, &self.view, now_us, effects);
            if report.health == Health::Damaged {
                self.unsettled.insert(report.range);
            }
        }
        self.liveness.note_heartbeat(member, (reports, silent), &mut self.connectivity, &self.view, now_us);
    }

    /// A member says that no other answers it.
    fn cut_off(&mut self, member: Member, now_us: u64) {
        let Self { liveness, view, .. } = self;
        let is_heard_long = liveness.is_heard_long(member.node, view, now_us);
        if is_heard_long && liveness.has_others_heard_long(member.node, view, now_us) {
            took(Path::NodeCutOff);
            self.connectivity.note_cut_off(member.node, view, now_us);
        }
    }

    /// It led when, or after, it asked this question.
    pub fn confirmed(&mut self, now_us: u64, question: u64, effects: &mut Effects) {
        self.owners.confirmed(question, &self.view, now_us, effects);
        let must_seal = |member| self.attempts.must_seal(member, self.view.state());
        self.leases.confirmed(question, (must_seal, &self.view), now_us, effects);
    }

    /// Time has passed.
    pub fn tick(&mut self, now_us: u64, effects: &mut Effects) {
        if !self.leads() {
            return;
        }
        self.look_who_lives(now_us, effects);
        self.owners.tell(self.view.state(), effects);
        self.owners.plan(self.unsettled.is_empty(), &self.view, now_us, effects);
        let Self { view, liveness, connectivity, attempts, leases, unsettled, .. } = self;
        let placement = Placement { view, liveness, connectivity, now_us };
        unsettled.retain(|range| !attempts.advance(*range, &placement, leases, effects));
    }

    /// Looks who lives, and who hears whom; whoever was not heard of for long loses its places.
    fn look_who_lives(&mut self, now_us: u64, effects: &mut Effects) {
        let Self { view, liveness, connectivity, .. } = self;
        let alive = liveness.alive(view, now_us);
        let is_enough = alive.len() >= view.settings().first_nodes.max(1) as usize;
        if connectivity.look(alive, |node| liveness.since_us(node), view, now_us) {
            self.unsettled.extend(view.state().ranges.keys());
        }
        effects.propose.extend(liveness.standings(view, now_us));
        if is_enough && view.state().is_unformed() && !self.offers.are_awaited(view, now_us) {
            effects.propose.push(Command::Form);
        }
    }
}
