//! As fast as it goes: so many gets in flight, and puts beside them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use fawn_machine::process::thread_cpu_us;
use fawn_workload::{Draw, key_of, version_of, write_value};

use crate::error::Error;
use crate::lookups::{GROUP, Lookups};
use crate::session::BenchSession;

/// Puts that may be owed before gets wait for them.
const MOST_OWED_PUTS: u64 = 64;

/// How a closed loop runs.
#[derive(Clone, Copy, Debug)]
pub struct ClosedLoop {
    /// Gets in flight.
    pub depth: usize,
    /// For so long.
    pub time: Duration,
    /// A put after so many gets; none: gets alone.
    pub gets_a_put: Option<u64>,
}

/// The puts that a closed loop made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedLoopPuts {
    /// How many.
    pub puts: u64,
    /// The longest that one which was due had to wait until the store took it.
    pub longest_refused: Duration,
}

/// So many puts to so many gets, at least one each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Gets.
    pub gets: u64,
    /// Puts to them.
    pub puts: u64,
}

/// A loop of gets and puts that is under way.
pub struct Mix {
    depth: usize,
    /// Of what has come back, so much is taken before the next is asked for. While the loop waits for the device, that is
    /// little, so that the device is not without work until all is taken; while the device waits for the loop, it grows to
    /// a half of what is in flight, as larger batches take less of the processor.
    batch: usize,
    ratio: Option<Ratio>,
    /// What gets have added to what is owed, of which a put takes as much as the ratio has gets.
    owed: u64,
    /// Since when a put that is due has been refused.
    refused: Option<Instant>,
    group: Vec<(u64, Instant)>,
    /// Puts that were made.
    pub made: u64,
    /// The longest that a put which was due had to wait until the store took it.
    pub longest_refused: Duration,
}

impl Mix {
    /// `depth` gets in flight, and a put after so many.
    pub fn new(depth: usize, gets_a_put: Option<u64>) -> Self {
        Self::of(depth, gets_a_put.map(|gets| Ratio { gets, puts: 1 }))
    }

    /// `depth` gets in flight, and so many puts beside them.
    pub fn of(depth: usize, ratio: Option<Ratio>) -> Self {
        Self {
            depth,
            batch: 1,
            ratio,
            owed: 0,
            refused: None,
            group: Vec::with_capacity(GROUP),
            made: 0,
            longest_refused: Duration::ZERO,
        }
    }

    /// Puts that are due.
    #[inline]
    fn due(&self) -> u64 {
        self.ratio.map_or(0, |ratio| self.owed / ratio.gets)
    }

    /// A put that was due was taken, or none is due any more.
    #[inline]
    fn took(&mut self, now: Instant) {
        if let Some(since) = self.refused.take() {
            self.longest_refused = self.longest_refused.max(now - since);
        }
    }
}

impl BenchSession<'_> {
    /// Keeps gets of the entries that `pick` picks in flight, and makes puts.
    ///
    /// # Errors
    /// [`Error::Wrong`] and whatever the store refuses.
    pub fn closed(
        &mut self,
        lookups: &mut Lookups,
        closed: ClosedLoop,
        mut pick: impl FnMut() -> u64,
    ) -> Result<ClosedLoopPuts, Error> {
        let end = Instant::now() + closed.time;
        let mut mix = Mix::new(closed.depth, closed.gets_a_put);
        loop {
            let goes_on = Instant::now() < end;
            if self.turn(lookups, &mut mix, goes_on, &mut pick)? {
                return Ok(ClosedLoopPuts { puts: mix.made, longest_refused: mix.longest_refused });
            }
        }
    }

    /// One turn of the loop: gets and puts that are due, unless it no longer `goes_on`, and what has come back. Whether all
    /// is over.
    ///
    /// # Errors
    /// As [`closed`](Self::closed).
    #[inline]
    pub fn turn(
        &mut self,
        lookups: &mut Lookups,
        mix: &mut Mix,
        goes_on: bool,
        pick: &mut impl FnMut() -> u64,
    ) -> Result<bool, Error> {
        let now = Instant::now();
        if !goes_on {
            mix.took(now);
        }
        let mut asked = 0;
        while goes_on && asked < mix.depth && mix.due() < MOST_OWED_PUTS {
            let room = mix.depth.saturating_sub(lookups.under_way()).min(mix.depth - asked).min(GROUP);
            if room == 0 {
                break;
            }
            mix.group.clear();
            mix.group.extend((0..room).map(|_| (pick(), now)));
            lookups.ask(&mut self.driver, &self.history, &mix.group)?;
            asked += room;
            mix.owed += mix.ratio.map_or(0, |ratio| room as u64 * ratio.puts);
        }
        while goes_on && mix.due() > 0 {
            if !self.put_one()? {
                mix.refused.get_or_insert(now);
                break;
            }
            mix.took(now);
            mix.owed -= mix.ratio.map_or(0, |ratio| ratio.gets);
            mix.made += 1;
        }
        let polled = self.driver.poll()?;
        self.puts.acknowledge(&self.driver);
        if polled.retry {
            lookups.retry(&mut self.driver, &self.history)?;
        }
        if self.driver.reader.in_flight() > 0 {
            if self.driver.reader.has_completions() {
                mix.batch = (mix.batch + 1).min(mix.depth.div_ceil(2));
            } else {
                mix.batch = (mix.batch / 2).max(mix.depth / TAKEN_SHARE).max(1);
                self.driver.reader.wait(1)?;
            }
            lookups.take(&mut self.driver, &self.history, Some(mix.batch))?;
        } else if !goes_on && lookups.under_way() == 0 && self.puts.waiting() == 0 {
            return Ok(true);
        } else if asked == 0 && !polled.more {
            self.driver.wait(Duration::from_millis(100))?;
        }
        if self.is_note_due() && mix.made > 0 {
            self.note_data(false)?;
        }
        Ok(false)
    }
}

