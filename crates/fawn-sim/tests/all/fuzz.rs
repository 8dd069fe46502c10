//! Every decoder on some damaged inputs; `cargo xtask fuzz` runs more of them.

use fawn_sim::fuzz::{TARGETS, run};

/// Executions of all targets together.
const EXECUTIONS: u64 = 400_000;

#[test]
fn no_decoder_panics_or_takes_more_memory_than_its_input_justifies() {
    let measure = |work: &mut dyn FnMut()| allocation_counter::measure(work).bytes_max;
    for target in TARGETS {
        let numbers = 0..(EXECUTIONS / TARGETS.len() as u64).div_ceil(target.cost());
        run(*target, 1, numbers, &measure, &mut |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
