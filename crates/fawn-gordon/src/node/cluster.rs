//! The cluster simulator: the traces of N nodes on N nodes of a design, as time and energy.

use serde::Serialize;

use super::demand::{NodeRates, NodeResource, SampleDemand};
use super::design::NodeDesign;
use super::power::ComponentJoules;
use super::queueing::closed_network_seconds;
use super::sample::ClusterTrace;
use super::timeline::{SampleRun, Timeline, TimelineSecond};
use crate::trace::TraceColumn;

/// A resource counts as fully used if it is busy for this share of a sample's time (Gordon Fig. 7 shows resources that
/// limit together).
const FULL: f64 = 0.95;

/// How nodes wait for each other, and resources inside a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterModel {
    /// Samples by which a node may be ahead of the slowest: 0 is a barrier after each sample, `None` is no barrier.
    pub lead: Option<u32>,
    /// Requests that a node has under way, for each processor; `None` is perfect overlap of its resources.
    pub in_flight: Option<u32>,
    /// Whether a node is off after its last sample. If not, it idles until the last node has finished.
    pub power_down: bool,
    /// Whether work arrives as it was recorded: no node begins a second of the trace before that second, and nodes stay on
    /// for as long as they were recorded. If not, work follows work, as in a batch job.
    pub paced: bool,
}

impl ClusterModel {
    /// A barrier after each sample: the paper's upper bound of time.
    pub const fn sync() -> Self {
        Self { lead: Some(0), in_flight: None, power_down: true, paced: false }
    }

    /// No barrier: the paper's lower bound of time.
    pub const fn nosync() -> Self {
        Self { lead: None, in_flight: None, power_down: true, paced: false }
    }

    /// Between the bounds, beyond the paper: nodes run ahead of the slowest by at most `lead` seconds of the trace, and
    /// each processor has `in_flight` requests under way that wait for each other at the resources.
    pub const fn estimate(lead: u32, in_flight: u32) -> Self {
        Self { lead: Some(lead), in_flight: Some(in_flight), power_down: true, paced: false }
    }

    /// The same with work that arrives as it was recorded, or that does not.
    #[must_use]
    pub const fn with_pace(self, paced: bool) -> Self {
        Self { paced, ..self }
    }

    /// The seconds of a sample on its own node.
    fn sample_seconds(self, demand: &SampleDemand, processors: u32) -> f64 {
        match self.in_flight {
            None => demand.longest(),
            Some(in_flight) => {
                let demands = [demand.processor_s, demand.storage_s(), demand.network_s];
                closed_network_seconds(demands, in_flight.saturating_mul(processors))
            }
        }
    }
}

/// Time by which resources were fully used in it, over all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct BusyTime {
    /// Node-seconds by set of fully used resources: bit 0 the processor, bit 1 storage, bit 2 the network.
    pub by_set: [f64; 8],
    /// Node-seconds of waiting for other nodes, or for work that has not arrived.
    pub waiting: f64,
}

impl BusyTime {
    /// The share of all node-seconds in which a resource was fully used, alone or with others.
    pub fn share(&self, resource: NodeResource) -> f64 {
        let bit = 1 << resource as usize;
        let busy: f64 = self.by_set.iter().enumerate().filter(|(set, _)| set & bit != 0).map(|(_, it)| it).sum();
        let all = self.by_set.iter().sum::<f64>() + self.waiting;
        if all > 0.0 { busy / all } else { 0.0 }
    }
}

/// How busy components were while their nodes were on, from 0 to 1: the activity factors of the power model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ComponentActivity {
    /// Processors.
    pub processor: f64,
    /// Memory.
    pub memory: f64,
    /// Storage.
    pub storage: f64,
    /// The network.
    pub network: f64,
}

impl ComponentActivity {
    fn of(totals: &[SampleDemand], on_seconds: f64) -> Self {
        let share = |seconds: fn(&SampleDemand) -> f64| {
            let busy: f64 = totals.iter().map(seconds).sum();
            if on_seconds > 0.0 { (busy / on_seconds).min(1.0) } else { 0.0 }
        };
        Self {
            processor: share(|total| total.processor_s),
            memory: share(|total| total.memory_s),
            storage: share(SampleDemand::storage_s),
            network: share(|total| total.network_s),
        }
    }
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterRun {
    /// Nodes.
    pub nodes: usize,
    /// Seconds until the last node has finished.
    pub seconds: f64,
    /// Joules of all nodes, by component.
    pub joules: ComponentJoules,
    /// Joules of all nodes if none were off before the last has finished.
    pub joules_staying_on: f64,
    /// Node-seconds in which nodes were on.
    pub on_seconds: f64,
    /// How busy components were.
    pub activity: ComponentActivity,
    /// Which resources were fully used, for how long.
    pub busy: BusyTime,
    /// Columns of the trace that nobody measured: what they would take is in no sum.
    pub unmeasured: Vec<TraceColumn>,
}

impl ClusterRun {
    /// Average power of a node over the whole run, nodes that are off included (Gordon Table 6).
    pub fn average_watts(&self) -> f64 {
        let node_seconds = self.seconds * self.nodes as f64;
        if node_seconds > 0.0 { self.joules.total() / node_seconds } else { 0.0 }
    }
}

/// Where each node is, while samples are gone through second by second.
struct Clock {
    /// When each node has finished what it did last.
    ends: Vec<f64>,
    /// When the slowest node has finished each sample.
    slowest: Vec<f64>,
}

impl Clock {
    /// When a node may begin a sample.
    fn start(&self, node: usize, sample: usize, model: ClusterModel) -> f64 {
        let barrier = model.lead.and_then(|lead| sample.checked_sub(1 + lead as usize));
        let barrier = barrier.map_or(0.0, |at| self.slowest[at]);
        let arrival = if model.paced { sample as f64 } else { 0.0 };
        self.ends[node].max(barrier).max(arrival)
    }

