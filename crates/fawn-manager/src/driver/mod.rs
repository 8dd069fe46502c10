//! What a member of the group does beside consensus: it runs the protocol's manager on what is decided, and hears and answers
//! whoever is connected.
//!
//! # Layout
//!
//! * This file: the loop, and how the manager is told what is decided and whether it leads.
//! * [`propose`]: what waits to be decided, and questions whether this member leads still.
//! * [`peers`]: what is said over links. [`enrol`]: processes that want to be members. [`operate`]: operators' questions.
//!   [`members`]: who is in the group of managers. [`report`]: what the admin port tells.
//!   [`versions`]: what everybody speaks. [`cluster_log`]: what the log says of the cluster.
//!
//! **Leading.** The manager is told that it leads once this member has heard a majority after it was elected, and has
//! applied all that was decided before; that it does not as soon as consensus says so. What it proposes is bound to the term
//! that it was told of, and so are its questions whether it leads still: each is answered by a round of heartbeats that
//! began after it.

mod apart;
mod cluster_log;
mod enrol;
mod members;
mod operate;
mod peers;
mod propose;
pub mod report;
mod time;
mod versions;

use crate::clock::now_us;
use crate::consensus::network::Heard;
use crate::consensus::{Group, LogStore, News, Proposal};
use crate::decided::{Begun, Decision, Facts};
use crate::links::dial::Dialler;
use crate::links::listen::LinkEvent;
use crate::links::table::{LinkId, Table, may_be};
use crate::links::told::Told;
use fawn_kv::ids::{Address, ClusterId, ManagerId, NodeId, SeatId};
use fawn_kv::link::{Control, Party};
use fawn_kv::manager::{Command, Effects, Manager, Settings};
use fawn_kv::status::{SeatDetails, SeatFigures, SeatTotals};
use fawn_kv::timing::Timing;
use fawn_kv::wire::version::OLDEST;
use fawn_kv::wire::{InvalidMessage, Message};
use openraft::{ServerState, StoredMembership};
use propose::{Proposals, Proposer, Questions};
use report::Report;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Between two looks of a leader at its ranges, while something is to be done.
const TICK: Duration = Duration::from_millis(10);

/// The same, while all is as it should be.
const SLOW_TICK: Duration = Duration::from_millis(50);

/// A leader that has heard no majority for so long answers nobody.
const MAJORITY: Duration = Duration::from_secs(3);

/// A majority that has not answered for so long is asked again.
const CHECK: Duration = Duration::from_secs(2);

/// What a task of this member has to tell it.
#[derive(Debug)]
enum Event {
    /// It leads in this term, and has applied all that was decided before.
    Led { term: u64 },
    /// Whether it led in this term after these questions were asked.
    Checked { term: u64, questions: Vec<u64>, led: bool },
    /// What it has proposed in this term is decided, or will not be.
    Wrote { term: u64 },
    /// What a newcomer has waited for is decided, or was not.
    Enrolled { link: LinkId, name: String },
    /// The same: it will not be, and why.
    NotEnrolled { link: LinkId, why: String },
    /// What is to be said.
    Say { link: LinkId, control: Box<Control> },
}

/// What is known of a seat beside what is decided.
#[derive(Debug, Default)]
struct Seat {
    heard_us: Option<u64>,
    figures: Option<SeatFigures>,
    /// What it reported last beside its figures, and when.
    totals: Option<(SeatTotals, u64)>,
    /// Between its last two reports.
    operations_per_s: Option<u64>,
    /// It was stopped in good order, and has not started since.
    is_stopped: bool,
    /// What its machine's clock shows.
    clock: Option<time::Reading>,
}

impl Seat {
    /// It has been heard.
    fn hear(&mut self) {
        (self.heard_us, self.is_stopped) = (Some(now_us()), false);
    }

    /// It reports what adds up over the cluster.
    fn take_totals(&mut self, totals: SeatTotals, now_us: u64) {
        let before = self.totals.replace((totals, now_us));
        self.operations_per_s = before.and_then(|(before, at_us)| {
            let elapsed_us = now_us.saturating_sub(at_us).max(1);
            // Counters that were reset count from 0 again.
            let operations = totals.operations.checked_sub(before.operations)?;
            Some((u128::from(operations) * 1_000_000 / u128::from(elapsed_us)) as u64)
        });
    }

    fn details(&self, now_us: u64) -> SeatDetails {
        let is_heard = self.heard_us.is_some_and(|at| now_us.saturating_sub(at) < operate::HEARD.as_micros() as u64);
        SeatDetails {
            is_stopped: self.is_stopped,
            totals: self.totals.map(|(totals, _)| totals),
            operations_per_s: self.operations_per_s.filter(|_| is_heard),
        }
    }
}

