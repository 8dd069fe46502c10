//! How many nodes a cluster needs, of which kind, what they cost over the years, and what is not known about that.
//!
//! The paper's model (FAWN SOSP'09 §5.2) with what it leaves out: copies, a share of each node that stays free, limits of
//! the network and the processor beside the device's, DRAM for the index, and what a lost node does. Values come from
//! catalogues, in which each has a source, a date and a kind; what is missing is unknown and is said to be.
//!
//! No I/O, no clock: texts and the day are arguments. In the book, reference/planning has the models and the forms of the
//! files, and papers/costs says where the papers' own inputs do not give what they print.
//!
//! ```
//! use fawn_plan::{Assumptions, Catalogue, PurchasePlan, Workload};
//!
//! let catalogue = Catalogue::built_in("paper-2009").expect("it is built in");
//! let workload = Workload { data_bytes: 10e12, gets_per_second: 1e6, value_bytes: 1e3, replicas: 1 };
//! let assumptions = Assumptions { utilisation: 1.0, ..Assumptions::of(&catalogue, "2009-10-11".parse()?) };
//! let plan = PurchasePlan::of(&catalogue, &workload, &assumptions);
//! let first = &plan.ranked[0];
//! assert_eq!((first.name.as_str(), first.sizing.nodes, first.cost.total.value.round()), ("FAWN+SSD", 313, 168_838.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Layout
//!
//! | module | what it is |
//! |---|---|
//! | [`amount`] | amounts as people write them |
//! | `figure`, `quantity` | a value with where it is from |
//! | `catalogue`, `builtin`, `measured` | files of values |
//! | `workload` | what is asked for, and what is reckoned with |
//! | [`store`] | what this software takes of a machine |
//! | `limits`, `sizing` | nodes, and what asks for them |
//! | `cost`, `loss` | dollars and joules; a node that fails |
//! | [`drive_wear`] | years of the drives |
//! | `plan`, `ranking`, `warnings` | all options, ranked |
//! | [`map`] | the cheapest option by data and rate |
//! | [`tables`], `page`, `svg` | a plan as rows of text, as a page of HTML, as a picture |
//! | [`paper`] | the papers' tables, recomputed |

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::float_cmp))]

pub mod amount;
mod builtin;
mod catalogue;
mod cost;
pub mod drive_wear;
mod error;
mod figure;
mod limits;
mod loss;
pub mod map;
mod measured;
mod page;
pub mod paper;
mod plan;
mod plan_wear;
mod quantity;
mod ranking;
mod sizing;
pub mod store;
mod svg;
pub mod tables;
mod warnings;
mod workload;

pub use catalogue::{Catalogue, CatalogueModel, NodeOption};
pub use cost::{Cost, Dollars, Flip};
pub use drive_wear::DriveWear;
pub use error::PlanError;
pub use fawn_report::{Date, DateError, Scope};
pub use figure::{Figure, FigureKind};
pub use limits::{NodeLimits, Resource};
pub use loss::Loss;
pub use map::Map;
pub use measured::MeasuredNode;
pub use page::page;
pub use plan::{PurchasePlan, RankedOption, UnrankedOption};
pub use plan_wear::SECONDS_A_YEAR;
pub use quantity::Quantity;
pub use sizing::{Index, Need, Sizing};
pub use workload::{Assumptions, Workload};
