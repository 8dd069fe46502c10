//! What is busy in each second of a trace.

use serde::Serialize;

use super::demand::{NodeResource, SampleDemand};

/// One sample of a run: what it asked for, and when it ran.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleRun {
    /// The node.
    pub node: usize,
    /// The second of the trace.
    pub second: usize,
    /// What it asked for.
    pub demand: SampleDemand,
    /// Seconds for which its node had waited before.
    pub waited: f64,
    /// Seconds that it took.
    pub took: f64,
    /// When it was done, in seconds.
    pub end: f64,
}

/// One second of a trace on all nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TimelineSecond {
    /// The second of the trace, from 0.
    pub second: usize,
    /// Nodes that had work in it.
    pub nodes: usize,
    /// Seconds that the slowest of them took.
    pub slowest_s: f64,
    /// When the last of them was done, in simulated seconds.
    pub finished_s: f64,
    /// Node-seconds for which they had waited before.
    pub waited_s: f64,
    /// The share of their time in which processors were busy.
    pub processor: f64,
    /// The same of storage.
    pub storage: f64,
    /// The same of the network.
    pub network: f64,
    /// The resource that was fully used on most nodes; `None` if none was on any.
    pub busy: Option<NodeResource>,
}

/// Collects seconds, sample by sample.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    seconds: Vec<TimelineSecond>,
    /// Of the last second: node-seconds, and on how many nodes each resource was fully used.
    took: f64,
    full: [usize; 3],
}

impl Timeline {
    /// Adds a sample, which is of the last second or of the next. `full` is the set of its fully used resources, by bits.
    pub(super) fn add(&mut self, sample: &SampleRun, full: usize) {
        if self.seconds.last().is_none_or(|last| last.second != sample.second) {
            self.close();
            self.seconds.push(TimelineSecond { second: sample.second, ..TimelineSecond::default() });
        }
        let last = self.seconds.last_mut().expect("one has just been added");
        last.nodes += usize::from(sample.took > 0.0);
        last.slowest_s = last.slowest_s.max(sample.took);
        last.finished_s = last.finished_s.max(sample.end);
        last.waited_s += sample.waited;
        last.processor += sample.demand.processor_s;
        last.storage += sample.demand.storage_s();
        last.network += sample.demand.network_s;
        self.took += sample.took;
        for resource in NodeResource::ALL {
            self.full[resource as usize] += (full >> resource as usize) & 1;
        }
    }

    /// All seconds.
    pub(super) fn finish(mut self) -> Vec<TimelineSecond> {
        self.close();
        self.seconds
    }

    /// Turns the sums of the last second into shares.
    fn close(&mut self) {
        let (took, full) = (std::mem::take(&mut self.took), std::mem::take(&mut self.full));
        let Some(last) = self.seconds.last_mut().filter(|_| took > 0.0) else { return };
        for share in [&mut last.processor, &mut last.storage, &mut last.network] {
            *share = (*share / took).min(1.0);
        }
        let most = NodeResource::ALL.into_iter().rev().max_by_key(|resource| full[*resource as usize]);
        last.busy = most.filter(|resource| full[*resource as usize] > 0);
    }
}
