//! What `stats` says.

use crate::observe::warnings::{Fullness, used_percent};
use crate::request::{ReplyWriter, ServerFigures, StatsReport};
use crate::runtime::clock::Now;
use crate::runtime::shared::SharedState;
use crate::shard::stores::LoopStats;
use fawn_store::{Ack, WrittenBytes};
use std::collections::BTreeMap;

/// Figures of the items for which a cluster's process answers gets, where they are counted.
pub const TAIL_ITEMS: &str = "fawn_tail_items";

/// See [`TAIL_ITEMS`].
pub const TAIL_BYTES: &str = "fawn_tail_bytes";

/// The reports, by the tag that their gathered answer has.
const REPORTS: [StatsReport; 6] = [
    StatsReport::General,
    StatsReport::Settings,
    StatsReport::Items,
    StatsReport::Slabs,
    StatsReport::Sizes,
    StatsReport::Connections,
];

/// A loop's figures as bytes, for another loop: `n name value` and `t name text` lines.
pub fn encode(figures: &LoopStats) -> Vec<u8> {
    let numbers = figures.numbers.iter().map(|(name, number)| format!("n {name} {number}\n"));
    let texts = figures.texts.iter().map(|(name, text)| format!("t {name} {}\n", text.replace('\n', " ")));
    numbers.chain(texts).collect::<String>().into_bytes()
}

/// The figures of all loops together, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedStats {
    numbers: BTreeMap<String, u64>,
    texts: BTreeMap<String, String>,
}

impl MergedStats {
    fn number(&self, name: &str) -> u64 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    /// Items: of a cluster those whose ranges have their tail in this process, so that each is counted by one.
    fn items(&self) -> u64 {
        self.numbers.get(TAIL_ITEMS).copied().unwrap_or_else(|| self.number("fawn_entries"))
    }

    /// Their bytes.
    fn bytes(&self) -> u64 {
        self.numbers.get(TAIL_BYTES).copied().unwrap_or_else(|| self.number("fawn_live_bytes"))
    }
}

/// The figures of a server, for whoever writes a report of them.
pub fn figures(stores: &MergedStats, shared: &SharedState) -> ServerFigures {
    let totals = shared.totals();
    let memory = ["fawn_index_bytes", "fawn_buffer_bytes", "fawn_cache_bytes"];
    ServerFigures {
        uptime_s: shared.started.elapsed().as_secs(),
        redis_port: tcp_port(&shared.options.redis),
        keys: stores.items(),
        live_bytes: stores.bytes(),
        memory_bytes: memory.iter().map(|part| stores.number(part)).sum(),
        memory_limit: shared.options.memory_bytes,
        connections: totals.curr_connections,
        connection_limit: shared.limits.connections as u64,
        total_connections: totals.total_connections,
        rejected_connections: totals.rejected_connections,
        operations: shared.counters.iter().map(|counters| counters.operations()).fold(0, u64::wrapping_add),
        bytes_read: totals.bytes_read,
        bytes_written: totals.bytes_written,
        hits: totals.get_hits,
        misses: totals.get_misses,
    }
}

/// Puts the figures of several loops together.
pub fn merge(parts: &[Vec<u8>]) -> MergedStats {
    let mut merged = MergedStats::default();
    for line in parts.iter().flat_map(|part| part.split(|byte| *byte == b'\n')) {
        let line = String::from_utf8_lossy(line);
        let mut words = line.splitn(3, ' ');
        let (Some(kind), Some(name), Some(value)) = (words.next(), words.next(), words.next()) else { continue };
        if kind == "t" {
            merged.texts.entry(name.into()).or_insert_with(|| value.into());
            continue;
        }
        let (value, held) = (value.parse().unwrap_or(0), merged.numbers.entry(name.into()).or_insert(0));
        *held = if name.ends_with("_max") || name.ends_with("_us") { value.max(*held) } else { *held + value };
    }
    merged
}

/// The whole answer of report number `tag`, in `lines` of a protocol.
pub fn text(tag: u8, figures: &MergedStats, shared: &SharedState, now: Now, lines: &dyn ReplyWriter) -> Vec<u8> {
    let mut out = Vec::new();
    match REPORTS[usize::from(tag)] {
        StatsReport::General => general(lines, &mut out, figures, shared, now),
        StatsReport::Settings => settings(lines, &mut out, shared),
        StatsReport::Items => items(lines, &mut out, figures),
        StatsReport::Slabs => slabs(lines, &mut out, figures, shared),
        StatsReport::Sizes => lines.write_stat(&mut out, "sizes_status", "disabled"),
        StatsReport::Connections => {}
    }
    out.extend_from_slice(lines.stats_end());
    out
}

