//! A flash array under requests, and what came of it.

use fawn_report::Watch;
use serde::Serialize;

use super::power_cut::{PowerCut, PowerCutReport};
use super::report::{EnergyReport, LatencySummary, PartShare, ResourceShare, ServedSums, Throughput, parts};
use super::steady::{FirstState, WarmUpChoice, WarmUpError, warm_up};
use super::workload::Pacing;
use crate::amplification::theory;
use crate::flash::usage::{ArrayUsage, CommandCounts};
use crate::flash::{FlashDesign, FlashModel};
use crate::ftl::cleaning::CleaningPolicy;
use crate::ftl::memory::DramNeed;
use crate::ftl::requests::ServiceCounts;
use crate::ftl::wear::{WearSpread, years_by_erases};
use crate::ftl::{ArrivalMode, Device, FtlError, FtlSettings, HostKind, HostReply, HostRequest, Translation};
use crate::time::SimTime;
use crate::trace::{Access, AddressPattern, BlockRequest, TracePattern};

/// Super-pages up to which the FTL keeps a table of owners. Larger devices find them by scanning, with the same results in
/// half of the memory.
const MOST_OWNERS: u64 = 32 << 20;

/// Super-pages up to which what is on flash is kept for power cuts, at 24 bytes each.
const MOST_MEDIUM_PAGES: u64 = 16 << 20;

/// Requests between two looks at the progress.
const STRIDE: u64 = 4096;

/// Why a measurement is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeasurementError {
    /// The FTL cannot be had, or is worn out.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// The first state cannot be had.
    #[error(transparent)]
    WarmUp(#[from] WarmUpError),
    /// What is on flash would take too much memory.
    #[error(
        "a power cut needs what is on flash in memory, and {pages} super-pages are more than {MOST_MEDIUM_PAGES}; make \
         the array smaller, such as with fewer blocks"
    )]
    Medium {
        /// Super-pages of the array.
        pages: u64,
    },
}

/// An array that is about to be measured.
#[derive(Debug)]
pub struct FlashMeasurement {
    model: FlashModel,
    settings: FtlSettings,
    device: Device,
    first_state: FirstState,
    pattern: Option<TracePattern>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct FlashReport {
    /// The array.
    pub name: String,
    /// Where its values are from.
    pub source: String,
    /// The design. Times are in nanoseconds.
    pub design: FlashDesign,
    /// The FTL. Times are in nanoseconds.
    pub settings: FtlSettings,
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
    /// Bytes of a super-page.
    pub super_page_bytes: u32,
    /// The state that the measurement began with.
    pub first_state: FirstState,
    /// When requests were issued.
    pub pacing: Pacing,
    /// What was served.
    pub throughput: Throughput,
    /// Bytes per second, read and written.
    pub bytes_per_s: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Of all requests.
    pub latency: Option<LatencySummary>,
    /// Of reads.
    pub read_latency: Option<LatencySummary>,
    /// Of writes.
    pub write_latency: Option<LatencySummary>,
    /// Where the time of requests went.
    pub latency_parts: Vec<PartShare>,
    /// How many pages and bytes were programmed; absent if nothing was written.
    pub write_amplification: Option<AmplificationReport>,
    /// Erases.
    pub wear: WearReport,
    /// The controller's memory.
    pub dram: DramReport,
    /// How accesses to super-pages were served.
    pub services: ServiceCounts,
    /// Commands of all dies.
    pub commands: CommandCounts,
    /// How busy buses and dies were, the busiest first.
    pub resources: Vec<ResourceShare>,
    /// Modelled energy of the dies; absent if their power is not known.
    pub energy: Option<EnergyReport>,
}

/// Programs for each write.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AmplificationReport {
    /// Super-pages programmed for each super-page that the host wrote.
    pub pages_per_page: f64,
    /// The same with summary pages and records of trims.
    pub pages_per_page_with_summaries: f64,
    /// Bytes programmed, all included, for each byte that the host wrote.
    pub bytes_per_byte: f64,
    /// What theory gives for the first of these.
    pub theory: Option<f64>,
    /// Which theory, or why there is none.
    pub theory_source: String,
    /// The spare factor that theory is for: blocks held for write points and cleaning are no spare.
    pub effective_spare_factor: f64,
}

