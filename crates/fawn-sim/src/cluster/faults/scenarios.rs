//! Scenarios: seeds that go through one corner of the protocol again and again, which the mixed faults of the others come to
//! seldom. A scenario shapes the cluster and draws all that happens to it.

use fawn_check::random::Random;
use fawn_kv::ids::Ack;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::faults::clock_jump::clock_jump;
use crate::cluster::faults::misled::mislead;
use crate::cluster::faults::severed;
use crate::cluster::network::party::LinkSet;
use crate::cluster::network::party::Party;
use crate::cluster::script::plan::Plan;
use crate::cluster::time::WRONG_US;
use crate::cluster::trace::formatter::ORDERS;

/// Of so many seeds one goes through each scenario.
const ONE_IN: u64 = 20;

/// A link to a newcomer comes up within this: sooner than managers take it for broken.
pub const LATE_US: u64 = 1_000_000;

/// Before this nothing happens.
const FIRST_US: u64 = 1_000_000;

/// What a seed is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Whatever the faults come to.
    Mixed,
    /// No member fails: nodes come and go as planned, under managers and front-ends that do fail.
    Planned,
    /// Wedges pass on while their last owner goes on, the next one hears late, and gets, flushes and records are slow.
    TakeOver,
    /// A member hears late that it is in a chain: once that is over.
    Deaf,
    /// The head changes all the time, and with it the clock; one of them says that it is 1970.
    Clocks,
    /// Clocks jump for long, and the head changes.
    Jumps,
    /// All members of chains that acknowledge in memory stop, while somebody who follows them keeps what they lose.
    Lost,
    /// A link is broken for good, and nothing else goes wrong.
    Severed,
    /// A seat is cut off from all others for good, with a node that is in chains with one other only; nothing else goes wrong.
    CutOff,
    /// The cluster begins with what a plain directory holds, while nodes and managers fail from the start.
    Adopted,
    /// Of two nodes one comes back with an empty disk again and again, and the links to it come up late.
    Newcomer,
    /// What is said to a node comes late: its orders in its next life, or records once it is out of the chain that they are of.
    Late,
    /// All nodes that serve stop, so that archives that rest go on alone, and then the power fails.
    Archives,
}

/// Draws what happens together, with its times, and how long it takes.
type Episode = fn(&mut Random, &Plan) -> (Vec<(u64, FaultAction)>, u64);

impl Scenario {
    /// That of a seed.
    pub fn of(seed: u64) -> Self {
        match Random::new(seed ^ 0x636f_7572_7365).below(ONE_IN) {
            0 => Self::Planned,
            1 => Self::TakeOver,
            2 => Self::Deaf,
            3 => Self::Clocks,
            4 => Self::Lost,
            5 => Self::Adopted,
            6 if Random::new(seed ^ 0x6375_745f_6f66_6600).chance(1, 3) => Self::CutOff,
            6 => Self::Severed,
            7 => Self::Jumps,
            8 => Self::Newcomer,
            9 => Self::Late,
            10 => Self::Archives,
            _ => Self::Mixed,
        }
    }

