//! Every decoder on damaged inputs. The fuzzer is `fawn_sim::fuzz`.

use crate::command::FuzzArguments;
use crate::ended::TaskEnd;

/// Becomes a program that runs what the arguments say: its allocator counts, and no other task's has to. It is built
/// without `--release`, since overflows of arithmetic are failures, too.
///
/// # Errors
/// The arguments are wrong, or the program cannot be started.
pub fn run_task(arguments: &FuzzArguments) -> anyhow::Result<()> {
    let FuzzArguments { executions, target, seed, from, input } = arguments;
    let from_or_first = from.unwrap_or(0);
    if executions.is_some_and(|executions| from_or_first.checked_add(executions).is_none()) {
        let sentence = format!("--from leaves fewer than --executions up to {}: give a smaller one", u64::MAX);
        return Err(TaskEnd::Usage(sentence).into());
    }
    let numbers = [("--executions", executions), ("--seed", seed), ("--from", from)];
    let numbers = numbers.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?.to_string())));
    let texts = [("--target", target), ("--input", input)];
    let texts = texts.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    let passed = numbers.chain(texts).flat_map(|(name, value)| [name.to_owned(), value]);
    crate::process::become_cargo_run(&["--package", "fawn-sim", "--example", "fuzz"], passed)
}
