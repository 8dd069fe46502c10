//! What a member of the group does beside consensus: it runs the protocol's manager on what is decided, and hears and answers
//! whoever is connected.
//!
//! # Layout
//!
//! [`Driver`] is the loop. It hears of decisions, links, tasks and time, and passes each to the part that owns it:
//!
//! * [`committed`]: what is decided, and the protocol's manager. [`proposals`]: what waits to be decided, and questions whether
//!   this member leads still. [`leadership`]: whether it leads. [`versions`]: what everybody speaks.
//! * [`group`]: the group of managers. [`group_changes`]: changes of it.
//! * [`seats`]: what seats report. [`cluster_clock`]: the time that most of them have. [`separations`]: nodes that do not reach
//!   each other.
//! * [`admission`]: whom it lets in. [`newcomers`]: processes that want to be members.
//! * [`operators`]: operators' questions. [`orders`]: what they order. [`status`]: what they see.
//! * [`report`]: what the admin port shows. [`cluster_log`]: what the log says of the cluster.
//! * [`task_event`]: what tasks report.
//!
//! **Leading.** The manager is told that it leads once this member has heard a majority after it was elected, and has
//! applied all that was decided before; that it does not as soon as consensus says so. What it proposes is bound to the term
//! that it was told of, and so are its questions whether it leads still: each is answered by a round of heartbeats that
//! began after it.

mod admission;
mod cluster_clock;
mod cluster_log;
mod committed;
mod group;
mod group_changes;
mod leadership;
mod newcomers;
mod operators;
mod orders;
mod proposals;
pub mod report;
mod seats;
mod separations;
mod status;
mod task_event;
#[cfg(test)]
mod testing;
mod versions;

use crate::clock::now_us;
use crate::consensus::log_store::give_up;
use crate::consensus::network::PeerContacts;
use crate::consensus::{Group, LogStore, StateChange};
use crate::links::dial::Dialler;
use crate::links::listen::LinkEvent;
use crate::links::rate_limited_log::RateLimitedLog;
use crate::links::table::{LinkId, LinkPeer, LinkTable};
use crate::replicated_state::{Decision, Genesis};
use cluster_clock::ClusterClock;
use committed::CommittedState;
use fawn_kv::ids::{Address, ClusterId, ManagerId, SeatId};
use fawn_kv::link::{Control, Greeted, Party};
use fawn_kv::manager::roster::Member;
use fawn_kv::manager::{Command, Effects, Manager, Settings};
use fawn_kv::wire::version::{NEWEST, OLDEST};
use fawn_kv::wire::{InvalidMessage, Message};
use group::ManagerGroup;
use group_changes::GroupChanges;
use leadership::{GroupState, Leadership};
use newcomers::{EnrolmentContext, Newcomer, Newcomers};
use openraft::ServerState;
use operators::Operators;
use proposals::{Proposals, Proposer, Questions};
use report::{ManagerReport, ReportSource, Reports};
use seats::Seats;
use separations::Separations;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use task_event::{TaskEvent, TaskSender};
use tokio::sync::{mpsc, watch};

/// Between two looks of a leader at its ranges, while something is to be done.
const TICK: Duration = Duration::from_millis(10);

/// Between two looks of a leader at its ranges, while all is as it should be.
const SLOW_TICK: Duration = Duration::from_millis(50);

/// Who this member is, and what it begins with.
#[derive(Clone, Debug)]
pub struct MemberIdentity {
    /// Its number.
    pub id: ManagerId,
    /// Where others reach it; empty: they do not.
    pub address: String,
    /// What a cluster begins with, if it has yet to.
    pub settings: Settings,
    /// The wedges of such a cluster.
    pub wedges: u32,
}

/// A member.
pub struct Driver {
    me: MemberIdentity,
    group: ManagerGroup,
    dialler: Arc<Dialler>,
    /// The cluster's name, where those who dial others look for it.
    cluster: watch::Sender<Option<ClusterId>>,
    committed: CommittedState,
    leadership: Leadership,
    proposer: Proposer,
    proposals: Proposals,
    questions: Questions,
    changes: GroupChanges,
    table: LinkTable,
    seats: Seats,
    clock: ClusterClock,
    separations: Separations,
    newcomers: Newcomers,
    /// Refusals in the log.
    refusals: RateLimitedLog,
    reports: Reports,
    tasks: TaskSender,
    events: mpsc::UnboundedReceiver<TaskEvent>,
}