    /// A cluster for it.
    pub fn shape(self, plan: Plan) -> Plan {
        let small = Plan { shared: false, late: 0, hasty: true, ..plan };
        match self {
            Self::Mixed => plan,
            Self::Planned => Plan { late: plan.late.max(1), ..plan },
            Self::TakeOver => Plan {
                nodes: plan.replicas,
                fronts: plan.fronts.max(2),
                virtual_ids: 1,
                clients: plan.clients.max(5),
                // Of few keys each is asked for often; of more, some are not while a flush is under way.
                keys: if plan.keys.is_multiple_of(2) { 4 } else { 12 },
                lost_clock: false,
                ..small
            },
            Self::Deaf => {
                let mut rules = plan.rules;
                rules.spread_reads = true;
                Plan { nodes: plan.replicas + 2, lost_clock: false, virtual_ids: 1, rules, ..small }
            }
            Self::Clocks => {
                Plan { nodes: plan.replicas + 2, fronts: 0, lost_clock: true, virtual_ids: 1, keys: 4, ..small }
            }
            Self::Lost => {
                let mut rules = plan.rules;
                rules.ack = Ack::Replicated;
                let (nodes, clients) = (plan.replicas + 2, plan.clients.min(4));
                Plan { nodes, fronts: 0, lost_clock: false, virtual_ids: 1, rules, clients, keys: 30, ..small }
            }
            Self::Jumps => {
                // More than the sessions that a range remembers.
                let (nodes, keys, clients) = (plan.replicas + 1, 4 + plan.keys % 8, 14);
                Plan { nodes, keys, clients, lost_clock: false, virtual_ids: 1, faults_us: 14_000_000, ..small }
            }
            Self::Severed => severed::shape(plan),
            Self::CutOff => severed::shape_of_two_domains(plan),
            Self::Newcomer => {
                let mut rules = plan.rules;
                rules.min_write_replicas = 1;
                let fronts = plan.fronts.min(1);
                Plan { nodes: 2, replicas: 2, fronts, domains: 0, lost_clock: false, rules, hasty: plan.hasty, ..small }
            }
            Self::Late => {
                let mut rules = plan.rules;
                (rules.ack, rules.min_write_replicas) = (Ack::Durable, 1);
                // The data of a single member are lost with it. Of two or three the others go on without one.
                let replicas = if plan.keys.is_multiple_of(2) { 1 } else { plan.replicas.clamp(2, 3) };
                let (nodes, clients) = (if replicas == 1 { 3 } else { replicas }, plan.clients.max(8));
                let hasty = replicas > 1 || plan.hasty;
                let late = Plan { nodes, replicas, fronts: 0, clients, keys: 4, hasty, ..small };
                Plan { lost_clock: false, virtual_ids: 1, domains: 0, rules, ..late }
            }
            Self::Archives => {
                let mut rules = plan.rules;
                (rules.ack, rules.min_write_replicas) = (Ack::Durable, 1);
                let nodes = 3 + plan.keys as u32 % 2;
                Plan { nodes, replicas: 3, archives: 2, rests: true, lost_clock: false, domains: 0, rules, ..small }
            }
            Self::Adopted => {
                let adopts = 1 + plan.keys as u32 % 2;
                let (shared, machines) = (adopts > 1, plan.replicas + 1);
                Plan { adopts, shared, nodes: machines * adopts, keys: plan.keys.max(20), ..plan }
            }
        }
    }

    /// All that happens, if the scenario says that, and the plan is one for it.
    pub fn actions(self, random: &mut Random, plan: &Plan) -> Option<Vec<(u64, FaultAction)>> {
        let episode: Episode = match self {
            Self::Planned => planned,
            Self::TakeOver if plan.fronts > 1 => take_over,
            Self::Deaf => deaf,
            Self::Clocks => clocks,
            Self::Jumps => jumps,
            Self::Lost => lost,
            Self::Newcomer if plan.nodes == 2 && plan.replicas == 2 => newcomer,
            Self::Late if plan.replicas == 1 => late_drop,
            Self::Late => late_records,
            Self::Archives if plan.archives > 0 => archives_alone,
            Self::Severed => return severed::actions(random, plan, FIRST_US),
            // What a node alone has is out of reach with it.
            Self::CutOff if plan.replicas > 1 => return Some(severed::cut_off(random, plan, FIRST_US)),
            Self::Mixed | Self::TakeOver | Self::Adopted | Self::Newcomer | Self::Archives | Self::CutOff => {
                return None;
            }
        };
        let (mut all, mut at_us) = (Vec::new(), FIRST_US);
        while at_us < plan.faults_us {
            let (actions, takes_us) = episode(random, plan);
            all.extend(actions.into_iter().map(|(after_us, action)| (at_us + after_us, action)));
            at_us += takes_us;
        }
        all.sort_by_key(|(at_us, _)| *at_us);
        Some(all)
    }
}

fn any_node(random: &mut Random, plan: &Plan) -> usize {
    random.below(u64::from(plan.nodes + plan.late)) as usize
}

fn nodes(plan: &Plan) -> impl Iterator<Item = Party> {
    (0..(plan.nodes + plan.late) as usize).map(Party::Node)
}

fn planned(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let (node, manager) = (any_node(random, plan), random.below(plan.managers as u64) as usize);
    let action = match random.below(12) {
        0..4 => FaultAction::Drain { node },
        4..7 => FaultAction::Stay { node },
        7 => FaultAction::Replicas { count: 1 + random.below(u64::from(plan.nodes).min(5)) as u32 },
        8 => FaultAction::Lead { manager: Some(manager) },
        9 => FaultAction::RestartManager { manager },
        10 => FaultAction::Clock { node, ahead_us: random.below(2 * WRONG_US) },
        _ if plan.fronts > 0 => {
            let front = random.below(u64::from(plan.fronts)) as usize;
            FaultAction::PauseFront { front, for_us: random.within(50_000, 2_000_000) }
        }
        _ => FaultAction::Lag { for_us: random.within(100_000, 2_000_000) },
    };
    (vec![(0, action)], random.within(1000, 1_500_000))
}

