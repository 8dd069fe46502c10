//! What all kinds of charts draw with: places of values, colours, and the picture itself.

use serde_json::Value;

use super::model::{Axis, Law, Row};
use crate::amount::number;
use crate::markup::Element;
use crate::svg::{Drawing, root};

/// The width of every picture.
pub(super) const WIDTH: f64 = 760.0;
/// Room above.
pub(super) const TOP: f64 = 14.0;
/// Room for the value behind a bar.
pub(super) const BEHIND: f64 = 90.0;

/// Colours that stay apart for most eyes. Each has a contrast of 3 to white and to black.
pub(super) const COLOURS: &[&str] =
    &["#4477aa", "#ee6677", "#228833", "#a68500", "#2299bb", "#aa3377", "#dd7744", "#888888"];

/// The colour of a number.
pub(super) fn colour(number: usize) -> &'static str {
    COLOURS[number % COLOURS.len()]
}

/// The value of a row on an axis; `None`: it is not drawn.
pub(super) fn figure(row: &Row, axis: &Axis) -> Option<f64> {
    let value = row.get(&axis.column)?.as_f64()?;
    let is_drawn = value.is_finite() && (axis.law == Law::Linear || value > 0.0);
    is_drawn.then_some(value)
}

/// The text of a row.
pub(super) fn text(row: &Row, column: &str) -> String {
    match row.get(column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// A picture of the usual width and this height.
pub(super) fn opened(height: f64, title: &str) -> Drawing {
    picture("chart", (WIDTH, height), title)
}

/// A picture of another class and size.
pub(super) fn picture(class: &str, (width, height): (f64, f64), title: &str) -> Drawing {
    Drawing::open(root(Some(class), width, height).attr("role", "img").attr("aria-label", title))
}

/// A picture that keeps its size on a narrow page.
pub(super) fn scrolled(picture: &str) -> String {
    Element::new("div").attr("class", "wide").around(picture) + "\n"
}

/// From values to places, with the values at which there is a mark.
pub(super) struct AxisScale {
    law: Law,
    low: f64,
    high: f64,
    /// Values with a mark.
    pub(super) marks: Vec<f64>,
}

impl AxisScale {
    pub(super) fn of(law: Law, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        match law {
            Law::Linear => {
                let (low, high) = (low.min(0.0), if high > low.min(0.0) { high } else { low.min(0.0) + 1.0 });
                let step = nice((high - low) / 6.0);
                // What floating point adds to a round value makes no mark more.
                let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
                let marks = (0..=(last - first) as u32).map(|at| (first + f64::from(at)) * step).collect();
                Self { law, low: first * step, high: last * step, marks }
            }
            Law::Log => {
                let first = low.log10().floor();
                let last = high.log10().ceil().max(first + 1.0);
                let marks = (0..=(last - first) as u32).map(|at| 10f64.powf(first + f64::from(at))).collect();
                Self { law, low: first, high: last, marks }
            }
            Law::Bytes => {
                let (first, last) = (low.log2().floor(), high.log2().ceil().max(low.log2().floor() + 1.0));
                // No more marks than have room beside each other.
                let step = ((last - first) / 8.0).ceil().max(1.0);
                let marks = (0..=((last - first) / step) as u32).map(|at| 2f64.powf(first + step * f64::from(at)));
                Self { law, low: first, high: last, marks: marks.collect() }
            }
        }
    }

    /// From 0 to 1.
    pub(super) fn share(&self, value: f64) -> f64 {
        let value = match self.law {
            Law::Linear => value,
            Law::Log => value.log10(),
            Law::Bytes => value.log2(),
        };
        (value - self.low) / (self.high - self.low)
    }

    /// A value beside its mark.
    pub(super) fn label(&self, value: f64) -> String {
        if self.law == Law::Bytes { binary(value) } else { short(value) }
    }
}

/// 1, 2 or 5 times a power of ten, not below `least`.
fn nice(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|it| it * power).find(|it| *it >= least * 0.999_999).unwrap_or(10.0 * power)
}

/// `64 KiB`.
fn binary(bytes: f64) -> String {
    let units = [(2f64.powi(30), "GiB"), (2f64.powi(20), "MiB"), (1024.0, "KiB")];
    match units.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{} {name}", short(bytes / unit)),
        None => format!("{} B", short(bytes)),
    }
}

/// A value beside a mark.
pub(super) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        it if it >= 1e9 => (value / 1e9, "G"),
        it if it >= 1e6 => (value / 1e6, "M"),
        it if it >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        it if it >= 100.0 || it.fract().abs() < 1e-9 => 0,
        it if it >= 1.0 => 1,
        it if it >= 0.1 => 2,
        _ => return format!("{value}"),
    };
    let text = number(scaled, decimals);
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{unit}")
}
