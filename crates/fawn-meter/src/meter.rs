//! Meters, and stretches of work under way.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::activity::Activity;
use crate::battery::Battery;
use crate::choice::MeterChoice;
use crate::csv::Series;
use crate::error::MeterError;
use crate::hand::HandReading;
use crate::hwmon::{Hwmon, Sensor};
use crate::instrument::{Instrument, InstrumentInfo, OpenInstrument};
use crate::integral::{GAP, Integral};
use crate::model::PowerModel;
use crate::rapl::Rapl;
use crate::reading::{Energy, EnergyPart, Idle, MeterKind, Uncertainty};
use crate::sampler::Sampler;
use crate::shelly::Shelly;
use crate::tasmota::Tasmota;

/// For a file to be written as far as a measurement goes, so many of its usual times are waited, and a second.
const PATIENCE: f64 = 2.0;
/// The most that is waited.
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// Fewer readings of power than this say little of what was between them.
const FEW: u64 = 10;
/// In this time a counter that counts moves.
const TRY: Duration = Duration::from_millis(30);
/// A processor's counter that shows the same for so long has stopped: it moves every millisecond.
const STILL_SECONDS: f64 = 0.5;
/// In less than this, steps of time may leave no joules.
const LEAST_SECONDS: f64 = 0.01;
/// A clock of the system that was set by more than this meanwhile is told of.
const CLOCK_STEP_SECONDS: f64 = 0.1;

/// Where a machine says what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemRoots {
    /// Its `/sys`.
    pub sys: PathBuf,
    /// Its `/proc`.
    pub proc: PathBuf,
}

impl SystemRoots {
    /// Both under `root`.
    pub fn under(root: &Path) -> Self {
        Self { sys: root.join("sys"), proc: root.join("proc") }
    }
}

impl Default for SystemRoots {
    /// This one.
    fn default() -> Self {
        Self::under(Path::new("/"))
    }
}

/// What a meter reads.
#[derive(Clone, Debug)]
enum MeterSource {
    Rapl(PathBuf),
    Hwmon(Sensor),
    Battery(PathBuf),
    Shelly(String),
    Tasmota(String),
    Csv(PathBuf),
    Model(Box<PowerModel>, PathBuf),
    Hand(HandReading),
}

impl MeterSource {
    /// Opened, where it is read at any moment.
    fn instrument(&self) -> Result<Option<Box<dyn Instrument>>, MeterError> {
        Ok(Some(match self {
            Self::Rapl(sys) => Box::new(Rapl::open(sys)?),
            Self::Hwmon(sensor) => Box::new(Hwmon::open(sensor)),
            Self::Battery(sys) => Box::new(Battery::open(sys)?),
            Self::Shelly(url) => Box::new(Shelly::open(url)?),
            Self::Tasmota(url) => Box::new(Tasmota::open(url)),
            Self::Csv(_) | Self::Model(..) | Self::Hand(_) => return Ok(None),
        }))
    }
}

#[derive(Clone, Debug)]
struct Inner {
    source: MeterSource,
    /// Open from one stretch to the next, where it is read at any moment.
    kept: OpenInstrument,
    info: InstrumentInfo,
    rest: Duration,
    idle: OnceLock<Idle>,
    /// Nobody asked for it: where it cannot be read, work goes on without it.
    is_unasked: bool,
    /// Why it is not read any more.
    lost: OnceLock<String>,
}

/// A meter that works. Clones are of the same.
#[derive(Clone, Debug)]
pub struct Meter(Arc<Inner>);

impl PartialEq for Meter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Meter {
    /// The meter that was chosen, once it was read; `None`: none was chosen, or `auto`, and this machine has none that can be read.
    ///
    /// # Errors
    /// Why it cannot be used, with what to do.
    pub fn open(choice: &MeterChoice, machine: &SystemRoots) -> Result<Option<Self>, MeterError> {
        let source = match choice {
            MeterChoice::None => return Ok(None),
            MeterChoice::Auto => return Ok(best(machine)),
            MeterChoice::Rapl => MeterSource::Rapl(machine.sys.clone()),
            MeterChoice::Hwmon(name) => MeterSource::Hwmon(Sensor::choose(&machine.sys, name.as_deref())?),
            MeterChoice::Battery => MeterSource::Battery(machine.sys.clone()),
            MeterChoice::Shelly(url) => MeterSource::Shelly(url.clone()),
            MeterChoice::Tasmota(url) => MeterSource::Tasmota(url.clone()),
            MeterChoice::Csv(file) => MeterSource::Csv(file.clone()),
            MeterChoice::Model(file) => MeterSource::Model(Box::new(PowerModel::read(file)?), machine.proc.clone()),
        };
        let kept = OpenInstrument::default();
        let info = match &source {
            MeterSource::Csv(file) => {
                let series = Series::read(file)?;
                let info = csv_info(&series, file, 0.0);
                refuse_no_power(&info, series.last_watts())?;
                info
            }
            MeterSource::Model(model, proc) => {
                Activity::now(proc, model.device_name())?;
                model_info(model)
            }
            read => {
                let mut instrument = read.instrument()?.expect("all others are instruments");
                try_out(instrument.as_mut())?;
                let info = instrument.info().clone();
                kept.put(instrument);
                info
            }
        };
        Ok(Some(Self::of(source, kept, info)))
    }

