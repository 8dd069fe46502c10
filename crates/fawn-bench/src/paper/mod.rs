//! The experiments of the papers that FAWN follows, on the machine at hand (`fawn bench paper`).
//!
//! Each has a file of its own, named after what it repeats: the paper (`sosp` for FAWN, SOSP 2009; `dht` for the FAWN-DHT
//! report; `energy` for the workloads of e-Energy 2010) and its table, figure or section. They are here and not beside
//! [`experiments`](crate::experiments), as they are made of those and of servers, and end in figures of other columns. The
//! papers' machines are those of 2008 to 2010, so that what they print is drawn beside what is measured, and never judged
//! by this program.
//!
//! They measure with what the rest of the crate measures with: stores by [`Session`](crate::Session), servers and clusters of
//! real processes by [`net`](fawn_loadgen). Every value that is read is verified.
//!
//! # Layout
//!
//! * [`finding`]: what an experiment has found; [`list`]: all of them; [`mod@run`]: carrying them out.
//! * [`keeper`]: what was measured, to be told again; [`machine`]: on what.
//! * [`chart`], [`page`], [`output`]: pictures, the page, and all files.
//! * [`store`], [`raw`]: stores and files to measure; [`servers`], [`cluster`], [`served`]: processes; [`client`]: load on them.
//! * [`efficiency`]: queries a joule, or what stands for them where there is no meter.

pub mod chart;
pub mod client;
pub mod cluster;
pub mod efficiency;
pub mod finding;
pub mod keeper;
pub mod list;
pub mod machine;
pub mod output;
pub mod page;
pub mod raw;
pub mod run;
pub mod served;
pub mod servers;
pub mod store;

mod computed;
mod course;
mod dht_cache;
mod dht_figure_10;
mod dht_figure_6;
mod dht_figure_9;
mod dht_figures_7_8;
mod dht_join;
mod dht_sizing;
mod dht_table_2;
mod dht_weak;
mod energy_table_1;
mod sosp_bdb;
mod sosp_cleaning;
mod sosp_figure_10;
mod sosp_figure_11;
mod sosp_figure_12;
mod sosp_figure_13;
mod sosp_figure_14;
mod sosp_figure_15;
mod sosp_figure_16;
mod sosp_figure_9;
mod sosp_load;
mod sosp_network;
mod sosp_put_latency;
mod sosp_table_1;
mod sosp_table_2;
mod sosp_table_3;
mod sosp_table_4;

pub use finding::Finding;
pub use keeper::{Keeper, Kept};
pub use list::{Entry, LIST, Paper, find};
pub use machine::{Machine, Program};
pub use output::{json, write};
pub use run::{Again, Run, Scale, Tools, run};