/// The owner of some wedges does not reach the managers, but clients and nodes; while another takes over, answers do not
/// come to that one, or records are slow. What the first has asked of some node comes late.
fn take_over(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let fronts = u64::from(plan.fronts);
    let old = random.below(fronts);
    let new = Party::Front(((old + 1 + random.below(fronts - 1)) % fronts) as usize);
    let old = Party::Front(old as usize);
    let managers = (0..plan.managers).map(Party::Manager);
    let links = managers.flat_map(|manager| [(old, manager), (manager, old)]).collect();
    let for_us = random.within(1_500_000, 3_500_000);
    let mut actions = vec![(0, FaultAction::CutFront { slow: 0, for_us, links })];
    // What it asks as the owner comes once it is none any more.
    let lease_us = plan.lease_us();
    let (kind, held_us) = (*random.pick(&["flush", "get"]), random.within(lease_us, 3 * lease_us));
    actions.push((
        random.below(2 * lease_us),
        FaultAction::HoldBack { node: any_node(random, plan), kind, for_us: held_us },
    ));
    for _ in 0..random.within(3, 8) {
        let lasts_us = random.within(50_000, 600_000);
        let action = if random.chance(1, 2) {
            FaultAction::Cut { links: nodes(plan).map(|node| (node, new)).collect::<LinkSet>(), for_us: lasts_us }
        } else {
            let kind = *random.pick(&["feed", "feed", "have"]);
            FaultAction::HoldBack { node: any_node(random, plan), kind, for_us: lasts_us }
        };
        actions.push((random.within(400_000, for_us), action));
    }
    (actions, for_us + random.within(100_000, 1_000_000))
}

/// A node leaves, comes back, and does not hear what the managers order from when it is level; soon it is to leave again.
fn deaf(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let node = any_node(random, plan);
    let comes_us = random.within(300_000, 800_000);
    let for_us = random.within(800_000, 2_000_000);
    let takes_us = comes_us + for_us + random.within(300_000, 1_000_000);
    let actions = vec![
        (0, FaultAction::Drain { node }),
        (comes_us, FaultAction::Stay { node }),
        (comes_us, FaultAction::HoldBackAt { node, said: "level", kind: ORDERS, for_us }),
        (takes_us, FaultAction::Stay { node }),
    ];
    (actions, takes_us)
}

fn clocks(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let node = any_node(random, plan);
    if random.chance(1, 16) {
        return (clock_jump(random, plan, node), random.within(100_000, 900_000));
    }
    let action = match random.below(8) {
        0..2 => FaultAction::Drain { node },
        2..4 => FaultAction::Stay { node },
        4 => FaultAction::Crash { node, for_us: random.within(1000, 600_000), dice: random.word() },
        5..7 => FaultAction::Pause { node, for_us: random.within(300_000, 1_000_000) },
        _ => FaultAction::Clock { node, ahead_us: random.below(2 * WRONG_US) },
    };
    (vec![(0, action)], random.within(100_000, 900_000))
}

fn jumps(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let node = any_node(random, plan);
    let action = match random.below(8) {
        0..4 => return (clock_jump(random, plan, node), random.within(300_000, 4_000_000)),
        4 => {
            // All go by a wrong time, and start anew under the right one.
            let (off_s, for_us) = (random.within(100, 31_536_000).cast_signed(), random.within(2_200_000, 3_000_000));
            let all = 0..(plan.nodes + plan.late) as usize;
            let mut actions: Vec<_> = all.map(|node| (0, FaultAction::ClockJump { node, off_s, for_us })).collect();
            actions.push((for_us + random.below(1_000_000), FaultAction::PowerFailure { dice: random.word() }));
            return (actions, for_us + random.within(3_000_000, 5_000_000));
        }
        5 => FaultAction::PowerFailure { dice: random.word() },
        6 => FaultAction::Drain { node },
        _ => FaultAction::Stay { node },
    };
    (vec![(0, action)], random.within(100_000, 3_000_000))
}

/// A node leaves, and comes back as one that learns; before it can say that it has, no manager hears it. It follows the others
/// until all of these stop, and is heard again once they are back.
fn lost(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let node = any_node(random, plan);
    let comes_us = random.within(400_000, 900_000);
    let unheard_us = comes_us + random.below(60_000);
    let stop_us = unheard_us + random.within(50_000, 400_000);
    let for_us = stop_us - unheard_us + random.within(500_000, 1_500_000);
    let links = (0..plan.managers).map(|manager| (Party::Node(node), Party::Manager(manager))).collect();
    let mut actions = vec![
        (0, FaultAction::Drain { node }),
        (comes_us, FaultAction::Stay { node }),
        (unheard_us, FaultAction::Cut { links, for_us }),
    ];
    for other in (0..(plan.nodes + plan.late) as usize).filter(|other| *other != node) {
        actions.push((
            stop_us,
            FaultAction::Crash { node: other, for_us: random.within(1000, 300_000), dice: random.word() },
        ));
    }
    (actions, unheard_us + for_us + random.within(500_000, 1_000_000))
}

