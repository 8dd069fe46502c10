//! What everybody routes by: the configuration of every range.

use std::fmt;

use crate::{Configuration, Epoch, Incarnation, Key, KeyRange, Member, NodeId, Ring, Role, ViewError};

/// The number of a view. Each change makes the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewNumber(pub u64);

impl fmt::Display for ViewNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The configurations of all ranges at one moment. A value: a change makes another one.
///
/// The ranges tile the ring exactly: every key is in one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    number: ViewNumber,
    /// Sorted by the end of the range; each begins where the one before it ends, the first where the last ends.
    configurations: Vec<Configuration>,
}

/// A change that the manager has committed: from one view to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewChange {
    /// A range has other members, or other incarnations of them, or the same ones after a seal.
    Replace(Configuration),
    /// A range is two now. Both have the members that it had.
    Split {
        /// The last position of the lower part.
        at: Key,
        /// The epoch of the lower part.
        lower: Epoch,
        /// The epoch of the upper part.
        upper: Epoch,
    },
    /// Two adjacent ranges, which had the same members in the same order, are one now.
    Merge {
        /// The last position of the first of them clockwise.
        at: Key,
        /// The epoch of the merged range.
        epoch: Epoch,
    },
}

impl View {
    /// The view with a number and some configurations, in any order.
    ///
    /// # Errors
    ///
    /// The ranges do not tile the ring.
    pub fn new(number: ViewNumber, mut configurations: Vec<Configuration>) -> Result<Self, ViewError> {
        configurations.sort_unstable_by_key(|configuration| configuration.range().last);
        let view = Self { number, configurations };
        view.check()?;
        Ok(view)
    }

    /// The first view of a cluster that holds no data yet: every range of the ring with the chain that it should have,
    /// in the first epoch. `incarnation` tells which life of a node becomes a member.
    pub fn of(ring: &Ring, replicas: usize, incarnation: impl Fn(NodeId) -> Incarnation) -> Self {
        let configure = |(range, owner): (KeyRange, &crate::VirtualNode)| {
            let chain = ring.chain(&owner.id, replicas).expect("an owner stands on its ring");
            let member = |virtual_node: &crate::VirtualNode| Member {
                node: virtual_node.node,
                machine: virtual_node.machine,
                incarnation: incarnation(virtual_node.node),
            };
            let members: Vec<Member> = chain.iter().map(member).collect();
            Configuration::new(range, Epoch::FIRST, members).expect("the chains of a ring are on distinct machines")
        };
        let configurations = ring.ranges().map(configure).collect();
        Self::new(ViewNumber(1), configurations).expect("the ranges of a ring that is not empty tile it")
    }

    /// The number.
    pub fn number(&self) -> ViewNumber {
        self.number
    }

    /// The configurations of all ranges, in ring order from the bottom of the key space: one at least.
    pub fn configurations(&self) -> &[Configuration] {
        &self.configurations
    }

    /// The configuration of the range that a key lies in. Logarithmic in the number of ranges.
    pub fn lookup(&self, key: &Key) -> &Configuration {
        &self.configurations[self.index_of(key)]
    }

    /// The configuration of exactly a range. `None` if the view has no such range.
    pub fn configuration(&self, range: &KeyRange) -> Option<&Configuration> {
        Some(self.lookup(&range.last)).filter(|configuration| configuration.range() == *range)
    }

    /// The configurations that a node is a member of, with its part in each, in ring order. Linear in the number of
    /// ranges.
    pub fn roles(&self, node: NodeId) -> impl Iterator<Item = (&Configuration, Role)> {
        self.configurations
            .iter()
            .filter_map(move |configuration| configuration.role(node).map(|role| (configuration, role)))
    }

    /// The view after a change that the manager has committed: its own, or one that
    /// [`checked_apply`](Self::checked_apply) has been asked about. That it does not fit the view is a bug.
    #[must_use]
    pub fn apply(&self, change: &ViewChange) -> Self {
        self.checked_apply(change).unwrap_or_else(|error| panic!("a committed change fits the view: {error}"))
    }

