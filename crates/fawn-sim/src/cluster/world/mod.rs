//! The world of a run: it takes events in their order and brings the parts together. Every part owns its state.
//!
//! * `mod`: the order of events, and the end; `begin`: what is scheduled first. `delivery`: messages arrive. `steps`: processes
//!   do something, start and crash.
//! * `requests`: clients ask and are answered. `actions`: what goes wrong, and what the operator does.

mod actions;
mod begin;
mod delivery;
mod requests;
mod steps;

use fawn_check::random::Random;
use fawn_kv::frontend::Front;
use fawn_kv::manager::{Command, Leases, Settings, State, Wedges};
use fawn_kv::node::Node;
use fawn_kv::timing::Timing;

use crate::cluster::checkers::coverage::Coverage;
use crate::cluster::checkers::pauses::PauseMeter;
use crate::cluster::checkers::{Checkers, checksum};
use crate::cluster::clients::Clients;
use crate::cluster::clients::client::SimulatedClient;
use crate::cluster::event::{Event, Kernel};
use crate::cluster::faults::Faults;
use crate::cluster::faults::action::FaultAction;
use crate::cluster::network::SimNetwork;
use crate::cluster::network::party::Party;
use crate::cluster::processes::Processes;
use crate::cluster::processes::front::wedges;
use crate::cluster::processes::managers::Managers;
use crate::cluster::script::Script;
use crate::cluster::script::plan::Plan;
use crate::cluster::summary::Summary;
use crate::cluster::trace::{Trace, print_event};

/// Between two ticks of anything, in a small cluster.
const TICK_US: u64 = 10_000;

/// A run of more events than this goes in circles.
const MOST_EVENTS: u64 = 2_000_000;

/// A run that is not at rest so long after the last fault never will be.
const REST_US: u64 = 60_000_000;

/// A run.
pub struct World {
    pub plan: Plan,
    pub timing: Timing,
    pub kernel: Kernel,
    pub network: SimNetwork,
    pub processes: Processes,
    pub clients: Clients,
    pub checkers: Checkers,
    pub faults: Faults,
    pub trace: Trace,
    /// How long changes stop writes, if that is measured.
    pub pauses: Option<PauseMeter>,
    /// What the run came to, once it is over.
    pub summary: Summary,
    /// Between two ticks of anything.
    pub tick_us: u64,
}

impl World {
    /// A small cluster, as a script says.
    pub fn new(script: &Script) -> Self {
        Self::with(script, begin::timing_of(script), script.plan.lease_us())
    }

    /// A cluster in which things take other times.
    pub fn with(script: &Script, timing: Timing, lease_us: u64) -> Self {
        Coverage::begin();
        let (plan, mut random) = (script.plan, Random::new(script.seed));
        let leases = Leases { lease_us, ..Leases::default() };
        let settings = Settings { replicas: plan.replicas, first_nodes: plan.nodes, rules: plan.rules, leases };
        let managers = Managers::new(plan.managers, timing, settings, wedges(plan.fronts));
        let mut agreed = State::new(settings);
        agreed.wedges = Wedges::new(wedges(plan.fronts));
        let processes = Processes::new(&plan, &mut random, managers, script.severs_alone());
        let read_only = (plan.fronts > 1 && random.chance(1, 3)).then_some(0);
        let idle_s = timing.session_idle_s;
        let clients =
            (0..plan.clients).map(|number| SimulatedClient::new(number, script, (read_only, idle_s), random.fork()));
        let clients = Clients::new(clients.collect(), plan.keys);
        let mut world = Self {
            plan,
            timing,
            kernel: Kernel::new(random, plan.fixed),
            network: SimNetwork::new(plan),
            processes,
            clients,
            checkers: Checkers::new(script, &timing, agreed),
            faults: Faults::new(script.actions.clone(), settings),
            trace: Trace::new(script.show.clone()),
            pauses: None,
            summary: Summary::default(),
            tick_us: TICK_US,
        };
        begin::schedule_starts(&mut world.kernel, &plan, &world.faults);
        world.processes.managers.elect(&mut world.kernel, Some(0));
        begin::fill_plain_stores(script, &mut world.kernel, &mut world.processes, &mut world.checkers);
        world
    }

    /// The time since the beginning, in microseconds.
    pub fn now_us(&self) -> u64 {
        self.kernel.now_us()
    }

    /// Runs until all is at rest after the last fault.
    ///
    /// # Errors
    /// What does not hold.
    pub fn run(&mut self) -> Result<(), String> {
        let faults_us = self.plan.faults_us;
        while let Some(event) = self.kernel.advance() {
            let at_us = self.now_us();
            self.note(&event);
            if !self.faults.is_healing() && at_us >= faults_us {
                self.heal_all();
            }
            self.handle(event)?;
            let is_time = self.faults.is_healing() && self.summary.events.is_multiple_of(64);
            if is_time
                && self.why_not_quiet().is_empty()
                && self.checkers.is_over(&self.kernel, &self.processes, &mut self.clients, &self.timing)?
            {
                return self.finish();
            }
            if self.summary.events > MOST_EVENTS {
                return Err(format!("{MOST_EVENTS} events do not lead to an end: {}", self.why_not_quiet()));
            }
            if at_us > faults_us + REST_US {
                return Err(format!("it never comes to rest: {}", self.why_not_quiet()));
            }
        }
        unreachable!("ticks never end")
    }

