//! A node's process: the node itself, what a crash leaves of it, its clocks, what waits for it while it pauses, and the
//! faults that wait for it to do something.

use std::collections::BTreeMap;

use fawn_check::random::Random;
use fawn_kv::ids::{Address, Attempt, ClusterId, RangeId};
use fawn_kv::link::Lane;
use fawn_kv::node::inbox::Inbox;
use fawn_kv::node::{Identity, Node};
use fawn_kv::store::{Gate, RangeStore, RecoveredRange, Ticket};
use fawn_kv::timing::Timing;
use fawn_kv::wire::Message;
use fawn_ring::{DomainId, Interval, MachineId};

use crate::cluster::keys::SECRET;
use crate::cluster::processes::clock::NodeClock;
use crate::cluster::processes::store::node_store::{NodeStore, Reads};
use crate::cluster::processes::store::read::FlashRead;
use crate::cluster::script::plan::Plan;
use crate::cluster::time::WRONG_US;
use crate::cluster::trace::formatter;

/// Ranges on a disk of another cluster.
const OTHERS_RANGES: u32 = 4;

/// What a node that is down has: its store, and the ranges that recovery finds in it.
pub type Disk = (NodeStore, BTreeMap<RangeId, RecoveredRange>);

/// A crash that waits for the node to say something of a kind.
#[derive(Clone, Copy)]
pub struct CrashTrigger {
    pub kind: &'static str,
    pub for_us: u64,
    /// What decides about unsynced writes.
    pub dice: u64,
}

/// Messages of one kind are held back from when the node says something of another.
#[derive(Clone, Copy)]
pub struct HoldBackTrigger {
    pub said: &'static str,
    pub kind: &'static str,
    pub for_us: u64,
}

/// Faults that wait for the node to do something.
#[derive(Default)]
struct Triggers {
    /// It pauses for so long when it reads from flash next.
    pause_at_read_us: u64,
    crash_at: Option<CrashTrigger>,
    hold_back_at: Option<HoldBackTrigger>,
    /// Its next read from flash fails.
    bad_read: bool,
}

/// A node's process.
pub struct NodeProcess {
    node: Option<Node<NodeStore>>,
    /// What a node that is down has.
    left: Option<Disk>,
    /// The same, of a node that runs with another disk meanwhile.
    own_disk: Option<Disk>,
    /// Counts the node's lives.
    run: u32,
    clock: NodeClock,
    paused_until_us: u64,
    /// What came while it paused.
    inbox: Inbox,
    syncing: bool,
    /// Until then its disk has no room.
    full_until_us: u64,
    triggers: Triggers,
}

impl NodeProcess {
    /// The process of a node that has nothing yet; it may have lost its clock.
    pub fn new(random: &mut Random, lost_clock: bool, plan: &Plan) -> Self {
        let ahead_us = (!lost_clock).then(|| if plan.fixed { WRONG_US } else { random.below(2 * WRONG_US) });
        let store = NodeStore::new(random.fork(), plan.on_flash);
        let offset_us = if plan.fixed { 0 } else { random.below(1_000_000) };
        let fast_ppm = if plan.fixed { 4500 } else { random.below(9000) };
        Self {
            node: None,
            left: Some((store, BTreeMap::new())),
            own_disk: None,
            run: 0,
            clock: NodeClock::new(ahead_us, offset_us, fast_ppm),
            paused_until_us: 0,
            inbox: small_inbox(),
            syncing: false,
            full_until_us: 0,
            triggers: Triggers::default(),
        }
    }

    /// The node, if it runs.
    pub fn node(&self) -> Option<&Node<NodeStore>> {
        self.node.as_ref()
    }

    /// The node, if it runs.
    pub fn node_mut(&mut self) -> Option<&mut Node<NodeStore>> {
        self.node.as_mut()
    }

    /// Its life; 0: it was never started.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Its clocks.
    pub fn clock(&self) -> &NodeClock {
        &self.clock
    }

    /// Its clocks.
    pub fn clock_mut(&mut self) -> &mut NodeClock {
        &mut self.clock
    }

    /// Whether it runs, and goes on.
    pub fn runs(&self, now_us: u64) -> bool {
        self.node.as_ref().is_some_and(|node| !node.has_failed()) && now_us >= self.paused_until_us
    }

    /// Whether it was started, and is down.
    pub fn is_down(&self) -> bool {
        self.run > 0 && self.node.is_none()
    }

