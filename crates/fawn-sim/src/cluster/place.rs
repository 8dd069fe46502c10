//! Where a node runs: its process, what a crash leaves of it, and its clocks.

use std::collections::BTreeMap;

use fawn_check::random::Random;
use fawn_kv::ids::{Attempt, ClusterId, NodeId, RangeId};
use fawn_kv::node::inbox::Inbox;
use fawn_kv::node::{Identity, Node};
use fawn_kv::store::{RangeStore, Recovered};
use fawn_kv::timekeeper::{Patience, Step, Timekeeper};
use fawn_kv::timing::Now;
use fawn_ring::{DomainId, Interval, MachineId};

use super::arriving::inbox;
use super::coverage::Seen;
use super::events::Event;
use super::node_store::NodeStore;
use super::plan::Plan;
use super::store::SECRET;
use super::world::{BEGIN_UNIX, Party, WRONG_US, World};

/// Ranges on a disk of another cluster.
const OTHERS_RANGES: u32 = 4;

/// Jumps of a clock are followed as in production, but sooner: a run lasts for seconds.
pub(super) const PATIENCE: Patience = Patience { forward_ms: 2000, back_ms: 1000 };

/// A process that starts under a clock that is behind has it corrected after this: in half the time after which it sets the
/// time of ranges back.
const CORRECTED_US: u64 = 1_250_000;

/// By so many seconds a process may be off while its clock counts as right.
pub(super) const RIGHT_S: u32 = 3;

/// A node's place.
pub(super) struct Place {
    pub(super) node: Option<Node<NodeStore>>,
    /// What a node that is down has.
    pub(super) left: Option<(NodeStore, BTreeMap<RangeId, Recovered>)>,
    /// The same, of a node that runs with another disk meanwhile.
    pub(super) own_disk: Option<(NodeStore, BTreeMap<RangeId, Recovered>)>,
    /// Counts the node's lives.
    pub(super) run: u32,
    /// What the clock says at time 0, and by how many parts per million it is faster than the slowest there may be.
    pub(super) offset_us: u64,
    pub(super) fast_ppm: u64,
    /// By how much the clock of the day is ahead of one that is [`WRONG_US`] slow; `None`: it began in 1970.
    pub(super) ahead_us: Option<u64>,
    /// It shows so many seconds more until then.
    pub(super) jump: Option<(i64, u64)>,
    /// What keeps the time of the process that runs.
    keeper: Timekeeper,
    pub(super) paused_until_us: u64,
    /// What came while it paused.
    pub(super) inbox: Inbox,
    /// It pauses for so long when it reads from flash next.
    pub(super) pause_at_read_us: u64,
    /// It crashes when it says something of this kind: for how long, and what decides about unsynced writes.
    pub(super) crash_at: Option<(&'static str, u64, u64)>,
    /// What is said to it, or by it, of one kind is held back for so long from when it says something of another.
    pub(super) hold_back_at: Option<(&'static str, &'static str, u64)>,
    pub(super) syncing: bool,
    /// Its next read from flash fails.
    pub(super) bad_read: bool,
    /// Until then its disk has no room.
    pub(super) full_until_us: u64,
}

impl Place {
    /// A place for a node that has nothing yet; it may have lost its clock.
    pub(super) fn new(random: &mut Random, lost_clock: bool, plan: &Plan) -> Self {
        Self {
            ahead_us: (!lost_clock).then(|| if plan.fixed { WRONG_US } else { random.below(2 * WRONG_US) }),
            jump: None,
            keeper: Timekeeper::with(PATIENCE),
            node: None,
            left: Some((NodeStore::new(random.fork(), plan.on_flash), BTreeMap::new())),
            own_disk: None,
            run: 0,
            offset_us: if plan.fixed { 0 } else { random.below(1_000_000) },
            fast_ppm: if plan.fixed { 4500 } else { random.below(9000) },
            paused_until_us: 0,
            inbox: inbox(),
            pause_at_read_us: 0,
            crash_at: None,
            hold_back_at: None,
            syncing: false,
            bad_read: false,
            full_until_us: 0,
        }
    }
}

impl World {
    pub(super) fn clock(&self, node: usize) -> Now {
        let Place { offset_us, fast_ppm, ahead_us, keeper, .. } = &self.places[node];
        let us = offset_us + self.now_us - self.now_us * 4500 / 1_000_000 + self.now_us * fast_ppm / 1_000_000;
        let time = keeper.time(self.boot_ms());
        let is_set = ahead_us.is_some() && time.is_set();
        let (unix, latest) = if is_set { (time.steady(), time.latest()) } else { (Now::UNKNOWN, 0) };
        Now { us, unix, latest }
    }

    /// Milliseconds of a clock that goes evenly.
    fn boot_ms(&self) -> u64 {
        self.now_us / 1000 + 1
    }