/// What cannot happen here, and monitoring asks for.
const NEVER: &[&str] = &[
    "conn_yields",
    "evictions",
    "evicted_unfetched",
    "evicted_active",
    "expired_unfetched",
    "reclaimed",
    "crawler_reclaimed",
    "lrutail_reflocked",
    "malloc_fails",
    "read_buf_oom",
    "response_obj_oom",
];

fn general(lines: &dyn ReplyWriter, out: &mut Vec<u8>, figures: &MergedStats, shared: &SharedState, now: Now) {
    let totals = shared.totals();
    let usage = crate::observe::usage::now();
    lines.write_stat_number(out, "pid", u64::from(std::process::id()));
    lines.write_stat_number(out, "uptime", shared.started.elapsed().as_secs());
    lines.write_stat_number(out, "time", u64::from(now.unix));
    lines.write_stat(out, "version", lines.version());
    lines.write_stat(out, "fawn_version", env!("CARGO_PKG_VERSION"));
    lines.write_stat(out, "pointer_size", &usize::BITS.to_string());
    lines.write_stat(out, "rusage_user", &usage.user);
    lines.write_stat(out, "rusage_system", &usage.system);
    let limits = &shared.limits;
    for (name, number) in [
        ("max_connections", limits.connections as u64),
        ("curr_connections", totals.curr_connections),
        ("total_connections", totals.total_connections),
        ("rejected_connections", totals.rejected_connections),
        ("connection_structures", totals.curr_connections),
        ("cmd_get", totals.cmd_get),
        ("cmd_set", totals.cmd_set),
        ("cmd_flush", totals.cmd_flush),
        ("cmd_touch", totals.cmd_touch),
        ("get_hits", totals.get_hits),
        ("get_misses", totals.get_misses),
        // A store knows that a key is absent, not why: all are misses. Monitoring asks for the names.
        ("get_expired", 0),
        ("get_flushed", 0),
        ("delete_misses", totals.delete_misses),
        ("delete_hits", totals.delete_hits),
        ("incr_misses", totals.incr_misses),
        ("incr_hits", totals.incr_hits),
        ("decr_misses", totals.decr_misses),
        ("decr_hits", totals.decr_hits),
        ("cas_misses", totals.cas_misses),
        ("cas_hits", totals.cas_hits),
        ("cas_badval", totals.cas_badval),
        ("touch_hits", totals.touch_hits),
        ("touch_misses", totals.touch_misses),
        ("store_too_large", totals.store_too_large),
        ("store_no_memory", totals.store_no_memory),
        ("auth_cmds", totals.auth_cmds),
        ("auth_errors", totals.auth_errors),
        ("idle_kicks", totals.idle_kicks),
        ("bytes_read", totals.bytes_read),
        ("bytes_written", totals.bytes_written),
        ("limit_maxbytes", shared.options.memory_bytes),
        ("accepting_conns", u64::from(totals.curr_connections < limits.connections as u64)),
        ("listen_disabled_num", totals.accept_pauses),
        ("time_in_listen_disabled_us", totals.accept_paused_us),
        ("threads", shared.counters.len() as u64),
        ("hash_bytes", figures.number("fawn_index_bytes")),
        ("bytes", figures.bytes()),
        ("curr_items", figures.items()),
        ("total_items", totals.total_items),
    ] {
        lines.write_stat_number(out, name, number);
    }
    for name in NEVER {
        lines.write_stat_number(out, name, 0);
    }
    own(lines, out, figures, shared);
}