impl Driver {
    /// A member of a group.
    pub fn new(
        me: MemberIdentity,
        (group, store): (Group, LogStore),
        dialler: Arc<Dialler>,
        cluster: watch::Sender<Option<ClusterId>>,
        contacts: PeerContacts,
        reports: watch::Sender<Option<ManagerReport>>,
    ) -> Self {
        let (tasks, events) = mpsc::unbounded_channel();
        Self {
            leadership: Leadership::new(me.id),
            proposer: Proposer::new(group.clone(), store),
            group: ManagerGroup::new(me.id, group, contacts),
            me,
            dialler,
            cluster,
            committed: CommittedState::default(),
            proposals: Proposals::default(),
            questions: Questions::default(),
            changes: GroupChanges::default(),
            table: LinkTable::default(),
            seats: Seats::default(),
            clock: ClusterClock::default(),
            separations: Separations::default(),
            newcomers: Newcomers::default(),
            refusals: RateLimitedLog::default(),
            reports: Reports::new(reports),
            tasks,
            events,
        }
    }

    /// Runs until `stop` says so. What is decided goes before all else: whoever has proposed something finds it done.
    pub async fn run(
        mut self,
        mut decided: mpsc::UnboundedReceiver<StateChange>,
        mut links: mpsc::Receiver<LinkEvent>,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut metrics = self.group.raft().metrics();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut ticked_us = 0;
        self.observe_group();
        loop {
            tokio::select! {
                biased;
                Some(change) = decided.recv() => self.take_change(change),
                _ = stop.changed() => return,
                Ok(()) = metrics.changed() => self.observe_group(),
                Some(event) = self.events.recv() => self.finish_task(event),
                _ = tick.tick() => {
                    let now_us = now_us();
                    let settled = self.committed.manager().is_none_or(Manager::is_settled);
                    let period = if settled { SLOW_TICK } else { TICK };
                    if now_us >= ticked_us + period.as_micros() as u64 {
                        ticked_us = now_us;
                        self.tick();
                        self.report();
                    }
                }
                Some(event) = links.recv() => self.take_link_event(event),
            }
            self.begin_waiting();
        }
    }

    /// Something was decided.
    fn take_change(&mut self, change: StateChange) {
        match change {
            StateChange::Decisions(decisions) => decisions.iter().for_each(|decision| self.apply(decision)),
            StateChange::Snapshot(snapshot) => {
                self.step_down();
                let is_new = self.committed.cluster().is_none();
                self.committed.install(*snapshot);
                if let Some(cluster) = self.committed.cluster().filter(|_| is_new) {
                    tracing::info!("this manager belongs to cluster {cluster}");
                }
                if self.committed.facts().version > OLDEST {
                    self.version_changed();
                }
                self.roster_changed();
                self.publish_cluster();
            }
        }
    }

    fn apply(&mut self, decision: &Decision) {
        let is_leading = self.leadership.is_leading();
        let effect = self.committed.apply(decision, now_us());
        match decision {
            Decision::Begin(Genesis { cluster, .. }) if effect.did => {
                // Whoever leads has decided it just now; others hear of it, or read it back when they start again.
                if is_leading {
                    tracing::info!("the cluster begins: {cluster}");
                } else {
                    tracing::info!("this manager belongs to cluster {cluster}");
                }
                self.publish_cluster();
                if is_leading {
                    self.step(|manager, now_us, _| manager.lead(now_us, true));
                }
            }
            Decision::Command(bytes) => match Command::decode(bytes) {
                Ok(command) => self.carry_out(&command),
                // The log's machine has read it before.
                Err(error) => give_up(&error),
            },
            Decision::Recovered { .. } if is_leading => self.step(|manager, now_us, _| manager.lead(now_us, true)),
            Decision::Version(_) if effect.did => self.version_changed(),
            Decision::Begin(_)
            | Decision::Secret(_)
            | Decision::Roster(_)
            | Decision::Version(_)
            | Decision::Recovered { .. } => {}
        }
        if effect.is_roster_new {
            self.roster_changed();
        }
    }

