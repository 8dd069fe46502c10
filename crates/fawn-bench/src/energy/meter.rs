//! Meters, and stretches of work under way.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::activity::Activity;
use super::battery::Battery;
use super::choice::Choice;
use super::csv::Series;
use super::error::MeterError;
use super::find;
use super::gauge::{Gauge, Kept, Sheet};
use super::hwmon::{Hwmon, Sensor};
use super::integral::{GAP, Integral};
use super::model::Model;
use super::rapl::Rapl;
use super::reading::{Energy, Idle, Kind, Part, Uncertainty};
use super::sampler::Sampler;
use super::shelly::Shelly;
use super::tasmota::Tasmota;

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
/// A clock of the system that was set by more than this meanwhile is told of.
const CLOCK_STEP_SECONDS: f64 = 0.1;

/// Where a machine says what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its `/sys`.
    pub sys: PathBuf,
    /// Its `/proc`.
    pub proc: PathBuf,
}

impl Machine {
    /// Both under `root`.
    pub fn under(root: &Path) -> Self {
        Self { sys: root.join("sys"), proc: root.join("proc") }
    }
}

impl Default for Machine {
    /// This one.
    fn default() -> Self {
        Self::under(Path::new("/"))
    }
}

/// What a meter reads.
#[derive(Clone, Debug)]
enum Instrument {
    Rapl(PathBuf),
    Hwmon(Sensor),
    Battery(PathBuf),
    Shelly(String),
    Tasmota(String),
    Csv(PathBuf),
    Model(Box<Model>, PathBuf),
}

impl Instrument {
    /// Opened, where it is read at any moment.
    fn gauge(&self) -> Result<Option<Box<dyn Gauge>>, MeterError> {
        Ok(Some(match self {
            Self::Rapl(sys) => Box::new(Rapl::open(sys)?),
            Self::Hwmon(sensor) => Box::new(Hwmon::open(sensor)),
            Self::Battery(sys) => Box::new(Battery::open(sys)?),
            Self::Shelly(url) => Box::new(Shelly::open(url)?),
            Self::Tasmota(url) => Box::new(Tasmota::open(url)),
            Self::Csv(_) | Self::Model(..) => return Ok(None),
        }))
    }
}

#[derive(Clone, Debug)]
struct Inner {
    instrument: Instrument,
    /// Open from one stretch to the next, where it is read at any moment.
    kept: Kept,
    sheet: Sheet,
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
    pub fn open(choice: &Choice, machine: &Machine) -> Result<Option<Self>, MeterError> {
        let instrument = match choice {
            Choice::None => return Ok(None),
            Choice::Auto => return Ok(find::best(machine)),
            Choice::Rapl => Instrument::Rapl(machine.sys.clone()),
            Choice::Hwmon(name) => Instrument::Hwmon(Sensor::choose(&machine.sys, name.as_deref())?),
            Choice::Battery => Instrument::Battery(machine.sys.clone()),
            Choice::Shelly(url) => Instrument::Shelly(url.clone()),
            Choice::Tasmota(url) => Instrument::Tasmota(url.clone()),
            Choice::Csv(file) => Instrument::Csv(file.clone()),
            Choice::Model(file) => Instrument::Model(Box::new(Model::read(file)?), machine.proc.clone()),
        };
        let kept = Kept::default();
        let sheet = match &instrument {
            Instrument::Csv(file) => {
                let series = Series::read(file)?;
                let sheet = csv_sheet(&series, file, 0.0);
                refuse_negative(&sheet, series.last_watts())?;
                sheet
            }
            Instrument::Model(model, proc) => {
                Activity::now(proc, model.device_name())?;
                model_sheet(model)
            }
            read => {
                let mut gauge = read.gauge()?.expect("all others are gauges");
                try_out(gauge.as_mut())?;
                let sheet = gauge.sheet().clone();
                kept.put(gauge);
                sheet
            }
        };
        Ok(Some(Self::of(instrument, kept, sheet)))
    }

