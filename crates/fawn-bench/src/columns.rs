//! The columns of each experiment's table.

use fawn_report::Form::{MiB, Number, Percent, Text};
use fawn_report::{BenchReport, Column, TextTable, column};

/// The table of a report.
pub fn table(report: &BenchReport) -> TextTable {
    report.table(columns(&report.experiment).iter().chain(fawn_meter::report::COLUMNS))
}

fn columns(experiment: &str) -> &'static [Column] {
    match experiment {
        "load" => LOAD,
        "get" => GET,
        "hit" => HIT,
        "overwrite" => OVERWRITE,
        "mixed" => MIXED,
        "absent" => ABSENT,
        "pace" => PACE,
        "restart" => RESTART,
        "split" => SPLIT,
        "table" => TABLE,
        _ => &[],
    }
}

const LOAD: &[Column] = &[
    column("engine", "engine", Text),
    column("ack", "ack", Text),
    column("puts", "puts", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("user_mb_a_second", "user MB/s", Number(1)),
    column("settled_mb_a_second", "with settling", Number(1)),
    column("cpu_us_a_put", "CPU-us a put", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("written_over_user", "written / user (system)", Number(3)),
    column("store_written_over_user", "(store)", Number(3)),
    column("settle_seconds", "s until idle", Number(2)),
    column("settle_cpu_seconds", "CPU-s until idle", Number(2)),
    column("most_space_over_live", "most space / live", Number(2)),
    column("most_rss_bytes", "most resident", MiB),
];

const GET: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("depth", "depth", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("from_dram", "from DRAM", Percent),
    column("reads_a_second", "flash reads/s", Number(0)),
    column("device_reads_a_second", "device reads/s", Number(0)),
    column("ratio", "ratio", Number(3)),
    column("cpu_us_a_get", "CPU-us a get", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("device_cpu_us_a_read", "device's CPU-us", Number(2)),
    column("reads_a_get", "reads a get", Number(4)),
    column("pages_a_get", "pages a get", Number(4)),
    column("system_pages_a_get", "(system)", Number(4)),
    column("device_pages_a_get", "device pages a get", Number(4)),
    column("p50_us", "p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("most_rss_bytes", "most resident", MiB),
];

const HIT: &[Column] = &[
    column("keys", "hot keys", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("cpu_us_a_get", "CPU-us a hit", Number(3)),
    column("generator_cpu_us", "of these ours", Number(3)),
    column("from_dram", "from DRAM", Percent),
];

const OVERWRITE: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("pass", "pass", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("user_mb_a_second", "user MB/s", Number(1)),
    column("cpu_us_a_put", "CPU-us a put", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("write_amplification", "written / user (system)", Number(2)),
    column("store_write_amplification", "(store)", Number(2)),
    column("expected_write_amplification", "expected", Number(2)),
    column("phi", "phi", Number(3)),
    column("index_bytes_an_entry", "index B an entry", Number(2)),
    column("seals", "seals", Number(0)),
    column("merges", "merges", Number(0)),
    column("most_space_over_live", "most space / live", Number(2)),
    column("settle_seconds", "s until idle", Number(2)),
    column("most_rss_bytes", "most resident", MiB),
];

const MIXED: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("depth", "depth", Number(0)),
    column("operations_a_second", "operations/s", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("cpu_us_an_operation", "CPU-us each", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("reads_a_get", "reads a get", Number(4)),
    column("write_amplification", "written / user", Number(2)),
    column("seals", "seals", Number(0)),
    column("merges", "merges", Number(0)),
    column("device_pages_a_get", "device pages a get", Number(4)),
    column("p50_us", "get p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("longest_put_us", "longest put us", Number(0)),
    column("most_rss_bytes", "most resident", MiB),
];

const ABSENT: &[Column] = &[
    column("engine", "engine", Text),
    column("versions", "times written before", Number(2)),
    column("depth", "depth", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("cpu_us_a_get", "CPU-us a get", Number(2)),
    column("generator_cpu_us", "of these ours", Number(2)),
    column("reads_a_get", "reads a get", Number(5)),
    column("filter_bits_a_record", "filter bits a record", Number(2)),
    column("filter_false_positives", "false positives", Percent),
    column("device_pages_a_get", "device pages a get", Number(4)),
    column("p50_us", "p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("most_rss_bytes", "most resident", MiB),
];

const PACE: &[Column] = &[
    column("share", "load", Percent),
    column("what", "maintenance", Text),
    column("gets_asked_a_second", "gets/s asked", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("p50_us", "p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("p999_over_idle", "p99.9 / idle", Number(2)),
    column("longest_us", "longest us", Number(0)),
    column("longest_step_us", "longest step us", Number(0)),
    column("longest_step_cpu_us", "(CPU)", Number(0)),
    column("seals", "seals", Number(0)),
    column("merges", "merges", Number(0)),
    column("cpu_share", "CPUs", Number(2)),
];

const SPLIT: &[Column] = &[
    column("what", "what", Text),
    column("rounds", "rounds", Number(0)),
    column("ms_to_done", "ms until done", Number(2)),
    column("maintenance_cpu_ms", "maintenance CPU-ms", Number(2)),
    column("cpu_ms", "CPU-ms", Number(2)),
    column("written_bytes", "bytes written", Number(0)),
    column("read_bytes", "bytes read", Number(0)),
    column("longest_step_us", "longest step us", Number(0)),
    column("longest_step_cpu_us", "(CPU)", Number(0)),
    column("gets_a_second", "gets/s", Number(0)),
    column("puts_a_second", "puts/s", Number(0)),
    column("p50_us", "get p50 us", Number(0)),
    column("p99_us", "p99 us", Number(0)),
    column("p999_us", "p99.9 us", Number(0)),
    column("p999_over_before", "p99.9 / before", Number(2)),
    column("longest_us", "longest get us", Number(0)),
    column("longest_put_us", "longest put us", Number(0)),
    column("seals", "seals", Number(0)),
    column("merges", "compactions", Number(0)),
];

const RESTART: &[Column] = &[
    column("user_bytes", "user data", MiB),
    column("entries", "entries", Number(0)),
    column("replayed", "replayed", Number(0)),
    column("open_seconds", "s to open", Number(3)),
    column("first_read_seconds", "s to first get", Number(3)),
    column("loaded_seconds", "s to full speed", Number(3)),
    column("loaded_cpu_seconds", "CPU-s", Number(2)),
    column("verified", "verified", Number(0)),
];

const TABLE: &[Column] = &[
    column("value_bytes", "value B", Number(0)),
    column("memory", "memory", MiB),
    column("entries", "entries", Number(0)),
    column("experiment", "experiment", Text),
    column("a_second", "/s", Number(0)),
    column("cpu_us", "CPU-us", Number(2)),
    column("reads_a_get", "reads a get", Number(4)),
    column("write_amplification", "written / user", Number(2)),
    column("index_bytes_an_entry", "index B an entry", Number(2)),
    column("p99_us", "p99 us", Number(0)),
    column("what", "", Text),
];
