//! The events of a simulated cluster, in their order.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use fawn_check::random::Random;
use fawn_check::{Checker, KvModel};
use fawn_kv::frontend::Front;
use fawn_kv::ids::{Ack, Address, Consistency, FrontId, NodeId};
use fawn_kv::link::relay::Relay;
use fawn_kv::manager::{Command, Effects, Leases, Settings, State, Wedges};
use fawn_kv::node::Node;
use fawn_kv::range::sessions::Bounds;
use fawn_kv::store::{Gate, Ticket};
use fawn_kv::timing::{Now, Timing};
use fawn_kv::wire::{Answer, Message};
use fawn_ring::Key;

use super::acts::Act;
use super::client::{Client, position};
use super::coverage::Coverage;
use super::dumps::Dumping;
use super::events::{Event, Read, Timed};
use super::flushes::Later;
use super::fronts::{FrontPlace, wedges};
use super::invariants::{Invariants, checksum};
use super::lies::Lying;
use super::lines;
use super::managers::Managers;
use super::node_store::NodeStore;
use super::pauses::Pauses;
use super::place::Place;
use super::plain::CLIENTS_BEGIN_US;
use super::plan::{Plan, Summary};
use super::scale::Traffic;
use super::script::{Script, Show};
use super::weak::Weak;

/// Between two ticks of anything, in a small cluster.
const TICK_US: u64 = 10_000;

/// A run of more events than this goes in circles.
const MOST_EVENTS: u64 = 2_000_000;

/// Unix second at which runs begin.
pub(super) const BEGIN_UNIX: u32 = 1_900_000_000;

/// Clocks of nodes are wrong by no more, unless they know nothing.
pub(super) const WRONG_US: u64 = 500_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Manager(usize),
    Node(usize),
    Front(usize),
    Client(usize),
}

impl Party {
    pub(super) fn address(self) -> Address {
        match self {
            Self::Manager(_) => Address::Manager,
            Self::Node(node) => Address::Node(NodeId(node as u64)),
            Self::Front(front) => Address::Front(FrontId(front as u32)),
            Self::Client(client) => Address::Client(client as u32),
        }
    }
}

#[allow(clippy::struct_excessive_bools)] // independent of each other
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) random: Random,
    pub(super) now_us: u64,
    events: BinaryHeap<Timed>,
    next_event: u64,
    pub(super) places: Vec<Place>,
    pub(super) fronts: Vec<FrontPlace>,
    pub(super) managers: Managers,
    /// What they have agreed on.
    pub(super) agreed: State,
    /// The fewest members that ranges were ever to have.
    pub(super) fewest_wanted: usize,
    /// Nothing happens by which a node could seem to have failed.
    pub(super) spares_members: bool,
    /// The first node may leave no chain.
    pub(super) keeps_first: bool,
    pub(super) clients: Vec<Client>,
    /// By key; `None` once nobody can tell in reasonable time.
    pub(super) checkers: Vec<Option<Checker<KvModel>>>,
    /// Where the keys lie.
    pub(super) positions: Vec<Key>,
    /// By client: the operation that the checker knows.
    pub(super) open: Vec<Option<u64>>,
    pub(super) next_operation: u64,
    /// Values of puts that nobody knows the outcome of.
    pub(super) given_up: BTreeSet<u64>,
    /// Flushes that are not due yet.
    pub(super) later: Vec<Later>,
    /// Values that may expire later.
    pub(super) expiring: BTreeSet<(u64, u64, u32)>,
    /// Some process has gone by a clock that is wrong.
    pub(super) lying: Option<Lying>,
    /// Somebody dumps the cluster.
    pub(super) dump: Option<Dumping>,
    /// Nobody knows what became of a flush.
    pub(super) flush_in_doubt: bool,
    pub(super) invariants: Invariants,
    /// What is known of the cluster, if it is weak.
    pub(super) weak: Option<Weak>,
    pub(super) summary: Summary,
    /// Of a thousand messages.
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) slow: u64,
    /// Who does not reach whom, by the partition's number.
    pub(super) cuts: BTreeMap<u64, BTreeSet<(Party, Party)>>,
    pub(super) next_cut: u64,
    /// By node and front-end: ways around links that are broken.
    pub(super) relays: BTreeMap<Party, Relay>,
    /// Nothing goes wrong but that links are severed: then every request is answered all the same.
    pub(super) severs_alone: bool,
    /// Since when they are.
    pub(super) severed_us: Option<u64>,
    /// What is said to, or by, whom of which kind comes only then.
    pub(super) held_back: Option<(Party, &'static str, u64)>,
    /// Until then only the leader hears what is agreed.
    pub(super) lag_until_us: u64,
    pub(super) healing: bool,
    /// What has been sent.
    pub(super) traffic: Traffic,
    /// How long changes stop writes, if that is measured.
    pub(super) pauses: Option<Pauses>,
    /// Between two ticks of anything.
    pub(super) tick_us: u64,
    /// Whether all that must hold is looked at after every step: work that grows with the cluster.
    pub(super) looks: bool,
    pub(super) timing: Timing,
    /// What the operator has set last.
    pub(super) settings: Settings,
    acts: Vec<(u64, Act)>,
    pub(super) show: Show,
    /// What was told.
    pub(super) told: String,
}

