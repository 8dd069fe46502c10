//! Tests of the `fawn` command as a user runs it, against real servers.
//!
//! The servers are memcached, from the system's packages, and `fawn serve`. Where memcached is not installed, its tests
//! say so and pass; `.ci/run` installs it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod archives;
mod arguments;
mod bench;
mod bench_net;
mod bench_paper;
mod bench_ycsb;
mod bulk;
mod certs;
mod clocks;
mod cluster;
mod config;
mod copy;
mod damage;
mod disks;
mod dump;
mod energy;
mod fake;
mod gordon_cluster;
mod gordon_cost;
mod gordon_flash;
mod gordon_record;
mod gordon_replay;
mod gordon_store;
mod gordon_survey;
mod http;
mod joule_all;
mod joule_compute;
mod joule_kv;
mod joule_phrases;
mod joule_sort;
mod keys;
mod leader_link;
mod links;
mod load;
mod machines;
mod manager;
mod manager_files;
mod observe;
mod packages;
mod pipes;
mod plan;
mod readme;
mod redis;
mod redis_load;
mod resources;
mod saved;
mod secure;
mod server;
mod shell;
mod slow;
mod status;
mod tools;
mod weak;
mod whole;
