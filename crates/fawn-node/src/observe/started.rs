//! What the log says once a process has its stores: in one line, what it runs with and why.

use crate::options::{ClientAddress, ServeOptions};
use std::path::Path;

/// What a process runs.
pub struct StartReport<'a> {
    /// What it is: `server`, `node n1`.
    pub what: String,
    /// The options of each member; of a server, its own.
    pub members: Vec<&'a ServeOptions>,
    /// It keeps data, so that its directories and memory count.
    pub has_stores: bool,
    /// When it answers a write.
    pub ack: String,
    /// How it reads from flash.
    pub read_path: &'a str,
    /// Event loops.
    pub loops: usize,
    /// Where clients reach it.
    pub addresses: &'a [ClientAddress],
    /// Where other processes of its cluster reach it.
    pub cluster_addresses: &'a [String],
}

impl StartReport<'_> {
    /// Says it.
    pub fn log(&self) {
        let Self { what, members, has_stores, ack, read_path, loops, addresses, cluster_addresses } = self;
        let [first, ..] = &members[..] else { return };
        // What the flags say does not count for stores that are there.
        let asked: usize = members.iter().map(|options| options.threads.get()).sum();
        let addresses: Vec<&str> = addresses.iter().map(|at| &at.address[..]).collect();
        let threads_from = if *loops == asked { &first.chosen.threads[..] } else { "the directory's stores" };
        let dirs: Vec<String> = members.iter().map(|options| options.dir.display().to_string()).collect();
        let (dir, file_system, memory_bytes, memory_from) = if *has_stores {
            let memory_bytes = members.iter().map(|options| options.memory_bytes).sum();
            (dirs.join(","), file_system(&first.dir), memory_bytes, &first.chosen.memory[..])
        } else {
            ("none".to_owned(), "none".to_owned(), 0u64, "it keeps no data")
        };
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            dir,
            file_system,
            memory_bytes,
            memory_from,
            threads = loops,
            threads_from,
            connections = first.limits.connections,
            ack,
            read_path,
            addresses = addresses.join(","),
            cluster_addresses = cluster_addresses.join(","),
            "{what} has started"
        );
    }
}

fn file_system(dir: &Path) -> String {
    fawn_flash::file_system(dir).unwrap_or_else(|| "unknown".to_owned())
}