    /// A command of the protocol's manager is decided.
    fn carry_out(&mut self, command: &Command) {
        match command {
            Command::End { member } => self.seats.set_stopped(seats::seat_of(member.node), true),
            Command::Register { node, .. } => self.seats.set_stopped(seats::seat_of(*node), false),
            Command::Activate { .. } => self.reports.count_epoch_change(),
            _ => {}
        }
        if self.leadership.is_leading() {
            log_chain_change(command);
        }
        self.step(|manager, now_us, effects| manager.committed(now_us, command, effects));
    }

    fn publish_cluster(&self) {
        self.cluster.send_replace(self.committed.cluster());
    }

    /// The roster is another: whoever follows it is told, and whoever is no member any more is forgotten.
    fn roster_changed(&mut self) {
        let facts = self.committed.facts();
        self.table.roster_changed(facts);
        let is_known = |seat| facts.roster.member_of(seat).is_some();
        self.seats.retain(is_known);
        self.clock.retain(is_known);
    }

    /// The cluster's version is another: whoever is connected is told, and whoever does not speak it is shown out.
    fn version_changed(&mut self) {
        let version = self.committed.facts().version;
        // Said where it is decided, and not each time that it is read back.
        if self.leadership.is_leading() {
            tracing::info!("all processes speak version {version}, which is the cluster's from now on");
        }
        self.step(|manager, _, _| manager.everybody_speaks(version));
        self.table.version_changed(version);
    }

    /// Consensus may have another leader, or none.
    fn observe_group(&mut self) {
        let metrics = self.group.metrics();
        if let Err(error) = &metrics.running_state {
            give_up(error);
        }
        let to_vote = metrics.membership_config.membership().get_joint_config().last();
        let change = self.leadership.observe(GroupState {
            term: metrics.current_term,
            leader: metrics.current_leader.map(ManagerId),
            is_leader: metrics.state == ServerState::Leader,
            is_voter: to_vote.is_some_and(|voters| voters.contains(&self.me.id.0)),
        });
        if change.is_removed {
            tracing::warn!("this manager was removed from its group: stop it");
        }
        if change.is_deposed {
            tracing::info!("this manager is no longer the leader");
            self.step_down();
        }
        if let Some(term) = change.to_confirm {
            tokio::spawn(confirm(self.group.clone(), term, self.tasks.clone()));
        }
        if change.is_announced {
            self.table.announce(&self.leadership.control());
        }
    }

    fn step_down(&mut self) {
        self.leadership.step_down();
        self.proposals = Proposals::default();
        self.questions = Questions::default();
        self.step(|manager, now_us, _| {
            if manager.leads() {
                manager.lead(now_us, false);
            }
        });
    }

    /// Something that was under way has come to its end.
    fn finish_task(&mut self, event: TaskEvent) {
        match event {
            TaskEvent::Led { term } => self.lead(term),
            TaskEvent::Checked { term, questions, led } if self.leadership.term() == Some(term) => {
                self.questions.checked();
                if led && self.group.leading_term() == Some(term) {
                    self.step(|manager, now_us, effects| {
                        for question in questions {
                            manager.confirmed(now_us, question, effects);
                        }
                    });
                }
            }
            TaskEvent::Wrote { term } if self.leadership.term() == Some(term) => self.proposals.written(),
            TaskEvent::Checked { .. } | TaskEvent::Wrote { .. } => {}
            TaskEvent::Enrolled { link, name } => self.enrolment().0.welcome(link, &name),
            TaskEvent::NotEnrolled { link, why } => self.enrolment().0.retry(link, &why),
            TaskEvent::Say { link, control } => self.table.say(link, &control),
        }
    }

    /// A majority has confirmed that this member leads.
    fn lead(&mut self, term: u64) {
        if !self.leadership.confirm(term, self.group.leading_term(), now_us()) {
            return;
        }
        tracing::info!("this manager leads, in term {term}");
        self.newcomers.forget_enrolled();
        self.seats.forget_reports();
        self.clock.forget_readings();
        self.reports.forget_cluster();
        self.step(|manager, now_us, _| manager.lead(now_us, true));
        if self.committed.facts().genesis.is_none() {
            match crate::clock::random() {
                Ok(cluster) => {
                    let MemberIdentity { settings, wedges, .. } = self.me;
                    let genesis = Genesis { cluster: ClusterId(cluster), settings, wedges };
                    self.proposals.add(Decision::Begin(genesis));
                }
                Err(error) => give_up(&error),
            }
        }
        self.align_roster();
    }