    /// No meter, but a plug that somebody reads: each stretch has its watts.
    ///
    /// # Errors
    /// No machine draws so much or so little.
    pub fn by_hand(reading: HandReading) -> Result<Self, MeterError> {
        reading.check()?;
        Ok(Self::of(MeterSource::Hand(reading), OpenInstrument::default(), reading.info()))
    }

    /// The meter that is read where nobody asks for one: what `auto` takes, or else the processor's counters if they are hidden
    /// from who runs this, so that it can be said how to have them read. `None`: there is none.
    ///
    /// Where it cannot be read, then or later, [`start`] and [`stop`] give no joules instead of an error, and [`loss`](Self::loss)
    /// says why.
    pub fn unasked(machine: &SystemRoots) -> Option<Self> {
        let meter = best(machine).or_else(|| Self::hidden(machine))?;
        Some(meter.with(|inner| inner.is_unasked = true))
    }

    /// The processor's counters, if root alone may read them.
    fn hidden(machine: &SystemRoots) -> Option<Self> {
        let source = MeterSource::Rapl(machine.sys.clone());
        let mut instrument = source.instrument().ok()??;
        let is_hidden = matches!(instrument.read(), Err(MeterError::RootAlone(_)));
        is_hidden.then(|| Self::of(source, OpenInstrument::default(), instrument.info().clone()))
    }

