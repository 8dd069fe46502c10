//! A survey of node designs: time, energy and price of each under recorded workloads, and which of them are worth a look.
//!
//! Designs come from a [`DesignSpace`] that is multiplied out, as whole nodes, or both ([`SurveyFile`]). There are three
//! sources: the paper's own configurations ([`paper`]), today's machines out of a purchase catalogue ([`catalogue`]), and
//! one's own file. [`SurveyReport::of`] runs every design on every trace; [`page()`] shows it in a browser.
//!
//! ```
//! use fawn_gordon::node::workloads::{TraceShape, suite};
//! use fawn_gordon::survey::{SurveyReport, SurveySettings, paper, tables};
//!
//! let traces = suite(&TraceShape::fitted(), 4, 1);
//! let designs = [paper::max_efficiency(), paper::max_efficiency_disk(), paper::reference()];
//! let report = SurveyReport::of(&designs, &traces, &SurveySettings::default(), &fawn_report::Nobody)
//!     .expect("there are designs and traces");
//! assert!(report.best().iter().any(|point| point.storage == "flash array"));
//! println!("{}", tables::points(&report, true).markdown());
//! ```

mod balance;
pub mod catalogue;
mod chart;
mod cluster_report;
pub mod cost;
mod csv;
pub mod figures;
mod file;
mod page;
pub mod paper;
mod pareto;
mod point;
mod report;
mod settings;
pub mod simulated;
mod space;
mod summary;
pub mod table6;
pub mod tables;

pub use balance::AmdahlBalance;
pub use chart::{scatter, stacked_bars};
pub use cluster_report::ClusterReport;
pub use csv::csv;
pub use file::{SurveyFile, SurveyFileError};
pub use page::page;
pub use pareto::{SurveyAxis, pareto_set};
pub use point::{BusyResource, RunFigures, SurveyCell, SurveyPoint};
pub use report::SurveyReport;
pub use settings::{SurveyBound, SurveySettings};
pub use space::{DesignSpace, ProcessorChoice, StorageChoice};
pub use summary::{BoundFigures, PointSummary};
