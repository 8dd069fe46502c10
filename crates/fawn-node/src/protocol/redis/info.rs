//! `INFO`: a server's figures under the names that tools for Redis read.
//!
//! A figure that the server does not have is left out. The exceptions are those that tools take for an error if they are
//! missing, such as `loading`.

use super::greeting::VERSION;
use crate::observe::stats::ServerFigures;
use crate::observe::usage;
use fawn_resp::reply::{self, RespVersion};
use std::fmt::Write as _;

/// The sections, in their order.
const SECTIONS: [&str; 10] =
    ["server", "clients", "memory", "persistence", "stats", "replication", "cpu", "errorstats", "cluster", "keyspace"];

/// What a command for all sections may say in their place.
const ALL: [&str; 3] = ["all", "everything", "default"];

/// Which sections a client asks for: a bit for each, the lowest for the first.
pub fn sections<'a>(names: impl Iterator<Item = &'a [u8]>) -> u32 {
    let (mut bits, mut are_named) = (0, false);
    for name in names {
        are_named = true;
        let is = |section: &&str| section.as_bytes().eq_ignore_ascii_case(name);
        if ALL.iter().any(&is) {
            bits = u32::MAX;
        } else if let Some(place) = SECTIONS.iter().position(is) {
            bits |= 1 << place;
        }
    }
    if are_named { bits } else { u32::MAX }
}

/// Appends the reply for these sections.
pub fn write(out: &mut Vec<u8>, figures: &ServerFigures<'_>, sections: u32, version: RespVersion) {
    let mut text = String::new();
    for (place, section) in SECTIONS.iter().enumerate().filter(|(place, _)| sections & 1 << place != 0) {
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        let title = if *section == "cpu" { "CPU".to_owned() } else { capitalized(section) };
        let _ = write!(text, "# {title}\r\n");
        let mut field = |name: &str, value: &dyn std::fmt::Display| {
            let _ = write!(text, "{name}:{value}\r\n");
        };
        match place {
            0 => server(figures, &mut field),
            1 => clients(figures, &mut field),
            2 => memory(figures, &mut field),
            3 => field("loading", &0),
            4 => stats(figures, &mut field),
            5 => replication(&mut field),
            6 => cpu(&mut field),
            8 => field("cluster_enabled", &0),
            9 => keyspace(figures, &mut field),
            _ => {}
        }
    }
    reply::text(out, &text, version);
}

fn capitalized(section: &str) -> String {
    let (first, rest) = section.split_at(1);
    first.to_uppercase() + rest
}

/// Writes a field.
type Field<'f> = &'f mut dyn FnMut(&str, &dyn std::fmt::Display);

fn server(figures: &ServerFigures<'_>, field: Field<'_>) {
    let uptime = figures.shared.started.elapsed().as_secs();
    field("redis_version", &VERSION);
    field("fawn_version", &env!("CARGO_PKG_VERSION"));
    field("redis_mode", &"standalone");
    field("os", &format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    field("arch_bits", &usize::BITS);
    field("process_id", &std::process::id());
    let port = figures.shared.options.redis.first().and_then(|address| address.rsplit(':').next()).unwrap_or("0");
    field("tcp_port", &port);
    field("uptime_in_seconds", &uptime);
    field("uptime_in_days", &(uptime / 86_400));
}

fn clients(figures: &ServerFigures<'_>, field: Field<'_>) {
    field("connected_clients", &figures.shared.totals().curr_connections);
    field("maxclients", &figures.shared.limits.connections);
    field("blocked_clients", &0);
}

fn memory(figures: &ServerFigures<'_>, field: Field<'_>) {
    let parts = ["fawn_index_bytes", "fawn_buffer_bytes", "fawn_cache_bytes"];
    let used: u64 = parts.iter().map(|part| figures.stores.number(part)).sum();
    field("used_memory", &used);
    field("maxmemory", &figures.shared.options.memory_bytes);
    field("maxmemory_policy", &"noeviction");
    field("used_disk_bytes", &figures.stores.bytes());
}

fn stats(figures: &ServerFigures<'_>, field: Field<'_>) {
    let totals = figures.shared.totals();
    let operations = figures.shared.counters.iter().map(|counters| counters.operations()).fold(0, u64::wrapping_add);
    field("total_connections_received", &totals.total_connections);
    field("rejected_connections", &totals.rejected_connections);
    field("total_commands_processed", &operations);
    field("total_net_input_bytes", &totals.bytes_read);
    field("total_net_output_bytes", &totals.bytes_written);
    field("keyspace_hits", &totals.get_hits);
    field("keyspace_misses", &totals.get_misses);
    field("evicted_keys", &0);
}

fn replication(field: Field<'_>) {
    field("role", &"master");
    field("connected_slaves", &0);
}

fn cpu(field: Field<'_>) {
    let used = usage::now();
    field("used_cpu_sys", &used.system);
    field("used_cpu_user", &used.user);
}

/// Redis leaves a database out that has no keys.
fn keyspace(figures: &ServerFigures<'_>, field: Field<'_>) {
    let keys = figures.stores.items();
    if keys > 0 {
        // Nobody counts the keys that have an expiry.
        field("db0", &format_args!("keys={keys},expires=0,avg_ttl=0"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_chosen_by_name_and_all_if_none_is_named() {
        let of = |names: &[&str]| sections(names.iter().map(|name| name.as_bytes()));
        assert_eq!(of(&[]), u32::MAX);
        assert_eq!(of(&["SERVER", "keyspace"]), 1 | 1 << 9);
        assert_eq!(of(&["nonesuch"]), 0);
        assert_eq!(of(&["cpu", "everything"]), u32::MAX);
    }
}
