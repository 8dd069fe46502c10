//! The state that a measurement begins with.

use fawn_report::Watch;
use serde::{Deserialize, Serialize};

use crate::ftl::cleaning::CleaningPolicy;
use crate::ftl::filling::Filling;
use crate::ftl::{Device, FtlError, FtlSettings};
use crate::trace::{Access, AddressPattern, Arrivals, BlockRequest, TracePattern};

/// Passes of a bounded fill where nobody says how many.
const PASSES: u32 = 3;

/// Writes between two looks at the progress.
const STRIDE: u64 = 1 << 19;

/// How a device is brought to its first state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmUpChoice {
    /// The closed form where it holds, a bounded fill elsewhere.
    Auto,
    /// Nothing was ever written.
    Empty,
    /// Every page once, in order.
    Sequential,
    /// The closed form.
    ClosedForm,
    /// Every page once, then so many times as many writes as there are pages.
    Fill(u32),
}

/// The state that a measurement began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstState {
    /// How it was reached.
    pub way: &'static str,
    /// Pages that were written on the way, without time, as a multiple of the device's.
    pub passes: u32,
    /// The same in a sentence.
    pub sentence: String,
}

impl FirstState {
    fn new(way: &'static str, passes: u32, sentence: impl Into<String>) -> Self {
        Self { way, passes, sentence: sentence.into() }
    }
}

/// A way that a device cannot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteadyStateError {
    /// The closed form needs more blocks, or no medium.
    #[error("the closed form needs more spare blocks than the device has, and no power cut: fill it by writes instead")]
    NoClosedForm,
}