/// Of what is in flight, so much is taken at least before the next is asked for.
const TAKEN_SHARE: usize = 16;

/// Rounds by which the generator's own cost is measured.
const CALIBRATION: u64 = 20_000;

/// CPU time, in microseconds, that drawing an entry, making its key and verifying its value take: what of a get is ours.
pub fn generator_us_a_get(entries: u64, value_bytes: usize) -> f64 {
    let mut value = vec![0; value_bytes];
    write_value(7, 1, &mut value);
    let mut draw = Draw::uniform(entries, 0);
    timed(|| {
        black_box(key_of(draw.draw()));
        black_box(version_of(7, black_box(&value)));
    })
}

/// The same for a put: its place in a random order, its key and its value.
pub fn generator_us_a_put(entries: u64, value_bytes: usize) -> f64 {
    let mut value = vec![0; value_bytes];
    let order = fawn_workload::Permutation::new(entries, 1);
    let mut at = 0;
    timed(|| {
        let index = order.at(at);
        at = (at + 1) % entries;
        black_box(key_of(index));
        write_value(index, 1, &mut value);
        black_box(&value);
    })
}

fn timed(mut work: impl FnMut()) -> f64 {
    let before = thread_cpu_us();
    (0..CALIBRATION).for_each(|_| work());
    (thread_cpu_us() - before) / CALIBRATION as f64
}

#[cfg(test)]
mod tests {
    use fawn_flash::Ack;
    use fawn_report::Nobody;

    use super::*;
    use crate::setup::Setup;

    #[test]
    fn the_longest_that_a_put_was_refused_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let setup = Setup {
            dir: dir.path().to_owned(),
            entries: 1000,
            value_bytes: 100,
            memory: 8 << 20,
            miss_filter: false,
            ack: Ack::Durable,
            // So that each waits for the sync of the one before.
            puts_in_flight: 1,
            depth: 32,
            again: false,
            meter: None,
        };
        let mut session = BenchSession::open(&setup, &Nobody).unwrap();
        let mut lookups = Lookups::new(setup.value_bytes);
        let mut draw = Draw::uniform(setup.entries, 1);
        let closed = ClosedLoop { depth: 4, time: Duration::from_millis(100), gets_a_put: Some(1) };
        let made = session.closed(&mut lookups, closed, || draw.draw()).unwrap();
        assert!(made.puts > 0 && made.longest_refused > Duration::ZERO, "{made:?}");
        let without = session.closed(&mut lookups, ClosedLoop { gets_a_put: None, ..closed }, || draw.draw()).unwrap();
        assert_eq!(without, ClosedLoopPuts { puts: 0, longest_refused: Duration::ZERO });
        session.close().unwrap();
    }

    #[test]
    fn of_the_times_that_puts_were_refused_the_longest_is_kept() {
        let mut mix = Mix::new(1, Some(6));
        let began = Instant::now();
        for (waited, longest) in [(5, 5), (3, 5), (8, 8)] {
            mix.refused = Some(began);
            mix.took(began + Duration::from_millis(waited));
            assert_eq!(mix.longest_refused, Duration::from_millis(longest));
        }
    }
}
