//! A page of metrics in Prometheus' text format, version 0.0.4.
//!
//! The format is a few lines a metric, and what is put in comes from snapshots: a registry of a library would hold every
//! number twice.

use crate::family::{Family, MetricKind};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A metric's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A count.
    Whole(u64),
    /// Seconds, and parts of a whole.
    Real(f64),
}

impl From<u64> for Number {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<u32> for Number {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self::Whole(number as u64)
    }
}

impl From<bool> for Number {
    fn from(is: bool) -> Self {
        Self::Whole(is.into())
    }
}

impl From<f64> for Number {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number) if number.is_nan() => f.write_str("NaN"),
            Self::Real(number) if number.is_infinite() => f.write_str(if *number > 0.0 { "+Inf" } else { "-Inf" }),
            Self::Real(number) => number.fmt(f),
        }
    }
}

/// Metrics, each under its name whoever put it there.
#[derive(Debug, Default)]
pub struct Page {
    families: BTreeMap<&'static str, (&'static Family, String)>,
    without_ranges: bool,
}

impl Page {
    /// One for a reader that wants no samples of single ranges, of which a cluster has hundreds.
    pub fn without_ranges() -> Self {
        Self { without_ranges: true, ..Self::default() }
    }

    /// Whether samples of single ranges are wanted.
    pub fn wants_ranges(&self) -> bool {
        !self.without_ranges
    }

    /// Puts a counter or gauge in, with the values of its labels in their order.
    pub fn put(&mut self, family: &'static Family, labels: &[&str], number: impl Into<Number>) {
        assert_ne!(family.kind, MetricKind::Histogram, "{} is a histogram", family.name);
        let lines = self.lines(family, labels);
        sample(lines, (family.name, ""), (family.labels, labels), None, number.into());
    }

    /// Puts a histogram in: how many took no longer than each bound, in seconds, how many there were, and what they took
    /// together, in seconds.
    pub fn put_histogram(
        &mut self,
        family: &'static Family,
        labels: &[&str],
        buckets: impl IntoIterator<Item = (f64, u64)>,
        (count, sum): (u64, f64),
    ) {
        assert_eq!(family.kind, MetricKind::Histogram, "{} is no histogram", family.name);
        let lines = self.lines(family, labels);
        let all = (family.labels, labels);
        for (bound, below) in buckets {
            sample(lines, (family.name, "_bucket"), all, Some(bound), below.into());
        }
        sample(lines, (family.name, "_bucket"), all, Some(f64::INFINITY), count.into());
        sample(lines, (family.name, "_sum"), all, None, sum.into());
        sample(lines, (family.name, "_count"), all, None, count.into());
    }

    fn lines(&mut self, family: &'static Family, labels: &[&str]) -> &mut String {
        assert_eq!(family.labels.len(), labels.len(), "{} has the labels {:?}", family.name, family.labels);
        &mut self.families.entry(family.name).or_insert((family, String::new())).1
    }

    /// The text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (family, lines) in self.families.values() {
            let help = family.help.replace('\\', r"\\").replace('\n', r"\n");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {} {help}\n# TYPE {} {}", family.name, family.name, family.kind.name());
            text.push_str(lines);
        }
        text
    }
}

/// One line.
fn sample(
    lines: &mut String,
    (name, suffix): (&str, &str),
    (labels, values): (&[&str], &[&str]),
    bound: Option<f64>,
    number: Number,
) {
    lines.push_str(name);
    lines.push_str(suffix);
    let bound = bound.map(|bound| Number::Real(bound).to_string());
    let bound = bound.as_deref().map(|bound| ("le", bound));
    let mut all = labels.iter().copied().zip(values.iter().copied()).chain(bound).peekable();
    if all.peek().is_some() {
        let mut before = '{';
        for (label, value) in all {
            let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            // Writing to a string cannot fail.
            let _ = write!(lines, "{before}{label}=\"{value}\"");
            before = ',';
        }
        lines.push('}');
    }
    let _ = writeln!(lines, " {number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::families! {
        PUTS = Counter "test_puts_total" ["shelf"] "Things \\ that were put.";
        ROOM = Gauge "test_room_ratio" [] "Room.";
        TIMES = Histogram "test_times_seconds" ["shelf"] "Times.";
    }

    #[test]
    fn a_page_has_each_metric_once_with_all_its_lines() {
        let mut page = Page::default();
        page.put(&PUTS, &["a\"b\\c\nd"], 3u64);
        page.put(&ROOM, &[], 0.25);
        page.put(&PUTS, &["second"], 1u64);
        page.put_histogram(&TIMES, &["x"], [(0.5, 1), (1.0, 2)], (4, 6.5));
        let expected = "\
# HELP test_puts_total Things \\\\ that were put.
# TYPE test_puts_total counter
test_puts_total{shelf=\"a\\\"b\\\\c\\nd\"} 3
test_puts_total{shelf=\"second\"} 1
# HELP test_room_ratio Room.
# TYPE test_room_ratio gauge
test_room_ratio 0.25
# HELP test_times_seconds Times.
# TYPE test_times_seconds histogram
test_times_seconds_bucket{shelf=\"x\",le=\"0.5\"} 1
test_times_seconds_bucket{shelf=\"x\",le=\"1\"} 2
test_times_seconds_bucket{shelf=\"x\",le=\"+Inf\"} 4
test_times_seconds_sum{shelf=\"x\"} 6.5
test_times_seconds_count{shelf=\"x\"} 4
";
        assert_eq!(page.text(), expected);
        assert_eq!(FAMILIES.len(), 3);
    }

    #[test]
    #[should_panic(expected = "has the labels")]
    fn a_label_cannot_be_forgotten() {
        Page::default().put(&PUTS, &[], 1u64);
    }
}
