//! Experiments of the workloads of e-Energy 2010: a file for each table, figure or section.

pub(crate) mod table_1;