    fn tick(&mut self) {
        if self.leadership.is_leading() {
            self.step(Manager::tick);
            self.separations.log_changes(&self.committed);
            self.align_roster();
            self.propose_version();
            self.changes.finish(&self.group, now_us());
            self.changes.announce_address(&self.group, &self.me.address, now_us());
        }
    }

    /// The roster is to say where the members of the group are.
    fn align_roster(&mut self) {
        let facts = self.committed.facts();
        if !self.leadership.is_leading() || facts.genesis.is_none() {
            return;
        }
        let membership = self.group.membership();
        for change in group_changes::roster_changes(membership.membership(), &facts.roster.managers) {
            self.proposals.add(Decision::Roster(change));
        }
    }

    /// Proposes a newer version when everybody speaks it.
    fn propose_version(&mut self) {
        let facts = self.committed.facts();
        if facts.version >= NEWEST {
            return;
        }
        let seats = facts.roster.members.values().flat_map(Member::seats);
        let seats = seats.map(|seat| self.table.version_of(seat));
        let newest = versions::newest_of_all(self.group.versions().into_iter().chain(seats));
        if let Some(newest) = newest.filter(|newest| *newest > facts.version) {
            self.proposals.add(Decision::Version(newest));
        }
    }

    /// A step of the manager, and all that comes of it.
    fn step(&mut self, step: impl FnOnce(&mut Manager, u64, &mut Effects)) {
        let Some(manager) = self.committed.manager_mut() else { return };
        let mut effects = Effects::default();
        step(manager, now_us(), &mut effects);
        for (to, message) in effects.send {
            if let Message::Seal { range, attempt, .. } = &message {
                tracing::debug!("range {}: attempt {} seals", range.0, attempt.0);
            }
            self.table.send(to, &message);
        }
        if self.leadership.is_leading() {
            for command in &effects.propose {
                self.proposals.add(Decision::command(command));
            }
            self.questions.add(effects.confirm);
        }
    }

