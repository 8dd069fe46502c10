//! Who holds one range, and in which part of its chain (FAWN SOSP'09 §3.4.3).

use std::fmt;
use std::sync::Arc;

use crate::{KeyRange, MachineId, NodeId, ViewError};

/// The number of a configuration of a range. It only grows: a split gives both parts higher ones than the range had, a
/// merge a higher one than either part had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The first epoch of a range that comes from no other.
    pub const FIRST: Self = Self(1);

    /// The epoch after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.checked_add(1).expect("a range does not see 2^64 configurations"))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One life of a node, from start to end. Given by the manager; a node that restarts is another member, which may have
/// lost what it held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(pub u64);

/// A member of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// Which node.
    pub node: NodeId,
    /// The machine that it runs on, which no other member of the chain does.
    pub machine: MachineId,
    /// Which life of the node.
    pub incarnation: Incarnation,
}

/// The part of a member in its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// The one member of its chain: takes puts and answers gets.
    Only,
    /// Takes puts, and orders them.
    Head,
    /// Passes puts on.
    Mid,
    /// Commits puts, and answers gets.
    Tail,
}

impl Role {
    /// Whether puts enter the chain here.
    pub fn is_head(self) -> bool {
        matches!(self, Self::Head | Self::Only)
    }

    /// Whether puts commit here.
    pub fn is_tail(self) -> bool {
        matches!(self, Self::Tail | Self::Only)
    }
}

/// The members of one range in one epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    range: KeyRange,
    epoch: Epoch,
    /// Head first. Never empty, all on distinct machines. Shared by the views that have it.
    members: Arc<[Member]>,
}

impl Configuration {
    /// The configuration of a range with its members in chain order, head first.
    ///
    /// # Errors
    ///
    /// There is no member, or two of them are one node or on one machine.
    pub fn new(range: KeyRange, epoch: Epoch, members: impl Into<Arc<[Member]>>) -> Result<Self, ViewError> {
        let members = members.into();
        if members.is_empty() {
            return Err(ViewError::NoMember { range });
        }
        for (count, member) in members.iter().enumerate() {
            let is_double = |other: &&Member| other.node == member.node || other.machine == member.machine;
            if let Some(other) = members[..count].iter().find(is_double) {
                return Err(ViewError::SharedMachine { range, first: other.node, second: member.node });
            }
        }
        Ok(Self { range, epoch, members })
    }

    /// The same members for another range, in another epoch.
    pub(crate) fn moved_to(&self, range: KeyRange, epoch: Epoch) -> Self {
        Self { range, epoch, members: Arc::clone(&self.members) }
    }

    /// The range.
    pub fn range(&self) -> KeyRange {
        self.range
    }

    /// The epoch.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The members in chain order, head first: one at least.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The member that takes puts.
    pub fn head(&self) -> &Member {
        self.members.first().expect("a chain has a member")
    }

    /// The member that commits puts and answers gets.
    pub fn tail(&self) -> &Member {
        self.members.last().expect("a chain has a member")
    }

    /// The member that is a node. `None` if the node is no member.
    pub fn member(&self, node: NodeId) -> Option<&Member> {
        self.members.iter().find(|member| member.node == node)
    }

    /// The part of a node in the chain. `None` if it is no member.
    pub fn role(&self, node: NodeId) -> Option<Role> {
        let position = self.position(node)?;
        Some(match (position == 0, position + 1 == self.members.len()) {
            (true, true) => Role::Only,
            (true, false) => Role::Head,
            (false, false) => Role::Mid,
            (false, true) => Role::Tail,
        })
    }

    /// The member from which a node gets records. `None` for the head, and for nodes that are no member.
    pub fn predecessor(&self, node: NodeId) -> Option<&Member> {
        self.position(node)?.checked_sub(1).map(|before| &self.members[before])
    }

    /// The member to which a node forwards records. `None` for the tail, and for nodes that are no member.
    pub fn successor(&self, node: NodeId) -> Option<&Member> {
        self.members.get(self.position(node)? + 1)
    }

    fn position(&self, node: NodeId) -> Option<usize> {
        self.members.iter().position(|member| member.node == node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    const RANGE: KeyRange = KeyRange::new(Key::MIN, Key::MAX);

    fn member(number: u64) -> Member {
        Member { node: NodeId(number), machine: MachineId(number), incarnation: Incarnation(1) }
    }

    fn chain(numbers: &[u64]) -> Configuration {
        let members: Vec<Member> = numbers.iter().map(|number| member(*number)).collect();
        Configuration::new(RANGE, Epoch::FIRST, members).unwrap()
    }

    #[test]
    fn roles_follow_the_order_of_the_chain() {
        let chain = chain(&[5, 3, 9]);
        let roles = [5, 3, 9, 1].map(|number| chain.role(NodeId(number)));
        assert_eq!(roles, [Some(Role::Head), Some(Role::Mid), Some(Role::Tail), None]);
        assert_eq!((chain.head().node, chain.tail().node), (NodeId(5), NodeId(9)));
    }

    #[test]
    fn the_only_member_is_head_and_tail() {
        let role = chain(&[5]).role(NodeId(5)).unwrap();
        assert_eq!(role, Role::Only);
        assert!(role.is_head() && role.is_tail());
        assert!(Role::Head.is_head() && !Role::Head.is_tail());
        assert!(!Role::Mid.is_head() && !Role::Mid.is_tail());
        assert!(!Role::Tail.is_head() && Role::Tail.is_tail());
    }

    #[test]
    fn records_pass_from_the_head_to_the_tail() {
        let chain = chain(&[5, 3, 9]);
        let mut path = vec![chain.head().node];
        while let Some(next) = chain.successor(path[path.len() - 1]) {
            assert_eq!(chain.predecessor(next.node).map(|before| before.node), path.last().copied());
            path.push(next.node);
        }
        assert_eq!(path, [NodeId(5), NodeId(3), NodeId(9)]);
        assert_eq!(chain.predecessor(NodeId(5)), None);
        assert_eq!((chain.predecessor(NodeId(1)), chain.successor(NodeId(1))), (None, None));
    }

    #[test]
    fn a_chain_without_members_or_with_two_on_one_machine_is_refused() {
        assert_eq!(Configuration::new(RANGE, Epoch(1), []), Err(ViewError::NoMember { range: RANGE }));
        let shared = ViewError::SharedMachine { range: RANGE, first: NodeId(1), second: NodeId(2) };
        let neighbour = Member { machine: MachineId(1), ..member(2) };
        assert_eq!(Configuration::new(RANGE, Epoch(1), [member(1), neighbour]), Err(shared));
        let again = Member { machine: MachineId(2), incarnation: Incarnation(2), ..member(1) };
        let twice = ViewError::SharedMachine { range: RANGE, first: NodeId(1), second: NodeId(1) };
        assert_eq!(Configuration::new(RANGE, Epoch(1), [member(1), again]), Err(twice));
    }
}