    /// The meter that is read where nobody asks for one: what `auto` takes, or else the processor's counters if they are hidden from
    /// who runs this, so that it can be said how to have them read. `None`: there is none.
    ///
    /// Where it cannot be read, then or later, [`start`] and [`stop`] give no joules instead of an error, and [`loss`](Self::loss)
    /// says why.
    pub fn unasked(machine: &Machine) -> Option<Self> {
        let meter = find::best(machine).or_else(|| Self::hidden(machine))?;
        Some(meter.with(|inner| inner.is_unasked = true))
    }

    /// The processor's counters, if root alone may read them.
    fn hidden(machine: &Machine) -> Option<Self> {
        let instrument = Instrument::Rapl(machine.sys.clone());
        let mut gauge = instrument.gauge().ok()??;
        let is_hidden = matches!(gauge.read(), Err(MeterError::RootAlone(_)));
        is_hidden.then(|| Self::of(instrument, Kept::default(), gauge.sheet().clone()))
    }

    fn of(instrument: Instrument, kept: Kept, sheet: Sheet) -> Self {
        let (idle, lost) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { instrument, kept, sheet, rest: Duration::ZERO, idle, is_unasked: false, lost }))
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
            (inner.sheet.stated_share, inner.sheet.stated_by) = (Some(share), "stated by the user".to_owned());
        })
    }

    /// What it is.
    pub fn sheet(&self) -> &Sheet {
        &self.0.sheet
    }

    /// What it is and what it was asked for, as text: what was metered otherwise has another one.
    pub fn words(&self) -> String {
        let Inner { sheet, rest, .. } = &*self.0;
        let accuracy = sheet.stated_share.map_or_else(String::new, |share| format!(" accuracy={share}"));
        format!("{} {} rest={}s{accuracy}", sheet.kind.name(), sheet.instrument, rest.as_secs_f64())
    }

    /// Whether somebody asked for it, and wants what it shows rather than what was measured without it.
    pub fn is_asked(&self) -> bool {
        !self.0.is_unasked
    }

    /// What a report says if nobody asked for it and it could not be read.
    pub fn loss(&self) -> Option<String> {
        let reason = self.0.lost.get()?;
        Some(format!("{} should report joules, but could not be read: {reason}", self.0.sheet.instrument))
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
        if rest.is_zero() || matches!(self.0.instrument, Instrument::Model(..)) {
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
        let state = match &self.0.instrument {
            Instrument::Csv(_) => State::Csv,
            Instrument::Model(model, proc) => State::Model(Activity::now(proc, model.device_name())?),
            read => {
                let gauge = match self.0.kept.take() {
                    Some(gauge) => gauge,
                    None => read.gauge()?.expect("all others are gauges"),
                };
                State::Read(Sampler::start(gauge, self.0.kept.clone())?)
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
enum State {
    Read(Sampler),
    Csv,
    Model(Activity),
}

/// A stretch under way.
#[derive(Debug)]
#[must_use = "a stretch that is not stopped comes to nothing"]
pub struct Metering {
    meter: Meter,
    state: State,
    began: Instant,
    began_unix: f64,
}

impl Metering {
    /// What is drawn at the moment, if that is known.
    pub fn watts(&self) -> Option<f64> {
        match &self.state {
            State::Read(sampler) => sampler.watts(),
            State::Csv | State::Model(_) => None,
        }
    }

    /// Ends it. An instrument that is read is read once more, so that its joules are those from a reading before the work to
    /// one after it; a file is waited for, some seconds, where it is not written so far yet.
    ///
    /// # Errors
    /// What keeps the instrument from being read, or that it was not read for too long.
    pub fn stop(self) -> Result<Energy, MeterError> {
        let (seconds, ended_unix) = (self.began.elapsed().as_secs_f64(), unix_seconds());
        let sheet = &self.meter.0.sheet;
        let (mut energy, idle) = match (self.state, &self.meter.0.instrument) {
            (State::Read(sampler), _) => (of_readings(sheet, &sampler.stop()?)?, None),
            (State::Csv, Instrument::Csv(file)) => (of_file(file, sheet, self.began_unix, ended_unix)?, None),
            (State::Model(before), Instrument::Model(model, proc)) => {
                let used = Activity::now(proc, model.device_name())?.since(&before);
                let idle = Idle { watts: model.idle_watts, seconds: 0.0, uncertainty_watts: 0.0 };
                let parts = model.parts(seconds, &used);
                (of_model(sheet, parts, seconds, model.step_joules(seconds, &used)), Some(idle))
            }
            _ => unreachable!("a stretch has its meter's state"),
        };
        energy.began_unix_seconds = self.began_unix;
        refuse_negative(sheet, energy.watts)?;
        let step = ended_unix - self.began_unix - seconds;
        if step.abs() > CLOCK_STEP_SECONDS {
            energy.notes.push(format!("the system clock was set by {step:.1} s during the measurement"));
        }
        Ok(energy.above(idle.or(self.meter.0.idle.get().copied())))
    }
}

/// Reads an instrument that may have to be read for hours, so that what is wrong with it is said now.
fn try_out(gauge: &mut dyn Gauge) -> Result<(), MeterError> {
    let first = gauge.read()?;
    if let Some(watts) = first.watts {
        return refuse_negative(gauge.sheet(), watts);
    }
    thread::sleep(TRY);
    if gauge.read()?.counted_joules > first.counted_joules {
        return Ok(());
    }
    Err(MeterError::Absent(format!(
        "{} does not change, as in some virtual machines: choose another meter",
        gauge.sheet().instrument
    )))
}

/// A machine takes power: what shows that it gives some is another thing, or is wired the other way round.
fn refuse_negative(sheet: &Sheet, watts: f64) -> Result<(), MeterError> {
    if watts >= 0.0 {
        return Ok(());
    }
    Err(MeterError::Absent(format!(
        "{} shows {watts} W, as if the machine supplied power: is it wired the other way round, or behind a source \
        of power?",
        sheet.instrument
    )))
}

fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// What is said of a file of measurements, whose watts have this step.
pub(super) fn csv_sheet(series: &Series, file: &Path, step_watts: f64) -> Sheet {
    let by = series.meter.as_ref().map_or_else(String::new, |meter| format!(" of {meter}"));
    Sheet {
        kind: Kind::Csv,
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

fn model_sheet(model: &Model) -> Sheet {
    Sheet {
        kind: Kind::Model,
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

fn of_readings(sheet: &Sheet, integral: &Integral) -> Result<Energy, MeterError> {
    let sum = integral.sum(sheet).ok_or_else(|| MeterError::Gap {
        instrument: sheet.instrument.clone(),
        seconds: integral.seconds(),
        reason: "it showed neither power nor a counter that changed".to_owned(),
    })?;
    let stated = (sheet.stated_share, sheet.stated_by.as_str());
    let parts = sheet.parts.iter().zip(integral.parts());
    let parts = parts.map(|((name, is_counted), joules)| Part { name: name.clone(), joules, is_counted: *is_counted });
    let mut energy = blank(sheet, sum.joules, integral.seconds());
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
    let is_plug = matches!(sheet.kind, Kind::Shelly | Kind::Tasmota);
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

fn of_model(sheet: &Sheet, parts: Vec<Part>, seconds: f64, step_joules: f64) -> Energy {
    let joules = parts.iter().map(|part| part.joules).sum();
    let mut energy = blank(sheet, joules, seconds);
    energy.uncertainty = Uncertainty::of(joules, (sheet.stated_share, &sheet.stated_by), step_joules, 0.0);
    energy.parts = parts;
    energy
}

fn of_file(file: &Path, sheet: &Sheet, began: f64, ended: f64) -> Result<Energy, MeterError> {
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
        let of_steps = Sheet { step_watts: Some(covered.step_watts), ..sheet.clone() };
        let mut energy = of_readings(&of_steps, &covered.integral)?;
        energy.notes.extend(covered.note);
        return Ok(energy);
    }
}

/// All that a sheet says.
fn blank(sheet: &Sheet, joules: f64, seconds: f64) -> Energy {
    Energy {
        joules,
        measured: sheet.kind.is_measured(),
        kind: sheet.kind,
        instrument: sheet.instrument.clone(),
        scope: sheet.scope,
        seconds,
        watts: joules / seconds.max(1e-9),
        began_unix_seconds: 0.0,
        samples: 0,
        samples_a_second: 0.0,
        longest_gap_seconds: 0.0,
        is_counter: false,
        uncertainty: Uncertainty::of(joules, (sheet.stated_share, &sheet.stated_by), 0.0, 0.0),
        idle: None,
        dynamic_joules: None,
        dynamic_uncertainty_joules: None,
        parts: Vec::new(),
        notes: sheet.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::gauge::Sample;
    use super::*;

    /// A machine with these files of one word below `/sys/class`.
    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Machine) {
        let dir = tempfile::tempdir().unwrap();
        for (file, word) in files {
            let path = dir.path().join("sys/class").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, word).unwrap();
        }
        let machine = Machine::under(dir.path());
        (dir, machine)
    }

    const LAPTOP: &[(&str, &str)] = &[
        ("power_supply/AC/type", "Mains"),
        ("power_supply/AC/online", "0"),
        ("power_supply/BAT0/type", "Battery"),
        ("power_supply/BAT0/status", "Discharging"),
        ("power_supply/BAT0/power_now", "8000000"),
    ];

    #[test]
    fn power_that_comes_out_of_a_machine_is_no_reading() {
        let (_dir, file) = negative();
        let sheet = csv_sheet(&Series::read(&file).unwrap(), &file, 0.1);
        assert!(refuse_negative(&sheet, 0.0).is_ok());
        let error = refuse_negative(&sheet, -3.0).unwrap_err().to_string();
        assert!(error.contains("shows -3 W") && error.contains("wired the other way round"), "{error}");
        // Of a file when it is opened, and once it is laid over a stretch.
        let choice = Choice::Csv(file.clone());
        let error = Meter::open(&choice, &Machine::default()).unwrap_err().to_string();
        assert!(error.contains("as if the machine supplied power"), "{error}");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace(",-2", ",2")).unwrap();
        let metering = Meter::open(&choice, &Machine::default()).unwrap().unwrap().start().unwrap();
        fs::write(&file, text).unwrap();
        // In less than the step of Unix time as a number nothing is drawn.
        thread::sleep(Duration::from_millis(1));
        let error = metering.stop().unwrap_err().to_string();
        assert!(error.contains("as if the machine supplied power"), "{error}");
    }

    /// A file of a meter that shows less than nothing, from an hour ago until in an hour.
    fn negative() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("meter.csv");
        let now = unix_seconds();
        fs::write(&file, format!("# scope: wall\n{},-2\n{},-2\n", now - 3600.0, now + 3600.0)).unwrap();
        (dir, file)
    }

    #[test]
    fn work_goes_on_without_a_meter_that_nobody_asked_for() {
        let (_dir, machine) = machine(LAPTOP);
        let plug_in = |online: &str| fs::write(machine.sys.join("class/power_supply/AC/online"), online).unwrap();
        let asked = Meter::open(&Choice::Auto, &machine).unwrap().unwrap();
        let unasked = Meter::unasked(&machine).unwrap().at_rest_for(Duration::from_mins(10));
        assert_eq!((unasked.is_asked(), asked.is_asked(), unasked.loss()), (false, true, None));
        assert!(stop(start(Some(&unasked)).unwrap()).unwrap().is_some_and(|energy| (7.9..8.1).contains(&energy.watts)));
        let stretches = [&asked, &unasked].map(|meter| start(Some(meter)).unwrap());
        plug_in("1");
        let [of_asked, of_unasked] = stretches.map(stop);
        assert!(matches!(of_asked, Err(MeterError::OnMains(_))), "{of_asked:?}");
        assert_eq!(of_unasked.unwrap(), None);
        let loss = unasked.loss().unwrap();
        assert!(
            loss.starts_with("battery BAT0 should report joules, but could not be read: the battery is not"),
            "{loss}"
        );
        assert!(unasked.owed_rest().is_zero() && unasked.rest().is_ok(), "nobody waits for it");
        // Neither is it read again: rows of one report are of one meter, or of none.
        plug_in("0");
        assert!(start(Some(&unasked)).unwrap().is_none() && start(Some(&asked)).unwrap().is_some());
    }

    #[test]
    fn an_instrument_is_opened_once_unless_it_fails() {
        let (_dir, machine) = machine(LAPTOP);
        let dir = machine.sys.join("class/power_supply");
        let write = |file: &str, word: &str| fs::write(dir.join(file), word).unwrap();
        let meter = Meter::open(&Choice::Battery, &machine).unwrap().unwrap();
        // It could not be opened a second time, and is read for each stretch, of whichever meter of it.
        write("BAT0/type", "UPS");
        for meter in [meter.clone(), meter.clone(), meter.clone().accurate_to(0.01)] {
            assert!(meter.start().unwrap().stop().is_ok());
        }
        let metering = meter.start().unwrap();
        write("AC/online", "1");
        assert!(matches!(metering.stop(), Err(MeterError::OnMains(_))));
        write("AC/online", "0");
        assert!(matches!(meter.start(), Err(MeterError::Absent(_))));
    }

    #[test]
    fn gaps_between_readings_are_told_of() {
        let (_dir, machine) = machine(LAPTOP);
        let meter = Meter::open(&Choice::Battery, &machine).unwrap().unwrap();
        let is_told = |gap: f64| {
            let mut integral = Integral::every(meter.sheet().period);
            for at in [0.0, 1.0, 1.0 + gap] {
                integral.add(at, Sample { watts: Some(8.0), ..Sample::default() });
            }
            let notes = of_readings(meter.sheet(), &integral).unwrap().notes;
            notes.iter().any(|note| note.starts_with("an interval has gaps between readings of more than 3 times"))
        };
        assert_eq!([3.0, 9.0].map(is_told), [false, true]);
    }

    #[test]
    fn a_meter_that_fails_at_rest_is_lost_only_if_nobody_asked_for_it() {
        let (_dir, machine) = machine(LAPTOP);
        let rest = Duration::from_millis(1);
        let asked = Meter::open(&Choice::Battery, &machine).unwrap().unwrap().at_rest_for(rest);
        let unasked = Meter::unasked(&machine).unwrap().at_rest_for(rest);
        fs::write(machine.sys.join("class/power_supply/BAT0/status"), "Full").unwrap();
        assert!(asked.rest().is_err() && unasked.rest().is_ok() && unasked.loss().is_some());
    }

    #[test]
    fn counters_that_root_alone_may_read_are_told_of() {
        // Not even root may read this one.
        let unreadable = Path::new("/proc/sys/vm/compact_memory");
        if !fs::read(unreadable).is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
            return;
        }
        let package = [("powercap/intel-rapl:0/name", "package-0"), ("powercap/intel-rapl:0/max_energy_range_uj", "9")];
        let (_dir, machine) = machine(&package);
        assert!(Meter::unasked(&machine).is_none(), "a counter that is not there is none");
        std::os::unix::fs::symlink(unreadable, machine.sys.join("class/powercap/intel-rapl:0/energy_uj")).unwrap();
        let meter = Meter::unasked(&machine).unwrap();
        assert!(start(Some(&meter)).unwrap().is_none());
        let loss = meter.loss().unwrap();
        assert!(
            loss.starts_with("RAPL (package-0) should report joules, but could not be read: only root may read")
                && loss.contains("sudo chmod a+r "),
            "{loss}"
        );
        assert!(
            matches!(Meter::open(&Choice::Rapl, &machine), Err(MeterError::RootAlone(_))),
            "asked for, it is an error"
        );
        assert!(Meter::open(&Choice::Auto, &machine).unwrap().is_none());
    }
}