    /// The view after a change, with the next number.
    ///
    /// # Errors
    ///
    /// The change is of no range of this view, or does not raise the epoch, or merges ranges with different chains.
    pub fn checked_apply(&self, change: &ViewChange) -> Result<Self, ViewError> {
        let mut configurations = self.configurations.clone();
        match change {
            ViewChange::Replace(configuration) => self.replace(&mut configurations, configuration)?,
            ViewChange::Split { at, lower, upper } => self.split(&mut configurations, at, *lower, *upper)?,
            ViewChange::Merge { at, epoch } => self.merge(&mut configurations, at, *epoch)?,
        }
        let number = ViewNumber(self.number.0.checked_add(1).expect("a cluster does not see 2^64 views"));
        let next = Self { number, configurations };
        next.check().expect("a replaced, split or merged range covers what was there before");
        Ok(next)
    }

    fn replace(&self, configurations: &mut [Configuration], configuration: &Configuration) -> Result<(), ViewError> {
        let range = configuration.range();
        let index = self.index_of(&range.last);
        if configurations[index].range() != range {
            return Err(ViewError::OtherRanges { range });
        }
        check_epoch(&configurations[index], configuration.epoch())?;
        configurations[index] = configuration.clone();
        Ok(())
    }

    fn split(
        &self,
        configurations: &mut Vec<Configuration>,
        at: &Key,
        lower: Epoch,
        upper: Epoch,
    ) -> Result<(), ViewError> {
        let parent = self.lookup(at);
        let (lower_range, upper_range) = parent.range().split(at).ok_or(ViewError::NotThere { at: *at })?;
        check_epoch(parent, lower)?;
        check_epoch(parent, upper)?;
        // The upper part ends where the parent did; the lower one comes to its place by its own end.
        let place = configurations.partition_point(|other| other.range().last < *at);
        configurations[self.index_of(&upper_range.last)] = parent.moved_to(upper_range, upper);
        configurations.insert(place, parent.moved_to(lower_range, lower));
        Ok(())
    }

    fn merge(&self, configurations: &mut Vec<Configuration>, at: &Key, epoch: Epoch) -> Result<(), ViewError> {
        let lower_index = self.index_of(at);
        let upper_index = (lower_index + 1) % configurations.len();
        let (lower, upper) = (&self.configurations[lower_index], &self.configurations[upper_index]);
        let merged = lower.range().merge(&upper.range()).filter(|_| lower.range().last == *at);
        let merged = merged.ok_or(ViewError::NotThere { at: *at })?;
        if lower.members() != upper.members() {
            return Err(ViewError::OtherMembers { lower: lower.range(), upper: upper.range() });
        }
        check_epoch(lower, epoch)?;
        check_epoch(upper, epoch)?;
        configurations[upper_index] = upper.moved_to(merged, epoch);
        configurations.remove(lower_index);
        Ok(())
    }

    /// Whether the ranges tile the ring. (That the members of each are on distinct machines, each configuration has
    /// checked itself.)
    ///
    /// # Errors
    ///
    /// There is no range, or the first one found that does not begin where the one before it ends.
    fn check(&self) -> Result<(), ViewError> {
        let mut end = self.configurations.last().ok_or(ViewError::NoRange)?.range().last;
        for (count, configuration) in self.configurations.iter().enumerate() {
            let range = configuration.range();
            let is_above = count == 0 || end < range.last;
            if range.after != end || !is_above {
                return Err(ViewError::NotAdjacent { range, end });
            }
            end = range.last;
        }
        Ok(())
    }

    /// Where the range is that a key lies in: the first that ends at or after it, or else the one that wraps.
    fn index_of(&self, key: &Key) -> usize {
        let index = self.configurations.partition_point(|configuration| configuration.range().last < *key);
        if index == self.configurations.len() { 0 } else { index }
    }
}

/// Epochs only grow.
fn check_epoch(known: &Configuration, epoch: Epoch) -> Result<(), ViewError> {
    if epoch <= known.epoch() {
        return Err(ViewError::OldEpoch { range: known.range(), epoch, known: known.epoch() });
    }
    Ok(())
}
