//! The cluster simulator, the survey and the cost models, against closed forms and against what the paper prints.

#![allow(clippy::float_cmp, clippy::unwrap_used)]

mod bounds;
mod by_hand;
mod costs;
mod storage;
mod survey;
mod table6;
mod tables;
mod traces;