/// Who this member is, and what it begins with.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its number.
    pub id: ManagerId,
    /// Where others reach it; empty: they do not.
    pub address: String,
    /// What a cluster begins with, if it has yet to.
    pub settings: Settings,
    /// The same.
    pub wedges: u32,
}

/// A member.
pub struct Driver {
    me: Identity,
    group: Group,
    dialler: Arc<Dialler>,
    cluster: watch::Sender<Option<ClusterId>>,
    facts: Facts,
    manager: Option<Manager>,
    timing: Timing,
    /// The term in which the manager was told that it leads.
    led: Option<u64>,
    /// Since when.
    led_us: u64,
    /// Unix microseconds at the zero of its own clock, as it has last said to seats.
    time_zero_us: Option<i64>,
    /// Whom this leader has enrolled lately, from which directory, and when.
    enrolled: BTreeMap<String, ([u8; 16], u64)>,
    /// Who waits for the names of others.
    claims: enrol::Claims,
    /// What strangers did wrong, in the log.
    told: Told,
    /// The term in which it is being found out.
    checking: Option<u64>,
    /// Whether it is to vote, as far as it has heard.
    votes: bool,
    /// What links were told last: the term and who leads.
    said: (u64, Option<ManagerId>),
    table: Table,
    seats: BTreeMap<SeatId, Seat>,
    newcomers: Vec<enrol::Newcomer>,
    heard: Heard,
    proposer: Proposer,
    proposals: Proposals,
    questions: Questions,
    /// Since when a change of the group has been half done, as far as this leader has seen.
    changes_since_us: Option<u64>,
    /// When this leader said last that it has moved.
    moved_us: Option<u64>,
    /// Nodes that are kept out of chains with others, and with which, as was said last.
    apart: BTreeSet<(NodeId, NodeId)>,
    /// What the log has said of the cluster.
    cluster_log: cluster_log::ClusterLog,
    /// Chains that were activated, since it started.
    epoch_changes: u64,
    reports: watch::Sender<Option<Report>>,
    tasks: mpsc::UnboundedSender<Event>,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Driver {
    /// A member of a group.
    pub fn new(
        me: Identity,
        (group, store): (Group, LogStore),
        dialler: Arc<Dialler>,
        cluster: watch::Sender<Option<ClusterId>>,
        heard: Heard,
        reports: watch::Sender<Option<Report>>,
    ) -> Self {
        let proposer = Proposer::new(group.clone(), store);
        let (tasks, events) = mpsc::unbounded_channel();
        Self {
            me,
            group,
            dialler,
            cluster,
            facts: Facts::default(),
            manager: None,
            timing: Timing::default(),
            led: None,
            led_us: 0,
            time_zero_us: None,
            enrolled: BTreeMap::new(),
            claims: enrol::Claims::new(),
            told: Told::default(),
            checking: None,
            votes: false,
            said: (0, None),
            table: Table::default(),
            seats: BTreeMap::new(),
            newcomers: Vec::new(),
            heard,
            proposer,
            proposals: Proposals::default(),
            questions: Questions::default(),
            changes_since_us: None,
            moved_us: None,
            apart: BTreeSet::new(),
            cluster_log: cluster_log::ClusterLog::default(),
            epoch_changes: 0,
            reports,
            tasks,
            events,
        }
    }

    /// Runs until `stop` says so. What is decided goes before all else: whoever has proposed something finds it done.
    pub async fn run(
        mut self,
        mut news: mpsc::UnboundedReceiver<News>,
        mut links: mpsc::Receiver<LinkEvent>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut metrics = self.group.metrics();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut ticked_us = 0;
        self.look_who_leads();
        loop {
            tokio::select! {
                biased;
                Some(news) = news.recv() => self.hear(news),
                _ = stop.changed() => return,
                Ok(()) = metrics.changed() => self.look_who_leads(),
                Some(event) = self.events.recv() => self.done(event),
                _ = tick.tick() => {
                    let now_us = now_us();
                    let settled = self.manager.as_ref().is_none_or(Manager::is_settled);
                    let period = if settled { SLOW_TICK } else { TICK };
                    if now_us >= ticked_us + period.as_micros() as u64 {
                        ticked_us = now_us;
                        self.tick();
                        self.report();
                    }
                }
                Some(event) = links.recv() => self.link(event),
            }
            self.go_on();
        }
    }

    /// Whether this member leads, and its manager knows.
    fn leads(&self) -> bool {
        self.led.is_some()
    }

    /// Something was decided.
    fn hear(&mut self, news: News) {
        match news {
            News::Decided(decisions) => decisions.iter().for_each(|decision| self.decided(decision)),
            News::Installed(decided) => {
                self.step_down();
                let is_news = self.facts.begun.is_none();
                self.facts = decided.facts;
                if let Some(begun) = self.facts.begun.filter(|_| is_news) {
                    tracing::info!("this manager belongs to cluster {}", begun.cluster);
                }
                self.manager = decided
                    .state
                    .zip(self.facts.begun)
                    .map(|(state, begun)| Manager::restored(self.timing, state, begun.cluster));
                if self.facts.version > OLDEST {
                    self.version_changed();
                }
                self.roster_changed();
                self.cluster_known();
            }
        }
    }

    fn decided(&mut self, decision: &Decision) {
        let before = self.facts.roster.number;
        let did = self.facts.apply(decision);
        match decision {
            Decision::Begin(begun) if did => {
                // Whoever leads has decided it just now; others hear of it, or read it back when they start again.
                if self.leads() {
                    tracing::info!("the cluster begins: {}", begun.cluster);
                } else {
                    tracing::info!("this manager belongs to cluster {}", begun.cluster);
                }
                let mut manager = begun.manager(self.timing);
                manager.committed(now_us(), &begun.found(), &mut Effects::default());
                manager.everybody_speaks(self.facts.version);
                self.manager = Some(manager);
                self.cluster_known();
                if self.leads() {
                    self.with_manager(|manager, now_us, _| manager.lead(now_us, true));
                }
            }
            Decision::Command(bytes) => match Command::decode(bytes) {
                Ok(command) => {
                    self.note_life(&command);
                    self.epoch_changes += u64::from(matches!(command, Command::Activate { .. }));
                    if self.leads() {
                        tell(&command);
                    }
                    self.with_manager(|manager, now_us, effects| manager.committed(now_us, &command, effects));
                }
                // The log's machine has read it before.
                Err(error) => crate::consensus::log::give_up(&error),
            },
            Decision::Recovered { lost, waits } => {
                if let Some((manager, begun)) = self.manager.take().zip(self.facts.begun) {
                    let mut state = manager.state().clone();
                    state.recovered(*lost, *waits);
                    let mut manager = Manager::restored(self.timing, state, begun.cluster);
                    manager.everybody_speaks(self.facts.version);
                    self.manager = Some(manager);
                    if self.leads() {
                        self.with_manager(|manager, now_us, _| manager.lead(now_us, true));
                    }
                }
            }
            Decision::Version(_) if did => self.version_changed(),
            Decision::Begin(_) | Decision::Secret(_) | Decision::Roster(_) | Decision::Version(_) => {}
        }
        if self.facts.roster.number != before {
            self.roster_changed();
        }
    }

    /// A node has begun or ended a life.
    fn note_life(&mut self, command: &Command) {
        let (node, is_stopped) = match command {
            Command::End { member } => (member.node, true),
            Command::Register { node, .. } => (*node, false),
            _ => return,
        };
        self.seats.entry(operate::seat_of(node)).or_default().is_stopped = is_stopped;
    }

    /// The cluster's name, where those who dial others look for it.
    fn cluster_known(&self) {
        self.cluster.send_replace(self.facts.begun.map(|begun| begun.cluster));
    }

    /// Whoever wants to is told of the roster; whoever is what it says by the roster alone, and no longer is, is shown out.
    fn roster_changed(&mut self) {
        let roster = &self.facts.roster;
        let mut gone = Vec::new();
        for (link, peer) in self.table.peers() {
            if peer.hears_roster {
                peer.outbox.say(&Control::Roster(roster.clone()));
            }
            let is_gone = match peer.party {
                Party::Seat(seat) => roster.member_of(seat).is_none(),
                Party::Client(_) | Party::Newcomer => !may_be(peer.identity.as_ref(), peer.party, &self.facts),
                _ => false,
            };
            if is_gone {
                gone.push(link);
            }
        }
        for link in gone {
            self.table.close(link);
        }
        self.seats.retain(|seat, _| roster.member_of(*seat).is_some());
    }

    /// Consensus may have another leader, or none.
    fn look_who_leads(&mut self) {
        let metrics = self.group.metrics().borrow().clone();
        if let Err(error) = &metrics.running_state {
            crate::consensus::log::give_up(error);
        }
        let to_vote = metrics.membership_config.membership().get_joint_config().last();
        let votes = to_vote.is_some_and(|voters| voters.contains(&self.me.id.0));
        if std::mem::replace(&mut self.votes, votes) && !votes {
            tracing::warn!("this manager was removed from its group: stop it");
        }
        let (term, leader) = (metrics.current_term, metrics.current_leader.map(ManagerId));
        let leading = (metrics.state == ServerState::Leader).then_some(term);
        if self.led.is_some() && self.led != leading {
            tracing::info!("this manager is no longer the leader");
            self.step_down();
        }
        if let Some(term) = leading.filter(|term| self.led != Some(*term) && self.checking != Some(*term)) {
            self.checking = Some(term);
            tokio::spawn(find_out(self.group.clone(), term, self.tasks.clone()));
        }
        if (term, leader) != self.said {
            self.said = (term, leader);
            for (_, peer) in self.table.peers() {
                peer.outbox.say(&self.leads_control());
            }
        }
    }

    fn leads_control(&self) -> Control {
        Control::Leads { term: self.said.0, leader: self.said.1 }
    }

    fn step_down(&mut self) {
        self.led = None;
        self.proposals = Proposals::default();
        self.questions = Questions::default();
        self.with_manager(|manager, now_us, _| {
            if manager.leads() {
                manager.lead(now_us, false);
            }
        });
    }

    /// Something that was under way has come to its end.
    fn done(&mut self, event: Event) {
        match event {
            Event::Led { term } => self.lead(term),
            Event::Checked { term, questions, led } if self.led == Some(term) => {
                self.questions.checked();
                if led && self.leading_now() == Some(term) {
                    self.with_manager(|manager, now_us, effects| {
                        for question in questions {
                            manager.confirmed(now_us, question, effects);
                        }
                    });
                }
            }
            Event::Wrote { term } if self.led == Some(term) => self.proposals.written(),
            Event::Checked { .. } | Event::Wrote { .. } => {}
            Event::Enrolled { link, name } => self.enrolled(link, &name),
            Event::NotEnrolled { link, why } => self.not_enrolled(link, &why),
            Event::Say { link, control } => self.table.say(link, &control),
        }
    }

    /// The term in which consensus says that this member leads, just now.
    fn leading_now(&self) -> Option<u64> {
        let metrics = self.group.metrics();
        let metrics = metrics.borrow();
        (metrics.state == ServerState::Leader).then_some(metrics.current_term)
    }

    fn lead(&mut self, term: u64) {
        if self.checking == Some(term) {
            self.checking = None;
        }
        if self.leading_now() != Some(term) || self.led == Some(term) {
            return;
        }
        tracing::info!("this manager leads, in term {term}");
        (self.led, self.led_us) = (Some(term), now_us());
        self.enrolled.clear();
        for seat in self.seats.values_mut() {
            *seat = Seat { is_stopped: seat.is_stopped, ..Seat::default() };
        }
        self.cluster_log = cluster_log::ClusterLog::default();
        self.with_manager(|manager, now_us, _| manager.lead(now_us, true));
        if self.facts.begun.is_none() {
            match crate::clock::random() {
                Ok(cluster) => {
                    let Identity { settings, wedges, .. } = self.me;
                    let begun = Begun { cluster: ClusterId(cluster), settings, wedges };
                    self.proposals.add(Decision::Begin(begun));
                }
                Err(error) => crate::consensus::log::give_up(&error),
            }
        }
        self.align_roster();
    }

    fn tick(&mut self) {
        if self.leads() {
            self.with_manager(Manager::tick);
            self.tell_apart();
            self.align_roster();
            self.look_at_versions();
            self.finish_change(now_us());
            self.move_itself();
        }
    }

    /// A step of the manager, and all that comes of it.
    fn with_manager(&mut self, step: impl FnOnce(&mut Manager, u64, &mut Effects)) {
        let Some(manager) = &mut self.manager else { return };
        let mut effects = Effects::default();
        step(manager, now_us(), &mut effects);
        for (to, message) in effects.send {
            if let Message::Seal { range, attempt, .. } = &message {
                tracing::debug!("range {}: attempt {} seals", range.0, attempt.0);
            }
            self.table.send(to, &message);
        }
        if self.led.is_some() {
            for command in &effects.propose {
                self.proposals.add(Decision::command(command));
            }
            self.questions.add(effects.confirm);
        }
    }

    /// A message of the protocol, from one who may say it.
    fn receive(&mut self, message: Message) {
        if !self.leads() {
            return;
        }
        let from = match &message {
            Message::Hello { node, .. } => Some(Address::Node(*node)),
            Message::Heartbeat { member, .. } => Some(Address::Node(member.node)),
            Message::FrontHello { front, .. } => Some(Address::Front(*front)),
            Message::FrontHeartbeat { member, .. } => Some(Address::Front(member.front)),
            _ => None,
        };
        let stopped = match &message {
            Message::Farewell { member, .. } => Some(Address::Node(member.node)),
            Message::FrontFarewell { member } => Some(Address::Front(member.front)),
            _ => None,
        };
        if let Some(seat) = from.and_then(SeatId::of) {
            self.seats.entry(seat).or_default().hear();
        } else if let Some(seat) = stopped.and_then(SeatId::of) {
            self.seats.entry(seat).or_default().is_stopped = true;
        }
        self.with_manager(|manager, now_us, effects| {
            manager.receive(now_us, message, effects);
            if let Some(invalid) = manager.invalid_mut().take() {
                tell_invalid(&invalid, manager.invalid().count(), now_us);
            }
        });
    }

    /// Begins what waits: the next entry of the log, and the next question whether this member leads.
    fn go_on(&mut self) {
        self.look_at_newcomers();
        let Some(term) = self.led else { return };
        if let Some(decisions) = self.proposals.next() {
            let (proposer, tasks) = (self.proposer.clone(), self.tasks.clone());
            tokio::spawn(async move {
                if let Err(error) = proposer.propose(Proposal { term, decisions }).await {
                    tracing::debug!("the proposal of term {term} was not decided: {error}");
                }
                let _ = tasks.send(Event::Wrote { term });
            });
        }
        if let Some(questions) = self.questions.next() {
            let (group, tasks) = (self.group.clone(), self.tasks.clone());
            tokio::spawn(async move {
                let led = leads_in(&group).await == Some(term);
                let _ = tasks.send(Event::Checked { term, questions, led });
            });
        }
    }

    /// Whether a majority has answered lately. A leader that was cut off believes that it leads, and knows nothing new.
    fn has_majority(&self) -> bool {
        let metrics = self.group.metrics();
        let since_ms = metrics.borrow().millis_since_quorum_ack;
        since_ms.is_none_or(|ms| ms < MAJORITY.as_millis() as u64)
    }

    /// Who is in the group.
    fn group_members(&self) -> Arc<StoredMembership<u64, openraft::BasicNode>> {
        self.group.metrics().borrow().membership_config.clone()
    }
}

/// The term in which a majority says that this member leads, after this was asked, once it has applied what was decided
/// before.
async fn leads_in(group: &Group) -> Option<u64> {
    // A leader's first entry is of its term, and what is to be applied goes up to there at least.
    let applied = tokio::time::timeout(CHECK, group.ensure_linearizable()).await;
    applied.ok()?.ok()?.map(|id| id.leader_id.term)
}

/// Finds out whether this member leads, for as long as consensus says so.
async fn find_out(group: Group, term: u64, tasks: mpsc::UnboundedSender<Event>) {
    let leads = |group: &Group| {
        let metrics = group.metrics();
        let metrics = metrics.borrow();
        metrics.state == ServerState::Leader && metrics.current_term == term
    };
    while leads(&group) && leads_in(&group).await != Some(term) {
        tokio::time::sleep(TICK).await;
    }
    let _ = tasks.send(Event::Led { term });
}

/// Says what becomes of a chain: whoever asks where the time went reads it in the log.
fn tell(command: &Command) {
    match command {
        Command::Begin { range, attempt, target, .. } => {
            let nodes: Vec<String> = target.iter().map(|member| member.node.0.to_string()).collect();
            tracing::debug!("range {}: attempt {} begins, to have nodes {}", range.0, attempt.0, nodes.join(", "));
        }
        Command::Activate { range, attempt, .. } => {
            tracing::debug!("range {}: attempt {} is active", range.0, attempt.0);
        }
        _ => {}
    }
}

/// Between two lines about messages that cannot be true, in microseconds.
const INVALID_US: u64 = 60_000_000;

/// Logs that a message was refused, at most once a minute; `count`: so many were, so far.
fn tell_invalid(invalid: &InvalidMessage, count: u64, now_us: u64) {
    static TOLD_US: AtomicU64 = AtomicU64::new(0);
    let told_us = TOLD_US.load(Ordering::Relaxed);
    if told_us == 0 || now_us >= told_us + INVALID_US {
        TOLD_US.store(now_us.max(1), Ordering::Relaxed);
        tracing::warn!("{invalid} ({count} so far)");
    }
}