/// The figures that only this server has.
fn own(lines: &dyn ReplyWriter, out: &mut Vec<u8>, figures: &MergedStats, shared: &SharedState) {
    let totals = shared.totals();
    for (name, text) in &shared.facts {
        lines.write_stat(out, name, text);
    }
    for (name, text) in &figures.texts {
        lines.write_stat(out, name, text);
    }
    let counted = if figures.numbers.contains_key(TAIL_ITEMS) { "tails of this process" } else { "all" };
    lines.write_stat(out, "fawn_curr_items_of", counted);
    for (name, number) in [
        ("fawn_stall_kicks", totals.stall_kicks),
        ("fawn_store_no_space", totals.store_no_space),
        ("fawn_buffered_bytes", totals.buffered_bytes),
        ("fawn_waiting", totals.waiting),
        ("fawn_paused", totals.paused),
        ("fawn_parked", totals.parked),
        ("fawn_flash_reads", totals.flash_reads),
        ("fawn_flash_read_errors", totals.flash_read_errors),
        ("fawn_remote_requests", totals.remote_requests),
        ("fawn_wake_ups", totals.wake_ups),
        ("fawn_turns", totals.turns),
        ("fawn_turns_over_1ms", totals.turns_over_1ms),
        ("fawn_turns_over_10ms", totals.turns_over_10ms),
        ("fawn_longest_turn_us", totals.longest_turn_us),
        ("fawn_tls_handshakes", totals.tls_handshakes),
        ("fawn_tls_errors", totals.tls_errors),
    ] {
        lines.write_stat_number(out, name, number);
    }
    for (name, number) in &figures.numbers {
        lines.write_stat_number(out, name, *number);
    }
    let (device, free) = (figures.number("fawn_device_bytes_max"), figures.number("fawn_device_free_bytes_max"));
    lines.write_stat_number(out, "fawn_device_used_percent", used_percent(device, free));
    lines.write_stat(out, "fawn_space_warning", Fullness::of(device, free).text());
    let sealed = figures.number("fawn_sealed_entries").max(1);
    let per_entry = figures.number("fawn_index_bytes") as f64 / sealed as f64;
    lines.write_stat(out, "fawn_index_bytes_per_entry", &format!("{per_entry:.3}"));
    let ratio = |part: &str, whole: u64, none: f64| {
        if whole == 0 { none } else { figures.number(part) as f64 / whole as f64 }
    };
    let mode = match figures.number("fawn_stores_drained") {
        0 => "indexed",
        some if some == figures.number("fawn_stores") => "drained",
        _ => "mixed",
    };
    lines.write_stat(out, "fawn_index_mode", mode);
    let indexed = ratio("fawn_index_slots", figures.number("fawn_sealed_records"), 1.0);
    lines.write_stat(out, "fawn_indexed_ratio", &format!("{indexed:.4}"));
    let hits = figures.number("fawn_read_hits");
    lines.write_stat(out, "fawn_reads_per_hit", &format!("{:.4}", ratio("fawn_hit_reads", hits, 0.0)));
    let cached = figures.number("fawn_cache_hits") + figures.number("fawn_cache_misses");
    lines.write_stat(out, "fawn_cache_hit_ratio", &format!("{:.4}", ratio("fawn_cache_hits", cached, 0.0)));
    let written = |before: &str| WrittenBytes {
        user: figures.number(&format!("fawn_written_{before}user_bytes")),
        log: figures.number(&format!("fawn_written_{before}log_bytes")),
        sealed: figures.number(&format!("fawn_written_{before}sealed_bytes")),
        merged: figures.number(&format!("fawn_written_{before}merged_bytes")),
    };
    let (all, before) = (written(""), written("before_"));
    lines.write_stat(out, "fawn_write_amplification", &format!("{:.3}", all.amplification()));
    let since = all.since(&before).amplification();
    lines.write_stat(out, "fawn_write_amplification_since_start", &format!("{since:.3}"));
}

/// When writes are acknowledged, as the flag takes it.
pub fn ack_word(ack: Ack) -> String {
    match ack {
        Ack::Durable => "durable".to_owned(),
        Ack::Interval { ms } => format!("interval:{ms}"),
        Ack::Memory => "memory".to_owned(),
    }
}

/// A setting as one word: the Prometheus exporter for memcached takes a line of more words for an error, and the server for down.
fn setting(lines: &dyn ReplyWriter, out: &mut Vec<u8>, name: &str, value: &str) {
    let word: String =
        value.chars().map(|c| if c.is_whitespace() { "%20".to_owned() } else { c.to_string() }).collect();
    lines.write_stat(out, name, &word);
}

fn settings(lines: &dyn ReplyWriter, out: &mut Vec<u8>, shared: &SharedState) {
    let options = &shared.options;
    lines.write_stat_number(out, "maxbytes", options.memory_bytes);
    lines.write_stat_number(out, "maxconns", shared.limits.connections as u64);
    lines.write_stat_number(out, "tcpport", tcp_port(&options.listen));
    lines.write_stat_number(out, "udpport", 0);
    setting(lines, out, "inter", &options.listen.join(","));
    lines.write_stat(out, "verbosity", "0");
    lines.write_stat(out, "oldest", "0");
    lines.write_stat(out, "evictions", "off");
    let socket = options.unix.as_ref().map_or("NULL".into(), |unix| unix.path.display().to_string());
    setting(lines, out, "domain_socket", &socket);
    lines.write_stat(out, "umask", &options.unix.as_ref().map_or("700".into(), |unix| format!("{:o}", unix.mode)));
    lines.write_stat_number(out, "num_threads", shared.counters.len() as u64);
    lines.write_stat(out, "cas_enabled", "yes");
    lines.write_stat(out, "shutdown_command", "no");
    lines.write_stat(out, "auth_enabled_sasl", "no");
    lines.write_stat(out, "auth_enabled_ascii", if shared.users.is_some() { "yes" } else { "no" });
    lines.write_stat_number(out, "item_size_max", options.max_item_bytes as u64);
    lines.write_stat(out, "flush_enabled", if shared.flush_enabled { "yes" } else { "no" });
    lines.write_stat(out, "stat_key_prefix", ":");
    lines.write_stat(out, "detail_enabled", "no");
    lines.write_stat_number(out, "tcp_backlog", crate::options::BACKLOG as u64);
    lines.write_stat(out, "hash_algorithm", "blake3");
    lines.write_stat(out, "dump_enabled", "yes");
    lines.write_stat(out, "binding_protocol", "ascii");
    lines.write_stat_number(out, "idle_timeout", shared.limits.idle_timeout.map_or(0, |timeout| timeout.as_secs()));
    lines.write_stat(out, "ssl_enabled", if options.tls.is_some() { "yes" } else { "no" });
    setting(lines, out, "fawn_dir", &options.dir.display().to_string());
    lines.write_stat(out, "fawn_ack", &ack_word(options.ack));
}