impl World {
    pub(super) fn new(script: &Script) -> Self {
        let plan = script.plan;
        let mut timing = Timing {
            history: 64,
            history_bytes: 16 << 10,
            batch: 16,
            batch_bytes: 4 << 10,
            pending: 64,
            pending_bytes: 16 << 10,
            copy_bytes_per_s: 32 << 10,
            session_idle_s: 4,
            heal_us: 2_500_000,
            gone_us: 3_000_000,
            broken_us: 3_000_000,
            ..Timing::default()
        };
        // Where the clock of the day is lost, all sessions are named after a time to come; at rest a weak cluster is asked for
        // each key in a session of its own; and where nothing goes wrong, or every request is to be answered, nothing is forgotten.
        let forgets = !script.acts.is_empty() && !script.severs_alone();
        if forgets && !plan.lost_clock && plan.rules.consistency == Consistency::Chain {
            timing.sessions = Bounds { sessions: 12, unanswered: 2, requests: 24, least_s: 1, early_s: 4 };
        }
        if plan.hasty {
            timing = Timing { heartbeat_us: 50_000, dead_us: 250_000, ..timing };
        }
        Self::with(script, timing, plan.lease_us())
    }

    /// A cluster in which things take other times.
    pub(super) fn with(script: &Script, timing: Timing, lease_us: u64) -> Self {
        Coverage::begin();
        let (plan, mut random) = (script.plan, Random::new(script.seed));
        let leases = Leases { lease_us, ..Leases::default() };
        let settings = Settings { replicas: plan.replicas, first_nodes: plan.nodes, rules: plan.rules, leases };
        let managers = Managers::new(plan.managers, timing, settings, wedges(plan.fronts));
        let mut agreed = State::new(settings);
        agreed.wedges = Wedges::new(wedges(plan.fronts));
        let lost_clock = if plan.lost_clock { random.below(u64::from(plan.nodes)) } else { u64::MAX };
        let places = (0..u64::from(plan.nodes + plan.late))
            .map(|number| Place::new(&mut random, number == lost_clock, &plan))
            .collect();
        let severs = script.severs_alone();
        let fronts = (0..plan.fronts).map(|number| FrontPlace::new(number, severs, &mut random)).collect();
        let read_only = (plan.fronts > 1 && random.chance(1, 3)).then_some(0);
        let idle_s = timing.session_idle_s;
        let clients = (0..plan.clients).map(|number| Client::new(number, script, (read_only, idle_s), random.fork()));
        let clients = clients.collect();
        let checkers = (0..plan.keys).map(|_| Some(Checker::new())).collect();
        let mut world = Self {
            plan,
            random,
            now_us: 0,
            events: BinaryHeap::new(),
            next_event: 0,
            places,
            fronts,
            relays: BTreeMap::new(),
            severed_us: None,
            severs_alone: severs,
            managers,
            agreed,
            fewest_wanted: plan.replicas as usize,
            keeps_first: script.keeps_first(),
            spares_members: script.acts.iter().all(|(_, act)| act.spares_members()),
            clients,
            checkers,
            positions: (0..plan.keys).map(position).collect(),
            open: vec![None; plan.clients as usize],
            next_operation: 0,
            given_up: BTreeSet::new(),
            later: Vec::new(),
            expiring: BTreeSet::new(),
            lying: None,
            dump: None,
            flush_in_doubt: false,
            invariants: Invariants::of(plan.rules, &timing),
            weak: (plan.rules.consistency == Consistency::Weak).then(|| Weak::new(plan.keys)),
            summary: Summary::default(),
            lost: 0,
            doubled: 0,
            slow: 0,
            cuts: BTreeMap::new(),
            next_cut: 0,
            held_back: None,
            lag_until_us: 0,
            healing: false,
            traffic: Traffic::default(),
            pauses: None,
            tick_us: TICK_US,
            looks: true,
            timing,
            settings,
            acts: script.acts.clone(),
            show: script.show.clone(),
            told: String::new(),
        };
        for number in 0..plan.managers {
            world.after(0, Event::ManagerTick(number));
        }
        for number in 0..(plan.nodes + plan.late) as usize {
            let late = number >= plan.nodes as usize;
            if plan.fixed {
                // In their order; the others when the script says so.
                (0..u64::from(!late)).for_each(|_| world.after(number as u64 * 1000, Event::Restart(number)));
                continue;
            }
            let delay = world.random.below(if late { plan.faults_us } else { 50_000 });
            world.after(delay, Event::Restart(number));
        }
        for number in 0..plan.fronts as usize {
            world.after(0, Event::FrontRestart(number));
            world.after(0, Event::FrontTick(number));
        }
        for number in 0..plan.clients as usize {
            let begins_us = if plan.adopts > 0 { CLIENTS_BEGIN_US } else { 0 };
            world.after(begins_us, Event::ClientTick(number));
        }
        for (number, (at_us, _)) in script.acts.iter().enumerate() {
            world.after(*at_us, Event::Act(number));
        }
        world.elect(Some(0));
        world.begin_plain(script.seed);
        world
    }

