//! Readings put together: joules, and how far they may be off. Nothing is kept of a single reading.

use std::time::Duration;

use crate::instrument::{CounterStep, InstrumentInfo, InstrumentSample};

/// A time between readings that is so many times the usual one is a gap.
pub(super) const GAP: f64 = 3.0;

/// Joules of a stretch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    /// All of it.
    pub joules: f64,
    /// What the steps of readings or counter hide.
    pub resolution_joules: f64,
    /// What may have happened between readings.
    pub sampling_joules: f64,
    /// The time in gaps between readings; 0 of a counter.
    pub gap_seconds: f64,
    /// From a counter.
    pub is_counter: bool,
}

impl Sum {
    fn error(&self) -> f64 {
        self.resolution_joules + self.sampling_joules
    }
}

/// Readings so far.
#[derive(Clone, Debug, Default)]
pub struct Integral {
    first_seconds: f64,
    last_seconds: f64,
    last: InstrumentSample,
    samples: u64,
    longest_gap: f64,
    /// How often the instrument is read; none: that is not known, and nothing is a gap.
    usual_seconds: Option<f64>,
    gap_seconds: f64,
    /// Of power: its integral, by trapezoids; mean and sum of squared differences from it.
    joules: f64,
    mean: f64,
    squares: f64,
    /// How often a reading was another one than that before it.
    changes: u64,
    /// The least and the most.
    range: Option<(f64, f64)>,
    decimals: i32,
    /// The sum of the steps that samples have.
    steps_watts: f64,
    /// Of the counter.
    first: InstrumentSample,
    largest_step: f64,
    fell: bool,
    /// Of the counter and of each part.
    stillness: Vec<Stillness>,
}

/// How long a counter has shown the same, after it had moved.
#[derive(Clone, Copy, Debug, Default)]
struct Stillness {
    has_moved: bool,
    now_seconds: f64,
    longest_seconds: f64,
}

impl Stillness {
    fn add(&mut self, step: f64, passed: f64) {
        if step != 0.0 {
            (self.has_moved, self.now_seconds) = (true, 0.0);
        } else if self.has_moved {
            self.now_seconds += passed;
            self.longest_seconds = self.longest_seconds.max(self.now_seconds);
        }
    }
}

impl Integral {
    /// No readings so far, of an instrument that is read once a period.
    pub fn every(period: Duration) -> Self {
        Self { usual_seconds: Some(period.as_secs_f64()), ..Self::default() }
    }

    /// Adds a reading; `at_seconds` since some moment, never falling.
    pub fn add(&mut self, at_seconds: f64, sample: InstrumentSample) {
        if self.samples == 0 {
            (self.first_seconds, self.first) = (at_seconds, sample.clone());
        } else {
            let passed = at_seconds - self.last_seconds;
            assert!(passed >= 0.0, "readings are added in their order");
            self.longest_gap = self.longest_gap.max(passed);
            if self.usual_seconds.is_some_and(|usual| passed > GAP * usual) {
                self.gap_seconds += passed;
            }
            self.changes += u64::from(self.last.watts != sample.watts);
            if let (Some(before), Some(now)) = (self.last.watts, sample.watts) {
                self.joules += f64::midpoint(before, now) * passed;
            }
            if let (Some(before), Some(now)) = (self.last.counted_joules, sample.counted_joules) {
                self.largest_step = self.largest_step.max(now - before);
                // It was reset, or the instrument restarted.
                self.fell |= now < before;
                let parts = sample.part_joules.iter().zip(&self.last.part_joules).map(|(now, before)| now - before);
                let steps: Vec<f64> = std::iter::once(now - before).chain(parts).collect();
                self.stillness.resize(steps.len().max(self.stillness.len()), Stillness::default());
                self.stillness.iter_mut().zip(steps).for_each(|(still, step)| still.add(step, passed));
            }
        }
        self.samples += 1;
        if let Some(watts) = sample.watts {
            let off = watts - self.mean;
            self.mean += off / self.samples as f64;
            self.squares += off * (watts - self.mean);
            let (least, most) = self.range.unwrap_or((watts, watts));
            self.range = Some((least.min(watts), most.max(watts)));
            self.decimals = self.decimals.max(decimals(watts));
            self.steps_watts += sample.step_watts.unwrap_or(0.0);
        }
        (self.last_seconds, self.last) = (at_seconds, sample);
    }

