//! The cleaner: what is merged next, and when puts have to wait for merges.
//!
//! It decides by figures of the sealed records and owns none of them. [`Store`](crate::Store) carries out what it decides.
//!
//! # Layout
//!
//! * `turns`: whose turn it is, and how far merges have fallen behind.
//! * `index_mode`: whether every record is indexed or slices have bases. `budget`: the parts of the memory budget.

mod budget;
mod index_mode;
mod turns;

pub(crate) use turns::{Cleaner, Conditions, lacks_numbers};