    /// For how long it pauses.
    pub fn pauses_for(&self, now_us: u64) -> Option<u64> {
        (now_us < self.paused_until_us).then(|| self.paused_until_us - now_us)
    }

    /// It pauses until then.
    pub fn pause(&mut self, until_us: u64) {
        self.paused_until_us = until_us;
    }

    /// Starts the node with what its store has; `None`: it runs already.
    pub fn start(&mut self, number: usize, plan: &Plan, timing: Timing, now_us: u64) -> Option<u32> {
        let machine = MachineId(if plan.shared { number as u64 / 2 } else { number as u64 });
        let identity = Identity {
            id: plan.node_id(number),
            machine,
            domain: (plan.domains > 0).then(|| DomainId(machine.0 % u64::from(plan.domains))),
            virtual_ids: plan.virtual_ids,
            secret: SECRET,
        };
        let rests = plan.rests && identity.id.is_archive();
        let timing = Timing { rests, rested: rests, ..timing };
        if let Some(own) = self.own_disk.take() {
            self.node = None;
            self.left = Some(own);
        }
        let (store, recovered) = self.left.take()?;
        self.run += 1;
        self.syncing = false;
        self.clock.restart(now_us);
        let nonce = u64::from(self.run) << 32 | number as u64;
        self.node = Some(Node::new(identity, nonce, timing, store, recovered));
        Some(self.run)
    }

    /// The node crashes. It loses its disk, or of unsynced writes what `dice` says. False: it was down.
    pub fn crash(&mut self, wiped: bool, dice: u64, on_flash: bool) -> bool {
        let Some(node) = self.node.take() else { return false };
        self.inbox = small_inbox();
        let (random, store) = (Random::new(dice), node.into_store());
        let left = if wiped { (NodeStore::new(random, on_flash), BTreeMap::new()) } else { store.crash(random) };
        self.left = Some(left);
        true
    }

    /// What the node says when it is asked to stop.
    pub fn farewell(&mut self) -> Vec<(Address, Message)> {
        let mut out = Vec::new();
        if let Some(node) = &mut self.node {
            node.farewell(&mut out);
        }
        out
    }

    /// Whether it runs with a disk of another cluster.
    pub fn has_other_disk(&self) -> bool {
        self.own_disk.is_some()
    }

    /// Puts a disk of another cluster, which has ranges of the same names, under a node that is down, and takes its own out.
    pub fn insert_other_disk(&mut self, dice: u64, on_flash: bool) -> Option<Disk> {
        let own = self.left.take()?;
        let mut random = Random::new(dice);
        let mut store = NodeStore::new(random.fork(), on_flash);
        store.join(ClusterId([0xee; 16]));
        for (at, keys) in Interval::ALL.divide(OTHERS_RANGES).into_iter().enumerate() {
            // A cluster's first ranges come after the one that is all of an empty one.
            let range = RangeId(2 + at as u32);
            store.create(range, keys);
            store.hold(range, Attempt(1000));
        }
        let written = store.written();
        store.synced(written);
        self.left = Some(store.crash(random));
        Some(own)
    }

    /// It gets its own disk back when it starts next.
    pub fn set_own_disk(&mut self, own: Disk) {
        self.own_disk = Some(own);
    }

    /// Puts a store under a node that was not started yet.
    pub fn begin_with(&mut self, store: NodeStore) {
        self.left = Some((store, BTreeMap::new()));
    }

    /// It is no more, without a word, as one that was never started.
    pub fn remove(&mut self) {
        (self.node, self.left, self.run) = (None, None, 0);
    }

    /// Its disk has no room until then.
    pub fn fill_disk(&mut self, until_us: u64) {
        self.full_until_us = until_us;
    }

    /// Its disk has room, or has none; and time has passed for its store.
    pub fn look_at_room(&mut self, now_us: u64) {
        if let Some(node) = &mut self.node {
            node.store_mut().set_full(now_us < self.full_until_us);
            node.store_mut().idle();
        }
    }

    /// Writes to its disk fail from here on. The life that this is in; `None`: it is down.
    pub fn fail_disk(&mut self) -> Option<u32> {
        self.node.as_mut()?.store_mut().fail();
        Some(self.run)
    }