/// The port of the first address; 0 when it is not told in digits.
fn tcp_port(listen: &[String]) -> u64 {
    listen.first().and_then(|address| address.rsplit(':').next()?.parse().ok()).unwrap_or(0)
}

/// Fields of a class of items that count what cannot happen here: nothing is evicted, and nothing lies in an LRU.
const NEVER_OF_ITEMS: &[&str] = &[
    "number_hot",
    "number_warm",
    "age_hot",
    "age_warm",
    "age",
    "evicted",
    "evicted_nonzero",
    "evicted_time",
    "outofmemory",
    "tailrepairs",
    "reclaimed",
    "expired_unfetched",
    "evicted_unfetched",
    "evicted_active",
    "crawler_reclaimed",
    "crawler_items_checked",
    "lrutail_reflocked",
    "moves_to_cold",
    "moves_to_warm",
    "moves_within_lru",
    "direct_reclaims",
    "hits_to_hot",
    "hits_to_warm",
    "hits_to_cold",
    "hits_to_temp",
];

/// All items as one class, with every field that memcached gives a class: monitoring takes one that lacks any for an error.
fn items(lines: &dyn ReplyWriter, out: &mut Vec<u8>, figures: &MergedStats) {
    let entries = figures.items();
    if entries == 0 {
        return;
    }
    for (name, number) in [("number", entries), ("number_cold", entries), ("mem_requested", figures.bytes())] {
        lines.write_stat_number(out, &format!("items:1:{name}"), number);
    }
    for name in NEVER_OF_ITEMS {
        lines.write_stat_number(out, &format!("items:1:{name}"), 0);
    }
}

/// Bytes of a page of memcached's.
const SLAB_PAGE_BYTES: u64 = 1 << 20;

/// All items as one class whose chunks are as large as the mean item; see [`items`].
fn slabs(lines: &dyn ReplyWriter, out: &mut Vec<u8>, figures: &MergedStats, shared: &SharedState) {
    let (totals, entries) = (shared.totals(), figures.items());
    if entries > 0 {
        let chunk = figures.bytes().div_ceil(entries).max(1);
        let per_page = (SLAB_PAGE_BYTES / chunk).max(1);
        for (name, number) in [
            ("chunk_size", chunk),
            ("chunks_per_page", per_page),
            ("total_pages", entries.div_ceil(per_page)),
            ("total_chunks", entries),
            ("used_chunks", entries),
            ("free_chunks", 0),
            ("free_chunks_end", 0),
            // Where older versions of memcached have it.
            ("mem_requested", figures.bytes()),
            ("get_hits", totals.get_hits),
            ("cmd_set", totals.cmd_set),
            ("delete_hits", totals.delete_hits),
            ("incr_hits", totals.incr_hits),
            ("decr_hits", totals.decr_hits),
            ("cas_hits", totals.cas_hits),
            ("cas_badval", totals.cas_badval),
            ("touch_hits", totals.touch_hits),
        ] {
            lines.write_stat_number(out, &format!("1:{name}"), number);
        }
    }
    lines.write_stat_number(out, "active_slabs", u64::from(entries > 0));
    lines.write_stat_number(
        out,
        "total_malloced",
        figures.number("fawn_buffer_bytes") + figures.number("fawn_cache_bytes"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_loops_add_up_and_worst_cases_do_not() {
        let figures = |entries, longest, path: &str| LoopStats {
            numbers: vec![("fawn_entries".into(), entries), ("fawn_swap_us".into(), longest)],
            texts: vec![("fawn_read_path".into(), path.into())],
        };
        let merged = merge(&[encode(&figures(3, 9, "io_uring")), encode(&figures(4, 7, "pread"))]);
        assert_eq!((merged.number("fawn_entries"), merged.number("fawn_swap_us")), (7, 9));
        assert_eq!(merged.texts["fawn_read_path"], "io_uring");
    }
}