    /// Counts an event, adds it to the checksum of all, and prints it where all are printed.
    fn note(&mut self, event: &Event) {
        self.summary.events += 1;
        let (at_us, number) = (self.now_us(), self.summary.events);
        let mut hash = self.summary.trace ^ at_us.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
        if let Event::Deliver { bytes, .. } = event {
            hash ^= checksum(bytes);
        }
        self.summary.trace = hash.rotate_left(13).wrapping_mul(0x0100_0000_01b3);
        if self.plan.trace {
            print_event(at_us, event);
        }
    }

    /// The next event happens.
    ///
    /// # Errors
    /// What does not hold.
    pub fn handle_next(&mut self) -> Result<(), String> {
        let event = self.kernel.advance().expect("ticks never end");
        self.handle(event)
    }

    fn handle(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Deliver { to, from, bytes } => return self.deliver(to, from, bytes),
            Event::Tick(node) => {
                self.kernel.after(self.tick_us, Event::Tick(node));
                self.processes.nodes[node].look_at_room(self.kernel.now_us());
                self.tick_relay(Party::Node(node));
                return self.step(node, Node::tick);
            }
            Event::Synced { node, run, gate } => {
                if self.processes.nodes[node].end_sync(run, gate) {
                    return self.step(node, Node::tick);
                }
            }
            Event::Read { node, run, ticket, read } => return self.read(node, run, ticket, *read),
            Event::MayExpire { key, value, expiry } => {
                return self.checkers.answers.may_expire(&mut self.kernel, (key, value, expiry));
            }
            Event::Expired { key, value, expiry, operation } => return self.expired(key, value, (expiry, operation)),
            Event::MayFlush(operation) => return self.checkers.answers.may_flush(&mut self.kernel, operation),
            Event::Flushed(operation) => return self.checkers.answers.flushed(&mut self.kernel, operation),
            Event::ManagerTick(number) => {
                self.kernel.after(self.tick_us, Event::ManagerTick(number));
                self.processes.managers.tick(&mut self.kernel, &mut self.network, number);
            }
            Event::Propose { term, command } => return self.agree(term, &command),
            Event::Tell(number) => self.processes.managers.hear(&mut self.kernel, &mut self.network, number),
            Event::Confirmed { manager, term, question } => {
                let managers = &mut self.processes.managers;
                managers.confirmed(&mut self.kernel, &mut self.network, manager, (term, question));
            }
            Event::Lead { manager, term } => {
                self.processes.managers.lead(&mut self.kernel, &mut self.network, manager, term);
            }
            Event::ClientTick(number) => return self.client_tick(number),
            Event::FrontTick(number) => {
                self.kernel.after(self.tick_us, Event::FrontTick(number));
                self.tick_relay(Party::Front(number));
                self.front_step(number, Front::tick);
            }
            Event::FrontRestart(number) => self.restart_front(number),
            Event::Act(number) => return self.act(&self.faults.action(number)),
            Event::Repair { node, run, dice } => {
                if self.processes.nodes[node].run() == run {
                    self.crash(node, false, 1000, dice);
                }
            }
            Event::Leave(node) => return self.act(&FaultAction::Drain { node }),
            Event::GoOn(node) => return self.go_on(node),
            Event::Restart(node) => {
                // As users are told to: a cluster that is to have what a directory holds begins with that.
                let may_form_without = self.plan.adopts > 0 && node >= self.plan.nodes as usize;
                if may_form_without && !self.processes.managers.has_adopted() {
                    self.kernel.after(10 * TICK_US, Event::Restart(node));
                } else {
                    self.restart(node);
                }
            }
            Event::Heal(cut) => self.network.links().mend(cut),
        }
        Ok(())
    }

    /// A proposal comes into the log, if whoever made it still leads.
    fn agree(&mut self, term: u64, command: &Command) -> Result<(), String> {
        if self.processes.managers.term() == term {
            self.checkers.agree(&self.processes, command)?;
            if let Some(pauses) = &mut self.pauses {
                pauses.logged(self.kernel.now_us(), command);
            }
            // Where pauses are measured the way into the log is all that its leader waits for.
            self.processes.managers.agree(&mut self.kernel, command, self.pauses.is_some());
        }
        Ok(())
    }

    /// A command is proposed after a while, by whoever leads now.
    pub fn propose_after(&mut self, delay_us: u64, command: Command) {
        let term = self.processes.managers.term();
        self.kernel.after(delay_us, Event::Propose { term, command: Box::new(command) });
    }

    /// Why some client or chain is not at rest; empty if all are.
    pub fn why_not_quiet(&self) -> String {
        self.checkers.why_not_quiet(self.now_us(), &self.processes, &self.clients)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.checkers.finish(&mut self.processes, &self.timing)?;
        let summary = &mut self.summary;
        summary.simulated_us = self.kernel.now_us();
        self.network.summarize(summary);
        self.processes.summarize(summary);
        self.checkers.summarize(summary);
        self.faults.summarize(summary);
        Ok(())
    }
}
