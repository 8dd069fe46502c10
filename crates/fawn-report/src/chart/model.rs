//! What a chart is: which columns of rows it shows, and how.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Figures by name. Units are the ends of names; what is not known is null.
pub type Row = Map<String, Value>;

/// A drawing of rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// How.
    pub kind: ChartKind,
    /// To the right; of bars, the text beside each.
    pub x: Axis,
    /// Upwards; of bars, their length.
    pub y: Axis,
    /// The column whose values part rows into lines, or groups into bars.
    pub series: Option<String>,
    /// Values of it in the order of their colours, so that each has the same one in several charts; others follow as they come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series_order: Vec<String>,
    /// Upright lines with their names, e.g. the sizes of caches; not of bars.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<ChartLimit>,
    /// The column whose text stands beside each point; not of bars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// An upright line through a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChartLimit {
    /// Where it is, as a value of the axis to the right.
    pub at: f64,
    /// Its name.
    pub name: String,
}

/// How rows are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Points that lines join.
    Lines,
    /// Points that nothing joins.
    Points,
    /// A bar a row.
    Bars,
    /// A bar a row, those of one text below that text.
    Groups,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The column that it shows.
    pub column: String,
    /// What it says.
    pub title: String,
    /// How values lie on it.
    pub law: Law,
}

/// How values lie on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    /// From 0, evenly.
    Linear,
    /// By powers of ten; what is not above 0 is not drawn.
    Log,
    /// By powers of two, as numbers of bytes; what is not above 0 is not drawn.
    Bytes,
}

impl Axis {
    /// From 0, evenly.
    pub fn linear(column: &str, title: &str) -> Self {
        Self { column: column.to_owned(), title: title.to_owned(), law: Law::Linear }
    }

    /// By powers of ten.
    pub fn log(column: &str, title: &str) -> Self {
        Self { law: Law::Log, ..Self::linear(column, title) }
    }

    /// By powers of two, as numbers of bytes.
    pub fn bytes(column: &str, title: &str) -> Self {
        Self { law: Law::Bytes, ..Self::linear(column, title) }
    }
}

impl Chart {
    /// Points that lines join.
    pub fn lines(title: &str, x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            kind: ChartKind::Lines,
            x,
            y,
            series: None,
            series_order: Vec::new(),
            limits: Vec::new(),
            label: None,
        }
    }

    /// Points that nothing joins.
    pub fn points(title: &str, x: Axis, y: Axis) -> Self {
        Self { kind: ChartKind::Points, ..Self::lines(title, x, y) }
    }

    /// With the text of a column beside each point.
    #[must_use]
    pub fn labelled(self, column: &str) -> Self {
        Self { label: Some(column.to_owned()), ..self }
    }

    /// A bar a row, with the text of column `of` beside it.
    pub fn bars(title: &str, of: &str, y: Axis) -> Self {
        Self { kind: ChartKind::Bars, ..Self::lines(title, Axis::linear(of, ""), y) }
    }

    /// A bar a row, those with the same text of column `of` below it, each in the colour of its value of column `by`.
    pub fn groups(title: &str, of: &str, by: &str, y: Axis) -> Self {
        Self { kind: ChartKind::Groups, ..Self::bars(title, of, y).by(by) }
    }

    /// With the colours of these values in this order.
    #[must_use]
    pub fn coloured(self, values: &[String]) -> Self {
        Self { series_order: values.to_vec(), ..self }
    }

    /// A line, or a bar of each group, for each value of a column.
    #[must_use]
    pub fn by(self, column: &str) -> Self {
        Self { series: Some(column.to_owned()), ..self }
    }

    /// With upright lines.
    #[must_use]
    pub fn with_limits(self, limits: Vec<ChartLimit>) -> Self {
        Self { limits, ..self }
    }
}

/// The rows of a chart.
#[derive(Clone, Copy, Debug)]
pub struct ChartRows<'a> {
    /// What is shown.
    pub own: &'a [Row],
    /// Its name.
    pub own_label: &'a str,
    /// What it is compared with.
    pub reference: &'a [Row],
    /// Its name.
    pub reference_label: &'a str,
    /// One word for it, behind the names of its bars.
    pub reference_word: &'a str,
}
