//! Experiments of FAWN-DHT, the technical report before it: a file for each table, figure or section.

pub(crate) mod figure_10;
pub(crate) mod figure_6;
pub(crate) mod figure_9;
pub(crate) mod figures_7_8;
pub(crate) mod join;
pub(crate) mod table_2;
pub(crate) mod weak;
