//! A load generator for servers that speak memcached's text or meta protocol or Redis's: `fawn bench net` and `fawn bench ycsb`.
//!
//! Threads with an epoll loop each keep requests in flight over many connections, as fast as they are answered or at a
//! pace, and look at every value. Requests that leave together share a send, answers that come together a receive;
//! answers are parsed where they were received, and nothing is allocated for an operation. So the generator costs
//! little more than the system calls, and [`calibrate`] says how much.
//!
//! # Layout
//!
//! * [`plan`]: what is asked for; [`mix`]: which operations; [`choice`]: which keys; [`newest`]: which were written last;
//!   [`schedule`]: when.
//! * [`ycsb`]: published workloads.
//! * [`protocol`]: requests and answers; [`versions`]: which versions of a key a get may find.
//! * [`pipe`]: a socket with what is not parsed and not sent yet; [`dial`]: connecting.
//! * [`worker`]: the loop; [`verdict`]: whether an answer is right; [`stats`]: what is counted.
//! * [`idle`]: times in which the servers have nothing to do.
//! * [`system`]: CPU time of servers and of the machine.
//! * [`null`]: a server that does nothing, the floor; [`calibrate`]: the generator against it.
//! * [`phase`]: threads with a loop each, for a time; [`context`]: what they share.
//! * [`mod@run`]: phases put together; [`report`]: their report.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod calibrate;
pub mod choice;
pub mod context;
pub mod dial;
pub mod error;
pub mod idle;
pub mod mix;
pub mod newest;
pub mod null;
pub mod phase;
pub mod pipe;
pub mod plan;
pub mod protocol;
pub mod report;
pub mod resp_codec;
pub mod run;
pub mod schedule;
pub mod stats;
pub mod system;
pub mod verdict;
pub mod versions;
pub mod worker;
pub mod ycsb;

pub use choice::{Distribution, DistributionError, HotKeys};
pub use dial::LoadTarget;
pub use error::LoadgenError;
pub use mix::Mix;
pub use null::NullServer;
pub use plan::{LoadPace, LoadPlan, Spacing};
pub use protocol::LoadProtocol;
pub use report::table;
pub use run::{Findings, run};
pub use ycsb::Workload;