    fn of(source: MeterSource, kept: OpenInstrument, info: InstrumentInfo) -> Self {
        let (idle, lost) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { source, kept, info, rest: Duration::ZERO, idle, is_unasked: false, lost }))
    }

    /// Another one that differs in this, and was not metered at rest.
    fn with(&self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner { idle: OnceLock::new(), ..Inner::clone(&self.0) };
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// The same, which measures what the machine draws at rest for so long when it is asked to [`rest`](Self::rest).
    #[must_use]
    pub fn at_rest_for(self, rest: Duration) -> Self {
        self.with(|inner| inner.rest = rest)
    }

    /// The same, of which somebody states that it shows what is drawn to within this share of it.
    #[must_use]
    pub fn accurate_to(self, share: f64) -> Self {
        self.with(|inner| {
            (inner.info.stated_share, inner.info.stated_by) = (Some(share), "stated by the user".to_owned());
        })
    }

    /// What it is.
    pub fn info(&self) -> &InstrumentInfo {
        &self.0.info
    }

    /// What it is and what it was asked for, as text: what was metered otherwise has another one.
    pub fn words(&self) -> String {
        let Inner { info, rest, .. } = &*self.0;
        let accuracy = info.stated_share.map_or_else(String::new, |share| format!(" accuracy={share}"));
        format!("{} {} rest={}s{accuracy}", info.kind.name(), info.instrument, rest.as_secs_f64())
    }

    /// Whether somebody asked for it, and wants what it shows rather than what was measured without it.
    pub fn is_asked(&self) -> bool {
        !self.0.is_unasked
    }

    /// What a report says if nobody asked for it and it could not be read.
    pub fn loss(&self) -> Option<String> {
        let reason = self.0.lost.get()?;
        Some(format!("{} should report joules, but could not be read: {reason}", self.0.info.instrument))
    }

    /// What cannot be read of a meter that nobody asked for is no error: it is not read again.
    fn bear<T>(&self, read: Result<T, MeterError>) -> Result<Option<T>, MeterError> {
        match read {
            Err(error) if self.0.is_unasked => {
                // Who was quicker has said why.
                let _ = self.0.lost.set(error.to_string());
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// How long a rest is that is still to be measured; zero: none is.
    pub fn owed_rest(&self) -> Duration {
        let is_over = self.0.idle.get().is_some() || self.0.lost.get().is_some();
        if is_over { Duration::ZERO } else { self.0.rest }
    }

    /// Measures what the machine draws while it does nothing, unless that was done before or was not asked for: waits so long.
    ///
    /// # Errors
    /// As [`start`](Self::start) and [`Metering::stop`].
    pub fn rest(&self) -> Result<(), MeterError> {
        let rest = self.owed_rest();
        if rest.is_zero() || matches!(self.0.source, MeterSource::Model(..) | MeterSource::Hand(_)) {
            return Ok(());
        }
        let Some(metering) = self.bear(self.start())? else { return Ok(()) };
        thread::sleep(rest);
        let Some(energy) = self.bear(metering.stop())? else { return Ok(()) };
        let own = energy.uncertainty.resolution_joules + energy.uncertainty.sampling_joules;
        let idle = Idle { watts: energy.watts, seconds: energy.seconds, uncertainty_watts: own / energy.seconds };
        // Who was quicker has measured the same.
        let _ = self.0.idle.set(idle);
        Ok(())
    }

    /// Begins a stretch. An instrument that is read is open since the meter is, and is read once before this returns.
    ///
    /// # Errors
    /// What keeps the instrument from being read.
    pub fn start(&self) -> Result<Metering, MeterError> {
        let state = match &self.0.source {
            MeterSource::Csv(_) => MeteringState::Csv,
            MeterSource::Hand(_) => MeteringState::Hand,
            MeterSource::Model(model, proc) => MeteringState::Model(Activity::now(proc, model.device_name())?),
            read => {
                let instrument = match self.0.kept.take() {
                    Some(instrument) => instrument,
                    None => read.instrument()?.expect("all others are instruments"),
                };
                MeteringState::Read(Sampler::start(instrument, self.0.kept.clone())?)
            }
        };
        Ok(Metering { meter: self.clone(), state, began: Instant::now(), began_unix: unix_seconds() })
    }
}

/// Begins a stretch, if there is a meter; `None` also if nobody asked for it and it cannot be read.
///
/// # Errors
/// As [`Meter::start`].
pub fn start(meter: Option<&Meter>) -> Result<Option<Metering>, MeterError> {
    match meter.filter(|meter| meter.0.lost.get().is_none()) {
        Some(meter) => meter.bear(meter.start()),
        None => Ok(None),
    }
}

/// Ends a stretch, if there was a meter; `None` also if nobody asked for it and it could not be read.
///
/// # Errors
/// As [`Metering::stop`].
pub fn stop(metering: Option<Metering>) -> Result<Option<Energy>, MeterError> {
    let Some(metering) = metering else { return Ok(None) };
    let meter = metering.meter.clone();
    meter.bear(metering.stop())
}

#[derive(Debug)]
enum MeteringState {
    Read(Sampler),
    Csv,
    Hand,
    Model(Activity),
}

/// A stretch under way.
#[derive(Debug)]
#[must_use = "a stretch that is not stopped comes to nothing"]
pub struct Metering {
    meter: Meter,
    state: MeteringState,
    began: Instant,
    began_unix: f64,
}

impl Metering {
    /// What is drawn at the moment, if that is known.
    pub fn watts(&self) -> Option<f64> {
        match &self.state {
            MeteringState::Read(sampler) => sampler.watts(),
            MeteringState::Csv | MeteringState::Hand | MeteringState::Model(_) => None,
        }
    }

    /// Ends it. An instrument that is read is read once more, so that its joules are those from a reading before the work to
    /// one after it; a file is waited for, some seconds, where it is not written so far yet.
    ///
    /// # Errors
    /// What keeps the instrument from being read, or that it was not read for too long.
    pub fn stop(self) -> Result<Energy, MeterError> {
        let (seconds, ended_unix) = (self.began.elapsed().as_secs_f64(), unix_seconds());
        let info = &self.meter.0.info;
        let (mut energy, idle) = match (self.state, &self.meter.0.source) {
            (MeteringState::Read(sampler), _) => (of_readings(info, &sampler.stop()?)?, None),
            (MeteringState::Csv, MeterSource::Csv(file)) => (of_file(file, info, self.began_unix, ended_unix)?, None),
            (MeteringState::Model(before), MeterSource::Model(model, proc)) => {
                let used = Activity::now(proc, model.device_name())?.since(&before);
                let idle = Idle { watts: model.idle_watts, seconds: 0.0, uncertainty_watts: 0.0 };
                let parts = model.parts(seconds, &used);
                (of_model(info, parts, seconds, model.step_joules(seconds, &used)), Some(idle))
            }
            (MeteringState::Hand, MeterSource::Hand(reading)) => {
                let mut energy = blank(info, reading.watts * seconds, seconds);
                let step_joules = info.step_watts.unwrap_or(0.0) / 2.0 * seconds;
                energy.uncertainty =
                    Uncertainty::of(energy.joules, (info.stated_share, &info.stated_by), step_joules, 0.0);
                (energy, reading.idle())
            }
            _ => unreachable!("a stretch has its meter's state"),
        };
        energy.began_unix_seconds = self.began_unix;
        // A model's joules are by ticks of the clock, and may be none.
        if energy.seconds < LEAST_SECONDS || energy.kind == MeterKind::Model {
            refuse_negative(info, energy.watts)?;
        } else {
            refuse_no_power(info, energy.watts)?;
        }
        let step = ended_unix - self.began_unix - seconds;
        if step.abs() > CLOCK_STEP_SECONDS {
            energy.notes.push(format!("the system clock was set by {step:.1} s during the measurement"));
        }
        Ok(energy.above(idle.or(self.meter.0.idle.get().copied())))
    }
}

/// Reads an instrument that may have to be read for hours, so that what is wrong with it is said now.
fn try_out(instrument: &mut dyn Instrument) -> Result<(), MeterError> {
    let first = instrument.read()?;
    if let Some(watts) = first.watts {
        return refuse_no_power(instrument.info(), watts);
    }
    thread::sleep(TRY);
    if instrument.read()?.counted_joules > first.counted_joules {
        return Ok(());
    }
    Err(MeterError::Absent(format!(
        "{} does not change, as in some virtual machines: choose another meter",
        instrument.info().instrument
    )))
}

/// A machine takes power: what shows that it gives some is another thing, or is wired the other way round.
fn refuse_negative(info: &InstrumentInfo, watts: f64) -> Result<(), MeterError> {
    if watts >= 0.0 {
        return Ok(());
    }
    Err(MeterError::Absent(format!(
        "{} shows {watts} W, as if the machine supplied power: is it wired the other way round, or behind a source of power?",
        info.instrument
    )))
}

/// A machine that runs takes power: what shows none is of nothing, or of another machine.
fn refuse_no_power(info: &InstrumentInfo, watts: f64) -> Result<(), MeterError> {
    if watts != 0.0 {
        return refuse_negative(info, watts);
    }
    Err(MeterError::Absent(format!(
        "{} shows 0 W, and a machine that runs draws more: is the machine behind this meter?",
        info.instrument
    )))
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// What is said of a file of measurements, whose watts have this step.
pub(super) fn csv_info(series: &Series, file: &Path, step_watts: f64) -> InstrumentInfo {
    let by = series.meter.as_ref().map_or_else(String::new, |meter| format!(" of {meter}"));
    InstrumentInfo {
        kind: MeterKind::Csv,
        scope: series.scope,
        instrument: format!("{}{by}", file.display()),
        period: Duration::from_secs_f64(series.usual_seconds()),
        stated_share: None,
        stated_by: "the meter's data sheet is unknown".to_owned(),
        step_watts: Some(step_watts),
        counter_step: None,
        parts: Vec::new(),
        notes: Vec::new(),
    }
}

fn model_info(model: &PowerModel) -> InstrumentInfo {
    InstrumentInfo {
        kind: MeterKind::Model,
        scope: model.scope,
        instrument: model.describe(),
        period: Duration::ZERO,
        stated_share: model.accuracy,
        stated_by: if model.accuracy.is_some() { model.source.clone() } else { "the model states none".to_owned() },
        step_watts: None,
        counter_step: None,
        parts: Vec::new(),
        notes: vec!["these joules are modelled from CPU use and the device's work: nothing was measured".to_owned()],
    }
}

fn of_readings(info: &InstrumentInfo, integral: &Integral) -> Result<Energy, MeterError> {
    let sum = integral.sum(info).ok_or_else(|| MeterError::Gap {
        instrument: info.instrument.clone(),
        seconds: integral.seconds(),
        reason: "it showed neither power nor a counter that changed".to_owned(),
    })?;
    let still = integral.longest_still_seconds();
    if info.kind == MeterKind::Rapl && still >= STILL_SECONDS {
        return Err(MeterError::Gap {
            instrument: info.instrument.clone(),
            seconds: still,
            reason: "a counter that had moved stood still".to_owned(),
        });
    }
    let stated = (info.stated_share, info.stated_by.as_str());
    let parts = info.parts.iter().zip(integral.parts());
    let parts =
        parts.map(|((name, is_counted), joules)| EnergyPart { name: name.clone(), joules, is_counted: *is_counted });
    let mut energy = blank(info, sum.joules, integral.seconds());
    energy.samples = integral.samples();
    energy.samples_a_second = integral.samples() as f64 / integral.seconds().max(1e-9);
    energy.longest_gap_seconds = integral.longest_gap_seconds();
    energy.is_counter = sum.is_counter;
    energy.uncertainty = Uncertainty::of(sum.joules, stated, sum.resolution_joules, sum.sampling_joules);
    energy.parts = parts.collect();
    if sum.gap_seconds > 0.0 {
        energy.notes.push(format!(
            "an interval has gaps between readings of more than {GAP} times the usual time: the share that sampling \
            leaves open includes them"
        ));
    }
    let is_plug = matches!(info.kind, MeterKind::Shelly | MeterKind::Tasmota);
    if integral.samples() < FEW && (is_plug || !sum.is_counter) {
        let slow = if is_plug {
            ", and its joules cover more than the work, because a plug takes its time to answer"
        } else {
            ""
        };
        energy.notes.push(format!("an interval has fewer than {FEW} readings{slow}: measure for longer (--time)"));
    }
    Ok(energy)
}

fn of_model(info: &InstrumentInfo, parts: Vec<EnergyPart>, seconds: f64, step_joules: f64) -> Energy {
    let joules = parts.iter().map(|part| part.joules).sum();
    let mut energy = blank(info, joules, seconds);
    energy.uncertainty = Uncertainty::of(joules, (info.stated_share, &info.stated_by), step_joules, 0.0);
    energy.parts = parts;
    energy
}

fn of_file(file: &Path, info: &InstrumentInfo, began: f64, ended: f64) -> Result<Energy, MeterError> {
    let asked = Instant::now();
    loop {
        let series = Series::read(file)?;
        let patience = Duration::from_secs_f64(PATIENCE * series.usual_seconds() + 1.0).min(LONGEST_WAIT);
        if series.last_seconds() < ended && asked.elapsed() < patience {
            thread::sleep(LOOK);
            continue;
        }
        let wrong = |reason: String| MeterError::Csv { path: file.to_owned(), reason };
        let covered = series.cover(began, ended).map_err(wrong)?;
        let of_steps = InstrumentInfo { step_watts: Some(covered.step_watts), ..info.clone() };
        let mut energy = of_readings(&of_steps, &covered.integral)?;
        energy.notes.extend(covered.note);
        return Ok(energy);
    }
}

/// All that is known of an instrument.
fn blank(info: &InstrumentInfo, joules: f64, seconds: f64) -> Energy {
    Energy {
        joules,
        measured: info.kind.is_measured(),
        kind: info.kind,
        instrument: info.instrument.clone(),
        scope: info.scope,
        seconds,
        watts: joules / seconds.max(1e-9),
        began_unix_seconds: 0.0,
        samples: 0,
        samples_a_second: 0.0,
        longest_gap_seconds: 0.0,
        is_counter: false,
        uncertainty: Uncertainty::of(joules, (info.stated_share, &info.stated_by), 0.0, 0.0),
        idle: None,
        dynamic_joules: None,
        dynamic_uncertainty_joules: None,
        parts: Vec::new(),
        notes: info.notes.clone(),
    }
}

/// The meter that covers most of those that can be read: a sensor on a board or a battery before the processor's counters. A
/// sensor is taken unasked only where it is the only one that is known to be of a whole board.
fn best(machine: &SystemRoots) -> Option<Meter> {
    let mut choices = vec![MeterChoice::Battery];
    let sensors: Vec<Sensor> = Sensor::all(&machine.sys).into_iter().filter(Sensor::is_of_board).collect();
    if let [only] = &sensors[..] {
        choices.push(MeterChoice::Hwmon(Some(only.name())));
    }
    choices.push(MeterChoice::Rapl);
    let mut best: Option<Meter> = None;
    for meter in choices.iter().filter_map(|choice| Meter::open(choice, machine).ok().flatten()) {
        if best.as_ref().is_none_or(|best| meter.info().scope > best.info().scope) {
            best = Some(meter);
        }
    }
    best
}

#[cfg(test)]
mod tests;
