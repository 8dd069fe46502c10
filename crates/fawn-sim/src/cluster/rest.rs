//! What must hold of the whole cluster: that it comes to rest as the ring says, all members of a chain with the same in
//! them, and that reads have one place to go.

use std::collections::BTreeSet;

use fawn_kv::ids::{Chain, Health, NodeId, RangeId};
use fawn_kv::manager::{Registered, Standing};
use fawn_kv::range::entry::Kept;
use fawn_kv::range::meta::Meta;
use fawn_kv::store::{Lookup, RangeStore, Ticket};
use fawn_ring::{Key, Ring};

use super::client::name;
use super::events::Read;
use super::world::World;

/// Of a lookup that no node waits for.
const NOBODYS: Ticket = Ticket::MAX;

impl World {
    /// Whether every chain is as it should be, and nobody waits for anything.
    pub(super) fn is_quiet(&self) -> bool {
        self.why_not_quiet().is_empty()
    }

    pub(super) fn why_not_quiet(&self) -> String {
        if let Some(client) = self.clients.iter().find(|client| client.asking.is_some()) {
            return format!("client {} waits for {:?}", client.number, client.asking);
        }
        if let Some(dump) = &self.dump {
            return format!("a dump is under way: {dump:?}");
        }
        self.why_not_settled(true)
    }

    /// Why the chains are not as the ring says at every node; and, if it `is_idle`, with all that is in them committed.
    pub(super) fn why_not_settled(&self, is_idle: bool) -> String {
        let Some(leader) = self.managers.leader else { return "nobody leads".into() };
        let state = self.managers.members[leader].state();
        if let Some(why) = self.why_fronts_are_not_quiet(state.wedges.wedges(), is_idle) {
            return why;
        }
        if let Some(node) = self.places.iter().filter(|place| place.run > 0).find_map(|place| match &place.node {
            Some(node) if node.member().is_some_and(|member| state.lives(member)) => None,
            _ => Some(place.run),
        }) {
            return format!("a node in its run {node} does not live");
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
                let node = self.places[member.node.0 as usize].node.as_ref();
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
        for node in self.places.iter().filter_map(|place| place.node.as_ref()) {
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

    /// Once all is committed, the members of a chain remember the same, and have the same version of every key.
    pub(super) fn look_whether_level(&mut self) -> Result<(), String> {
        let Some(leader) = self.managers.leader else { return Ok(()) };
        let ranges = &self.managers.members[leader].state().ranges;
        let chains: Vec<(RangeId, Chain)> = ranges.iter().map(|(id, range)| (*id, range.chain.clone())).collect();
        for (id, chain) in chains {
            let mut first = None;
            for member in &chain.members {
                let has = self.has(member.node, id, &chain)?;
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

    /// The members of each chain are in as many failure domains as there are nodes in the chain, or domains at all, and on
    /// as many machines as there are nodes.
    pub(super) fn look_at_domains(&self) -> Result<(), String> {
        let nodes = &self.agreed.nodes;
        // A machine in no domain is one of its own.
        let domain = |node: &Registered| node.domain.map_or((Some(node.machine), None), |domain| (None, Some(domain)));
        let standing = nodes.values().filter(|node| node.standing == Standing::Member);
        let all: BTreeSet<_> = standing.map(domain).collect();
        for (id, range) in &self.agreed.ranges {
            let members: Vec<&Registered> = range.chain.members.iter().map(|member| &nodes[&member.node]).collect();
            let machines: BTreeSet<_> = members.iter().map(|node| node.machine).collect();
            let domains: BTreeSet<_> = members.iter().map(|node| domain(node)).collect();
            if machines.len() < members.len() || domains.len() < members.len().min(all.len()) {
                return Err(format!("{id:?} is in {domains:?}, on {machines:?}, of the domains {all:?}: {range:?}"));
            }
        }
        Ok(())
    }

    /// What a member of a chain has: what can be seen of each key, and what it remembers beside.
    fn has(&mut self, node: NodeId, range: RangeId, chain: &Chain) -> Result<(Vec<Kept>, Meta), String> {
        let keys = self.positions.iter().enumerate().filter(|(_, place)| chain.keys.contains(place));
        let keys: Vec<(Key, Vec<u8>)> = keys.map(|(key, place)| (*place, name(key as u64))).collect();
        let node = self.places[node.0 as usize].node.as_mut().ok_or("a member of a chain at rest is down")?;
        let mut meta = node.replica(range).ok_or("a member of a chain at rest has no part in it")?.meta().clone();
        // How many of them are remembered depends on where a copy came from.
        meta.begins.clear();
        let mut seen = Vec::new();
        for (place, key) in keys {
            let kept = match node.store_mut().lookup(range, &key, NOBODYS) {
                Lookup::Known(kept) => kept,
                Lookup::Later => node.store_mut().take_reads().into_iter().find_map(|(ticket, read)| match read {
                    Read::Key(kept) if ticket == NOBODYS => kept,
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
    pub(super) fn look_at_lost(&self, number: usize) -> Result<(), String> {
        let Some(node) = &self.places[number].node else { return Ok(()) };
        for (range, _) in node.replicas().filter(|(_, replica)| replica.chain().is_some()) {
            let mut kept = node.store().kept(range);
            if let Some(kept) = kept.find(|kept| self.invariants.was_given_up(range, kept.position)) {
                return Err(format!("node {number} is in the chain of {range:?} with what others have lost: {kept:?}"));
            }
        }
        Ok(())
    }

    /// Never do members of different configurations of a key answer reads under leases.
    pub(super) fn look_at_readers(&self, number: usize) -> Result<(), String> {
        let readers = |number: usize| {
            let now_us = self.clock(number).us;
            let node = self.places[number].node.as_ref();
            node.into_iter().flat_map(move |node| {
                let lease = node.lease();
                node.replicas().filter_map(move |(range, replica)| Some((range, replica.reads_under(&lease, now_us)?)))
            })
        };
        for (range, chain) in readers(number) {
            for other in (0..self.places.len()).filter(|other| *other != number) {
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
}
