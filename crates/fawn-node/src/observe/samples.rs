//! Figures of loops for the admin port: asked for from outside, given by each loop at the end of its next turn. A loop looks
//! at one number a turn to see whether it is asked.

use fawn_flash::DeviceTraffic;
use fawn_kv::chain::Tally;
use fawn_kv::frontend::Counts;
use fawn_kv::link::relay;
use fawn_kv::status::SeatFigures;
use fawn_store::Stats;
use fawn_tls::certificate::Expiry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A loop that has given nothing for so long does not get on.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is younger than this is told again: nobody slows loops by asking often.
const FRESH: Duration = Duration::from_millis(50);

/// A store's figures.
#[derive(Clone, Debug)]
pub struct StoreSample {
    /// Its number in its directory, or its seat's.
    pub number: u64,
    /// Its own.
    pub stats: Stats,
    /// What was asked of the device.
    pub traffic: DeviceTraffic,
    /// The device's number, as `stat` has it.
    pub device: u64,
}

/// Messages that wait, and their bytes.
pub type LaneLoad = (usize, usize);

/// A seat's figures.
#[derive(Clone, Debug)]
pub struct SeatSample {
    /// Those that managers are told, too.
    pub figures: SeatFigures,
    /// The member that it is of.
    pub member: String,
    /// What its front-end has done, and requests that are in flight there.
    pub front: Option<(Counts, usize)>,
    /// What its node is.
    pub node: Option<NodeSample>,
    /// Managers that it is connected to.
    pub managers: usize,
    /// Milliseconds for which it was connected to none that leads.
    pub leaderless_ms: u64,
    /// What it waits for before it lets clients in, in a clause.
    pub waits_for: Option<String>,
    /// When the certificate ends that it shows on links.
    pub certificate: Option<Expiry>,
    /// Messages that took a way around a broken link, and links that are broken now.
    pub relay: (relay::Counts, usize),
}

/// A node's figures.
#[derive(Clone, Debug)]
pub struct NodeSample {
    /// It has a number in this life.
    pub is_member: bool,
    /// What has happened to its parts in ranges.
    pub tally: Tally,
    /// What waits of chains.
    pub chain: LaneLoad,
    /// What waits of clients and front-ends.
    pub clients: LaneLoad,
}

/// A loop's figures.
#[derive(Clone, Debug, Default)]
pub struct LoopSample {
    /// Its stores.
    pub stores: Vec<StoreSample>,
    /// Its seat, in a cluster.
    pub seat: Option<SeatSample>,
}

/// What the loops have given.
#[derive(Debug)]
pub struct Samples {
    /// How often they were asked.
    wanted: AtomicU64,
    given: Mutex<LatestSamples>,
    came: Condvar,
}

#[derive(Debug)]
struct LatestSamples {
    /// By loop: what was given last, to which asking.
    loops: Vec<(u64, Arc<LoopSample>)>,
    asked: Option<Instant>,
}

impl Samples {
    /// Asks all loops for their figures, which `wake` makes look, and waits for them; a node that `stops` is not asked.
    pub fn ask(&self, stops: impl Fn() -> bool, wake: impl Fn()) -> SampleRound {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let mut stuck = Vec::new();
        if !stops() && given.asked.is_none_or(|asked| now >= asked + FRESH) {
            let wanted = self.wanted.fetch_add(1, Ordering::Relaxed) + 1;
            wake();
            let is_late = |given: &mut LatestSamples| given.loops.iter().any(|(to, _)| *to < wanted) && !stops();
            let waited = self.came.wait_timeout_while(given, PATIENCE, is_late);
            (given, _) = waited.unwrap_or_else(PoisonError::into_inner);
            given.asked = Some(Instant::now());
            if !stops() {
                stuck.extend((0..given.loops.len()).filter(|number| given.loops[*number].0 < wanted));
            }
        }
        SampleRound { samples: given.loops.iter().map(|(_, sample)| Arc::clone(sample)).collect(), stuck }
    }

    /// Nothing of so many loops.
    pub fn new(loops: usize) -> Self {
        let given = LatestSamples { loops: (0..loops).map(|_| (0, Arc::default())).collect(), asked: None };
        Self { wanted: AtomicU64::new(0), given: Mutex::new(given), came: Condvar::new() }
    }

    /// How often figures were asked for.
    #[inline]
    pub fn wanted(&self) -> u64 {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Gives a loop's figures, as they were asked for.
    pub fn give(&self, number: usize, wanted: u64, sample: LoopSample) {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).loops[number] = (wanted, Arc::new(sample));
        self.came.notify_all();
    }
}

/// What loops gave, and which do not get on.
#[derive(Debug)]
pub struct SampleRound {
    /// By loop; what it gave last, if it does not get on.
    pub samples: Vec<Arc<LoopSample>>,
    /// Those that do not get on.
    pub stuck: Vec<usize>,
}
