//! A counter that begins again at its end.

/// What it has counted, over any number of turns, as long as it is read at least once a turn.
#[derive(Clone, Copy, Debug, Default)]
pub struct TurningCounter {
    /// Where it begins again.
    range: u64,
    last: Option<u64>,
    total: u64,
}

impl TurningCounter {
    /// One that counts from 0 to `range`, above 0.
    pub fn new(range: u64) -> Self {
        assert!(range > 0, "a counter counts to something");
        Self { range, last: None, total: 0 }
    }

    /// It shows `now`: what it has counted since it was read first.
    pub fn read(&mut self, now: u64) -> u64 {
        if let Some(last) = self.last {
            self.total += if now >= last { now - last } else { self.range.saturating_sub(last) + now };
        }
        self.last = Some(now);
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted() {
        let mut counter = TurningCounter::new(1000);
        let shown = [900, 950, 20, 20, 980, 0];
        assert_eq!(shown.map(|now| counter.read(now)), [0, 50, 120, 120, 1080, 1100]);
    }

    #[test]
    fn one_that_shows_more_than_its_range_loses_nothing_that_it_had() {
        let mut counter = TurningCounter::new(1000);
        assert_eq!([1005, 10].map(|now| counter.read(now)), [0, 10]);
    }
}
