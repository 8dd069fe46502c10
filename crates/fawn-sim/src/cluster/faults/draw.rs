//! What goes wrong in a seed. Every fault has a number and choices of its own, so that any of them can be left out.

use fawn_check::random::Random;
use fawn_kv::ids::Ack;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::faults::clock_jump::clock_jump;
use crate::cluster::faults::misled::mislead;
use crate::cluster::faults::scenarios::Scenario;
use crate::cluster::faults::severed;
use crate::cluster::network::party::LinkSet;
use crate::cluster::network::party::Party;
use crate::cluster::script::plan::Plan;
use crate::cluster::time::WRONG_US;
use crate::cluster::trace::formatter::{MESSAGES, ORDERS};

/// How often what goes wrong, by kind as in [`super::action::KINDS`].
const WEIGHTS: [u64; 21] = [30, 4, 6, 12, 6, 14, 8, 12, 8, 4, 3, 3, 3, 16, 10, 10, 24, 6, 6, 4, 5];

/// What nodes say when they crash: most of it in the middle of a change.
const CRASHES_AT: [&str; 8] = ["copy-part", "copy-part", "copy", "fetched", "sealed", "level", "have", "reply"];

/// Before this nothing goes wrong.
const FIRST_US: u64 = 1_000_000;

/// The faults of a seed, with their times.
pub fn of(seed: u64, plan: &Plan) -> Vec<(u64, FaultAction)> {
    let scenario = Scenario::of(seed).actions(&mut Random::new(seed ^ 0x6163_7473), plan);
    if let Some(actions) = scenario.filter(|_| plan.faults) {
        return actions;
    }
    // What a cluster begins with is adopted in the first tenths of a second.
    let first_us = if plan.adopts > 0 { 1000 } else { FIRST_US };
    let (mut all, mut at_us, mut led) = (Vec::new(), first_us, true);
    let (weights, most_us) = mix(&mut Random::new(seed ^ 0x0066_6175_6c74), plan);
    for number in 1_u64.. {
        if !plan.faults || at_us >= plan.faults_us {
            break;
        }
        let mut random = Random::new(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut fault = draw(&mut random, &weights, plan);
        for (_, action) in &fault {
            match action {
                FaultAction::Lead { manager } => led = manager.is_some(),
                FaultAction::RestartManager { .. } => led = true,
                _ => {}
            }
        }
        if !led && random.chance(2, 3) {
            fault.push((0, FaultAction::Lead { manager: Some(random.below(plan.managers as u64) as usize) }));
            led = true;
        }
        all.extend(fault.into_iter().map(|(after_us, action)| (at_us + after_us, action)));
        let quick = random.chance(1, 3);
        at_us += random.within(1000, if quick { 50_000 } else { most_us });
    }
    all.sort_by_key(|(at_us, _)| *at_us);
    all
}

/// How often what goes wrong in a seed, and the longest time between two faults. In half of all seeds a few kinds of faults
/// have the cluster for themselves (swarm testing, Groce et al. 2012): what needs quiet before or after it is not drowned.
fn mix(random: &mut Random, plan: &Plan) -> ([u64; WEIGHTS.len()], u64) {
    let mut weights = WEIGHTS;
    if plan.rules.ack == Ack::Replicated {
        // Only then is anything lost that was acknowledged.
        weights[1] = 20;
    }
    if plan.fronts == 0 {
        // Without front-ends nothing can happen to them.
        weights[14..17].fill(0);
        weights[13] = 32;
    }
    let all = weights;
    if random.chance(1, 2) {
        for weight in &mut weights {
            *weight *= u64::from(random.chance(1, 4));
        }
    }
    if weights.iter().all(|weight| *weight == 0) {
        weights = all;
    }
    (weights, *random.pick(&[900_000, 900_000, 2_500_000]))
}

/// One fault: most are a single action, and each comes so long after the fault begins.
fn draw(random: &mut Random, weights: &[u64], plan: &Plan) -> Vec<(u64, FaultAction)> {
    let (kind, nodes) = (random.weighted(weights), u64::from(plan.nodes + plan.late));
    let node = random.below(nodes) as usize;
    let manager = random.below(plan.managers as u64) as usize;
    let action = match kind {
        0 | 2 => {
            let long = random.chance(1, 4);
            let (for_us, dice) = (random.within(1000, if long { 5_000_000 } else { 500_000 }), random.word());
            if kind == 0 && random.chance(1, 3) {
                FaultAction::CrashAt { node, kind: random.pick::<&str>(&CRASHES_AT), for_us, dice }
            } else if kind == 0 {
                FaultAction::Crash { node, for_us, dice }
            } else if random.chance(1, 4) {
                FaultAction::OtherDisk { node, for_us, dice }
            } else {
                FaultAction::LoseDisk { node, for_us, dice }
            }
        }
        1 => FaultAction::PowerFailure { dice: random.word() },
        3 => return at_once(change_of_leader(random, plan, node)),
        4 => FaultAction::RestartManager { manager },
        5 | 6 => cut(random, plan, kind == 6),
        7 => {
            let for_us = random.within(50_000, 4_000_000);
            if random.chance(1, 2) {
                FaultAction::Pause { node, for_us }
            } else {
                return at_once(vec![FaultAction::PauseAtRead { node, for_us }, mislead(random, plan, for_us)]);
            }
        }
        9 if random.chance(1, 2) => FaultAction::Clock { node, ahead_us: random.below(2 * WRONG_US) },
        9 => return clock_jump(random, plan, node),
        10 => FaultAction::Drain { node },
        11 => FaultAction::Stay { node },
        12 if random.chance(1, 2) => {
            let least = 1 + random.below(u64::from(plan.replicas.min(2))) as u8;
            // What is lost is not judged any more.
            let in_memory = random.chance(1, if plan.rules.ack == Ack::Replicated { 2 } else { 8 });
            FaultAction::Rules { least, spread: random.chance(1, 2), in_memory }
        }
        12 => FaultAction::Replicas { count: 1 + random.below(u64::from(plan.nodes).min(5)) as u32 },
        13 => return hold_back(random, plan, node),
        14..17 => front_fault(random, plan, kind - 14),
        17 => FaultAction::Full { node, for_us: random.within(50_000, 4_000_000) },
        18 => FaultAction::BadRead { node },
        19 => FaultAction::FailDisk { node, for_us: random.within(50_000, 4_000_000), dice: random.word() },
        20 => severed::draw(random, plan),
        _ => {
            let most = if random.chance(2, 3) { 101 } else { 1 };
            let (lost, doubled, slow) = (random.below(most), random.below(most), random.below(most));
            FaultAction::Network { lost, doubled, slow }
        }
    };
    at_once(vec![action])
}

fn at_once(actions: Vec<FaultAction>) -> Vec<(u64, FaultAction)> {
    actions.into_iter().map(|action| (0, action)).collect()
}

/// Another leads; perhaps somebody does not reach the new leader, and may still reach the old one.
fn change_of_leader(random: &mut Random, plan: &Plan, node: usize) -> Vec<FaultAction> {
    let next = random.below(plan.managers as u64 + 1) as usize;
    let mut actions = vec![FaultAction::Lead { manager: (next < plan.managers).then_some(next) }];
    if next < plan.managers && random.chance(1, 2) {
        let (node, next) = (Party::Node(node), Party::Manager(next));
        let for_us = random.within(3_000_000, 6_000_000);
        actions.push(FaultAction::Cut { links: [(node, next), (next, node)].into(), for_us });
    }
    if random.chance(1, 2) {
        // Whoever led before may lead on for a while, and not hear what is agreed.
        actions.push(FaultAction::Lag { for_us: random.within(100_000, 4_000_000) });
    }
    actions
}

fn cut(random: &mut Random, plan: &Plan, one_way: bool) -> FaultAction {
    let mut all: Vec<Party> = (0..(plan.nodes + plan.late) as usize).map(Party::Node).collect();
    all.extend((0..plan.fronts as usize).map(Party::Front));
    all.extend((0..plan.managers).map(Party::Manager));
    all.extend((0..plan.clients as usize).map(Party::Client));
    let side: Vec<Party> = all.iter().copied().filter(|_| random.chance(1, 3)).collect();
    let partial = random.chance(1, 3);
    let mut links = LinkSet::new();
    for from in &side {
        for to in all.iter().filter(|to| !side.contains(to)) {
            if !partial || random.chance(1, 2) {
                links.insert((*from, *to));
                if !one_way {
                    links.insert((*to, *from));
                }
            }
        }
    }
    FaultAction::Cut { links, for_us: random.within(50_000, 4_000_000) }
}

/// What is said to a node of one kind, or what it says, comes later than all else; perhaps it hears no manager meanwhile.
fn hold_back(random: &mut Random, plan: &Plan, node: usize) -> Vec<(u64, FaultAction)> {
    let for_us = random.within(50_000, 4_000_000);
    match random.below(6) {
        0 | 2 => return strand(random, plan, node),
        1 => return deafen(random, node),
        _ => {}
    }
    let kind = if random.chance(1, 4) { ORDERS } else { *random.pick::<&str>(&MESSAGES) };
    let mut actions = vec![FaultAction::HoldBack { node, kind, for_us }];
    if random.chance(1, 4) {
        let links = (0..plan.managers).map(|manager| (Party::Manager(manager), Party::Node(node))).collect();
        actions.push(FaultAction::Cut { links, for_us: random.within(for_us / 2 + 1, for_us + 1) });
    }
    at_once(actions)
}

/// A node that comes to a chain hears late that it is in it: once it is to leave, or has left. It comes in the first place
/// because it left before.
fn deafen(random: &mut Random, node: usize) -> Vec<(u64, FaultAction)> {
    let comes_us = random.within(500_000, 2_000_000);
    let for_us = random.within(600_000, 5_000_000);
    let said = *random.pick(&["level", "level", "sealed"]);
    vec![
        (0, FaultAction::Drain { node }),
        (comes_us, FaultAction::Stay { node }),
        (comes_us, FaultAction::HoldBackAt { node, said, kind: ORDERS, for_us }),
        (comes_us + for_us + random.below(1_000_000), FaultAction::Stay { node }),
    ]
}

/// A member hears no manager, then late what its neighbours say; after a while no manager hears it; and some go on asking it.
fn strand(random: &mut Random, plan: &Plan, node: usize) -> Vec<(u64, FaultAction)> {
    // Its lease runs out before, or after, it counts as dead.
    let lease_us = plan.lease_us();
    let deaf_us =
        if random.chance(3, 4) { random.within(lease_us, lease_us + 1_000_000) } else { random.below(lease_us) };
    let dumb_us = random.within(2 * lease_us, 2 * lease_us + 3_000_000);
    let kind = *random.pick(&["feed", "feed", "feed", "have", "barrier-at", ORDERS]);
    let for_us = deaf_us + dumb_us;
    let node_at = Party::Node(node);
    let managers = || (0..plan.managers).map(Party::Manager);
    let deaf = FaultAction::Cut { links: managers().map(|manager| (manager, node_at)).collect(), for_us };
    let dumb = FaultAction::Cut { links: managers().map(|manager| (node_at, manager)).collect(), for_us: dumb_us };
    let held = FaultAction::HoldBack { node, kind, for_us: random.within(dumb_us / 2 + 1, dumb_us + 1) };
    vec![(0, deaf), (0, mislead(random, plan, for_us)), (deaf_us, dumb), (deaf_us, held)]
}

/// A front-end crashes, pauses, does not reach the managers or some nodes, or is not reached.
fn front_fault(random: &mut Random, plan: &Plan, kind: usize) -> FaultAction {
    let front = random.below(u64::from(plan.fronts)) as usize;
    match kind {
        0 => {
            let long = random.chance(1, 4);
            FaultAction::CrashFront { front, for_us: random.within(1000, if long { 5_000_000 } else { 500_000 }) }
        }
        1 => FaultAction::PauseFront { front, for_us: random.within(50_000, 4_000_000) },
        _ => {
            let front = Party::Front(front);
            let managers = (0..plan.managers).map(Party::Manager);
            let nodes = (0..(plan.nodes + plan.late) as usize).map(Party::Node);
            let both = |other: Party| [(front, other), (other, front)];
            let (slow, for_us) = (random.below(250), random.within(50_000, 6_000_000));
            let links: LinkSet = match random.below(8) {
                0..5 => managers.flat_map(both).collect(),
                5 => nodes.filter(|_| random.chance(1, 2)).flat_map(both).collect(),
                // What it asks is done, but it does not hear of it.
                _ => nodes.map(|node| (node, front)).collect(),
            };
            FaultAction::CutFront { slow, for_us, links }
        }
    }
}
