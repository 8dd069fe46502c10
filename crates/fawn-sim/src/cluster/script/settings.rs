//! The settings of a plan as words, with their bounds: a script may ask for a cluster that a run of it can still simulate.

use fawn_kv::ids::{Ack, Consistency};

use crate::cluster::script::lexer;
use crate::cluster::script::plan::Plan;

/// No run has faults for longer, and nothing lasts longer: ten minutes, in microseconds.
pub const MOST_US: u64 = 600_000_000;

/// No ring has more places: each has a range, and the run looks at all of them.
const MOST_PLACES: u32 = 256;

/// Every setting with the least and the most that it may be; `None`: it is true or false.
pub const SETTINGS: [(&str, Option<(u64, u64)>); 22] = [
    ("nodes", Some((1, 32))),
    ("late", Some((0, 32))),
    ("shared", None),
    ("replicas", Some((1, 16))),
    ("virtual", Some((1, 16))),
    ("adopts", Some((0, 2))),
    ("archives", Some((0, 15))),
    ("rests", None),
    ("domains", Some((0, 16))),
    ("least", Some((1, 16))),
    ("spread", None),
    ("lost-clock", None),
    ("flash", None),
    ("fronts", Some((0, 16))),
    ("hasty", None),
    ("weak", None),
    ("in-memory", None),
    ("clients", Some((0, 64))),
    ("keys", Some((1, 10_000))),
    ("managers", Some((1, 9))),
    ("until", Some((1, MOST_US))),
    ("fixed", None),
];

/// The most that a setting may be.
pub fn most(name: &str) -> u64 {
    let found = SETTINGS.iter().find(|(known, _)| *known == name);
    found.and_then(|(_, bounds)| *bounds).expect("the setting is a number").1
}

/// Changes one setting of a plan, written `name=value`.
///
/// # Errors
/// There is none of that name, or it cannot have that value.
pub fn set(plan: &mut Plan, setting: &str) -> Result<(), String> {
    let (name, value) = setting.split_once('=').ok_or_else(|| format!("`{setting}` is not NAME=VALUE"))?;
    let Some((_, bounds)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        return Err(format!("a plan has no `{name}`"));
    };
    let (number, choice) = match *bounds {
        Some((least, most)) => (lexer::number(value, &format!("value of {name}"), least..=most)?, false),
        None => (0, value.parse().map_err(|_| format!("`{value}` is no value of {name}: it is true or false"))?),
    };
    match name {
        "nodes" => plan.nodes = number as u32,
        "late" => plan.late = number as u32,
        "shared" => plan.shared = choice,
        "replicas" => plan.replicas = number as u32,
        "virtual" => plan.virtual_ids = number as u32,
        "rests" => plan.rests = choice,
        "archives" => plan.archives = number as u32,
        "adopts" => plan.adopts = number as u32,
        "domains" => plan.domains = number as u32,
        "least" => plan.rules.min_write_replicas = number as u8,
        "spread" => plan.rules.spread_reads = choice,
        "lost-clock" => plan.lost_clock = choice,
        "flash" => plan.on_flash = choice,
        "fronts" => plan.fronts = number as u32,
        "hasty" => plan.hasty = choice,
        "weak" => plan.rules.consistency = if choice { Consistency::Weak } else { Consistency::Chain },
        "in-memory" => plan.rules.ack = if choice { Ack::Replicated } else { Ack::Durable },
        "clients" => plan.clients = number as u32,
        "keys" => plan.keys = number,
        "managers" => plan.managers = number as usize,
        "until" => plan.faults_us = number,
        "fixed" => plan.fixed = choice,
        other => unreachable!("{other} is in the list of settings"),
    }
    Ok(())
}

/// Whether its settings go together.
///
/// # Errors
/// No chain could ever have as many members as it needs to take a write; a directory has more
/// stores than there are nodes; or there are too many ranges.
pub fn check(plan: &Plan) -> Result<(), String> {
    let least = u32::from(plan.rules.min_write_replicas);
    let members = plan.replicas.min(plan.nodes + plan.late);
    if least > members {
        return Err(format!("least={least}, but no chain has more than {members} members (replicas, nodes and late)"));
    }
    if plan.adopts > plan.nodes {
        return Err(format!("adopts={}, but there are {} nodes at first", plan.adopts, plan.nodes));
    }
    if plan.archives >= plan.nodes + plan.late {
        return Err(format!(
            "archives={}, but there are {} nodes, of which one serves",
            plan.archives,
            plan.nodes + plan.late
        ));
    }
    if plan.archives > 0 && plan.rules.consistency == Consistency::Weak {
        return Err("archives, but a weak cluster has none".to_owned());
    }
    let places = (plan.nodes + plan.late) * plan.virtual_ids;
    if places > MOST_PLACES {
        return Err(format!("the ring has {places} places (nodes and late, times virtual): at most {MOST_PLACES}"));
    }
    Ok(())
}