/// Erases of super-blocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WearReport {
    /// Super-blocks erased during the measurement.
    pub erased: u64,
    /// How evenly all were, the warm-up included.
    pub spread: WearSpread,
    /// Erases that a block is rated for, if they are known.
    pub rated_erases: Option<u32>,
    /// Years of such writes without pause until all blocks have their rated erases.
    pub years_at_this_rate: Option<f64>,
}

/// The controller's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DramReport {
    /// What it needs, by use.
    pub needs: DramNeed,
    /// All of it.
    pub total_bytes: u64,
    /// What there is; absent if nothing limits it.
    pub has_bytes: Option<u64>,
}

impl FlashMeasurement {
    /// An erased array. It keeps what is on flash only for power cuts.
    ///
    /// # Errors
    /// The settings contradict the array or each other, or what is on flash takes too much memory.
    pub fn new(model: FlashModel, settings: FtlSettings, for_power_cut: bool) -> Result<Self, MeasurementError> {
        let geometry = model.design.geometry;
        let side = |count: u32| u64::from(count.max(1));
        let stripe = settings.stripe;
        let flash_pages = side(stripe.buses) * side(stripe.dies) * side(stripe.planes);
        let pages = geometry.pages() / flash_pages;
        let device = if for_power_cut {
            if pages > MOST_MEDIUM_PAGES {
                return Err(MeasurementError::Medium { pages });
            }
            Device::new(&model.design, settings, true)?
        } else {
            Device::with(&model.design, Translation::new(geometry, settings, pages <= MOST_OWNERS)?, None)?
        };
        let first_state = FirstState { way: "empty", passes: 0, sentence: "nothing was ever written".to_owned() };
        Ok(Self { model, settings, device, first_state, pattern: None })
    }

    /// Bytes that the host can use.
    pub fn capacity_bytes(&self) -> u64 {
        self.device.bytes()
    }

    /// Brings the array to its first state. `pattern` is the workload, if it is computed.
    ///
    /// # Errors
    /// What [`warm_up`] returns.
    pub fn warm_up(
        &mut self,
        choice: WarmUpChoice,
        pattern: Option<&TracePattern>,
        watch: &dyn Watch,
    ) -> Result<(), MeasurementError> {
        self.first_state = warm_up(&mut self.device, choice, pattern, watch)?;
        self.pattern = pattern.copied();
        Ok(())
    }

    /// Serves all requests. `total` is how many there are, for the progress.
    ///
    /// # Errors
    /// The array is worn out.
    pub fn run(
        mut self,
        requests: impl Iterator<Item = BlockRequest>,
        total: u64,
        pacing: Pacing,
        watch: &dyn Watch,
    ) -> Result<FlashReport, MeasurementError> {
        let mut sums = FlashSums::default();
        let requests = requests.map(|request| host_request(&request, 0));
        let mode = if pacing == Pacing::Timed { ArrivalMode::Timed } else { ArrivalMode::Saturated };
        let report = self.device.run(requests, mode, |reply| {
            if sums.served.throughput.requests.is_multiple_of(STRIDE) {
                watch.progress(sums.served.throughput.requests, total, "simulating");
            }
            sums.add(reply);
        })?;
        sums.served.throughput.elapsed_s = report.elapsed.seconds();
        Ok(self.report(sums, pacing))
    }

    /// Serves requests until the power fails, and recovers what is on flash. The array must have been made for that.
    ///
    /// # Errors
    /// The array is worn out before.
    pub fn cut_power(
        self,
        requests: impl Iterator<Item = BlockRequest>,
        after_requests: u64,
    ) -> Result<PowerCutReport, MeasurementError> {
        let requests = requests.map(|request| host_request(&request, 0));
        let is_filled = self.first_state.passes > 0;
        let cut = PowerCut { after_requests, is_filled, seed: self.settings.seed };
        Ok(cut.run(self.device, &self.model.design, self.settings, requests)?)
    }

    /// The state that the measurement begins with.
    pub fn first_state(&self) -> &FirstState {
        &self.first_state
    }

