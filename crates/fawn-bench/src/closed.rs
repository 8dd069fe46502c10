//! As fast as it goes: so many gets in flight, and puts beside them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::lookups::{GROUP, Lookups};
use crate::session::Session;
use crate::usage::thread_cpu_us;
use crate::workload::{Draw, name, version_of, write_value};

/// Puts that may be owed before gets wait for them.
const MOST_OWED_PUTS: u64 = 64;

/// How a closed loop runs.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// Gets in flight.
    pub depth: usize,
    /// For so long.
    pub time: Duration,
    /// A put after so many gets; none: gets alone.
    pub gets_a_put: Option<u64>,
}

impl Session<'_> {
    /// Keeps gets of the entries that `pick` picks in flight, and makes puts; how many puts.
    ///
    /// # Errors
    /// [`Error::Wrong`] and whatever the store refuses.
    pub fn closed(
        &mut self,
        lookups: &mut Lookups,
        closed: Closed,
        mut pick: impl FnMut() -> u64,
    ) -> Result<u64, Error> {
        let end = Instant::now() + closed.time;
        let gets_a_put = closed.gets_a_put.unwrap_or(u64::MAX);
        let (mut owed, mut made) = (0, 0);
        let mut group = Vec::with_capacity(GROUP);
        let most = (closed.depth / TAKEN_SHARE).max(1);
        loop {
            let now = Instant::now();
            let goes_on = now < end;
            let mut asked = 0;
            while goes_on && asked < closed.depth && owed / gets_a_put < MOST_OWED_PUTS {
                let room = closed.depth.saturating_sub(lookups.under_way()).min(closed.depth - asked).min(GROUP);
                if room == 0 {
                    break;
                }
                group.clear();
                group.extend((0..room).map(|_| (pick(), now)));
                lookups.ask(&mut self.driver, &self.history, &group)?;
                asked += room;
                owed += room as u64;
            }
            while goes_on && owed >= gets_a_put && self.put_one()? {
                owed -= gets_a_put;
                made += 1;
            }
            let polled = self.driver.poll()?;
            self.puts.acknowledge(&self.driver);
            if polled.retry {
                lookups.retry(&mut self.driver, &self.history)?;
            }
            if self.driver.reader.in_flight() > 0 {
                self.driver.reader.wait(1)?;
                lookups.take(&mut self.driver, &self.history, Some(most))?;
            } else if !goes_on && lookups.under_way() == 0 && self.puts.waiting() == 0 {
                return Ok(made);
            } else if asked == 0 && !polled.more {
                self.driver.wait(Duration::from_millis(100))?;
            }
            if self.is_note_due() && made > 0 {
                self.note_data(false)?;
            }
        }
    }
}

/// Of what is in flight, so much is taken before the next is asked for: the rest keeps the device busy meanwhile.
const TAKEN_SHARE: usize = 16;

/// Rounds by which the generator's own cost is measured.
const CALIBRATION: u64 = 20_000;

/// CPU time, in microseconds, that drawing an entry, making its key and verifying its value take: what of a get is ours.
pub fn generator_us_a_get(entries: u64, value_bytes: usize) -> f64 {
    let mut value = vec![0; value_bytes];
    write_value(7, 1, &mut value);
    let mut draw = Draw::uniform(entries, 0);
    timed(|| {
        black_box(name(draw.draw()));
        black_box(version_of(7, black_box(&value)));
    })
}

/// The same for a put: its place in a random order, its key and its value.
pub fn generator_us_a_put(entries: u64, value_bytes: usize) -> f64 {
    let mut value = vec![0; value_bytes];
    let order = crate::workload::Permutation::new(entries, 1);
    let mut at = 0;
    timed(|| {
        let index = order.at(at);
        at = (at + 1) % entries;
        black_box(name(index));
        write_value(index, 1, &mut value);
        black_box(&value);
    })
}

fn timed(mut work: impl FnMut()) -> f64 {
    let before = thread_cpu_us();
    (0..CALIBRATION).for_each(|_| work());
    (thread_cpu_us() - before) / CALIBRATION as f64
}
