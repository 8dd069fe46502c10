//! A cluster's processes on hosts of their own, everything that can go wrong with them, and whether clients noticed more
//! than that it took longer.
//!
//! A trial starts `fawn manager`, `fawn node` and `fawn frontend`, each in a network namespace, sets memcached clients on
//! the front-ends, breaks processes, links and disks by a plan that is drawn from a seed, and checks what clients saw, key
//! by key, for linearizability. At the end every range must be level and every key readable everywhere.
//!
//! # Layout
//!
//! * [`trial`]: a trial from beginning to end. [`report`]: what came of it. [`arguments`]: the command line.
//! * [`plan`]: which faults come when. [`fault`]: their kinds. [`breakage`]: faults at work.
//! * [`cluster`], [`process`]: the processes. [`net`]: hosts and the network between them. [`disk`]: small disks.
//!   [`enclosure`]: namespaces around everything.
//! * [`load`]: clients, and what is wrong with what they are told. [`outage`]: for how long keys were out of reach.
//! * [`timeline`]: where the time goes after a kill. [`logs`]: what processes complain of.
//! * [`status`], [`verify`]: the end. [`severed`]: whether all is served around a broken link. [`monitor`]: memory, threads and
//!   descriptors meanwhile.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod arguments;
pub mod breakage;
pub mod cluster;
pub mod disk;
pub mod enclosure;
pub mod fault;
pub mod load;
pub mod logs;
pub mod monitor;
pub mod net;
pub mod outage;
pub mod plan;
pub mod process;
pub mod report;
pub mod severed;
pub mod status;
pub mod timeline;
pub mod trial;
pub mod verify;
