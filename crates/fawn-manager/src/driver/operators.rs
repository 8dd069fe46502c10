//! Operators' questions, and who answers them.

use super::committed::CommittedState;
use super::group::ManagerGroup;
use super::group_changes;
use super::leadership::Leadership;
use super::orders;
use super::proposals::Proposer;
use super::seats::{Liveness, Seats};
use super::separations::Separations;
use super::status::{self, StatusSource};
use super::task_event::{TaskEvent, TaskSender};
use crate::backup::{self, BackupPoint};
use crate::clock::now_us;
use crate::consensus::Proposal;
use crate::links::dial::Dialler;
use crate::links::table::{LinkId, LinkTable};
use crate::replicated_state::{Decision, ReplicatedState};
use fawn_kv::ids::ManagerId;
use fawn_kv::link::Control;
use fawn_kv::status::{Answer, Question};
use fawn_kv::wire::version::TOTALS;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// What answers to operators need of this member.
#[derive(Clone, Copy)]
pub struct Operators<'a> {
    /// Where other members reach this one; empty: they do not.
    pub address: &'a str,
    /// The group of managers.
    pub group: &'a ManagerGroup,
    /// What is decided.
    pub committed: &'a CommittedState,
    /// Whether this member leads.
    pub leadership: &'a Leadership,
    /// What seats say.
    pub seats: &'a Seats,
    /// Nodes that are kept out of chains with others.
    pub separations: &'a Separations,
    /// The operators' links.
    pub table: &'a LinkTable,
    /// Has the group decide.
    pub proposer: &'a Proposer,
    /// Calls managers that are to join the group.
    pub dialler: &'a Arc<Dialler>,
    /// Where answers go that take a while.
    pub tasks: &'a TaskSender,
}

impl Operators<'_> {
    /// An operator asks.
    pub fn ask(self, link: LinkId, number: u64, question: Question) {
        let leading = self.leadership.term().zip(self.committed.manager()).filter(|_| self.group.has_majority());
        let Some((term, manager)) = leading else {
            let leader = self.leadership.other_leader().and_then(|leader| self.group.address_of(leader));
            return self.answer(link, number, Answer::NotLeader { leader });
        };
        let (committed, now_us) = (self.committed, now_us());
        let order = orders::describe(committed, &question);
        let decisions = match question {
            Question::Status => {
                let Self { group, committed, seats, separations, .. } = self;
                let source = StatusSource { group, committed, seats, separations, term, now_us };
                let mut status = status::status(source, manager);
                if let Some(peer) = self.table.peer(link) {
                    status.roster = status.roster.spoken_in(peer.version);
                }
                if self.table.speaks(link, TOTALS) {
                    self.table.say(link, &Control::Details(status::details(committed, seats, now_us)));
                }
                return self.answer(link, number, Answer::Status(Box::new(status)));
            }
            Question::Plan { without } => {
                let answer = orders::plan(committed, &without).map_or_else(Answer::Refused, Answer::Plan);
                return self.answer(link, number, answer);
            }
            Question::Backup => {
                let answer = self.backup().map_or_else(Answer::Refused, Answer::Backup);
                return self.answer(link, number, answer);
            }
            Question::AddManager { address } => {
                self.log_order(link, &format!("adds the manager at {address} to the group"));
                return self.add_manager(link, number, address);
            }
            Question::RemoveManager { id } => {
                self.log_order(link, &format!("removes manager {} from the group", id.0));
                return self.remove_manager(link, number, id);
            }
            Question::Drain { name, leave } => orders::drain(committed, &name, leave),
            Question::Remove { name, force } => {
                let led_us = self.leadership.since_us();
                let alive = Liveness { seats: self.seats, table: self.table, led_us, now_us };
                orders::remove(committed, alive, &name, force)
            }
            Question::Set(new) => orders::set(committed, new),
        };
        match decisions {
            Ok(decisions) if decisions.is_empty() => self.answer(link, number, Answer::Done),
            Ok(decisions) => {
                self.log_order(link, &order);
                self.decide(link, number, term, decisions);
            }
            Err(why) => self.answer(link, number, Answer::Refused(why)),
        }
    }

    /// Says in the log who orders what.
    fn log_order(self, link: LinkId, order: &str) {
        if let Some(peer) = self.table.peer(link) {
            tracing::info!("{} {order}", peer.description());
        }
    }

    fn answer(self, link: LinkId, number: u64, answer: Answer) {
        self.table.say(link, &Control::Answer { number, answer });
    }

    /// Answers once a task has come to its end.
    fn answer_later(self, link: LinkId, number: u64, answer: impl Future<Output = Answer> + Send + 'static) {
        let tasks = self.tasks.clone();
        tokio::spawn(async move {
            let answer = answer.await;
            let _ = tasks.send(TaskEvent::Say { link, control: Box::new(Control::Answer { number, answer }) });
        });
    }

    /// Answers once it is decided.
    fn decide(self, link: LinkId, number: u64, term: u64, decisions: Vec<Decision>) {
        if let Some(why) = self.proposer.stalled() {
            let why = format!("cannot write the manager's log: {why}; free space on its device, and retry");
            return self.answer(link, number, Answer::Refused(why));
        }
        let proposer = self.proposer.clone();
        self.answer_later(link, number, async move {
            match proposer.propose(Proposal { term, decisions }).await {
                Ok(done) if done.data.iter().all(|did| *did) => Answer::Done,
                Ok(_) => Answer::Refused("another decision came first: check the status, and retry".into()),
                Err(error) => Answer::Refused(format!("the managers cannot decide it now: {error}")),
            }
        });
    }

    /// Takes another manager into the group, in place of one that had its address.
    fn add_manager(self, link: LinkId, number: u64, address: String) {
        if self.address.is_empty() {
            let why =
                "this manager has no address that the others can reach: start it with --advertise ADDR:PORT first";
            return self.answer(link, number, Answer::Refused(why.to_owned()));
        }
        let (group, dialler) = (self.group.raft().clone(), self.dialler.clone());
        let version = self.committed.facts().version;
        self.answer_later(link, number, async move {
            let done = group_changes::add(&group, &dialler, &address, version).await;
            done.map_or_else(Answer::Refused, |()| Answer::Done)
        });
    }

    /// Takes a manager out of the group.
    fn remove_manager(self, link: LinkId, number: u64, id: ManagerId) {
        let group = self.group.raft().clone();
        self.answer_later(link, number, async move {
            group_changes::remove(&group, id).await.map_or_else(Answer::Refused, |()| Answer::Done)
        });
    }

    /// All that is decided.
    fn backup(self) -> Result<Vec<u8>, String> {
        let (facts, state) = (self.committed.facts().clone(), self.committed.state()?.clone());
        let metrics = self.group.metrics();
        let last = metrics.last_log_index.unwrap_or(0);
        let taken_unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let place = BackupPoint { term: metrics.current_term, index: last, taken_unix };
        Ok(backup::encode(&ReplicatedState { facts, state: Some(state) }, place))
    }
}
