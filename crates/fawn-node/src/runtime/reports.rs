//! What a loop reports on its own: figures for the admin port, and warnings for the operator.

use crate::observe::warnings::OperatorWarnings;
use crate::runtime::clock::Now;
use crate::runtime::shared::SharedState;
use crate::shard::backend::Backend;

/// The reports of one loop.
#[derive(Debug)]
pub struct LoopReports {
    /// The loop's number.
    number: usize,
    warnings: OperatorWarnings,
    /// The number of the last request for figures that was answered.
    sampled: u64,
}

impl LoopReports {
    /// Nothing was reported yet.
    pub fn new(number: usize) -> Self {
        Self { number, warnings: OperatorWarnings::default(), sampled: 0 }
    }

    /// Whether figures are asked for.
    pub fn is_asked(&self, shared: &SharedState) -> bool {
        shared.samples.wanted() != self.sampled
    }

    /// Tells the operator of what is about to refuse puts, and gives figures if they are asked for.
    pub fn step<B: Backend>(&mut self, backend: &mut B, shared: &SharedState, now: Now) {
        self.warn(backend, shared, now.ms);
        let wanted = shared.samples.wanted();
        if wanted != self.sampled {
            self.sampled = wanted;
            shared.samples.give(self.number, wanted, backend.sample(now));
        }
    }

    /// One loop speaks for all.
    fn warn<B: Backend>(&mut self, backend: &B, shared: &SharedState, now_ms: u64) {
        if self.number > 0 || !self.warnings.is_due(now_ms) {
            return;
        }
        let (options, totals, device) = (&shared.options, shared.totals(), backend.space());
        let space = self.warnings.on_space(device, options);
        let refused_space = self.warnings.on_refused_space(totals.store_no_space, now_ms, device);
        let refused_memory = self.warnings.on_refused_memory(totals.store_no_memory, now_ms, options);
        for text in [space, refused_space, refused_memory].into_iter().flatten() {
            tracing::warn!("{text}");
        }
    }
}
