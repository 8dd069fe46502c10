//! How long an arm takes from one cylinder to another.

use std::ops::RangeInclusive;

/// Seek times by distance, in milliseconds. A seek of distance 0 takes no time.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// Two pieces, as Ruemmler & Wilkes measured them (IEEE Computer, March 1994): a root for short seeks, in which the arm
    /// accelerates all the way, and a line for long ones.
    RootAndLine {
        /// Distances below this one follow the root.
        threshold: u32,
        /// The root: `root_ms.0 + root_ms.1 * sqrt(distance)`.
        root_ms: (f64, f64),
        /// The line: `line_ms.0 + line_ms.1 * distance`.
        line_ms: (f64, f64),
        /// Measured times of distances 1, 2, …, which the root does not give. May be empty.
        first_ms: Vec<f64>,
    },
    /// A curve through the three figures of a data sheet (Lee & Katz, `SIGMETRICS` 1993). The mean over random seeks is
    /// exactly `mean_ms`, up to the grain of cylinders.
    ThreePoints {
        /// How many cylinders the disk has.
        cylinders: u32,
        /// From one cylinder to the next.
        single_ms: f64,
        /// The mean over random seeks.
        mean_ms: f64,
        /// From the first cylinder to the last.
        full_ms: f64,
    },
    /// Measured times by distance, ascending; straight lines between them.
    Table(Vec<(u32, f64)>),
}

impl SeekCurve {
    /// The HP 97560 of 1991 (Ruemmler & Wilkes 1994, Table 1), which has 1,962 cylinders.
    pub fn hp_97560() -> Self {
        Self::RootAndLine { threshold: 383, root_ms: (3.24, 0.400), line_ms: (8.00, 0.008), first_ms: Vec::new() }
    }

    /// The HP C2200A of 1990 (Ruemmler & Wilkes 1994, Table 1), which has 1,449 cylinders.
    pub fn hp_c2200a() -> Self {
        Self::RootAndLine { threshold: 616, root_ms: (3.45, 0.597), line_ms: (10.8, 0.012), first_ms: Vec::new() }
    }

    /// The time of a seek over so many cylinders, in milliseconds.
    pub fn time_ms(&self, distance: u32) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        match self {
            Self::RootAndLine { threshold, root_ms, line_ms, first_ms } => {
                if let Some(time_ms) = first_ms.get(distance as usize - 1) {
                    *time_ms
                } else if distance < *threshold {
                    root_ms.0 + root_ms.1 * f64::from(distance).sqrt()
                } else {
                    line_ms.0 + line_ms.1 * f64::from(distance)
                }
            }
            Self::ThreePoints { cylinders, single_ms, mean_ms, full_ms } => {
                let count = f64::from(*cylinders);
                let root = (-10.0 * single_ms + 15.0 * mean_ms - 5.0 * full_ms) / (3.0 * count.sqrt());
                let line = (7.0 * single_ms - 15.0 * mean_ms + 8.0 * full_ms) / (3.0 * count);
                let steps = f64::from(distance - 1);
                root * steps.sqrt() + line * steps + single_ms
            }
            Self::Table(points) => interpolate(points, distance),
        }
    }

    /// The means with which a curve through three points rises all the way, in milliseconds: below them it falls at its
    /// beginning, above them at its end.
    pub fn mean_range_ms(single_ms: f64, full_ms: f64) -> RangeInclusive<f64> {
        (2.0 * single_ms + full_ms) / 3.0..=(4.0 * single_ms + 11.0 * full_ms) / 15.0
    }

    /// The mean over seeks between two different random cylinders of `cylinders`, in milliseconds.
    pub fn mean_random_ms(&self, cylinders: u32) -> f64 {
        let count = f64::from(cylinders);
        let share = |distance: u32| 2.0 * (count - f64::from(distance)) / (count * (count - 1.0));
        (1..cylinders).map(|distance| share(distance) * self.time_ms(distance)).sum()
    }
}

/// The value at `distance` on straight lines through `points`, and that of the nearest point outside of them.
fn interpolate(points: &[(u32, f64)], distance: u32) -> f64 {
    let after = points.partition_point(|(at, _)| *at < distance);
    match (after.checked_sub(1).map(|before| points[before]), points.get(after)) {
        (_, Some((at, time_ms))) if *at == distance => *time_ms,
        (Some((left, left_ms)), Some((right, right_ms))) => {
            left_ms + (right_ms - left_ms) * f64::from(distance - left) / f64::from(right - left)
        }
        (Some((_, time_ms)), None) | (None, Some(&(_, time_ms))) => time_ms,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hundredths of a millisecond.
    fn hundredths(time_ms: f64) -> u32 {
        (time_ms * 100.0).round() as u32
    }

    #[test]
    fn the_hp_97560_seeks_as_ruemmler_and_wilkes_say() {
        let curve = SeekCurve::hp_97560();
        let times = [0, 1, 382, 383, 1961].map(|distance| hundredths(curve.time_ms(distance)));
        assert_eq!(times, [0, 364, 1106, 1106, 2369]);
        assert_eq!(hundredths(curve.mean_random_ms(1962)), 1284);
    }

    #[test]
    fn the_hp_c2200a_has_no_step_between_its_pieces() {
        let curve = SeekCurve::hp_c2200a();
        assert_eq!([1, 615, 616].map(|distance| hundredths(curve.time_ms(distance))), [405, 1826, 1819]);
    }

    #[test]
    fn a_curve_through_three_points_has_its_mean_and_its_ends() {
        for (single_ms, mean_ms, full_ms, cylinders) in
            [(0.8, 8.5, 17.0, 150_000), (1.0, 4.5, 10.0, 10_000), (0.5, 9.0, 18.0, 2000)]
        {
            let curve = SeekCurve::ThreePoints { cylinders, single_ms, mean_ms, full_ms };
            assert!((curve.time_ms(1) - single_ms).abs() < 1e-12);
            // One cylinder of the curve's length is missing at its end.
            assert!((curve.time_ms(cylinders - 1) - full_ms).abs() < 2.0 * full_ms / f64::from(cylinders));
            assert!((curve.mean_random_ms(cylinders) / mean_ms - 1.0).abs() < 1e-3, "{cylinders}");
            let mut times = (0..cylinders).map(|distance| curve.time_ms(distance));
            let mut last = times.next().unwrap_or_default();
            assert!(times.all(|time| std::mem::replace(&mut last, time) <= time), "longer seeks take longer");
        }
    }

    #[test]
    fn a_curve_rises_with_the_means_of_its_range_and_no_others() {
        let (single_ms, full_ms, cylinders) = (1.0, 18.0, 1000);
        let range = SeekCurve::mean_range_ms(single_ms, full_ms);
        let rises = |mean_ms| {
            let curve = SeekCurve::ThreePoints { cylinders, single_ms, mean_ms, full_ms };
            (2..cylinders).all(|distance| curve.time_ms(distance) >= curve.time_ms(distance - 1) - 1e-9)
        };
        assert!([range.start() + 0.001, 9.0, range.end() - 0.001].into_iter().all(rises));
        assert!(![range.start() - 0.2, range.end() + 0.2].into_iter().any(rises), "{range:?}");
    }

    #[test]
    fn a_table_has_its_points_and_lines_between_them() {
        let curve = SeekCurve::Table(vec![(1, 2.0), (3, 4.0), (10, 11.0)]);
        assert_eq!(
            [0, 1, 2, 3, 5, 10, 99].map(|distance| hundredths(curve.time_ms(distance))),
            [0, 200, 300, 400, 600, 1100, 1100]
        );
    }
}