    fn report(self, sums: FlashSums, pacing: Pacing) -> FlashReport {
        let Self { model, settings, device, first_state, pattern } = self;
        let translation = device.translation();
        let usage = device.array().usage();
        let layout = *translation.layout();
        let FlashSums { served, queue, cleaning, die, bus, transfer, cell } = sums;
        let ServedSums { throughput, all, reads, writes } = served;
        let counts = translation.counts();
        let programmed = counts.programmed();
        let programmed_bytes = programmed as f64 * f64::from(layout.page_bytes);
        let write_amplification = (counts.written > 0).then(|| {
            let effective_spare_factor = effective_spare(translation);
            let (theory, theory_source) =
                theory_of(&settings, pattern.as_ref(), effective_spare_factor, &device, throughput.discards > 0);
            AmplificationReport {
                pages_per_page: counts.data_amplification(),
                pages_per_page_with_summaries: counts.write_amplification(),
                bytes_per_byte: programmed_bytes / throughput.bytes_written as f64,
                theory,
                theory_source,
                effective_spare_factor,
            }
        });
        let years = model.rated_erases.filter(|_| programmed > 0).map(|rated| {
            let raw_bytes = model.design.geometry.bytes() as f64;
            years_by_erases(raw_bytes, rated, programmed_bytes / throughput.elapsed_s, 1.0)
        });
        let needs = DramNeed::of(&layout, &settings);
        let latency_parts = parts(
            &[
                ("controller's queue", queue),
                ("waiting for cleaning", cleaning),
                ("waiting for a die", die),
                ("waiting for a bus", bus),
                ("transfer", transfer),
                ("cells", cell),
            ],
            throughput.requests,
        );
        let energy = model.power.map(|power| {
            let told = format!(
                "{} W a die at rest and {} W while its cells work; buses and controller are not in it",
                power.idle_w, power.active_w
            );
            let bytes = throughput.bytes_read + throughput.bytes_written;
            EnergyReport::of(usage.energy_j(power), usage.elapsed.seconds(), bytes, told)
        });
        FlashReport {
            name: model.name,
            source: model.source,
            capacity_bytes: device.bytes(),
            super_page_bytes: layout.page_bytes,
            first_state,
            pacing,
            bytes_per_s: throughput.bytes_per_s(),
            requests_per_s: throughput.requests_per_s(),
            latency: all.summary(),
            read_latency: reads.summary(),
            write_latency: writes.summary(),
            latency_parts,
            write_amplification,
            wear: WearReport {
                erased: counts.blocks.erased,
                spread: translation.wear(),
                rated_erases: model.rated_erases,
                years_at_this_rate: years,
            },
            dram: DramReport {
                needs,
                total_bytes: needs.total(),
                has_bytes: (settings.dram_bytes < u64::MAX).then_some(settings.dram_bytes),
            },
            services: device.services(),
            commands: usage.counts,
            resources: resources(&usage, model.design.geometry.dies_per_bus()),
            energy,
            design: model.design,
            settings,
            throughput,
        }
    }
}

/// The request as the FTL takes it. A flush loses its extent.
pub fn host_request(request: &BlockRequest, stamp: u32) -> HostRequest {
    let BlockRequest { time_ns, offset, bytes, .. } = *request;
    let (kind, offset, bytes) = match request.access {
        Access::Read => (HostKind::Read, offset, bytes),
        Access::Write => (HostKind::Write, offset, bytes),
        Access::Discard => (HostKind::Trim, offset, bytes),
        Access::Flush => (HostKind::Flush, 0, 0),
    };
    HostRequest { at: SimTime::from_ns(time_ns), kind, offset, bytes, stamp }
}

/// Sums over replies.
#[derive(Debug, Default)]
struct FlashSums {
    served: ServedSums,
    queue: u128,
    cleaning: u128,
    die: u128,
    bus: u128,
    transfer: u128,
    cell: u128,
}

