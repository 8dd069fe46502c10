//! Links that are broken for good while both ends reach the managers.

use fawn_check::random::Random;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::network::party::LinkSet;
use crate::cluster::network::party::Party;
use crate::cluster::script::plan::Plan;

/// A cluster for it: each seat has a node and a front-end, and any two can go by way of a third.
pub fn shape(plan: Plan) -> Plan {
    let nodes = plan.nodes.clamp(3.max(plan.replicas), 6.max(plan.replicas));
    let (late, shared, lost_clock, faults_us) = (0, false, false, 14_000_000);
    let mut rules = plan.rules;
    // A chain whose members do not hear each other goes on with fewer.
    rules.min_write_replicas = 1;
    Plan { nodes, fronts: nodes, late, shared, lost_clock, faults_us, rules, ..plan }
}

/// A cluster for [`cut_off`]: the second of three seats is a failure domain of its own, so that the others are in chains of two
/// with it alone. If one of these is cut off from all, it and its only neighbour miss each other, and neither misses any more.
pub fn shape_of_two_domains(plan: Plan) -> Plan {
    Plan { nodes: 3, fronts: 3, replicas: 2, domains: 2, ..shape(plan) }
}

/// The first or the last of three seats is severed from all others, and nothing else happens.
pub fn cut_off(random: &mut Random, plan: &Plan, at_us: u64) -> Vec<(u64, FaultAction)> {
    let one = 2 * random.below(2) as usize;
    vec![(at_us, from_all_others(one, random, plan))]
}

/// One pair is severed, and nothing else happens.
pub fn actions(random: &mut Random, plan: &Plan, at_us: u64) -> Option<Vec<(u64, FaultAction)>> {
    (plan.fronts > 1 && plan.nodes > 2).then(|| vec![(at_us, draw(random, plan))])
}

/// Two seats, or two parties, are severed, one way or both; or a seat from all others.
pub fn draw(random: &mut Random, plan: &Plan) -> FaultAction {
    let (nodes, fronts) = ((plan.nodes + plan.late) as usize, plan.fronts as usize);
    let pick = |random: &mut Random, kind: fn(usize) -> Party, count: usize| {
        (count > 0).then(|| kind(random.below(count as u64) as usize))
    };
    let node = |random: &mut Random| pick(random, Party::Node, nodes);
    let front = |random: &mut Random| pick(random, Party::Front, fronts);
    let (one, other) = match random.below(8) {
        0 => (node(random), node(random)),
        1 => (front(random), front(random)),
        2 => (front(random), node(random)),
        3 => (front(random), pick(random, Party::Client, plan.clients as usize)),
        // What a node alone has is out of reach with it.
        4 if plan.replicas > 1 => {
            let one = random.below(nodes as u64) as usize;
            return from_all_others(one, random, plan);
        }
        _ => {
            let (one, other) = (random.below(nodes as u64) as usize, random.below(nodes as u64) as usize);
            return FaultAction::Sever { links: directed(seats((one, other), plan), random) };
        }
    };
    let pair = one.zip(other).filter(|(one, other)| one != other);
    FaultAction::Sever { links: directed(pair.into_iter().collect(), random) }
}

/// A seat is severed from all others.
fn from_all_others(one: usize, random: &mut Random, plan: &Plan) -> FaultAction {
    let (nodes, fronts) = ((plan.nodes + plan.late) as usize, plan.fronts as usize);
    let others = (0..nodes.max(fronts)).filter(|other| *other != one);
    let links = others.flat_map(|other| seats((one, other), plan)).collect();
    FaultAction::Sever { links: directed(links, random) }
}

/// All pairs of parties of two seats.
fn seats((one, other): (usize, usize), plan: &Plan) -> Vec<(Party, Party)> {
    let of = |seat: usize| {
        let front = (seat < plan.fronts as usize).then_some(Party::Front(seat));
        std::iter::once(Party::Node(seat)).chain(front)
    };
    let pairs = of(one).flat_map(|party| of(other).map(move |peer| (party, peer)));
    pairs.filter(|(party, peer)| one != other && party != peer).collect()
}

/// The pairs, one way or both.
fn directed(pairs: Vec<(Party, Party)>, random: &mut Random) -> LinkSet {
    let ways = random.below(3);
    let links = pairs
        .into_iter()
        .flat_map(|(one, other)| [(ways != 1).then_some((one, other)), (ways != 2).then_some((other, one))]);
    links.flatten().collect()
}
