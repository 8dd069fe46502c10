//! The ring, and what it takes from one ring to another, from outside.

#![allow(clippy::unwrap_used)]

mod balance;
mod chains;
mod cluster;
mod joins_and_leaves;
mod paper;
