//! The ring, the way from one ring to another, and views, from outside.

#![allow(clippy::unwrap_used)]

mod balance;
mod chains;
mod cluster;
mod joins_and_leaves;
mod paper;
mod views;