/// The second node loses its disk and starts anew, and the links between it and the rest come up late; perhaps another manager
/// leads meanwhile, which has heard neither.
fn newcomer(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let (node, first) = (1, Party::Node(0));
    let rest = std::iter::once(first).chain((0..plan.fronts as usize).map(Party::Front));
    let links: LinkSet = rest.flat_map(|party| [(party, Party::Node(node)), (Party::Node(node), party)]).collect();
    let (for_us, late_us) = (random.within(1000, 2_000_000), random.below(LATE_US));
    let mut actions = vec![
        (0, FaultAction::LoseDisk { node, for_us, dice: random.word() }),
        (0, FaultAction::Cut { links, for_us: for_us + late_us }),
    ];
    if random.chance(1, 3) {
        let manager = Some(random.below(plan.managers as u64) as usize);
        actions.push((random.below(for_us + late_us), FaultAction::Lead { manager }));
    }
    (actions, for_us + late_us + random.within(500_000, 3_000_000))
}

/// A node leaves, so that it is told to drop what it has, and comes back before it hears that. It crashes, and hears it in its
/// next life, before anybody knows that this life has the only copy.
fn late_drop(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let node = any_node(random, plan);
    let comes_us = random.within(500_000, 1_200_000);
    let crash_us = comes_us + random.within(400_000, 1_200_000);
    let down_us = random.within(1000, 100_000);
    let for_us = crash_us + down_us + random.below(100_000);
    let actions = vec![
        (0, FaultAction::Drain { node }),
        (0, FaultAction::HoldBack { node, kind: "drop", for_us }),
        (comes_us, FaultAction::Stay { node }),
        (crash_us, FaultAction::Crash { node, for_us: down_us, dice: random.word() }),
    ];
    (actions, for_us + random.within(300_000, 1_000_000))
}

/// A member hears no manager until its lease is over, and is not heard from then on. Records come to it once the others go on
/// without it, but while it may still wait for one of them; and some go on asking it.
fn late_records(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let node = any_node(random, plan);
    let (lease_us, node_at) = (plan.lease_us(), Party::Node(node));
    let dumb_us = lease_us + random.below(300_000);
    let held_us = dumb_us + random.below(250_000);
    let comes_us = dumb_us + lease_us + random.within(150_000, 850_000);
    let for_us = dumb_us + random.within(3 * lease_us, 5 * lease_us);
    let managers = || (0..plan.managers).map(Party::Manager);
    let from: LinkSet = managers().map(|manager| (manager, node_at)).collect();
    let to: LinkSet = managers().map(|manager| (node_at, manager)).collect();
    let kind = *random.pick(&["feed", "feed", "feed", "have", "barrier-at"]);
    let actions = vec![
        (0, FaultAction::Cut { links: from, for_us }),
        (0, mislead(random, plan, for_us)),
        (dumb_us, FaultAction::Cut { links: to, for_us: for_us - dumb_us }),
        (held_us, FaultAction::HoldBack { node, kind, for_us: comes_us - held_us }),
    ];
    (actions, for_us + random.within(500_000, 1_000_000))
}

/// The archives that rest have the chains for themselves until all power fails. Or ranges are split and merged right before that,
/// and the nodes that serve are back late.
fn archives_alone(random: &mut Random, plan: &Plan) -> (Vec<(u64, FaultAction)>, u64) {
    let serving = 0..(plan.nodes + plan.late - plan.archives) as usize;
    let are_alone = random.chance(1, 2);
    let power_us = if are_alone { random.within(1_500_000, 4_000_000) } else { random.within(600_000, 1_500_000) };
    let late_us = if random.chance(1, 3) { 0 } else { random.within(500_000, 3_000_000) };
    let mut actions = vec![(power_us, FaultAction::PowerFailure { dice: random.word() })];
    for node in serving {
        let at_us = if are_alone { random.below(500_000) } else { power_us - 1 };
        let for_us = power_us - at_us + late_us + random.below(500_000);
        actions.push((at_us, FaultAction::Crash { node, for_us, dice: random.word() }));
    }
    for _ in 0..if are_alone { 0 } else { random.within(1, 5) } {
        let node = any_node(random, plan);
        let action = if random.chance(1, 2) { FaultAction::Drain { node } } else { FaultAction::Stay { node } };
        actions.push((random.below(power_us + late_us), action));
    }
    (actions, power_us + late_us + random.within(1_500_000, 3_000_000))
}