impl FlashSums {
    fn add(&mut self, reply: &HostReply) {
        let access = match reply.kind {
            HostKind::Read => Access::Read,
            HostKind::Write => Access::Write,
            HostKind::Trim => Access::Discard,
            HostKind::Flush => Access::Flush,
        };
        self.served.add(access, reply.bytes, (reply.finished - reply.arrived).ns());
        for (sum, part) in [
            (&mut self.queue, reply.parts.queue),
            (&mut self.cleaning, reply.parts.cleaning),
            (&mut self.die, reply.parts.die),
            (&mut self.bus, reply.parts.bus),
            (&mut self.transfer, reply.parts.transfer),
            (&mut self.cell, reply.parts.cell),
        ] {
            *sum += u128::from(part.ns());
        }
    }
}

/// The spare factor that theory knows: open blocks and those that are held for cleaning are no spare.
fn effective_spare(translation: &Translation) -> f64 {
    let (layout, settings) = (translation.layout(), translation.settings());
    let held =
        settings.write_points_per_set + u32::from(settings.cleaning.cold_apart) + settings.cleaning.low_blocks - 1;
    let closed = u64::from(layout.blocks_per_set.saturating_sub(held)) * u64::from(layout.sets);
    1.0 - f64::from(translation.logical_pages()) / (closed as f64 * f64::from(layout.data_pages()))
}

/// What theory has for a workload, and which theory; or why it has nothing.
fn theory_of(
    settings: &FtlSettings,
    pattern: Option<&TracePattern>,
    spare: f64,
    device: &Device,
    has_discards: bool,
) -> (Option<f64>, String) {
    let none = |why: &str| (None, why.to_owned());
    let Some(pattern) = pattern else { return none("theory has no write amplification for a trace") };
    if has_discards {
        return none("theory has none for a workload with discards");
    }
    match pattern.addresses {
        AddressPattern::Sequential { .. } => return (Some(1.0), "sequential writes leave nothing to copy".to_owned()),
        AddressPattern::Uniform { .. } => {}
        _ => return none("theory has none for this pattern, only for uniform and for sequential writes"),
    }
    if !pattern.covers(device.bytes()) {
        return none("theory has none for writes to a part of the device");
    }
    if spare <= 0.0 {
        return none("no spare is left beside the blocks that write points and cleaning hold");
    }
    let pages = device.translation().layout().data_pages();
    let (value, source) = match settings.cleaning.policy {
        CleaningPolicy::Greedy => (theory::greedy(spare, pages), "greedy cleaning (Desnoyers, SYSTOR 2012, eq. 12)"),
        CleaningPolicy::Fifo => (theory::fifo(spare), "FIFO cleaning (Desnoyers, SYSTOR 2012, eq. 4)"),
        CleaningPolicy::Random => (theory::random(spare), "random victims (1 divided by the spare factor)"),
        CleaningPolicy::DChoices(choices) => {
            (theory::d_choices(spare, pages, choices), "d choices (Van Houdt, SIGMETRICS 2013)")
        }
        CleaningPolicy::CostBenefit => return none("theory has none for cost-benefit cleaning"),
    };
    (Some(value), source.to_owned())
}

/// Buses and dies by how busy they were.
fn resources(usage: &ArrayUsage, dies_per_bus: u32) -> Vec<ResourceShare> {
    let share = |busy: SimTime| busy.seconds() / usage.elapsed.seconds().max(f64::MIN_POSITIVE);
    let busiest = |busy: &[SimTime]| busy.iter().copied().enumerate().max_by_key(|(_, time)| *time);
    let mut all = Vec::new();
    if let Some((bus, time)) = busiest(&usage.bus_busy) {
        all.push(ResourceShare { resource: format!("bus {bus}"), busy_share: share(time) });
    }
    if let Some((die, time)) = busiest(&usage.die_busy) {
        let (bus, on_bus) = (die / dies_per_bus as usize, die % dies_per_bus as usize);
        all.push(ResourceShare { resource: format!("die {on_bus} of bus {bus}"), busy_share: share(time) });
    }
    all.push(ResourceShare { resource: "all buses".to_owned(), busy_share: usage.bus_utilisation() });
    all.push(ResourceShare { resource: "all dies".to_owned(), busy_share: usage.die_utilisation() });
    all.sort_by(|a, b| b.busy_share.total_cmp(&a.busy_share));
    all
}

#[cfg(test)]
#[path = "flash_tests.rs"]
mod tests;