    /// When the last node has finished.
    fn end(&self) -> f64 {
        self.slowest.last().copied().unwrap_or(0.0)
    }
}

impl ClusterModel {
    /// Runs a trace on nodes of a design.
    pub fn run(self, trace: &ClusterTrace, design: &NodeDesign) -> ClusterRun {
        let mut totals = vec![SampleDemand::default(); trace.nodes.len()];
        let mut busy = BusyTime::default();
        let clock = self.simulate(trace, design, None, |sample| {
            busy.waiting += sample.waited;
            busy.by_set[full_set(&sample.demand, sample.took)] += sample.took;
            add(&mut totals[sample.node], &sample.demand);
        });
        let recorded = |samples: usize| if self.paced { samples as f64 } else { 0.0 };
        let seconds = clock.end().max(recorded(trace.seconds()));
        let mut joules = ComponentJoules::default();
        let (mut joules_staying_on, mut on_seconds) = (0.0, 0.0);
        for (node, total) in totals.iter().enumerate() {
            let until = clock.ends[node].max(recorded(trace.nodes[node].len()));
            let on = if self.power_down { until } else { seconds };
            on_seconds += on;
            joules.add(&node_joules(design, on, total));
            joules_staying_on += node_joules(design, seconds, total).total();
        }
        ClusterRun {
            nodes: trace.nodes.len(),
            seconds,
            joules,
            joules_staying_on,
            on_seconds,
            activity: ComponentActivity::of(&totals, on_seconds),
            busy,
            unmeasured: trace.unmeasured(),
        }
    }

    /// The time alone, with one resource infinitely fast if one is named.
    pub fn seconds(self, trace: &ClusterTrace, design: &NodeDesign, infinite: Option<NodeResource>) -> f64 {
        let end = self.simulate(trace, design, infinite, |_| {}).end();
        if self.paced { end.max(trace.seconds() as f64) } else { end }
    }

    /// Goes through a trace, and tells `each` of every sample: second by second, and node by node within a second.
    fn simulate(
        self,
        trace: &ClusterTrace,
        design: &NodeDesign,
        infinite: Option<NodeResource>,
        mut each: impl FnMut(&SampleRun),
    ) -> Clock {
        let rates = NodeRates::of(design);
        let knows_misses = trace.is_measured(TraceColumn::CacheMisses);
        let mut clock = Clock { ends: vec![0.0; trace.nodes.len()], slowest: Vec::new() };
        for second in 0..trace.seconds() {
            let mut slowest = clock.end();
            for (node, samples) in trace.nodes.iter().enumerate() {
                let Some(sample) = samples.get(second) else { continue };
                let demand = rates.demand(sample, knows_misses);
                let demand = infinite.map_or(demand, |resource| demand.without(resource));
                let took = self.sample_seconds(&demand, design.processors);
                let start = clock.start(node, second, self);
                let (waited, end) = (start - clock.ends[node], start + took);
                clock.ends[node] = end;
                slowest = slowest.max(end);
                each(&SampleRun { node, second, demand, waited, took, end });
            }
            clock.slowest.push(slowest);
        }
        clock
    }

    /// What is busy in each second of a trace, over all nodes.
    pub fn timeline(self, trace: &ClusterTrace, design: &NodeDesign) -> Vec<TimelineSecond> {
        let mut timeline = Timeline::default();
        self.simulate(trace, design, None, |sample| timeline.add(sample, full_set(&sample.demand, sample.took)));
        timeline.finish()
    }
}

/// The set of resources that are busy for almost all of a sample.
fn full_set(demand: &SampleDemand, took: f64) -> usize {
    if took <= 0.0 {
        return 0;
    }
    let is_full = |resource: NodeResource| usize::from(demand.of(resource) >= FULL * took) << resource as usize;
    NodeResource::ALL.into_iter().map(is_full).sum()
}

fn add(total: &mut SampleDemand, demand: &SampleDemand) {
    total.processor_s += demand.processor_s;
    total.read_s += demand.read_s;
    total.write_s += demand.write_s;
    total.network_s += demand.network_s;
    total.memory_s += demand.memory_s;
}

/// Joules of one node that was on for `on` seconds. Power is linear in activity, so that only sums matter.
fn node_joules(design: &NodeDesign, on: f64, total: &SampleDemand) -> ComponentJoules {
    let processor = design.processor.watts_at(design.hz).times(f64::from(design.processors));
    let storage = &design.storage;
    let busy = total.storage_s().min(on);
    let reading = if total.storage_s() > 0.0 { busy * total.read_s / total.storage_s() } else { 0.0 };
    let devices_j = storage.watts.joules(on, reading, busy - reading) * f64::from(storage.devices);
    let mut joules = ComponentJoules {
        processor: processor.joules(on, total.processor_s.min(on)),
        memory: design.memory.watts.joules(on, total.memory_s.min(on)),
        storage: devices_j + storage.watts_controller.joules(on, busy),
        overhead: 0.0,
    };
    joules.overhead = joules.total() * design.overhead_share / (1.0 - design.overhead_share);
    joules
}
