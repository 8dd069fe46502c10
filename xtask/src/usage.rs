//! What this process has taken of the machine so far.

use anyhow::Context as _;

/// Seconds of processor time.
pub fn cpu_s() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(')').context("the name of a process ends in a bracket")?;
    let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<u64>() as f64 / 100.0)
}

/// A line of `/proc/self/status`, in KiB.
pub fn memory(line: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let value = status.lines().find_map(|found| found.strip_prefix(line)).context("the kernel tells memory")?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}
