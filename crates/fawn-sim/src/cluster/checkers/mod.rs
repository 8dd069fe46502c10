//! The checkers: what must hold at every step, at rest, and of each answer.
//!
//! Each checker owns what it knows of the run. None of them changes what happens.

pub mod coverage;
mod deadlines;
pub mod dumps;
mod expiries;
mod flushes;
mod histories;
mod invariants;
pub mod pauses;
mod redundancy;
mod rest;
mod weak;
mod wrong_clocks;

use fawn_check::{KvOperation, KvOutcome};
use fawn_kv::chain::Timing;
use fawn_kv::ids::{Ack, Address, Consistency, RangeId};
use fawn_kv::manager::{Command, Into, State};
use fawn_kv::message::Message;
use fawn_kv::node::Node;
use fawn_kv::scan;
use fawn_ring::Interval;

use crate::cluster::checkers::coverage::{ClusterPath, Coverage};
use crate::cluster::checkers::deadlines::Deadlines;
use crate::cluster::checkers::dumps::Dumps;
use crate::cluster::checkers::expiries::Expiries;
use crate::cluster::checkers::flushes::DelayedFlushes;
use crate::cluster::checkers::histories::Histories;
use crate::cluster::checkers::invariants::Invariants;
use crate::cluster::checkers::redundancy::{Redundancy, meets_take_over, parents};
use crate::cluster::checkers::weak::{WeakChecker, owners_lost_by, who_lacks};
use crate::cluster::checkers::wrong_clocks::{SetBack, WrongClocks};
use crate::cluster::clients::Clients;
use crate::cluster::clients::operation::{About, Asking, Conclusion};
use crate::cluster::event::Kernel;
use crate::cluster::keys::expires;
use crate::cluster::network::is_under_way;
use crate::cluster::processes::Processes;
use crate::cluster::processes::managers::Managers;
use crate::cluster::processes::node::NodeProcess;
use crate::cluster::processes::store::node_store::NodeStore;
use crate::cluster::processes::store::plain::PlainWrite;
use crate::cluster::script::Script;
use crate::cluster::summary::Summary;
use crate::cluster::time::unix;

pub use invariants::checksum;

/// All checkers of a run.
pub struct Checkers {
    histories: Histories,
    expiries: Expiries,
    flushes: DelayedFlushes,
    clocks: WrongClocks,
    /// What is known of the cluster, if it is weak.
    weak: Option<WeakChecker>,
    invariants: Invariants,
    /// What the managers have agreed on.
    agreed: State,
    redundancy: Redundancy,
    deadlines: Deadlines,
    dumps: Dumps,
    coverage: Coverage,
    /// Whether all that must hold is looked at after every step: work that grows with the cluster.
    looks_at_steps: bool,
    answered: u64,
    given_up: u64,
    /// Chains whose members all stopped before they had synced what was acknowledged.
    losses: u64,
    /// Keys of weak clusters that are judged less strictly.
    weakened: u64,
}

/// What came of a look at a node.
pub struct NodeLook {
    /// Its right to answer reads has changed.
    pub changed: bool,
    /// Ranges whose time was set back.
    pub set_back: Vec<SetBack>,
}

impl Checkers {
    /// The checkers of a run of a script, in a cluster that begins with what is `agreed`.
    pub fn new(script: &Script, timing: &Timing, agreed: State) -> Self {
        let plan = &script.plan;
        Self {
            histories: Histories::new(plan.keys, plan.clients),
            expiries: Expiries::default(),
            flushes: DelayedFlushes::default(),
            clocks: WrongClocks::new(plan.lost_clock),
            weak: (plan.rules.consistency == Consistency::Weak).then(|| WeakChecker::new(plan.keys)),
            invariants: Invariants::of(plan.rules, timing),
            agreed,
            redundancy: Redundancy::new(plan.replicas, script.spares_members(), script.keeps_first()),
            deadlines: Deadlines::new(script.severs_alone()),
            dumps: Dumps::default(),
            coverage: Coverage::default(),
            looks_at_steps: true,
            answered: 0,
            given_up: 0,
            losses: 0,
            weakened: 0,
        }
    }

