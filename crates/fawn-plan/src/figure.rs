//! A value with where it is from. What is not known is no figure: `Option<Figure>` says `None`, and nobody fills it in.

use fawn_report::{Date, Scope};
use serde::{Deserialize, Serialize};

/// How a value was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Somebody measured it.
    Measured,
    /// Who sells it says so.
    Vendor,
    /// It follows from other values.
    Derived,
    /// Somebody says so, who neither measured nor sells it.
    Declared,
}

impl FigureKind {
    /// As files have it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Vendor => "vendor",
            Self::Derived => "derived",
            Self::Declared => "declared",
        }
    }
}

/// A value and where it is from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The value to reckon with: the middle, where sources give a range. In the unit that the figure's name ends with.
    pub value: f64,
    /// The lowest that sources give; never above `value`.
    pub low: f64,
    /// The highest that sources give; never below `value`.
    pub high: f64,
    /// How it was come by.
    pub kind: FigureKind,
    /// Who says so.
    pub source: String,
    /// When; of several, the oldest.
    pub date: Date,
    /// Of watts, what they are of; `None` is the wall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
}

impl Figure {
    /// The sum of both, as of one and `times` another.
    #[must_use]
    pub fn plus(&self, other: &Self, times: f64) -> Self {
        Self {
            value: self.value + times * other.value,
            low: self.low + times * other.low,
            high: self.high + times * other.high,
            ..self.joined(other)
        }
    }

    /// `times` of it.
    #[must_use]
    pub fn times(&self, times: f64) -> Self {
        Self { value: self.value * times, low: self.low * times, high: self.high * times, ..self.clone() }
    }

    /// The one with the lower value.
    #[must_use]
    pub fn least<'a>(&'a self, other: &'a Self) -> &'a Self {
        if other.value < self.value { other } else { self }
    }

    /// Where a value is from that needs both.
    fn joined(&self, other: &Self) -> Self {
        let source = if self.source == other.source {
            self.source.clone()
        } else {
            format!("{}; {}", self.source, other.source)
        };
        let (kind, date) = (self.kind.max(other.kind), self.date.min(other.date));
        Self { source, kind, date, scope: self.scope.or(other.scope), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, kind: FigureKind, source: &str, date: &str) -> Figure {
        let date = date.parse().unwrap();
        Figure { value, low: value - 1.0, high: value + 1.0, kind, source: source.to_owned(), date, scope: None }
    }

    #[test]
    fn a_sum_has_both_sources_and_the_older_date() {
        let (board, drive) =
            (figure(80.0, FigureKind::Vendor, "a", "2026-02"), figure(10.0, FigureKind::Derived, "b", "2025-01"));
        let sum = board.plus(&drive, 2.0);
        assert_eq!((sum.low, sum.value, sum.high), (97.0, 100.0, 103.0));
        assert_eq!(
            (sum.kind, sum.source.as_str(), sum.date.to_string().as_str()),
            (FigureKind::Derived, "a; b", "2025-01")
        );
        assert_eq!(board.least(&drive).source, "b");
    }
}
