//! The thread that reads an instrument while something else is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::error::MeterError;
use crate::instrument::{Instrument, OpenInstrument};
use crate::integral::Integral;

/// Readings with more time between them than this are no measurement.
pub const LONGEST_GAP_SECONDS: f64 = 10.0;
/// How often the last reading is tried.
const LAST_TRIES: u32 = 3;

/// An instrument that is being read.
#[derive(Debug)]
pub struct Sampler {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Result<Integral, MeterError>>,
    /// The last watts, as bits; NaN: none yet.
    watts: Arc<AtomicU64>,
}

impl Sampler {
    /// Reads once, and then from a thread until it is stopped. Then the instrument is in `kept`, unless it failed.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub fn start(mut gauge: Box<dyn Instrument>, kept: OpenInstrument) -> Result<Self, MeterError> {
        let integral = Integral::every(gauge.info().period);
        let mut readings = Readings { began: Instant::now(), integral };
        readings.read(gauge.as_mut())?;
        let watts = Arc::new(AtomicU64::new(f64::NAN.to_bits()));
        let (stop, stopped) = mpsc::channel();
        let shown = Arc::clone(&watts);
        let work = move || {
            let read = read_until(&stopped, gauge.as_mut(), readings, &shown);
            // One that failed is opened anew.
            if read.is_ok() {
                kept.put(gauge);
            }
            read
        };
        let thread = thread::Builder::new().name("fawn-meter".to_owned()).spawn(work);
        let thread = thread.map_err(|error| MeterError::Absent(format!("cannot start the meter's thread: {error}")))?;
        Ok(Self { stop, thread, watts })
    }

    /// What the instrument showed last; none: nothing yet.
    pub fn watts(&self) -> Option<f64> {
        Some(f64::from_bits(self.watts.load(Ordering::Relaxed))).filter(|watts| watts.is_finite())
    }

    /// Reads a last time; all that was read.
    ///
    /// # Errors
    /// [`MeterError::Gap`], or what keeps it from being read.
    pub fn stop(self) -> Result<Integral, MeterError> {
        drop(self.stop);
        match self.thread.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

struct Readings {
    began: Instant,
    integral: Integral,
}

impl Readings {
    /// Adds what it shows, as of the middle of the time that reading took.
    fn read(&mut self, gauge: &mut dyn Instrument) -> Result<(), MeterError> {
        let before = self.began.elapsed().as_secs_f64();
        let sample = gauge.read()?;
        let after = self.began.elapsed().as_secs_f64();
        self.integral.add(f64::midpoint(before, after), sample);
        Ok(())
    }

    fn since_last(&self) -> f64 {
        self.began.elapsed().as_secs_f64() - self.integral.last_seconds()
    }
}

fn read_until(
    stopped: &mpsc::Receiver<()>,
    gauge: &mut dyn Instrument,
    mut readings: Readings,
    watts: &AtomicU64,
) -> Result<Integral, MeterError> {
    let period = gauge.info().period;
    let mut due = Instant::now() + period;
    while stopped.recv_timeout(due.saturating_duration_since(Instant::now())) == Err(RecvTimeoutError::Timeout) {
        match readings.read(gauge) {
            Ok(()) => {
                let now = readings.integral.watts().unwrap_or(f64::NAN);
                watts.store(now.to_bits(), Ordering::Relaxed);
            }
            Err(error) => bear(error, gauge, &readings)?,
        }
        // Readings that took longer than a period are not caught up with.
        due = (due + period).max(Instant::now());
    }
    let mut tries = 1;
    while let Err(error) = readings.read(gauge) {
        if tries == LAST_TRIES {
            return Err(error);
        }
        bear(error, gauge, &readings)?;
        tries += 1;
    }
    let longest = readings.integral.longest_gap_seconds();
    if longest > LONGEST_GAP_SECONDS {
        return Err(gap(gauge, longest, "the machine was too busy, or suspended"));
    }
    Ok(readings.integral)
}

/// Passes over a reading that failed, unless it cannot be passed over.
fn bear(error: MeterError, gauge: &dyn Instrument, readings: &Readings) -> Result<(), MeterError> {
    if !error.may_pass() {
        return Err(error);
    }
    let missed = readings.since_last();
    if missed > LONGEST_GAP_SECONDS { Err(gap(gauge, missed, &error.to_string())) } else { Ok(()) }
}

fn gap(gauge: &dyn Instrument, seconds: f64, reason: &str) -> MeterError {
    MeterError::Gap { instrument: gauge.info().instrument.clone(), seconds, reason: reason.to_owned() }
}