    /// From here on nothing is looked at after each step, and no cluster is dumped.
    pub fn look_at_no_steps(&mut self) {
        self.looks_at_steps = false;
    }

    /// From here on no key's history is judged.
    pub fn judge_no_keys(&mut self) {
        self.histories.give_up_all();
    }

    /// A path was taken that only the whole cluster shows.
    pub fn see(&mut self, path: ClusterPath) {
        self.coverage.see(path);
    }

    /// The operator lets writes be acknowledged so from here on.
    pub fn note_acknowledgement(&mut self, ack: Ack) {
        self.invariants.may_acknowledge(ack);
    }

    /// A member fails.
    pub fn note_failure(&mut self) {
        self.redundancy.note_failure();
    }

    /// Links are severed from now on.
    pub fn note_severed(&mut self, now_us: u64) {
        self.deadlines.sever(now_us);
    }

    /// Whether requests must be answered in time.
    pub fn have_deadlines(&self) -> bool {
        self.deadlines.is_on()
    }

    /// A request of a client does not wait for too long.
    ///
    /// # Errors
    /// It does.
    pub fn look_at_wait(&self, now_us: u64, client: usize, asking: Option<&Asking>) -> Result<(), String> {
        self.deadlines.look_at_wait(now_us, client, asking)
    }