    /// A process reads its clock, and may follow a jump of it.
    pub(super) fn read_clock(&mut self, node: usize) -> Result<(), String> {
        let boot_ms = self.boot_ms();
        let Place { ahead_us: Some(ahead_us), jump, .. } = self.places[node] else { return Ok(()) };
        let right_ms = self.unix_ms_of(ahead_us);
        let off_s = jump.filter(|(_, until_us)| self.now_us < *until_us).map_or(0, |(off_s, _)| off_s);
        let shown_ms = right_ms.cast_signed().saturating_add(off_s.saturating_mul(1000)).max(0).cast_unsigned();
        let keeper = &mut self.places[node].keeper;
        if matches!(keeper.step(shown_ms, boot_ms), Step::Followed(_)) {
            self.summary.coverage.see(Seen::JumpFollowed);
        }
        let steady = keeper.time(boot_ms).steady();
        if steady > 0 && steady.abs_diff(self.unix()) > RIGHT_S {
            self.clocks_lie()?;
        }
        Ok(())
    }

    /// A node's clock shows so many seconds more for a while. A process that has no time yet starts by what it shows.
    pub(super) fn jump_clock(&mut self, node: usize, off_s: i64, for_us: u64) -> Result<(), String> {
        let starts_by_it = self.places[node].keeper.time(self.boot_ms()).steady() == 0;
        let for_us = if starts_by_it && off_s < 0 { for_us.min(CORRECTED_US) } else { for_us };
        self.places[node].jump = Some((off_s, self.now_us + for_us));
        self.read_clock(node)
    }

    /// Whether a process goes by a time that has passed.
    pub(super) fn is_behind(&self, node: usize) -> bool {
        let steady = self.places[node].keeper.time(self.boot_ms()).steady();
        steady > 0 && steady + RIGHT_S < self.unix()
    }

    /// A node's disk has room, or has none.
    pub(super) fn look_at_room(&mut self, number: usize) {
        let place = &mut self.places[number];
        if let Some(node) = &mut place.node {
            node.store_mut().set_full(self.now_us < place.full_until_us);
            node.store_mut().idle();
        }
    }

    /// The second by a clock that is so much ahead of one that is [`WRONG_US`] slow.
    pub(super) fn unix_of(&self, ahead_us: u64) -> u32 {
        (self.unix_ms_of(ahead_us) / 1000) as u32
    }

    /// The same in milliseconds.
    fn unix_ms_of(&self, ahead_us: u64) -> u64 {
        u64::from(BEGIN_UNIX - 2) * 1000 + (self.now_us + 2_000_000 + ahead_us - WRONG_US) / 1000
    }

    /// The second by a clock that is right.
    pub(super) fn unix(&self) -> u32 {
        BEGIN_UNIX + (self.now_us / 1_000_000) as u32
    }

    /// A node crashes, and starts with a disk of another cluster, which has ranges of the same names.
    pub(super) fn start_with_other_disk(&mut self, number: usize, for_us: u64, dice: u64) {
        if self.places[number].own_disk.is_some() {
            return;
        }
        self.crash(number, false, for_us, dice);
        let Some(own) = self.places[number].left.take() else { return };
        let mut random = Random::new(dice);
        let mut store = NodeStore::new(random.fork(), self.plan.on_flash);
        store.join(ClusterId([0xee; 16]));
        for (at, keys) in Interval::ALL.divide(OTHERS_RANGES).into_iter().enumerate() {
            // A cluster's first ranges come after the one that is all of an empty one.
            let range = RangeId(2 + at as u32);
            store.create(range, keys);
            store.hold(range, Attempt(1000));
        }
        let written = store.written();
        store.synced(written);
        self.places[number].left = Some(store.crash(random));
        self.restart(number);
        self.places[number].own_disk = Some(own);
    }

    /// A node starts, with what its store has.
    pub(super) fn restart(&mut self, number: usize) {
        let machine = MachineId(if self.plan.shared { number as u64 / 2 } else { number as u64 });
        let identity = Identity {
            id: NodeId(number as u64),
            machine,
            domain: (self.plan.domains > 0).then(|| DomainId(machine.0 % u64::from(self.plan.domains))),
            virtual_ids: self.plan.virtual_ids,
            secret: SECRET,
        };
        let place = &mut self.places[number];
        if let Some(own) = place.own_disk.take() {
            place.node = None;
            place.left = Some(own);
        }
        let Some((store, recovered)) = place.left.take() else { return };
        place.run += 1;
        place.syncing = false;
        place.keeper = Timekeeper::with(PATIENCE);
        if let Some((off_s, until_us)) = &mut place.jump
            && *off_s < 0
        {
            *until_us = (*until_us).min(self.now_us + CORRECTED_US);
        }
        let nonce = u64::from(place.run) << 32 | number as u64;
        place.node = Some(Node::new(identity, nonce, self.timing, store, recovered));
        if place.run == 1 {
            self.after(0, Event::Tick(number));
        }
        self.begin_relay(Party::Node(number));
    }
}