    /// How many readings there were.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The longest time for which the counter, or one of its parts, showed the same after it had moved.
    pub fn longest_still_seconds(&self) -> f64 {
        self.stillness.iter().map(|still| still.longest_seconds).fold(0.0, f64::max)
    }

    /// From the first to the last.
    pub fn seconds(&self) -> f64 {
        self.last_seconds - self.first_seconds
    }

    /// When the last was.
    pub fn last_seconds(&self) -> f64 {
        self.last_seconds
    }

    /// The longest time between two.
    pub fn longest_gap_seconds(&self) -> f64 {
        self.longest_gap
    }

    /// What the last one showed, or since the first one on average; none: there is one reading of a counter alone.
    pub fn watts(&self) -> Option<f64> {
        let counted = || Some(self.last.counted_joules? - self.first.counted_joules?);
        self.last.watts.or_else(|| (self.seconds() > 0.0).then(|| counted().map(|joules| joules / self.seconds()))?)
    }

    /// Joules, by whichever is closer where this instrument shows both power and a counter; none: there are no
    /// two readings that show the same.
    pub fn sum(&self, info: &InstrumentInfo) -> Option<Sum> {
        if self.samples < 2 {
            return None;
        }
        match (self.by_counter(info.counter_step), self.by_power(info.step_watts)) {
            (Some(counted), Some(integrated)) => {
                Some(if counted.error() <= integrated.error() { counted } else { integrated })
            }
            (counted, integrated) => counted.or(integrated),
        }
    }

    /// Joules of each part.
    pub fn parts(&self) -> Vec<f64> {
        self.last.part_joules.iter().zip(&self.first.part_joules).map(|(last, first)| last - first).collect()
    }

    fn by_counter(&self, step: Option<CounterStep>) -> Option<Sum> {
        let joules = self.last.counted_joules? - self.first.counted_joules?;
        let resolution_joules = match step {
            // Each end is late by up to the lag: their difference, too.
            Some(step) => step.joules + step.lag_seconds * joules / self.seconds().max(1e-9),
            None => self.largest_step,
        };
        // A counter that never moved says nothing of itself, or is dead.
        let is_sound = !self.fell && self.largest_step > 0.0;
        is_sound.then_some(Sum { joules, resolution_joules, sampling_joules: 0.0, gap_seconds: 0.0, is_counter: true })
    }

    fn by_power(&self, step_watts: Option<f64>) -> Option<Sum> {
        self.last.watts?;
        let of_samples = self.last.step_watts.map(|_| self.steps_watts / self.samples as f64);
        let step = step_watts.or(of_samples).unwrap_or_else(|| 10f64.powi(-self.decimals));
        // What shows the same again says no more than before: the instrument may have had nothing new.
        let squared_error = self.squares / self.samples as f64 / self.changes.max(1) as f64;
        // In a gap power may have been anything that it was at other times.
        let spread = self.range.map_or(0.0, |(least, most)| most - least);
        Some(Sum {
            joules: self.joules,
            resolution_joules: step / 2.0 * self.seconds(),
            sampling_joules: 2.0 * squared_error.sqrt() * self.seconds() + self.gap_seconds * spread,
            gap_seconds: self.gap_seconds,
            is_counter: false,
        })
    }
}

