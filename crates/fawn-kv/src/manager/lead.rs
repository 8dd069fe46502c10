//! What the leader of the managers does. All that it knows beside the decided state is lost with its lead, and learnt anew.

use super::state::{Command, State};
use crate::chain::Timing;
use crate::ids::{Address, Attempt, Epoch, Member, NodeId, Position, RangeId};
use crate::message::{Message, Report};
use std::collections::BTreeMap;

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

/// What was heard of a node last.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) member: Member,
    pub(super) at_us: u64,
    pub(super) reports: BTreeMap<RangeId, Report>,
}

/// A node that asks for a lease, and the chains that it believes to be active in.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) member: Member,
    pub(super) nonce: u64,
    pub(super) active: Vec<(RangeId, Epoch)>,
}

/// How far an attempt is.
#[derive(Debug, Default)]
pub(super) struct Drive {
    pub(super) attempt: Attempt,
    pub(super) begun_us: u64,
    /// Who has sealed, and what it has.
    pub(super) sealed: BTreeMap<Member, (Position, Option<Attempt>)>,
    pub(super) level: Vec<Member>,
    /// When seals, and when orders to equalise, were last sent for it.
    pub(super) sent_us: [Option<u64>; 2],
}

/// A manager.
#[derive(Debug)]
pub struct Manager {
    pub(super) timing: Timing,
    /// Members that each chain is to have.
    pub(super) replicas: usize,
    pub(super) state: State,
    /// Since when it leads, if it does.
    pub(super) leads_since_us: Option<u64>,
    pub(super) heard: BTreeMap<NodeId, Heard>,
    /// Until when a node may have a lease, in each of its lives.
    pub(super) leases: BTreeMap<Member, u64>,
    /// Heartbeats that ask for a lease, by the question whether this manager leads.
    pub(super) asked: BTreeMap<u64, Asked>,
    pub(super) next_question: u64,
    pub(super) drives: BTreeMap<RangeId, Drive>,
    /// When something was last proposed for a range.
    pub(super) proposed_us: BTreeMap<RangeId, u64>,
}

impl Manager {
    /// A manager of `ranges` ranges of which each is to have `replicas` members.
    pub fn new(timing: Timing, replicas: usize, ranges: u32) -> Self {
        Self {
            timing,
            replicas,
            state: State::new(ranges),
            leads_since_us: None,
            heard: BTreeMap::new(),
            leases: BTreeMap::new(),
            asked: BTreeMap::new(),
            next_question: 0,
            drives: BTreeMap::new(),
            proposed_us: BTreeMap::new(),
        }
    }

    /// What is decided, as far as this manager knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether it believes that it leads.
    pub fn leads(&self) -> bool {
        self.leads_since_us.is_some()
    }

    /// It leads from now on, or it no longer does.
    pub fn lead(&mut self, now_us: u64, leads: bool) {
        self.leads_since_us = leads.then_some(now_us);
        self.heard.clear();
        self.leases.clear();
        self.asked.clear();
        self.drives.clear();
        self.proposed_us.clear();
    }

    /// A command of the log is committed.
    pub fn committed(&mut self, now_us: u64, command: &Command, effects: &mut Effects) {
        let did = self.state.apply(command);
        if !self.leads() {
            return;
        }
        match command {
            Command::Register { node, nonce } => self.welcome(*node, *nonce, effects),
            Command::Begin { range, attempt, .. } if did => {
                let drive = Drive { attempt: *attempt, begun_us: now_us, ..Drive::default() };
                self.drives.insert(*range, drive);
                self.drive(*range, now_us, effects);
            }
            Command::Activate { range, .. } if did => {
                let drive = self.drives.remove(range);
                let mut members: Vec<Member> = self.state.ranges[range].chain.members.clone();
                members.extend(drive.iter().flat_map(|drive| drive.sealed.keys()));
                for member in members {
                    self.activate(*range, member, effects);
                }
            }
            _ => {}
        }
        if let Command::Learner { range, .. } | Command::Begin { range, .. } | Command::Activate { range, .. } = command
        {
            self.proposed_us.remove(range);
        }
    }

    fn activate(&self, range: RangeId, member: Member, effects: &mut Effects) {
        let chain = self.state.ranges[&range].chain.clone();
        let message = Message::Activate { incarnation: member.incarnation, range, chain };
        effects.send.push((Address::Node(member.node), message));
    }

    fn welcome(&self, node: NodeId, nonce: u64, effects: &mut Effects) {
        if let Some((incarnation, given_to)) = self.state.nodes.get(&node).filter(|(_, given_to)| *given_to == nonce) {
            let message = Message::Welcome { nonce: *given_to, incarnation: *incarnation };
            effects.send.push((Address::Node(node), message));
        }
    }

    /// A message has come.
    pub fn receive(&mut self, now_us: u64, message: Message, effects: &mut Effects) {
        if !self.leads() {
            return;
        }
        match message {
            Message::Hello { node, nonce } => {
                if self.state.nodes.get(&node).is_some_and(|(_, given_to)| *given_to == nonce) {
                    self.welcome(node, nonce, effects);
                } else {
                    effects.propose.push(Command::Register { node, nonce });
                }
            }
            Message::Heartbeat { member, nonce, reports } if self.state.lives(member) => {
                let active = reports.iter().filter(|report| report.epoch.0 > 0);
                let active = active.map(|report| (report.range, report.epoch)).collect();
                self.ask_for_lease(Asked { member, nonce, active }, now_us, effects);
                for report in &reports {
                    let chain = self.state.ranges.get(&report.range).map(|range| &range.chain);
                    if chain.is_some_and(|chain| {
                        (chain.place(member).is_some() || report.epoch.0 > 0) && report.epoch < chain.epoch
                    }) {
                        self.activate(report.range, member, effects);
                    }
                }
                let reports = reports.into_iter().map(|report| (report.range, report)).collect();
                self.heard.insert(member.node, Heard { member, at_us: now_us, reports });
            }
            Message::Heartbeat { member: Member { node, incarnation }, .. } => {
                effects.send.push((Address::Node(node), Message::Superseded { incarnation }));
            }
            Message::Sealed { member, range, attempt, last, held } if self.state.lives(member) => {
                if let Some(drive) = self.drives.get_mut(&range).filter(|drive| drive.attempt == attempt) {
                    drive.sealed.insert(member, (last, held));
                    self.drive(range, now_us, effects);
                }
            }
            Message::Level { member, range, attempt } if self.state.lives(member) => {
                if let Some(drive) = self.drives.get_mut(&range).filter(|drive| drive.attempt == attempt) {
                    if !drive.level.contains(&member) {
                        drive.level.push(member);
                    }
                    self.drive(range, now_us, effects);
                }
            }
            Message::AskView { client } => {
                let chains = self.state.ranges.iter().map(|(id, range)| (*id, range.chain.clone())).collect();
                effects.send.push((Address::Client(client), Message::View { chains }));
            }
            _ => {}
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now_us: u64, effects: &mut Effects) {
        if !self.leads() {
            return;
        }
        for range in self.state.ranges.keys().copied().collect::<Vec<_>>() {
            self.plan(range, now_us, effects);
        }
    }
}