    /// A process goes by a clock that is wrong: whatever has an expiry may be gone from now on, and nothing needs to be.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn note_wrong_clock(&mut self, kernel: &mut Kernel) -> Result<(), String> {
        if self.clocks.note_wrong() {
            self.expiries.may_all_expire(kernel, &mut self.histories, &self.clocks)?;
            self.flushes.may_all_be_due(kernel, &mut self.histories, &self.clocks)?;
        }
        Ok(())
    }

    /// Looks at a node after a step.
    ///
    /// # Errors
    /// What does not hold.
    pub fn look_at_node(
        &mut self,
        now_us: u64,
        (number, run): (usize, u32),
        node: &Node<NodeStore>,
    ) -> Result<NodeLook, String> {
        let changed = self.looks_at_steps && self.invariants.look(node)?;
        Ok(NodeLook { changed, set_back: self.clocks.look((number, run), node, unix(now_us)) })
    }

    /// The time of ranges was set back, to what time it is or later. What expires is judged no more.
    ///
    /// # Errors
    /// It was set back further.
    pub fn look_at_set_back(&mut self, all: &[SetBack]) -> Result<(), String> {
        for set_back in all {
            let keys = set_back.keys()?;
            for key in self.histories.keys_of(About::Range(RangeId(0), keys)).into_iter().filter(|key| expires(*key)) {
                self.histories.give_up(key);
            }
        }
        Ok(())
    }

    /// Looks at all nodes after a step that has changed the right of one to answer reads.
    ///
    /// # Errors
    /// What does not hold.
    pub fn look_at_rights(&self, now_us: u64, processes: &Processes, number: usize) -> Result<(), String> {
        rest::look_at_lost(processes, &self.invariants, number)?;
        rest::look_at_readers(now_us, processes, number)
    }

    /// A node is told to drop a range.
    ///
    /// # Errors
    /// Somebody needs its copy.
    pub fn look_at_drop(&mut self, processes: &Processes, number: usize, dropped: RangeId) -> Result<(), String> {
        if self.redundancy.look_at_drop(&self.agreed, processes, number, dropped)? {
            self.coverage.see(ClusterPath::PlannedDrop);
        }
        Ok(())
    }

    /// A command is agreed.
    ///
    /// # Errors
    /// What it changes does not hold.
    pub fn agree(&mut self, processes: &Processes, command: &Command) -> Result<(), String> {
        self.look_for_losses(&processes.managers, command);
        self.see_command(processes, command);
        let lost = if self.weak.is_some() { owners_lost_by(&self.agreed, command) } else { Vec::new() };
        let parents = parents(&self.agreed, command);
        let least = parents.iter().map(|range| self.agreed.ranges[range].chain.members.len()).min();
        let Some(did) = self.agreed.apply(command) else { return Ok(()) };
        self.weaken(&lost);
        if self.redundancy.look_at_change(&self.agreed, &did.active, least)? {
            self.coverage.see(ClusterPath::PlannedChange);
        }
        Ok(())
    }

    /// Where a chain acknowledges what is in memory, and all its members stop, what they had not synced is lost. From there on
    /// only the rest is checked: that all comes to rest, and no number is given out twice.
    fn look_for_losses(&mut self, managers: &Managers, command: &Command) {
        let Command::Begin { range, source: Some(source), .. } = command else { return };
        if self.weak.is_some() {
            return;
        }
        let lost = managers.states().any(|state| {
            let range = state.ranges.get(range);
            range.is_some_and(|range| range.chain.rules.ack == Ack::Replicated && range.chain.place(*source).is_none())
        });
        if lost {
            self.losses += 1;
            self.histories.give_up_all();
            self.invariants.forget(*range);
        }
    }

    /// What only the whole cluster shows of a command.
    fn see_command(&mut self, processes: &Processes, command: &Command) {
        if meets_take_over(&self.agreed, command) {
            self.coverage.see(ClusterPath::MergeInTakeOver);
        }
        let Command::Activate { into, .. } = command else { return };
        if !processes.is_any_down() {
            return;
        }
        match into {
            Into::Split { .. } => self.coverage.see(ClusterPath::SplitWhileDown),
            Into::Merge { .. } => self.coverage.see(ClusterPath::MergeWhileDown),
            Into::Itself | Into::MergedBy { .. } => {}
        }
    }

    /// From here on these keys are judged less strictly.
    fn weaken(&mut self, lost: &[Interval]) {
        for keys in lost {
            for key in self.histories.keys_of(About::Range(RangeId(0), *keys)) {
                self.weakened += u64::from(self.histories.give_up(key));
            }
        }
    }

    /// A client asks something. The checkers of its keys are told, unless it is a flush with a delay.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn begun(
        &mut self,
        kernel: &mut Kernel,
        clients: &Clients,
        number: usize,
        asking: &Asking,
    ) -> Result<(), String> {
        let (now_us, operation) = (kernel.now_us(), self.histories.open(number));
        let keys = self.histories.keys_of(asking.about);
        if let Some(weak) = &mut self.weak {
            weak.note_asked(&keys, asking.operation);
        }
        if self.flushes.begin(kernel, &self.clocks, (operation, asking), clients.do_others_flush(number)) {
            return Ok(());
        }
        for key in keys {
            self.histories.tell(key, |checker| checker.invoke(now_us, operation, asking.operation))?;
        }
        Ok(())
    }

    /// A value is put that expires.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn note_expiry(&mut self, kernel: &mut Kernel, value: (u64, u64, u32)) -> Result<(), String> {
        self.expiries.put(kernel, &mut self.histories, &self.clocks, value)
    }

    /// What a client asked has ended; where it `must_be_answered`, not because nobody answers.
    ///
    /// # Errors
    /// The answer is wrong, or comes too late.
    pub fn ended(
        &mut self,
        now_us: u64,
        number: usize,
        conclusion: Conclusion,
        must_be_answered: bool,
    ) -> Result<(), String> {
        let operation = self.histories.close(number);
        if let Some(weak) = &mut self.weak {
            weak.look_at_last(now_us, number, &conclusion)?;
        }
        if must_be_answered {
            self.deadlines.look_at_given_up(now_us, number, &conclusion)?;
        }
        let (asking, outcomes) = match conclusion {
            Conclusion::Answered(asking, outcomes) => (asking, outcomes),
            Conclusion::GivenUp(asking) => (asking, Vec::new()),
            Conclusion::ShownNoMore(asking) => {
                self.coverage.see(ClusterPath::ShownNoMore);
                (asking, Vec::new())
            }
        };
        if let (true, KvOperation::Put { value }) = (outcomes.is_empty(), asking.operation) {
            self.expiries.give_up(value);
        }
        self.answered += u64::from(!outcomes.is_empty());
        self.given_up += u64::from(outcomes.is_empty());
        if self.flushes.end(operation, &asking, !outcomes.is_empty()) {
            return Ok(());
        }
        for (at, key) in self.histories.keys_of(asking.about).into_iter().enumerate() {
            // What is about a whole range has one outcome for all keys.
            let outcome = outcomes.get(at).or(outcomes.first()).copied();
            if let Some(weak) = &self.weak {
                weak.look_at_answer(key, outcome)?;
            }
            self.histories.tell(key, |checker| match outcome {
                Some(outcome) => checker.complete(now_us, operation, outcome),
                None => checker.unknown(operation),
            })?;
        }
        Ok(())
    }

    /// A value may be gone from now on, by one clock or another.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn may_expire(&mut self, kernel: &mut Kernel, value: (u64, u64, u32)) -> Result<(), String> {
        self.expiries.may_expire(kernel, &mut self.histories, &self.clocks, value)
    }

    /// By all clocks a value, which a put may not have brought yet, is expired.
    ///
    /// # Errors
    /// The history of its key is not linearizable.
    pub fn expired(&mut self, now_us: u64, value: (u64, u64, u64)) -> Result<(), String> {
        self.expiries.expired(now_us, &mut self.histories, &self.clocks, value)
    }

    /// By one clock or another a flush is due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn may_flush(&mut self, kernel: &mut Kernel, operation: u64) -> Result<(), String> {
        self.flushes.may_be_due(kernel, &mut self.histories, &self.clocks, operation)
    }

    /// By all clocks a flush is due.
    ///
    /// # Errors
    /// The history of a key is not linearizable.
    pub fn flushed(&mut self, kernel: &mut Kernel, operation: u64) -> Result<(), String> {
        self.flushes.due(kernel, &mut self.histories, &self.clocks, operation)
    }

    /// The keys in an interval, by their numbers; and whether a store of them may have been told to flush later.
    pub fn keys_in(&self, keys: Interval) -> (Vec<u64>, bool) {
        (self.histories.keys_of(About::Range(RangeId(0), keys)), self.weak.is_none())
    }

    /// A plain store of an interval of keys was asked to write, and told `cas`, before the cluster began.
    pub fn note_plain(&mut self, kernel: &mut Kernel, at_us: u64, (write, cas): (PlainWrite, u64), of: Interval) {
        let operation = self.histories.new_operation();
        let all = About::Range(RangeId(0), of);
        let (about, asked, outcome) = match write {
            PlainWrite::Put { key, value, expiry } => {
                if expiry > 0 {
                    self.note_expiry(kernel, (key, value, expiry)).expect("clocks are right at first");
                }
                (About::Key(key), KvOperation::Put { value }, KvOutcome::Stored { version: Some(cas) })
            }
            PlainWrite::Delete { key } => (About::Key(key), KvOperation::Delete, KvOutcome::Deleted),
            PlainWrite::Flush { due: 0 } => (all, KvOperation::Delete, KvOutcome::Gone),
            PlainWrite::Flush { due } => {
                return self.flushes.acknowledged(kernel, &self.clocks, (operation, all, due));
            }
        };
        let keys = self.histories.keys_of(about);
        if let Some(weak) = &mut self.weak {
            weak.note_asked(&keys, asked);
        }
        for key in keys {
            let told = self.histories.tell(key, |checker| {
                checker.invoke(at_us, operation, asked)?;
                checker.complete(at_us, operation, outcome)
            });
            told.expect("what one client does is linearizable");
        }
    }

    /// Time has passed at a client, which perhaps dumps, or begins to if it `may_begin`. What it says is added to `out`.
    pub fn tick_dump(
        &mut self,
        kernel: &mut Kernel,
        client: usize,
        may_begin: bool,
        out: &mut Vec<(Address, Message)>,
    ) -> Vec<scan::Event> {
        self.dumps.tick(kernel, &self.invariants, client, may_begin && self.looks_at_steps, out)
    }

    /// This has come of the dump of a client.
    ///
    /// # Errors
    /// It is not what was committed.
    pub fn look_at_dump(&mut self, client: usize, events: Vec<scan::Event>) -> Result<(), String> {
        // Of a weak cluster no log is all members'; and what was lost may be in what came before.
        let is_judged = self.weak.is_none() && self.losses == 0;
        self.dumps.take(&self.invariants, client, events, is_judged)
    }

    /// A message has come to a client, which perhaps dumps.
    pub fn receive_dump(&mut self, now_us: u64, client: usize, message: &Message) {
        self.dumps.receive(now_us, client, message);
    }

    /// What a client that is idle asks in the last look at a weak cluster.
    pub fn next_question(&mut self, now_us: u64, client: usize) -> Option<(u64, KvOperation)> {
        self.weak.as_mut()?.next_question(now_us, client, &self.agreed)
    }

    /// Why some client, dump or chain is not at rest; empty if all are.
    pub fn why_not_quiet(&self, now_us: u64, processes: &Processes, clients: &Clients) -> String {
        rest::why_not_quiet(now_us, processes, clients, &self.dumps)
    }

    /// Whether a run that is quiet is over. In a weak cluster the last look comes before.
    ///
    /// # Errors
    /// A member lacks what was put in the last look.
    pub fn is_over(
        &mut self,
        kernel: &Kernel,
        processes: &Processes,
        clients: &mut Clients,
        timing: &Timing,
    ) -> Result<bool, String> {
        let Some(weak) = &mut self.weak else { return Ok(true) };
        // What was asked long ago, and comes late, is carried out.
        let asks = |message: &Message| {
            let asks = matches!(message, Message::Ask { .. } | Message::AskMany { .. });
            asks || matches!(message, Message::Request { .. } | Message::Flush { .. })
        };
        if is_under_way(kernel, asks) || processes.nodes.iter().any(NodeProcess::has_waiting) {
            return Ok(false);
        }
        let now_us = kernel.now_us();
        if weak.begin_last_look(now_us + u64::from(timing.session_idle_s) * 1_000_000) {
            self.invariants.watch();
            clients.end_sessions();
            return Ok(false);
        }
        weak.is_over(now_us, |key, value| who_lacks(&self.agreed, &self.invariants, key, value))
    }

    /// What must hold at rest, and of all that clients saw.
    ///
    /// # Errors
    /// It does not.
    pub fn finish(&mut self, processes: &mut Processes, timing: &Timing) -> Result<(), String> {
        if self.weak.is_none() {
            rest::look_whether_level(processes, self.histories.positions())?;
            rest::look_for_room(processes, &timing.sessions)?;
        }
        rest::look_at_domains(&self.agreed)?;
        self.histories.end()?;
        self.coverage.end();
        Ok(())
    }

    /// What they add to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        (summary.operations, summary.given_up) = (self.answered, self.given_up);
        (summary.losses, summary.weakened) = (self.losses, self.weakened);
        summary.undecided = self.histories.undecided();
        summary.flushes_came_due = self.flushes.came_due();
        (summary.records, summary.chains) = (self.invariants.records(), self.invariants.chains());
        summary.fences = self.invariants.fences;
        summary.coverage = self.coverage;
        self.dumps.summarize(summary);
    }
}

/// Why the chains are not as the ring says at every node; and, if it `is_idle`, with all that is in them committed.
pub use rest::why_not_settled;