/// Decimals that a number has, up to 6: 2 of 3.25.
pub(super) fn decimals(number: f64) -> i32 {
    let has = |decimals: &i32| {
        let scaled = number * 10f64.powi(*decimals);
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0)
    };
    (0..6).find(has).unwrap_or(6)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reading::{MeterKind, Scope};

    #[test]
    fn a_counter_that_stops_after_it_moved_is_noticed_and_one_that_never_moves_is_not() {
        let still = |readings: &[(f64, f64)]| {
            let mut integral = Integral::every(Duration::from_secs(1));
            for (at, (package, dram)) in (0..).map(f64::from).zip(readings) {
                let part_joules = vec![*package, *dram];
                let counted_joules = Some(package + dram);
                integral.add(at, InstrumentSample { counted_joules, part_joules, ..InstrumentSample::default() });
            }
            integral.longest_still_seconds() as u64
        };
        assert_eq!(still(&[(0.0, 0.0), (5.0, 0.0), (9.0, 0.0)]), 0);
        assert_eq!(still(&[(0.0, 0.0), (5.0, 0.0), (5.0, 0.0), (5.0, 0.0), (9.0, 0.0)]), 2);
        // The other one goes on.
        assert_eq!(still(&[(0.0, 0.0), (5.0, 1.0), (9.0, 1.0), (14.0, 1.0)]), 2);
        assert_eq!(still(&[(0.0, 0.0), (0.0, 0.0), (5.0, 1.0)]), 0);
    }

    fn info() -> InstrumentInfo {
        InstrumentInfo {
            kind: MeterKind::Shelly,
            scope: Scope::Wall,
            instrument: "a plug".to_owned(),
            period: Duration::from_secs(1),
            stated_share: None,
            stated_by: String::new(),
            step_watts: None,
            counter_step: None,
            parts: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn power(watts: f64) -> InstrumentSample {
        InstrumentSample { watts: Some(watts), ..InstrumentSample::default() }
    }

    fn counter(joules: f64) -> InstrumentSample {
        InstrumentSample { counted_joules: Some(joules), ..InstrumentSample::default() }
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found}, not {expected}");
    }

    #[test]
    fn power_is_integrated_by_trapezoids() {
        let mut integral = Integral::default();
        for (at, watts) in [(10.0, 4.0), (11.0, 6.0), (13.0, 6.0), (14.0, 4.5)] {
            integral.add(at, power(watts));
        }
        let sum = integral.sum(&info()).unwrap();
        // 5 + 12 + 5.25.
        close(sum.joules, 22.25);
        // Half a tenth of a watt for 4 s.
        close(sum.resolution_joules, 0.2);
        // Mean 5.125, squares 1.265625 + 2 * 0.765625 + 0.390625 = 3.1875 of four readings, which changed twice.
        close(sum.sampling_joules, 2.0 * (3.1875f64 / 4.0 / 2.0).sqrt() * 4.0);
        assert!(!sum.is_counter);
        close(integral.longest_gap_seconds(), 2.0);
        assert_eq!(integral.watts(), Some(4.5));
    }

    #[test]
    fn what_is_read_again_unchanged_makes_nothing_surer() {
        // Of an instrument that has something new every so many seconds, and is read once a second.
        let off_by_watts = |times: usize| {
            let mut integral = Integral::default();
            let shown = [4.0, 6.0, 5.0, 7.0].into_iter().flat_map(|watts| std::iter::repeat_n(watts, times));
            for (at, watts) in (0..).zip(shown) {
                integral.add(f64::from(at), power(watts));
            }
            integral.sum(&info()).unwrap().sampling_joules / integral.seconds()
        };
        // Squares 5 of four readings, which changed three times.
        close(off_by_watts(1), 2.0 * (5.0f64 / 4.0 / 3.0).sqrt());
        close(off_by_watts(10), off_by_watts(1));
    }

    #[test]
    fn whatever_was_drawn_in_a_gap_is_left_open() {
        let with_gap = |gap: f64| {
            let mut integral = Integral::every(Duration::from_secs(1));
            for (at, watts) in [(0.0, 4.0), (1.0, 6.0), (1.0 + gap, 4.0), (2.0 + gap, 6.0)] {
                integral.add(at, power(watts));
            }
            integral.sum(&info()).unwrap()
        };
        // Squares 4 of four readings, which changed three times.
        let of_mean = 2.0 * (4.0f64 / 4.0 / 3.0).sqrt();
        let (usual, gap) = (with_gap(3.0), with_gap(9.0));
        close(usual.sampling_joules, of_mean * 5.0);
        // From 4 to 6 W for 9 s.
        close(gap.sampling_joules, of_mean * 11.0 + 18.0);
        assert_eq!((usual.gap_seconds, gap.gap_seconds), (0.0, 9.0));
    }

    #[test]
    fn a_product_has_the_steps_that_its_samples_have() {
        let mut integral = Integral::default();
        for (at, step) in [(0.0, 0.03), (2.0, 0.01)] {
            integral.add(at, InstrumentSample { step_watts: Some(step), ..power(2.023_232) });
        }
        // Half of 0.02 W for 2 s, and not of the product's last decimal.
        close(integral.sum(&info()).unwrap().resolution_joules, 0.02);
    }

    #[test]
    fn one_reading_is_no_energy() {
        let mut integral = Integral::default();
        assert_eq!(integral.sum(&info()), None);
        integral.add(1.0, power(4.0));
        assert_eq!(integral.sum(&info()), None);
        assert_eq!((integral.watts(), integral.samples()), (Some(4.0), 1));
    }

    #[test]
    fn a_counter_s_error_is_its_step_and_its_lag() {
        let mut integral = Integral::default();
        integral.add(0.0, counter(100.0));
        integral.add(10.0, counter(150.0));
        let fine = InstrumentInfo { counter_step: Some(CounterStep { joules: 0.01, lag_seconds: 0.001 }), ..info() };
        let sum = integral.sum(&fine).unwrap();
        close(sum.joules, 50.0);
        close(sum.resolution_joules, 0.015);
        assert!(sum.is_counter && sum.sampling_joules == 0.0);
        close(integral.watts().unwrap(), 5.0);
        // Where it is not known, as coarse as it was seen to be.
        close(integral.sum(&info()).unwrap().resolution_joules, 50.0);
    }

    #[test]
    fn whichever_is_closer_counts() {
        let both = |watts: f64, joules: f64| InstrumentSample { watts: Some(watts), ..counter(joules) };
        // Steady power, and a counter that steps by 60 J: a short run is better integrated.
        let mut short = Integral::default();
        for at in 0..10 {
            short.add(f64::from(at), both(12.0 + 0.1 * f64::from(at % 2), if at < 5 { 0.0 } else { 60.0 }));
        }
        assert!(!short.sum(&info()).unwrap().is_counter);
        // Unsteady power for long: the counter is better.
        let mut long = Integral::default();
        for at in 0..3600 {
            let (at, watts) = (f64::from(at), if at % 2 == 0 { 5.0 } else { 45.0 });
            long.add(at, both(watts, (at * 25.0 / 60.0).floor() * 60.0));
        }
        let sum = long.sum(&info()).unwrap();
        assert!(sum.is_counter, "{sum:?}");
        close(sum.resolution_joules, 60.0);
        // One that was reset meanwhile is not used at all.
        long.add(3600.0, both(5.0, 0.0));
        assert!(!long.sum(&info()).unwrap().is_counter);
        // Neither is one that never moved.
        let mut still = Integral::default();
        for at in 0..3 {
            still.add(f64::from(at), both(5.0 * f64::from(at), 7.0));
        }
        assert!(!still.sum(&info()).unwrap().is_counter);
    }

    #[test]
    fn decimals_are_those_of_the_number_as_it_was_written() {
        for (number, expected) in [(5.0, 0), (12.3, 1), (0.01, 2), (238.12, 2), (4.000_01, 5), (1.0 / 3.0, 6)] {
            assert_eq!(decimals(number), expected, "{number}");
        }
    }
}