/// Why a device is not filled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WarmUpError {
    /// It is worn out.
    #[error(transparent)]
    Ftl(#[from] FtlError),
    /// The way is none.
    #[error(transparent)]
    Way(#[from] SteadyStateError),
}

/// Brings an idle device, on which nothing was written, to its first state. `pattern` is what will be issued, if that is
/// computed.
///
/// # Errors
/// The device is worn out by it, or the closed form is asked for where it cannot be.
pub fn warm_up(
    device: &mut Device,
    choice: WarmUpChoice,
    pattern: Option<&TracePattern>,
    watch: &dyn Watch,
) -> Result<FirstState, WarmUpError> {
    let settings = *device.translation().settings();
    let fits = closed_form_fits(device)?;
    // The closed form is of writes to all of the device.
    let fits_pattern = fits && pattern.is_none_or(|pattern| pattern.covers(device.bytes()));
    match resolve(choice, pattern, &settings, fits_pattern) {
        WarmUpChoice::Empty | WarmUpChoice::Auto => {
            Ok(FirstState::new("empty", 0, "nothing was ever written: reads of it touch no flash"))
        }
        WarmUpChoice::Sequential => {
            sequential(device, watch)?;
            Ok(FirstState::new("sequential", 1, "every page was written once, in order; nothing is to be cleaned yet"))
        }
        WarmUpChoice::ClosedForm if !fits => Err(SteadyStateError::NoClosedForm.into()),
        WarmUpChoice::ClosedForm => {
            let mut stock = 0;
            device.fill_untimed(|filling| {
                filling.closed_form(settings.seed);
                stock = filling.stock();
                Ok(())
            })?;
            // At the addresses of what is measured, and with its progress.
            let writes = fill_pattern(pattern, device.bytes(), settings.seed);
            fill(device, writes, stock, watch)?;
            let sentence = "steady state of uniform random writes in closed form (Desnoyers, SYSTOR 2012), then as many \
                            page writes as use up its erased blocks";
            Ok(FirstState::new("closed-form", 1, sentence))
        }
        WarmUpChoice::Fill(passes) => {
            sequential(device, watch)?;
            let writes = fill_pattern(pattern, device.bytes(), settings.seed);
            let pages = u64::from(device.translation().logical_pages());
            fill(device, writes, pages * u64::from(passes), watch)?;
            let whose = if pattern.is_some_and(|pattern| pattern.read_share < 1.0) {
                "the workload's own addresses"
            } else {
                "uniform random addresses"
            };
            let as_many = if passes == 1 { "as many".to_owned() } else { format!("{passes} times as many") };
            let sentence = format!("bounded fill: every page once, in order, then {as_many} page writes at {whose}");
            Ok(FirstState::new("bounded-fill", 1 + passes, sentence))
        }
    }
}

fn closed_form_fits(device: &mut Device) -> Result<bool, FtlError> {
    let mut fits = false;
    device.fill_untimed(|filling| {
        fits = filling.has_closed_form();
        Ok(())
    })?;
    Ok(fits)
}

/// What is done where the choice is left open.
fn resolve(choice: WarmUpChoice, pattern: Option<&TracePattern>, settings: &FtlSettings, fits: bool) -> WarmUpChoice {
    let (WarmUpChoice::Auto, Some(pattern)) = (choice, pattern) else {
        // Of a trace, every page that it reads has to be there.
        return if choice == WarmUpChoice::Auto { WarmUpChoice::Sequential } else { choice };
    };
    if pattern.read_share >= 1.0 {
        return WarmUpChoice::Sequential;
    }
    let follows_theory = matches!(settings.cleaning.policy, CleaningPolicy::Greedy | CleaningPolicy::Fifo);
    match pattern.addresses {
        AddressPattern::Uniform { .. } if follows_theory && fits => WarmUpChoice::ClosedForm,
        AddressPattern::Sequential { .. } => WarmUpChoice::Fill(1),
        _ => WarmUpChoice::Fill(PASSES),
    }
}

/// The writes of the workload without end, or uniform ones where it has none.
fn fill_pattern(pattern: Option<&TracePattern>, capacity_bytes: u64, seed: u64) -> TracePattern {
    let uniform =
        AddressPattern::Uniform { least_bytes: 4096.min(capacity_bytes), most_bytes: 4096.min(capacity_bytes) };
    let own = pattern.filter(|pattern| pattern.read_share < 1.0);
    TracePattern {
        addresses: own.map_or(uniform, |pattern| pattern.addresses),
        arrivals: Arrivals::Together,
        read_share: 0.0,
        capacity_bytes: own.map_or(capacity_bytes, |pattern| pattern.capacity_bytes),
        requests: u64::MAX,
        // Other draws than those of the measurement.
        seed: seed ^ 0x5d58_8b65_6c07_8965,
    }
}

fn sequential(device: &mut Device, watch: &dyn Watch) -> Result<(), FtlError> {
    device.fill_untimed(|filling| filling.sequential_with(|done, total| told(watch, done, total, "filling in order")))
}

fn fill(device: &mut Device, pattern: TracePattern, total: u64, watch: &dyn Watch) -> Result<(), FtlError> {
    let page_bytes = u64::from(device.translation().layout().page_bytes);
    let Ok(writes) = pattern.trace() else { return Ok(()) };
    device.fill_untimed(|filling| {
        let mut done = 0;
        for BlockRequest { access, offset, bytes, .. } in writes {
            if access != Access::Write {
                continue;
            }
            done =
                write_pages(filling, offset / page_bytes..(offset + bytes).div_ceil(page_bytes), done, total, watch)?;
            if done >= total {
                break;
            }
        }
        Ok(())
    })
}

fn write_pages(
    filling: &mut Filling<'_>,
    pages: std::ops::Range<u64>,
    mut done: u64,
    total: u64,
    watch: &dyn Watch,
) -> Result<u64, FtlError> {
    for logical in pages {
        told(watch, done, total, "filling at random");
        filling.write(logical as u32)?;
        done += 1;
    }
    Ok(done)
}

fn told(watch: &dyn Watch, done: u64, total: u64, what: &str) {
    if done.is_multiple_of(STRIDE) {
        watch.progress(done, total, what);
    }
}
