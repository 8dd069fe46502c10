//! Experiments of the workloads of e-Energy 2010: a file for each table, figure or section.

pub(crate) mod figure_2;
pub(crate) mod figures_4_5;
pub(crate) mod section_3_6_2;
pub(crate) mod table_1;
pub(crate) mod table_4;
pub(crate) mod tables_2_3;
