//! `INFO`: a server's figures under the names that tools for Redis read.
//!
//! A figure that the server does not have is left out. The exceptions are those that tools take for an error if they are
//! missing, such as `loading`.

use super::greeting::VERSION;
use crate::observe::usage;
use crate::request::ServerFigures;
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
pub fn write(out: &mut Vec<u8>, figures: &ServerFigures, sections: u32, version: RespVersion) {
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

fn server(figures: &ServerFigures, field: Field<'_>) {
    field("redis_version", &VERSION);
    field("fawn_version", &env!("CARGO_PKG_VERSION"));
    field("redis_mode", &"standalone");
    field("os", &format_args!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    field("arch_bits", &usize::BITS);
    field("process_id", &std::process::id());
    field("tcp_port", &figures.redis_port);
    field("uptime_in_seconds", &figures.uptime_s);
    field("uptime_in_days", &(figures.uptime_s / 86_400));
}

fn clients(figures: &ServerFigures, field: Field<'_>) {
    field("connected_clients", &figures.connections);
    field("maxclients", &figures.connection_limit);
    field("blocked_clients", &0);
}

fn memory(figures: &ServerFigures, field: Field<'_>) {
    field("used_memory", &figures.memory_bytes);
    field("maxmemory", &figures.memory_limit);
    field("maxmemory_policy", &"noeviction");
    field("used_disk_bytes", &figures.live_bytes);
}

fn stats(figures: &ServerFigures, field: Field<'_>) {
    field("total_connections_received", &figures.total_connections);
    field("rejected_connections", &figures.rejected_connections);
    field("total_commands_processed", &figures.operations);
    field("total_net_input_bytes", &figures.bytes_read);
    field("total_net_output_bytes", &figures.bytes_written);
    field("keyspace_hits", &figures.hits);
    field("keyspace_misses", &figures.misses);
    field("evicted_keys", &0);
}

fn replication(field: Field<'_>) {
    field("role", &"master");
    field("connected_slaves", &0);
    field("master_repl_offset", &0);
}

fn cpu(field: Field<'_>) {
    let used = usage::now();
    field("used_cpu_sys", &used.system);
    field("used_cpu_user", &used.user);
}

/// Redis leaves a database out that has no keys.
fn keyspace(figures: &ServerFigures, field: Field<'_>) {
    let keys = figures.keys;
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