    pub(super) fn after(&mut self, delay_us: u64, event: Event) {
        self.events.push(Timed { at_us: self.now_us + delay_us, number: self.next_event, event });
        self.next_event += 1;
    }

    /// A time within these; always the least where delays are fixed.
    pub(super) fn delay(&mut self, least_us: u64, most_us: u64) -> u64 {
        if self.plan.fixed { least_us } else { self.random.within(least_us, most_us) }
    }

    /// True in `parts` of `whole` cases; never where delays are fixed.
    pub(super) fn chance(&mut self, parts: u64, whole: u64) -> bool {
        !self.plan.fixed && self.random.chance(parts, whole)
    }

    pub(super) fn run(&mut self) -> Result<(), String> {
        let (faults_us, limit_us) = (self.plan.faults_us, self.plan.faults_us + 60_000_000);
        while let Some(event) = self.next() {
            let at_us = self.now_us;
            self.summary.events += 1;
            let seen = (at_us, self.summary.events);
            let mut hash = self.summary.trace ^ seen.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seen.1;
            if let Event::Deliver { bytes, .. } = &event {
                hash ^= checksum(bytes);
            }
            self.summary.trace = hash.rotate_left(13).wrapping_mul(0x0100_0000_01b3);
            if self.plan.trace {
                self.tell(&event);
            }
            if !self.healing && at_us >= faults_us {
                self.heal_all();
            }
            self.handle(event)?;
            if self.healing && self.summary.events.is_multiple_of(64) && self.is_quiet() && self.is_over()? {
                return self.finish();
            }
            if self.summary.events > MOST_EVENTS {
                return Err(format!("{MOST_EVENTS} events do not lead to an end: {}", self.why_not_quiet()));
            }
            if at_us > limit_us {
                return Err(format!("it never comes to rest: {}", self.why_not_quiet()));
            }
        }
        unreachable!("ticks never end")
    }

