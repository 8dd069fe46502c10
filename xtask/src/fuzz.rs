//! Every decoder on damaged inputs: `cargo xtask fuzz --executions N [--target NAME] [--seed S] [--from N]`, or
//! `--target NAME --input HEX` for one input. The fuzzer is `fawn_sim::fuzz`.

/// Runs what the arguments say, in a program of its own: its allocator counts, and no other task's has to. It is built
/// without `--release`, since overflows of arithmetic are failures, too.
pub fn run_task() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(2).collect();
    let mut run = vec!["run", "--quiet", "--package", "fawn-sim", "--example", "fuzz", "--"];
    run.extend(arguments.iter().map(String::as_str));
    crate::process::cargo(&run, &[])
}
