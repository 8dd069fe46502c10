//! Clocks of the day that jump.

use fawn_check::random::Random;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::faults::action_text::MOST_JUMP_S;
use crate::cluster::script::plan::Plan;

/// The clock of a node, or of all, shows another time: any at all, or one not far off. It is for so short that nobody follows it,
/// or for longer; and the node may start meanwhile.
pub fn clock_jump(random: &mut Random, plan: &Plan, node: usize) -> Vec<(u64, FaultAction)> {
    let most = [60, 86_400, 31_536_000, 4_000_000_000, MOST_JUMP_S][random.below(5) as usize];
    let seconds = random.within(6, most).cast_signed();
    let off_s = if random.chance(1, 2) { -seconds } else { seconds };
    let is_long = random.chance(1, 2);
    let for_us = if is_long { random.within(1_000_000, 5_000_000) } else { random.within(10_000, 900_000) };
    let all = if random.chance(1, 3) { 0..(plan.nodes + plan.late) as usize } else { node..node + 1 };
    let mut actions: Vec<_> = all.map(|node| (0, FaultAction::ClockJump { node, off_s, for_us })).collect();
    if random.chance(1, 3) {
        // Whoever leads its chains next may go by another time.
        let crash = FaultAction::Crash { node, for_us: random.within(1000, 300_000), dice: random.word() };
        actions.push((random.below(for_us + 2_000_000), crash));
    }
    actions
}
