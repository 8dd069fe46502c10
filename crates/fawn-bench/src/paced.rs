//! By the clock: gets come when they come, answered or not, and puts beside them.

use std::time::{Duration, Instant};

use fawn_workload::Draw;

use crate::error::Error;
use crate::lookups::{GROUP, Lookups};
use crate::session::BenchSession;

/// Gets that are begun in one turn of the loop at most.
const A_TURN: usize = 8 * GROUP;

/// How an open loop runs.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoop {
    /// Gets a second.
    pub rate: f64,
    /// For so long.
    pub time: Duration,
    /// A put after so many gets; none: gets alone.
    pub gets_a_put: Option<u64>,
    /// From when on.
    pub began: Instant,
}

impl BenchSession<'_> {
    /// Asks as the clock says; how many puts were made. `tend` is called in each turn as long as there is something to ask.
    ///
    /// # Errors
    /// [`Error::Wrong`], whatever the store refuses, and what `tend` says.
    pub fn paced(
        &mut self,
        lookups: &mut Lookups,
        draw: &mut Draw,
        paced: OpenLoop,
        mut tend: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let OpenLoop { rate, time, gets_a_put, began } = paced;
        let end = time.as_secs_f64();
        let gets_a_put = gets_a_put.unwrap_or(u64::MAX);
        let mut next = 0.0;
        let (mut owed, mut made) = (0, 0);
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let now = began.elapsed().as_secs_f64();
            let mut asked = 0;
            while next <= now && next < end && asked < A_TURN {
                group.clear();
                while next <= now && next < end && group.len() < GROUP {
                    group.push((draw.draw(), began + Duration::from_secs_f64(next)));
                    // Independent clients: the times between their gets are exponential.
                    next -= draw.share().ln() / rate;
                }
                lookups.ask(&mut self.driver, &self.history, &group)?;
                asked += group.len();
            }
            owed += asked as u64;
            while owed >= gets_a_put && self.put_one()? {
                owed -= gets_a_put;
                made += 1;
            }
            if next < end {
                tend(self)?;
            }
            self.driver.reader.submit()?;
            let polled = self.driver.poll()?;
            self.puts.acknowledge(&self.driver);
            if let (Some(us), Some((_, by_time))) = (self.driver.steps.take_last(), &mut lookups.by_time) {
                by_time.step(began.elapsed(), us);
            }
            if polled.retry {
                lookups.retry(&mut self.driver, &self.history)?;
            }
            let came = lookups.take(&mut self.driver, &self.history, None)?;
            if next >= end && lookups.under_way() == 0 && self.puts.waiting() == 0 {
                return Ok(made);
            }
            let until_next = if next >= end { 0.01 } else { next - began.elapsed().as_secs_f64() };
            if !polled.more && came == 0 && until_next > 0.0 {
                self.driver.wait(Duration::from_secs_f64(until_next))?;
            }
        }
    }
}
