//! What must hold of the whole cluster: that it comes to rest as the ring says, all members of a chain with the same in
//! them, and that reads have one place to go.

use std::collections::BTreeSet;

use fawn_kv::ids::Health;
use fawn_kv::ids::Wedge;
use fawn_kv::ids::{Chain, FrontMember, NodeId, RangeId};
use fawn_kv::manager::{NodeRegistration, Standing, State};
use fawn_kv::node::Node;
use fawn_kv::range::entry::Kept;
use fawn_kv::range::meta::Meta;
use fawn_kv::range::sessions::Bounds;
use fawn_kv::store::{Lookup, RangeStore, Ticket};
use fawn_ring::{Key, Ring};

use crate::cluster::checkers::dumps::Dumps;
use crate::cluster::checkers::invariants::Invariants;
use crate::cluster::clients::Clients;
use crate::cluster::keys::name;
use crate::cluster::processes::Processes;
use crate::cluster::processes::front::FrontProcess;
use crate::cluster::processes::node::NodeProcess;
use crate::cluster::processes::store::read::FlashRead;

/// Of a lookup that no node waits for.
const NOBODYS: Ticket = Ticket::MAX;

/// Why some client, dump or chain is not at rest; empty if all are.
pub fn why_not_quiet(now_us: u64, processes: &Processes, clients: &Clients, dumps: &Dumps) -> String {
    if let Some(client) = clients.iter().find(|client| client.asking().is_some()) {
        return format!("client {} waits for {:?}", client.number(), client.asking());
    }
    if let Some(dump) = dumps.under_way() {
        return format!("a dump is under way: {dump:?}");
    }
    why_not_settled(now_us, processes, true)
}

/// Why the chains are not as the ring says at every node; and, if it `is_idle`, with all that is in them committed.
pub fn why_not_settled(now_us: u64, processes: &Processes, is_idle: bool) -> String {
    let Some(state) = processes.managers.leaders_state() else { return "nobody leads".into() };
    if let Some(why) = why_fronts_are_not_quiet(now_us, &processes.fronts, state.wedges.wedges(), is_idle) {
        return why;
    }
    let lives = |process: &NodeProcess| {
        let member = process.node().and_then(Node::member);
        member.is_some_and(|member| state.lives(member))
    };
    if let Some(process) = processes.nodes.iter().find(|process| process.run() > 0 && !lives(process)) {
        return format!("a node in its run {} does not live", process.run());
    }
    let members = state.nodes.iter().filter(|(_, node)| node.standing == Standing::Member);
    let ring = Ring::of(&members.map(|(id, node)| node.place(*id)).collect::<Vec<_>>());
    let ring = ring.expect("places are distinct");
    let mut ends: Vec<Key> = ring.virtual_nodes().iter().map(|place| place.id.0).chain([Key::MAX]).collect();
    ends.dedup();
    if !state.by_last.keys().eq(&ends) {
        return format!("{} ranges for {} places", state.ranges.len(), ring.virtual_nodes().len());
    }
    for (last, id) in &state.by_last {
        let range = &state.ranges[id];
        let wanted = ring.chain_of_key(last, state.settings.replicas as usize).unwrap_or_default();
        let wanted = wanted.iter().map(|place| place.node);
        if range.pending.is_some() || !range.chain.members.iter().map(|member| member.node).eq(wanted) {
            return format!("{id:?} is {range:?}");
        }
        if range.chain.rules != state.settings.rules {
            return format!("{id:?} goes by {:?}, not by {:?}", range.chain.rules, state.settings.rules);
        }
        for member in &range.chain.members {
            let node = processes.nodes[member.node.number() as usize].node();
            let replica =
                node.and_then(|node| node.replica(*id)).filter(|replica| replica.chain() == Some(&range.chain));
            let Some(replica) = replica else {
                return format!("{member:?} of {id:?} is not active in {:?}", range.chain);
            };
            if range.chain.members.len() > 1 && replica.report(false).health == Health::Damaged {
                return format!("{member:?} of {id:?} cannot read all of it");
            }
            if is_idle && replica.last() != replica.committed() {
                return format!("{member:?} of {id:?} has {:?} and {:?}", replica.last(), replica.committed());
            }
        }
    }
    for node in processes.running() {
        let strays = |(range, _): &(RangeId, _)| {
            let member = node.member();
            state.ranges.get(range).is_none_or(|range| member.is_none_or(|me| range.chain.place(me).is_none()))
        };
        if let Some((range, _)) = node.replicas().find(strays) {
            return format!("{:?} has something of {range:?} still", node.member());
        }
    }
    String::new()
}

