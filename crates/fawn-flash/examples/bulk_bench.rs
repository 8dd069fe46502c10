//! Bulk loads into a new directory, without input and parsing: `cargo run --release -p fawn-flash --example bulk_bench -- DIR
//! MEMORY_MIB RECORDS VALUE_BYTES`. Prints a line for each phase.

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use fawn_flash::{BulkLoad, BulkOptions};
use fawn_store::Write;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, memory, records, value_bytes] = &arguments[..] else {
        eprintln!("give DIR MEMORY_MIB RECORDS VALUE_BYTES");
        std::process::exit(2);
    };
    let number = |text: &str| text.parse::<u64>().expect("a number");
    let (memory, records, value_bytes) = (number(memory) << 20, number(records), number(value_bytes));
    let stores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut load = BulkLoad::open(Path::new(directory), BulkOptions { memory, stores }).expect("a new directory");
    let mut value = vec![0; value_bytes as usize];
    let began = Instant::now();
    let mut random = 1u64;
    for record in 0..records {
        for word in value.chunks_mut(8) {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            word.copy_from_slice(&random.to_le_bytes()[..word.len()]);
        }
        load.push(&Write::value(format!("key{record:013}").as_bytes(), &value)).expect("space");
    }
    let pushed = began.elapsed();
    let built = load.finish(&AtomicU64::new(0)).expect("space");
    let all = began.elapsed();
    let user = (records * (16 + value_bytes)) as f64;
    let device = written_bytes() as f64;
    println!(
        "pushed in {:.2} s, all in {:.2} s: {:.0} MB/s of keys and values; {:.0} MB/s written, {:.2} bytes a byte; \
         {} segments; {:.2} CPU-us a record",
        pushed.as_secs_f64(),
        all.as_secs_f64(),
        user / all.as_secs_f64() / 1e6,
        device / all.as_secs_f64() / 1e6,
        device / user,
        built.segments,
        cpu_us() / records as f64,
    );
}

/// What this process had the device write.
fn written_bytes() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or(0)
}

/// CPU time of all threads so far.
fn cpu_us() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) * 10_000.0
}
