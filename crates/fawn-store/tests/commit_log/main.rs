//! The commit log against a device that loses, tears and reorders what was not synced, and against damage.

mod crash;
mod damage;
mod harness;
mod writing;