    /// The next event, at its time.
    pub(super) fn next(&mut self) -> Option<Event> {
        let Timed { at_us, event, .. } = self.events.pop()?;
        self.now_us = at_us;
        Some(event)
    }

    /// Whether such a message will still be delivered.
    pub(super) fn is_under_way(&self, is_such: impl Fn(&Message) -> bool) -> bool {
        let mut messages = self.events.iter().filter_map(|timed| match &timed.event {
            Event::Deliver { bytes, .. } => match Message::decode(bytes).ok() {
                Some(Message::Relayed { message, .. }) => Message::decode(&message).ok(),
                message => message,
            },
            _ => None,
        });
        messages.any(|message| is_such(&message)) || self.places.iter().any(|place| !place.inbox.is_empty())
    }

    fn finish(&mut self) -> Result<(), String> {
        if self.plan.rules.consistency == Consistency::Chain {
            self.look_whether_level()?;
            self.look_for_room()?;
        }
        self.look_at_domains()?;
        self.end_checks()?;
        (self.summary.records, self.summary.chains) = (self.invariants.records(), self.invariants.chains());
        self.summary.simulated_us = self.now_us;
        self.summary.fences = self.invariants.fences;
        self.count_fronts();
        self.summary.coverage.end();
        Ok(())
    }