/// Why not every wedge has an owner that serves it; and, if it `is_idle`, with nothing in flight.
fn why_fronts_are_not_quiet(now_us: u64, fronts: &[FrontProcess], wedges: &[Wedge], is_idle: bool) -> Option<String> {
    for (number, process) in fronts.iter().enumerate().filter(|(_, process)| process.is_wanted()) {
        if process.front().is_none_or(|front| is_idle && front.in_flight() > 0) {
            return Some(format!("front-end {number} is at work, or not there"));
        }
    }
    let serves = |at: usize, owner: FrontMember| {
        let process = &fronts[owner.front.0 as usize];
        let local_us = process.now(now_us).us;
        process.front().is_some_and(|front| front.served(local_us).any(|wedge| wedge.0 as usize == at))
    };
    let unserved = wedges
        .iter()
        .enumerate()
        .find(|(at, wedge)| wedge.released || wedge.owner.is_none_or(|owner| !serves(*at, owner)));
    unserved.map(|(at, wedge)| format!("wedge {at} is not served: {wedge:?}"))
}

/// Once all is committed, the members of a chain remember the same, and have the same version of every key.
///
/// # Errors
/// Two of them differ.
pub fn look_whether_level(processes: &mut Processes, positions: &[Key]) -> Result<(), String> {
    let Some(state) = processes.managers.leaders_state() else { return Ok(()) };
    let ranges = &state.ranges;
    let chains: Vec<(RangeId, Chain)> = ranges.iter().map(|(id, range)| (*id, range.chain.clone())).collect();
    for (id, chain) in chains {
        let mut first = None;
        for member in &chain.members {
            let has = contents(processes, positions, (member.node, id), &chain)?;
            match &first {
                None => first = Some((member.node, has)),
                Some((other, before)) if *before != has => {
                    return Err(format!("of {id:?} {other:?} has {before:?}, but {:?} has {has:?}", member.node));
                }
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// At rest every range takes another session, whatever its time was.
///
/// # Errors
/// One does not.
pub fn look_for_room(processes: &Processes, bounds: &Bounds) -> Result<(), String> {
    for node in processes.running() {
        let active = node.replicas().filter(|(_, replica)| replica.chain().is_some());
        for (range, replica) in active {
            let meta = replica.meta();
            if !meta.sessions.makes_room(bounds, meta.alive.time) {
                let (horizon, time) = (meta.sessions.horizon(), meta.alive.time);
                return Err(format!("{range:?} has no room for a session: its horizon is {horizon}, its time {time}"));
            }
        }
    }
    Ok(())
}

/// The members of each chain are on as many machines as there are nodes in the chain. They are in as many failure domains as
/// well, or in all; unless there are archives, of which a chain has a number that may be in few domains.
///
/// # Errors
/// They are in fewer.
pub fn look_at_domains(agreed: &State) -> Result<(), String> {
    let nodes = &agreed.nodes;
    // A machine in no domain is one of its own.
    let domain =
        |node: &NodeRegistration| node.domain.map_or((Some(node.machine), None), |domain| (None, Some(domain)));
    let standing = nodes.values().filter(|node| node.standing == Standing::Member);
    let all: BTreeSet<_> = standing.map(domain).collect();
    for (id, range) in &agreed.ranges {
        let members: Vec<&NodeRegistration> = range.chain.members.iter().map(|member| &nodes[&member.node]).collect();
        let machines: BTreeSet<_> = members.iter().map(|node| node.machine).collect();
        let domains: BTreeSet<_> = members.iter().map(|node| domain(node)).collect();
        let may_be_in_few = nodes.keys().any(|node| node.is_archive());
        if machines.len() < members.len() || !may_be_in_few && domains.len() < members.len().min(all.len()) {
            return Err(format!("{id:?} is in {domains:?}, on {machines:?}, of the domains {all:?}: {range:?}"));
        }
    }
    Ok(())
}

/// What a member of a chain has: what can be seen of each key, and what it remembers beside.
fn contents(
    processes: &mut Processes,
    positions: &[Key],
    (node, range): (NodeId, RangeId),
    chain: &Chain,
) -> Result<(Vec<Kept>, Meta), String> {
    let keys = positions.iter().enumerate().filter(|(_, place)| chain.keys.contains(place));
    let keys: Vec<(Key, Vec<u8>)> = keys.map(|(key, place)| (*place, name(key as u64))).collect();
    let node = processes.nodes[node.number() as usize].node_mut().ok_or("a member of a chain at rest is down")?;
    let mut meta = node.replica(range).ok_or("a member of a chain at rest has no part in it")?.meta().clone();
    // How many of them are remembered depends on where a copy came from.
    meta.begins.clear();
    let mut seen = Vec::new();
    for (place, key) in keys {
        let kept = match node.store_mut().lookup(range, &key, NOBODYS) {
            Lookup::Known(kept) => kept,
            Lookup::Later => node.store_mut().take_reads().into_iter().find_map(|(ticket, read)| match read {
                FlashRead::Key(kept) if ticket == NOBODYS => kept,
                _ => None,
            }),
        };
        let alive = |kept: &Kept| {
            let seq = kept.position.seq;
            let shown = |version| meta.alive.shows_at(&place, version, seq, meta.alive.time);
            kept.version.as_ref().is_some_and(shown)
        };
        seen.extend(kept.filter(alive));
    }
    Ok((seen, meta))
}

/// No member of a chain has what was given up as lost.
///
/// # Errors
/// One has.
pub fn look_at_lost(processes: &Processes, invariants: &Invariants, number: usize) -> Result<(), String> {
    let Some(node) = processes.nodes[number].node() else { return Ok(()) };
    for (range, _) in node.replicas().filter(|(_, replica)| replica.chain().is_some()) {
        let mut kept = node.store().kept(range);
        if let Some(kept) = kept.find(|kept| invariants.was_given_up(range, kept.position)) {
            return Err(format!("node {number} is in the chain of {range:?} with what others have lost: {kept:?}"));
        }
    }
    Ok(())
}

/// Never do members of different configurations of a key answer reads under leases.
///
/// # Errors
/// Some do.
pub fn look_at_readers(now_us: u64, processes: &Processes, number: usize) -> Result<(), String> {
    let readers = |number: usize| {
        let now_us = processes.nodes[number].clock().now(now_us).us;
        let node = processes.nodes[number].node();
        node.into_iter().flat_map(move |node| {
            let lease = node.lease();
            node.replicas().filter_map(move |(range, replica)| Some((range, replica.reads_under(&lease, now_us)?)))
        })
    };
    for (range, chain) in readers(number) {
        for other in (0..processes.nodes.len()).filter(|other| *other != number) {
            for (their_range, theirs) in readers(other) {
                let differs = (their_range, theirs.epoch) != (range, chain.epoch);
                if differs && theirs.keys.overlaps(&chain.keys) {
                    return Err(format!(
                        "nodes {number} and {other} both answer reads: in {range:?} {chain:?} and in {their_range:?} {theirs:?}"
                    ));
                }
            }
        }
    }
    Ok(())
}
