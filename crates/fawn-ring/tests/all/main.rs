//! The ring, the way from one ring to another, and views, from outside.

#![allow(clippy::unwrap_used)]

mod chains;
mod cluster;
mod views;
