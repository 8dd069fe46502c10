//! The checkers: what must hold at every step, at rest, and of each answer.
//!
//! Each checker owns what it knows of the run. None of them changes what happens.

mod answers;
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

use fawn_check::KvOperation;
use fawn_kv::ids::{Ack, Address, RangeId};
use fawn_kv::manager::{Command, Into, State};
use fawn_kv::node::Node;
use fawn_kv::scan;
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;

use crate::cluster::checkers::answers::AnswerChecker;
use crate::cluster::checkers::coverage::{ClusterPath, Coverage};
use crate::cluster::checkers::dumps::Dumps;
use crate::cluster::checkers::invariants::Invariants;
use crate::cluster::checkers::redundancy::{Redundancy, meets_take_over, parents};
use crate::cluster::checkers::weak::{owners_lost_by, who_lacks};
use crate::cluster::checkers::wrong_clocks::SetBack;
use crate::cluster::clients::Clients;
use crate::cluster::clients::operation::Conclusion;
use crate::cluster::event::Kernel;
use crate::cluster::network::is_under_way;
use crate::cluster::processes::Processes;
use crate::cluster::processes::managers::Managers;
use crate::cluster::processes::node::NodeProcess;
use crate::cluster::processes::store::node_store::NodeStore;
use crate::cluster::script::Script;
use crate::cluster::summary::Summary;

pub use invariants::checksum;

/// All checkers of a run.
pub struct Checkers {
    pub answers: AnswerChecker,
    invariants: Invariants,
    /// What the managers have agreed on.
    agreed: State,
    redundancy: Redundancy,
    dumps: Dumps,
    coverage: Coverage,
    /// Whether all that must hold is looked at after every step: work that grows with the cluster.
    looks_at_steps: bool,
    /// Chains whose members all stopped before they had synced what was acknowledged.
    losses: u64,
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
            answers: AnswerChecker::new(script),
            invariants: Invariants::of(plan.rules, timing),
            agreed,
            redundancy: Redundancy::new(plan.replicas, script.spares_members(), script.keeps_first()),
            dumps: Dumps::default(),
            coverage: Coverage::default(),
            looks_at_steps: true,
            losses: 0,
        }
    }

    /// From here on nothing is looked at after each step, and no cluster is dumped.
    pub fn look_at_no_steps(&mut self) {
        self.looks_at_steps = false;
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
        Ok(NodeLook { changed, set_back: self.answers.look_at_times(now_us, (number, run), node) })
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
        let lost = if self.answers.is_weak() { owners_lost_by(&self.agreed, command) } else { Vec::new() };
        let parents = parents(&self.agreed, command);
        let least = parents.iter().map(|range| self.agreed.ranges[range].chain.members.len()).min();
        let Some(did) = self.agreed.apply(command) else { return Ok(()) };
        self.answers.weaken(&lost);
        if self.redundancy.look_at_change(&self.agreed, &did.active, least)? {
            self.coverage.see(ClusterPath::PlannedChange);
        }
        Ok(())
    }

    /// Where a chain acknowledges what is in memory, and all its members stop, what they had not synced is lost. From there on
    /// only the rest is checked: that all comes to rest, and no number is given out twice.
    fn look_for_losses(&mut self, managers: &Managers, command: &Command) {
        let Command::Begin { range, source: Some(source), .. } = command else { return };
        if self.answers.is_weak() {
            return;
        }
        let lost = managers.states().any(|state| {
            let range = state.ranges.get(range);
            range.is_some_and(|range| range.chain.rules.ack == Ack::Replicated && range.chain.place(*source).is_none())
        });
        if lost {
            self.losses += 1;
            self.answers.judge_no_keys();
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
        let is_judged = !self.answers.is_weak() && self.losses == 0;
        self.dumps.take(&self.invariants, client, events, is_judged)
    }

    /// A message has come to a client, which perhaps dumps.
    pub fn receive_dump(&mut self, now_us: u64, client: usize, message: &Message) {
        self.dumps.receive(now_us, client, message);
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
        self.answers.ended(now_us, number, (conclusion, must_be_answered), &mut self.coverage)
    }

    /// What a client that is idle asks in the last look at a weak cluster.
    pub fn next_question(&mut self, now_us: u64, client: usize) -> Option<(u64, KvOperation)> {
        self.answers.next_question(now_us, client, &self.agreed)
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
        let Some(weak) = self.answers.weak() else { return Ok(true) };
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
        if !self.answers.is_weak() {
            rest::look_whether_level(processes, self.answers.positions())?;
            rest::look_for_room(processes, &timing.sessions)?;
        }
        rest::look_at_domains(&self.agreed)?;
        self.answers.finish()?;
        self.coverage.end();
        Ok(())
    }

    /// What they add to what a run came to.
    pub fn summarize(&self, summary: &mut Summary) {
        self.answers.summarize(summary);
        summary.losses = self.losses;
        (summary.records, summary.chains) = (self.invariants.records(), self.invariants.chains());
        summary.fences = self.invariants.fences;
        summary.coverage = self.coverage;
        self.dumps.summarize(summary);
    }
}

/// Why the chains are not as the ring says at every node; and, if it `is_idle`, with all that is in them committed.
pub use rest::why_not_settled;
