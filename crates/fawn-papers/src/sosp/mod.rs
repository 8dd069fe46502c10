//! Experiments of FAWN, SOSP 2009: a file for each table, figure or section.

pub(crate) mod bdb;
pub(crate) mod cleaning;
pub(crate) mod figure_10;
pub(crate) mod figure_11;
pub(crate) mod figure_12;
pub(crate) mod figure_13;
pub(crate) mod figure_14;
pub(crate) mod figure_15;
pub(crate) mod figure_9;
pub(crate) mod load;
pub(crate) mod network;
pub(crate) mod put_latency;
pub(crate) mod table_1;
pub(crate) mod table_2;
pub(crate) mod table_3;