    pub(super) fn handle(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Deliver { to, from, bytes } => self.deliver(to, from, bytes),
            Event::Tick(node) => {
                self.after(self.tick_us, Event::Tick(node));
                self.look_at_room(node);
                self.tick_relay(Party::Node(node));
                self.step(node, Node::tick)
            }
            Event::Synced { node, run, gate } => {
                if self.places[node].run != run || self.places[node].node.is_none() {
                    return Ok(());
                }
                self.places[node].syncing = false;
                self.places[node].node.as_mut().expect("it runs").store_mut().synced(gate);
                self.step(node, Node::tick)
            }
            Event::Read { node, run, ticket, read } => self.read(node, run, ticket, *read),
            Event::MayExpire { key, value, expiry } => self.may_expire(key, value, expiry),
            Event::Expired { key, value, operation } => self.expired(key, value, operation),
            Event::MayFlush(operation) => self.may_flush(operation),
            Event::Flushed(operation) => self.flushed(operation),
            Event::ManagerTick(number) => {
                self.after(self.tick_us, Event::ManagerTick(number));
                let mut effects = Effects::default();
                self.managers.members[number].tick(self.now_us, &mut effects);
                self.do_effects(number, effects);
                Ok(())
            }
            Event::Propose { term, command } => {
                if self.managers.term == term {
                    self.agree(&command)?;
                    if let Some(pauses) = &mut self.pauses {
                        pauses.logged(self.now_us, &command);
                    }
                    self.managers.agree(&command);
                    for number in 0..self.managers.members.len() {
                        // Where pauses are measured the way into the log is all that its leader waits for.
                        let at_once = self.pauses.is_some() && self.managers.leader == Some(number);
                        let delay = if at_once { 0 } else { self.delay(100, 3000) };
                        self.after(delay, Event::Tell(number));
                    }
                }
                Ok(())
            }
            Event::Tell(number) => {
                if self.now_us < self.lag_until_us && self.managers.leader != Some(number) {
                    self.after(self.lag_until_us - self.now_us, Event::Tell(number));
                    return Ok(());
                }
                let mut effects = Effects::default();
                while let Some(command) = self.managers.log.get(self.managers.told[number]) {
                    self.managers.members[number].committed(self.now_us, command, &mut effects);
                    self.managers.told[number] += 1;
                }
                self.do_effects(number, effects);
                Ok(())
            }
            Event::Confirmed { manager, term, question } => {
                self.confirmed(manager, term, question);
                Ok(())
            }
            Event::Lead { manager, term } => self.lead(manager, term),
            Event::ClientTick(number) => self.client_tick(number),
            Event::FrontTick(number) => {
                self.after(self.tick_us, Event::FrontTick(number));
                self.tick_relay(Party::Front(number));
                self.front_step(number, Front::tick);
                Ok(())
            }
            Event::FrontRestart(number) => {
                self.restart_front(number);
                Ok(())
            }
            Event::Act(number) => {
                let (_, act) = self.acts[number].clone();
                self.act(&act)
            }
            Event::Repair { node, run, dice } => {
                if self.places[node].run == run {
                    self.crash(node, false, 1000, dice);
                }
                Ok(())
            }
            Event::Leave(node) => self.act(&Act::Drain { node }),
            Event::GoOn(node) => self.go_on(node),
            Event::Restart(node) => {
                // As users are told to: a cluster that is to have what a directory holds begins with that.
                let may_form_without = self.plan.adopts > 0 && node >= self.plan.nodes as usize;
                let is_adopted = |command: &Command| matches!(command, Command::Adopt { .. });
                if may_form_without && !self.managers.log.iter().any(is_adopted) {
                    self.after(10 * TICK_US, Event::Restart(node));
                } else {
                    self.restart(node);
                }
                Ok(())
            }
            Event::Heal(cut) => {
                self.cuts.remove(&cut);
                Ok(())
            }
        }
    }

    fn read(&mut self, node: usize, run: u32, ticket: Ticket, read: Read) -> Result<(), String> {
        if self.places[node].run != run {
            return Ok(());
        }
        if self.now_us < self.places[node].paused_until_us {
            let delay = self.places[node].paused_until_us - self.now_us;
            self.after(delay, Event::Read { node, run, ticket, read: Box::new(read) });
            return Ok(());
        }
        self.step(node, |node, now, out| {
            match read {
                Read::Key(kept) => node.read(now, ticket, kept, out),
                Read::Part(part) => node.scanned(now, ticket, part, out),
                Read::Failed => node.unreadable(now, ticket, out),
                Read::Refused => node.not_read(now, ticket, out),
            }
            node.settle(now, out);
        })
    }

    fn confirmed(&mut self, manager: usize, term: u64, question: u64) {
        // It led when it was asked, and still did later: at the time when the majority answered.
        if self.managers.term == term {
            let mut effects = Effects::default();
            self.managers.members[manager].confirmed(self.now_us, question, &mut effects);
            self.do_effects(manager, effects);
        }
    }

    /// Where a chain acknowledges what is in memory, and all its members stop, what they had not synced is lost. From there on
    /// only the rest is checked: that all comes to rest, and no number is given out twice.
    pub(super) fn look_for_losses(&mut self, command: &Command) {
        let Command::Begin { range, source: Some(source), .. } = command else { return };
        if self.weak.is_some() {
            return;
        }
        let mut managers = self.managers.members.iter();
        let lost = managers.any(|manager| {
            let range = manager.state().ranges.get(range);
            range.is_some_and(|range| range.chain.rules.ack == Ack::Replicated && range.chain.place(*source).is_none())
        });
        if lost {
            self.summary.losses += 1;
            self.checkers.iter_mut().for_each(|checker| *checker = None);
            self.invariants.forget(*range);
        }
    }

    /// A manager hears whether it leads.
    fn lead(&mut self, manager: usize, term: u64) -> Result<(), String> {
        let leads = self.managers.leader == Some(manager);
        if self.managers.term != term && leads {
            // Old news.
            return Ok(());
        }
        if leads {
            self.managers.led[manager] = term;
            // A leader knows all that is agreed before it acts.
            self.handle(Event::Tell(manager))?;
        }
        // Whoever leads again without having heard that another did meanwhile begins anew.
        if leads || self.managers.members[manager].leads() {
            self.managers.members[manager].lead(self.now_us, leads);
        }
        Ok(())
    }

    /// Another manager leads, or none. Whoever led learns of it later.
    pub(super) fn elect(&mut self, leader: Option<usize>) {
        self.managers.term += 1;
        self.managers.leader = leader;
        let term = self.managers.term;
        for manager in 0..self.managers.members.len() {
            let slow = self.chance(1, 4);
            let delay = self.delay(1000, if slow { 6_000_000 } else { 50_000 });
            let delay = if leader == Some(manager) { 1000 } else { delay };
            self.after(delay, Event::Lead { manager, term });
        }
    }

    pub(super) fn do_effects(&mut self, manager: usize, effects: Effects) {
        let invalid = self.managers.members[manager].invalid_mut().take();
        assert_eq!(invalid, None, "everybody's state is sound");
        for (to, message) in effects.send {
            self.send(Party::Manager(manager), to, &message);
        }
        // Who was deposed unawares, and elected again, is not believed what it says before it has heard of that.
        let term = self.managers.led[manager];
        let leads = self.managers.leader == Some(manager) && self.managers.term == term;
        for command in effects.propose {
            if leads {
                let delay = self.delay(200, 5000);
                self.after(delay, Event::Propose { term, command: Box::new(command) });
            }
        }
        for question in effects.confirm {
            if leads {
                let delay = self.delay(100, 3000);
                self.after(delay, Event::Confirmed { manager, term, question });
            }
        }
    }

    /// A step of a node, with all that comes of it.
    pub(super) fn step(
        &mut self,
        number: usize,
        step: impl FnOnce(&mut Node<NodeStore>, Now, &mut Vec<(Address, Message)>),
    ) -> Result<(), String> {
        if self.now_us < self.places[number].paused_until_us {
            // What a paused node does not hear, it hears later: its messages are put off where they are delivered.
            return Ok(());
        }
        self.read_clock(number)?;
        let now = self.clock(number);
        let right = self.unix();
        let Place { node: Some(node), run, .. } = &mut self.places[number] else { return Ok(()) };
        let (run, mut out) = (*run, Vec::new());
        step(node, now, &mut out);
        if let Some(invalid) = node.invalid_mut().take() {
            return Err(format!("everybody's state is sound, and yet {invalid}"));
        }
        let changed = self.looks && self.invariants.look(node)?;
        let set_back = self.lying.as_mut().map(|lying| lying.look((number, run), node, right));
        let store = node.store_mut();
        let mut reads = store.take_reads();
        let (gate, durable, failed) = (store.written(), store_durable(store), node.has_failed());
        if let Some((ticket, read)) = reads.first_mut()
            && std::mem::take(&mut self.places[number].bad_read)
        {
            *read = Read::Failed;
            let ticket = *ticket;
            self.tell_now(&format!("bad-read {number} (read {ticket} of n{number})"));
        }
        self.look_at_set_back(&set_back.unwrap_or_default())?;
        if !reads.is_empty() && self.places[number].pause_at_read_us > 0 {
            let for_us = std::mem::take(&mut self.places[number].pause_at_read_us);
            self.places[number].paused_until_us = self.now_us + for_us;
            self.tell_now(&format!("pause {number} {for_us} (n{number} reads)"));
        }
        for (ticket, read) in reads {
            let slow = self.chance(1, 50);
            let delay = self.delay(50, if slow { 100_000 } else { 1000 });
            self.after(delay, Event::Read { node: number, run, ticket, read: Box::new(read) });
        }
        if gate > durable && !failed && !std::mem::replace(&mut self.places[number].syncing, true) {
            // What is acknowledged unsynced is at stake for longer.
            let slow = self.settings.rules.ack == Ack::Replicated && self.chance(1, 4);
            let delay = self.delay(100, if slow { 200_000 } else { 2000 });
            self.after(delay, Event::Synced { node: number, run, gate });
        }
        if let Some((said, kind, for_us)) = self.places[number].hold_back_at
            && out.iter().any(|(_, message)| lines::is_kind(said, message))
        {
            self.tell_now(&format!("hold-back {number} {kind} {for_us} (n{number} says {said})"));
            self.places[number].hold_back_at = None;
            self.held_back = Some((Party::Node(number), kind, self.now_us + for_us));
            self.after(for_us / 8, Event::Leave(number));
        }
        let crash = self.places[number].crash_at;
        let crash = crash.filter(|(kind, ..)| out.iter().any(|(_, message)| lines::is_kind(kind, message)));
        for (to, message) in out {
            self.send(Party::Node(number), to, &message);
        }
        if let Some((kind, for_us, dice)) = crash {
            self.tell_now(&format!("crash {number} {for_us} {dice} (n{number} says {kind})"));
            self.places[number].crash_at = None;
            self.crash(number, false, for_us, dice);
            return Ok(());
        }
        if let Some(pauses) = &mut self.pauses
            && let Some(node) = &self.places[number].node
        {
            pauses.look(self.now_us, node);
        }
        if changed {
            self.look_at_lost(number)?;
            self.look_at_readers(number)?;
        }
        Ok(())
    }

    /// Sends a message, over the link or around it.
    pub(super) fn send(&mut self, from: Party, to: Address, message: &Message) {
        match self.relays.get_mut(&from).and_then(|relay| relay.detour(self.now_us, (to, from.address()), message)) {
            Some((by, relayed)) => self.send_by_link(from, by, &relayed),
            None => self.send_by_link(from, to, message),
        }
    }

    pub(super) fn send_by_link(&mut self, from: Party, to: Address, message: &Message) {
        let bytes = message.encode();
        let sender = from.address();
        let receivers = match to {
            Address::Manager => (0..self.managers.members.len())
                .filter(|at| self.managers.members[*at].leads())
                .map(Party::Manager)
                .collect(),
            Address::Node(node) => vec![Party::Node(node.0 as usize)],
            Address::Front(front) => vec![Party::Front(front.0 as usize)],
            Address::Client(client) => vec![Party::Client(client as usize)],
        };
        self.summary.fenced += u64::from(matches!(message, Message::Reply { answer: Answer::Fenced, .. }));
        // Whoever keeps no session asks over a connection, which loses, but does not double; and so do front-ends for them.
        let once = match message {
            Message::Ask { answered: None, .. }
            | Message::AskFlush { answered: None, .. }
            | Message::Relayed { .. } => true,
            Message::Ask { id, .. }
            | Message::Request { id, .. }
            | Message::AskFlush { id, .. }
            | Message::Flush { id, .. } => {
                super::fronts::is_own_session(id.session) || super::smart::is_smart_session(id.session)
            }
            _ => false,
        };
        for to in receivers {
            self.summary.messages += 1;
            self.traffic.count(from, to, message, bytes.len());
            if self.cuts.values().any(|cut| cut.contains(&(from, to))) || self.chance(self.lost, 1000) {
                continue;
            }
            let copies = 1 + u64::from(self.chance(self.doubled, 1000) && !once);
            for _ in 0..copies {
                let late = self.chance(self.slow, 1000);
                let mut latest = if late { *self.random.pick(&[50_000, 300_000, 300_000, 3_000_000]) } else { 1500 };
                let mut held = self.held_back.filter(|(party, ..)| *party == to || *party == from);
                held = held.filter(|(_, kind, _)| lines::is_kind(kind, message));
                // Of a copy some parts come in time, so that it goes on.
                let held = held.filter(|(_, held, _)| *held != "copy-part" || self.chance(1, 2));
                let held_us = held.map_or(0, |(_, _, until)| until.saturating_sub(self.now_us));
                if held_us > 0 && self.chance(1, 2) {
                    // What was said earlier may come much later.
                    latest = 1_000_000;
                }
                let delay = held_us + self.delay(50, latest);
                self.after(delay, Event::Deliver { to, from: sender, bytes: bytes.clone() });
            }
        }
    }
}

fn store_durable(store: &NodeStore) -> Gate {
    fawn_kv::store::RangeStore::durable(store)
}