    /// Something has come over a link.
    fn take_link_event(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Called { link, greeting, version, identity, host, outbox, answer } => {
                let facts = self.committed.facts();
                let next_client = || self.table.next_client();
                let admitted = admission::admit(&greeting, identity.as_ref(), self.me.id, facts, next_client);
                if let Err(why) = &admitted {
                    // Whoever is refused may not tell its operator, or not be the operator's.
                    self.refusals.warn(&format!("a caller is refused: {why}"));
                }
                if let Ok(you) = admitted {
                    let (cluster, from) = (self.committed.cluster(), Party::Manager(self.me.id));
                    outbox.say(&Control::Greeted(Greeted { version, cluster, from, you }));
                    outbox.say(&self.leadership.control());
                    let peer = LinkPeer { party: you, version, outbox, identity, host, hears_roster: false };
                    peer.tell_version(facts.version);
                    self.table.add(link, peer);
                }
                // Whoever has called may have gone already: then it is closed at once.
                let _ = answer.send(admitted);
            }
            LinkEvent::Message { link, message } => {
                self.table.heard(link);
                self.receive(message);
            }
            LinkEvent::Control { link, control } => {
                self.table.heard(link);
                self.take_control(link, control);
            }
            LinkEvent::Closed(link) => self.table.remove(link),
        }
    }

    /// A message of the protocol, from one who may say it.
    fn receive(&mut self, message: Message) {
        if !self.leadership.is_leading() {
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
            self.seats.hear(seat, now_us());
        } else if let Some(seat) = stopped.and_then(SeatId::of) {
            self.seats.set_stopped(seat, true);
        }
        self.step(|manager, now_us, effects| {
            manager.receive(now_us, message, effects);
            if let Some(invalid) = manager.invalid_mut().take() {
                log_invalid(&invalid, manager.invalid().count(), now_us);
            }
        });
    }

    /// Something outside of the protocol has come over a link.
    fn take_control(&mut self, link: LinkId, control: Control) {
        let Some(peer) = self.table.peer(link) else { return };
        match (control, peer.party) {
            (Control::AskRoster { known }, party) if party != Party::Newcomer => {
                let roster = &self.committed.facts().roster;
                if roster.number != known {
                    peer.outbox.say(&Control::Roster(roster.spoken_in(peer.version)));
                }
                self.table.follow_roster(link);
            }
            (Control::AskSecret, Party::Client(_)) => {
                // It asks again until the first member has brought it.
                if let Some(secret) = self.committed.facts().secret {
                    peer.outbox.say(&Control::Secret(secret));
                }
            }
            (Control::Enrol { who, cluster, secret }, Party::Newcomer) => {
                self.newcomers.add(Newcomer { link, who, cluster, secret });
                self.look_at_newcomers();
            }
            (Control::Figures(figures), Party::Seat(seat)) if figures.seat == seat => {
                self.seats.report_figures(figures, now_us());
            }
            (Control::Totals { seat: of, totals }, Party::Seat(seat)) if of == seat => {
                self.seats.report_totals(seat, totals, now_us());
            }
            (Control::Clock { unix_ms }, Party::Seat(seat)) => self.take_clock(link, seat, unix_ms),
            (Control::Ping { number }, Party::Seat(_)) => peer.outbox.say(&Control::Pong { number }),
            (Control::Ask { number, question }, Party::Operator | Party::Manager(_)) => {
                self.operators().ask(link, number, question);
            }
            (control, party) => {
                // A later release may say what this one does not know.
                tracing::debug!("{party} sent a message that is not for a manager: {control:?}");
            }
        }
    }

    /// A seat says what its machine's clock shows, and hears what time it is, if enough is known of that.
    fn take_clock(&mut self, link: LinkId, seat: SeatId, unix_ms: u64) {
        let now_us = now_us();
        self.seats.add(seat);
        self.clock.read(seat, unix_ms, now_us);
        if !self.leadership.is_leading() {
            return;
        }
        let own_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_millis() as u64);
        let roster = &self.committed.facts().roster;
        if let Some(unix_ms) = self.clock.time_ms(roster, own_ms, self.leadership.since_us(), now_us) {
            self.table.say(link, &Control::Time { unix_ms });
        }
    }

    fn operators(&self) -> Operators<'_> {
        Operators {
            address: &self.me.address,
            group: &self.group,
            committed: &self.committed,
            leadership: &self.leadership,
            seats: &self.seats,
            separations: &self.separations,
            table: &self.table,
            proposer: &self.proposer,
            dialler: &self.dialler,
            tasks: &self.tasks,
        }
    }

    /// What enrolment needs, and the newcomers.
    fn enrolment(&mut self) -> (EnrolmentContext<'_>, &mut Newcomers) {
        let context = EnrolmentContext {
            committed: &self.committed,
            leadership: &self.leadership,
            group: &self.group,
            seats: &self.seats,
            table: &mut self.table,
            proposer: &self.proposer,
            tasks: &self.tasks,
            refusals: &self.refusals,
        };
        (context, &mut self.newcomers)
    }

    fn look_at_newcomers(&mut self) {
        let (context, newcomers) = self.enrolment();
        newcomers.look(context);
    }

    /// Puts a report together, if the last one is old.
    fn report(&mut self) {
        self.reports.refresh(ReportSource {
            group: &self.group,
            proposer: &self.proposer,
            committed: &self.committed,
            seats: &self.seats,
            is_leading: self.leadership.is_leading(),
            now_us: now_us(),
        });
    }

    /// Begins what waits: the next entry of the log, and the next question whether this member leads.
    fn begin_waiting(&mut self) {
        self.look_at_newcomers();
        let Some(term) = self.leadership.term() else { return };
        self.proposals.begin(term, &self.proposer, &self.tasks);
        self.questions.begin(term, &self.group, &self.tasks);
    }
}

/// Finds out whether this member leads, for as long as consensus says so.
async fn confirm(group: ManagerGroup, term: u64, tasks: TaskSender) {
    while group.leading_term() == Some(term) && group.confirmed_term().await != Some(term) {
        tokio::time::sleep(TICK).await;
    }
    let _ = tasks.send(TaskEvent::Led { term });
}

/// Says what becomes of a chain: whoever asks where the time went reads it in the log.
fn log_chain_change(command: &Command) {
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
fn log_invalid(invalid: &InvalidMessage, count: u64, now_us: u64) {
    static LOGGED_US: AtomicU64 = AtomicU64::new(0);
    let logged_us = LOGGED_US.load(Ordering::Relaxed);
    if logged_us == 0 || now_us >= logged_us + INVALID_US {
        LOGGED_US.store(now_us.max(1), Ordering::Relaxed);
        tracing::warn!("{invalid} ({count} so far)");
    }
}
