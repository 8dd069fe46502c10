//! The chain of a range, and the rules that its members follow.

use super::numbers::{Attempt, Epoch, Member, Position, Seq};
use crate::testing::injected_bugs::{Bug, planted};
use fawn_ring::{Interval, NodeId};
use serde::{Deserialize, Serialize};

/// How a node's copy of a range is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Health {
    /// Nothing is wrong with it.
    #[default]
    Sound,
    /// The node has no room for more values.
    Full,
    /// Part of it could not be read from flash.
    Damaged,
    /// It may lack records that the node acknowledged before they were durable.
    Behind,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ack {
    /// When every member has synced it.
    #[default]
    Durable,
    /// When every member has it in memory; it is synced soon after.
    Replicated,
}

/// What the members of a chain are to each other. A cluster keeps for life what it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Consistency {
    /// Each has the log of the one before it: what was acknowledged, all have (FAWN SOSP'09 §3.4.2).
    #[default]
    Chain,
    /// Nothing: each is a chain of its own. Who writes asks them all; the first is the owner, who alone answers
    /// (FAWN-DHT §3.3).
    Weak,
}

/// What the cluster's operator has set, as of when a chain became active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// What the members of a chain are to each other.
    pub consistency: Consistency,
    /// When a write is acknowledged.
    pub ack: Ack,
    /// A chain of fewer members takes no writes.
    pub min_write_replicas: u8,
    /// Members before the reader answer gets of keys that nobody is writing.
    pub spread_reads: bool,
    /// Records that are not durable yet, at most, but for some that no client asked for: what a member can lose that was
    /// acknowledged in memory. The numbers of twice so many are skipped when a chain revives.
    pub unsynced: u32,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            consistency: Consistency::Chain,
            ack: Ack::Durable,
            min_write_replicas: 1,
            spread_reads: false,
            unsynced: 65_536,
        }
    }
}

/// Who is in a range's chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// The keys of the range.
    pub keys: Interval,
    /// The configuration's number.
    pub epoch: Epoch,
    /// The attempt that brought it about.
    pub attempt: Attempt,
    /// Head first, tail last; never empty in an active chain.
    pub members: Vec<Member>,
    /// The end of the log that the chain goes on from.
    pub after: Position,
    /// Number of the chain's first record, which says that it begins; above any that was ever promised.
    pub first: Seq,
    /// The operator's settings.
    pub rules: Rules,
}

impl Chain {
    /// Whether it has enough members to take writes.
    pub fn takes_writes(&self) -> bool {
        self.members.len() >= usize::from(self.rules.min_write_replicas)
    }

    /// The chain before the first: no members.
    pub fn none(keys: Interval) -> Self {
        Self {
            keys,
            epoch: Epoch(0),
            attempt: Attempt(0),
            members: Vec::new(),
            after: Position::default(),
            first: Seq(1),
            rules: Rules::default(),
        }
    }

    /// The member's place in the chain.
    pub fn place(&self, member: Member) -> Option<usize> {
        self.members.iter().position(|other| *other == member)
    }

    /// Whether the node is in the chain, in whatever life.
    pub fn has_node(&self, node: NodeId) -> bool {
        self.members.iter().any(|member| member.node == node)
    }

    /// Whether each member is a chain of its own.
    pub fn is_weak(&self) -> bool {
        self.rules.consistency == Consistency::Weak
    }

    /// The nodes before and after a node; in a weak chain there are none.
    pub fn neighbours(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        let pairs = self.members.windows(2).map(|pair| (pair[0].node, pair[1].node)).filter(|_| !self.is_weak());
        pairs.filter_map(move |(before, after)| match node {
            _ if node == before => Some(after),
            _ if node == after => Some(before),
            _ => None,
        })
    }

    /// The first member; there is one.
    pub fn head(&self) -> Member {
        *self.members.first().expect("an active chain has members")
    }

    /// The last member; there is one.
    pub fn tail(&self) -> Member {
        *self.members.last().expect("an active chain has members")
    }

    /// Who is sent what changes something: the head; all members of a weak chain.
    pub fn writers(&self) -> &[Member] {
        let count = if self.is_weak() && !planted(Bug::WeakPutsToOwnerOnly) { self.members.len() } else { 1 };
        self.members.get(..count).expect("an active chain has members")
    }

    /// Who answers what changes something: the tail; in a weak chain the owner, its first member.
    pub fn answerer(&self) -> Member {
        if self.is_weak() { self.head() } else { self.tail() }
    }

    /// Who answers gets: the last member that is no archive, or the tail if all are archives; in a weak chain the owner.
    pub fn reader(&self) -> Member {
        *self.readers().last().expect("an active chain has members")
    }

    /// Who may be asked to show a key: all members up to the [reader](Self::reader) where reads are spread, else the reader
    /// alone.
    pub fn readers(&self) -> &[Member] {
        let last = match self.members.iter().rposition(|member| !member.node.is_archive()) {
            _ if self.is_weak() => 0,
            Some(place) => place,
            None => self.members.len().saturating_sub(1),
        };
        let first = if self.spreads_reads() { 0 } else { last };
        self.members.get(first..=last).expect("an active chain has members")
    }

    /// Whether members other than the reader may be asked to show a key.
    pub fn spreads_reads(&self) -> bool {
        self.rules.spread_reads && !self.is_weak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Incarnation;

    /// Members by number; those of 10 and more are archives.
    fn chain(members: &[u64], rules: Rules) -> Chain {
        let node = |number: u64| NodeId(number | if number < 10 { 0 } else { NodeId::ARCHIVE });
        let member = |number: &u64| Member { node: node(*number), incarnation: Incarnation(1) };
        Chain { members: members.iter().map(member).collect(), rules, ..Chain::none(Interval::ALL) }
    }

    #[test]
    fn archives_are_asked_only_where_nobody_else_is() {
        let readers = |members: &[u64], spread_reads| {
            let chain = chain(members, Rules { spread_reads, ..Rules::default() });
            assert_eq!(chain.readers().last(), Some(&chain.reader()));
            chain.readers().iter().map(|member| member.node.number()).collect::<Vec<_>>()
        };
        assert_eq!(readers(&[1, 2, 3], false), [3]);
        assert_eq!(readers(&[1, 2, 3], true), [1, 2, 3]);
        assert_eq!(readers(&[1, 10, 11], false), [1]);
        assert_eq!(readers(&[1, 2, 10], true), [1, 2]);
        assert_eq!(readers(&[10, 11], false), [11]);
        assert_eq!(readers(&[10, 11], true), [10, 11]);
        assert_eq!(readers(&[10, 1], false), [1], "the tail, of a chain that is not as it should be yet");
    }

    #[test]
    fn the_owner_of_a_weak_chain_alone_is_asked() {
        let rules = Rules { consistency: Consistency::Weak, spread_reads: true, ..Rules::default() };
        let chain = chain(&[1, 2, 3], rules);
        assert_eq!((chain.readers(), chain.answerer()), (&chain.members[..1], chain.head()));
    }
}