    /// Whether a sync has to begin, as something is written and none is under way. It counts as begun.
    pub fn begin_sync(&mut self, written: Gate, durable: Gate, failed: bool) -> bool {
        written > durable && !failed && !std::mem::replace(&mut self.syncing, true)
    }

    /// A sync that a life began has come to its end; false: that life is over.
    pub fn end_sync(&mut self, run: u32, gate: Gate) -> bool {
        let Some(node) = self.node.as_mut().filter(|_| self.run == run) else { return false };
        self.syncing = false;
        node.store_mut().synced(gate);
        true
    }

    /// Whether anything waits for it to go on.
    pub fn has_waiting(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// A message waits for it to go on: whether it is the first. Nobody reads it from its connection yet if the inbox takes no
    /// more of clients: then it comes back.
    pub fn wait(&mut self, from: Address, message: Message, bytes: Vec<u8>) -> Result<bool, Vec<u8>> {
        if !self.inbox.takes_clients() && Lane::of(from, &message) == Lane::Client {
            return Err(bytes);
        }
        let is_first = self.inbox.is_empty();
        self.inbox.push(from, message, bytes.len());
        Ok(is_first)
    }

    /// The next message that has waited.
    pub fn take_waiting(&mut self) -> Option<(Address, Message)> {
        self.inbox.pop()
    }

    /// It crashes when it says something of a kind.
    pub fn crash_at(&mut self, trigger: CrashTrigger) {
        self.triggers.crash_at = Some(trigger);
    }

    /// Messages are held back from when it says something of a kind.
    pub fn hold_back_at(&mut self, trigger: HoldBackTrigger) {
        self.triggers.hold_back_at = Some(trigger);
    }

    /// It pauses for so long when it reads from flash next.
    pub fn pause_at_read(&mut self, for_us: u64) {
        self.triggers.pause_at_read_us = for_us;
    }

    /// Its next read from flash fails.
    pub fn spoil_read(&mut self) {
        self.triggers.bad_read = true;
    }

    /// The first read fails, if one is to fail: which.
    pub fn take_bad_read(&mut self, reads: &mut Reads) -> Option<Ticket> {
        let (ticket, read) = reads.first_mut()?;
        std::mem::take(&mut self.triggers.bad_read).then(|| {
            *read = FlashRead::Failed;
            *ticket
        })
    }

    /// It reads from flash, and pauses if it is to: for how long.
    pub fn take_pause_at_read(&mut self, now_us: u64) -> Option<u64> {
        let for_us = std::mem::take(&mut self.triggers.pause_at_read_us);
        (for_us > 0).then(|| {
            self.paused_until_us = now_us + for_us;
            for_us
        })
    }

    /// What is held back from here on, as the node says something that a fault waited for.
    pub fn take_hold_back(&mut self, out: &[(Address, Message)]) -> Option<HoldBackTrigger> {
        self.triggers.hold_back_at.take_if(|trigger| says(trigger.said, out))
    }

    /// How it crashes now, as the node says something that a fault waited for.
    pub fn take_crash(&mut self, out: &[(Address, Message)]) -> Option<CrashTrigger> {
        self.triggers.crash_at.take_if(|trigger| says(trigger.kind, out))
    }

    /// The faults of node `number` that wait in vain, as scripts write them.
    pub fn waiting_faults(&self, number: usize) -> Vec<String> {
        let Triggers { pause_at_read_us, crash_at, hold_back_at, .. } = &self.triggers;
        let crash = crash_at.map(|CrashTrigger { kind, .. }| format!("crash-at {number} {kind}"));
        let held =
            hold_back_at.map(|HoldBackTrigger { said, kind, .. }| format!("hold-back-at {number} {said} {kind}"));
        let pause = (*pause_at_read_us > 0).then(|| format!("pause-at-read {number}"));
        [crash, held, pause].into_iter().flatten().collect()
    }

    /// Nothing is wrong with it any more, but that it may be down.
    pub fn heal(&mut self) {
        (self.paused_until_us, self.full_until_us) = (0, 0);
        self.triggers = Triggers::default();
        self.clock.heal();
    }
}

fn says(kind: &str, out: &[(Address, Message)]) -> bool {
    out.iter().any(|(_, message)| formatter::is_kind(kind, message))
}

/// An inbox so small that it meets its bounds.
fn small_inbox() -> Inbox {
    Inbox::new(fawn_kv::node::inbox::Bounds { messages: 4, bytes: 16 << 10, chain_bytes: 32 << 10 })
}
