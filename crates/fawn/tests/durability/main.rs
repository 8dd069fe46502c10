//! Durability, shown on the real process: what it acknowledged survives `kill -9`, and a trace of its system calls shows
//! each answer leaving after the sync that covers it, and a get reading flash once.
//!
//! `FAWN_KILLS=200 cargo test --release -p fawn --test durability kill` is the long run; CI makes a short one.
#![allow(clippy::unwrap_used)]

mod calls;
mod kill;
mod server;
mod stop;
mod trace;
