//! Reports: rows of figures, and the one writer of all that is made of them.
//!
//! No I/O, no clock: a report is data, and every writer returns text.
//!
//! # Layout
//!
//! * [`report`]: what a benchmark has measured, as rows of figures by name; as JSON its fields are the keys.
//! * [`mod@column`], [`mod@table`]: which figures a table shows and how it writes them; a table of text.
//! * [`latency`]: histograms of latencies, and latencies by time.
//! * [`progress`]: how far a measurement is.
//! * [`amount`], [`date`], [`scope`]: amounts as people read them; days; what watts and joules cover.
//! * [`csv`]: comma-separated values. [`markup`], under [`svg`] and [`html`]: elements, pictures, pages.
//! * [`chart`]: charts of rows; [`plot`]: latencies by time as a picture.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod amount;
pub mod chart;
pub mod column;
pub mod csv;
pub mod date;
pub mod html;
pub mod latency;
pub mod markup;
pub mod plot;
pub mod progress;
pub mod report;
pub mod scope;
pub mod svg;
pub mod table;

pub use column::{Column, Form, column};
pub use date::{Date, DateError};
pub use latency::{ByTime, Latencies};
pub use progress::{Nobody, Watch};
pub use report::{BenchReport, StoreMemory, Tenth, Timeline};
pub use scope::Scope;
pub use table::TextTable;
