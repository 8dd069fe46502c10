//! The ring: which virtual node owns a key, and which ones replicate it (FAWN SOSP'09 §3.4.1 and §3.4.3).
//!
//! Keys and virtual IDs share one circular space. A key belongs to its successor, the first virtual ID clockwise at or
//! after it. The chain of a range is its owner and the next R−1 virtual IDs. The paper leaves open what happens if two
//! of those belong to one node; here, members of a chain are always on distinct machines, and in distinct failure
//! domains as far as there are enough.
//!
//! # What a virtual ID moves
//!
//! The paper (§3.4.4): a new virtual ID splits one range into two, and becomes a member of R chains; a leave merges the
//! range that the node owned, and gives each of its R chains another member. With chains on distinct machines, this holds
//! in a slightly wider form. For one virtual ID v that joins (a leave is a join backwards):
//!
//! 1. One range is split, at v. Every other range stays.
//! 2. A chain changes exactly if v is in it afterwards.
//! 3. The ranges whose chains change are neighbours: the one that v owns and those before it, with no gap.
//! 4. A changed chain is the old one with v put in at its place in ring order, and at most one member dropped.
//!
//! These are the paper's R ranges where v and the R virtual IDs before it are on distinct machines and in distinct
//! domains. Where several of those before v are on one machine they count once, so that v reaches further back; where
//! v's own machine comes up, v reaches no further than that.
//!
//! Why (2) holds: a chain takes, in ring order, the first virtual node of each domain and then those of further machines,
//! as many of either as R, the domains and the machines allow. If v is not taken, the others are taken as if v were not
//! there. If v changes how many domains or machines there are, *and* that matters, there were fewer than R of them, and
//! every chain takes the only virtual node of the new one: v.
//!
//! Nodes that are archives (004, §6.1: copies on slow disks) stand behind the others in a chain. Where a ring has nodes of
//! both classes, (2) to (4) hold for each class as long as the number of machines with archives does not change; if it does,
//! every chain may get an archive in the place of another node, or the other way round.
//!
//! Of a node that joins with several virtual IDs, (2) holds as well, one after the other: a chain that has changed got
//! one of them last, and has it still.

use std::collections::BTreeMap;

use crate::ring_error::RingError;
use crate::{DomainId, Key, KeyRange, MachineId, Node, NodeId, VirtualId, VirtualNode};

/// What fails as one: a failure domain, or a machine in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FailureUnit {
    Domain(DomainId),
    Machine(MachineId),
}

impl FailureUnit {
    fn of(place: &VirtualNode) -> Self {
        place.domain.map_or(Self::Machine(place.machine), Self::Domain)
    }
}

/// A number for each class of nodes: those that serve, and archives.
type ByClass = [usize; 2];

fn class(place: &VirtualNode) -> usize {
    usize::from(place.node.is_archive())
}

/// Numbers of failure units, by whether they have nodes that serve alone, archives alone, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UnitCounts {
    of_one: ByClass,
    of_both: usize,
}

impl UnitCounts {
    /// The counter of units with so many places of each class.
    fn count_mut(&mut self, places: ByClass) -> Option<&mut usize> {
        match places {
            [0, 0] => None,
            [_, 0] => Some(&mut self.of_one[0]),
            [0, _] => Some(&mut self.of_one[1]),
            [_, _] => Some(&mut self.of_both),
        }
    }

    /// In how many units at most so many members of each class are.
    fn most(&self, members: ByClass) -> usize {
        let [serving, archives] = [0, 1].map(|class| members[class].min(self.of_one[class]));
        let others = members[0] + members[1] - serving - archives;
        serving + archives + others.min(self.of_both)
    }
}

/// All virtual nodes of a cluster, in ring order. A value: it knows who is a member, not who is alive or up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// Sorted by virtual ID, no two equal.
    virtual_nodes: Vec<VirtualNode>,
    /// Where each node runs, and at how many places of the ring it stands.
    nodes: BTreeMap<NodeId, (MachineId, usize)>,
    /// The domain of each machine, and at how many places of the ring its nodes stand.
    machines: BTreeMap<MachineId, (Option<DomainId>, ByClass)>,
    /// At how many places of the ring the nodes of each failure unit stand.
    units: BTreeMap<FailureUnit, ByClass>,
    unit_counts: UnitCounts,
    /// How many machines have nodes of each class.
    machines_of: ByClass,
}

impl Ring {
    /// A ring without a node.
    pub fn new() -> Self {
        Self::default()
    }

    /// The ring of some nodes. In ring order each place is added at the end, so that nothing has to move.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn of<'a>(nodes: impl IntoIterator<Item = &'a Node>) -> Result<Self, RingError> {
        let mut places: Vec<VirtualNode> = nodes.into_iter().flat_map(Node::virtual_nodes).collect();
        places.sort_by_key(|place| place.id);
        let mut ring = Self::new();
        places.into_iter().try_for_each(|place| ring.insert(place))?;
        Ok(ring)
    }

    /// Adds all virtual nodes of a node, or none if one cannot be added. Linear in the size of the ring.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_node(&mut self, node: &Node) -> Result<(), RingError> {
        for (count, virtual_node) in node.virtual_nodes().enumerate() {
            if let Err(error) = self.insert(virtual_node) {
                for inserted in &node.virtual_ids[..count] {
                    self.remove(inserted);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Removes all virtual nodes of a node, and returns them in ring order: none if the node was not in the ring.
    pub fn remove_node(&mut self, node: NodeId) -> Vec<VirtualNode> {
        let removed: Vec<_> = self.virtual_nodes_of(node).copied().collect();
        for virtual_node in &removed {
            self.remove(&virtual_node.id);
        }
        removed
    }

    /// Adds one virtual node: one step of a join, as the paper's nodes join one virtual ID at a time.
    ///
    /// # Errors
    ///
    /// The place is taken, or what is said of the node's machine or of the machine's domain contradicts what the ring
    /// knows. The ring is unchanged then.
    pub fn insert(&mut self, virtual_node: VirtualNode) -> Result<(), RingError> {
        let VirtualNode { id, node, machine, domain } = virtual_node;
        let index = match self.index_of(&id) {
            Ok(index) => return Err(RingError::Taken { id, node, holder: self.virtual_nodes[index].node }),
            Err(index) => index,
        };
        if let Some((known, _)) = self.nodes.get(&node).filter(|(known, _)| *known != machine) {
            return Err(RingError::OtherMachine { node, machine, known: *known });
        }
        if self.machines.get(&machine).is_some_and(|(known, _)| *known != domain) {
            return Err(RingError::OtherDomain { node, machine });
        }
        self.virtual_nodes.insert(index, virtual_node);
        self.nodes.entry(node).or_insert((machine, 0)).1 += 1;
        self.count(&virtual_node, |places| *places += 1);
        Ok(())
    }

    /// Removes one virtual node: one step of a leave. `None` if nobody stands there.
    pub fn remove(&mut self, id: &VirtualId) -> Option<VirtualNode> {
        let removed = self.virtual_nodes.remove(self.index_of(id).ok()?);
        let (_, places) = self.nodes.get_mut(&removed.node).expect("the node of each virtual node is counted");
        *places -= 1;
        if *places == 0 {
            self.nodes.remove(&removed.node);
        }
        self.count(&removed, |places| *places -= 1);
        Some(removed)
    }

    /// Changes the number of places of a place's class on its machine, and in its failure unit.
    fn count(&mut self, place: &VirtualNode, change: impl Fn(&mut usize)) {
        let (class, unit) = (class(place), FailureUnit::of(place));
        let (_, places) = self.machines.entry(place.machine).or_insert((place.domain, [0, 0]));
        let had = places[class] > 0;
        change(&mut places[class]);
        match (had, places[class] > 0) {
            (false, true) => self.machines_of[class] += 1,
            (true, false) => self.machines_of[class] -= 1,
            _ => {}
        }
        if *places == [0, 0] {
            self.machines.remove(&place.machine);
        }
        let places = self.units.entry(unit).or_default();
        self.unit_counts.count_mut(*places).into_iter().for_each(|count| *count -= 1);
        change(&mut places[class]);
        self.unit_counts.count_mut(*places).into_iter().for_each(|count| *count += 1);
        if *places == [0, 0] {
            self.units.remove(&unit);
        }
    }

    /// The virtual nodes in ring order, from the bottom of the key space.
    pub fn virtual_nodes(&self) -> &[VirtualNode] {
        &self.virtual_nodes
    }

    /// The virtual nodes of one node, in ring order. Linear in the size of the ring.
    pub fn virtual_nodes_of(&self, node: NodeId) -> impl Iterator<Item = &VirtualNode> {
        let is_known = self.nodes.contains_key(&node);
        self.virtual_nodes.iter().filter(move |virtual_node| is_known && virtual_node.node == node)
    }

    /// Who stands at a place. `None` if nobody does.
    pub fn get(&self, id: &VirtualId) -> Option<&VirtualNode> {
        self.index_of(id).ok().map(|index| &self.virtual_nodes[index])
    }

    /// Number of nodes on the ring.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Number of machines that the nodes run on.
    pub fn machines(&self) -> usize {
        self.machines.len()
    }

    /// How many failure domains the machines are in; a machine in none counts as one.
    pub fn domains(&self) -> usize {
        self.units.len()
    }

    /// Whether there is no virtual node, so that nobody owns any key.
    pub fn is_empty(&self) -> bool {
        self.virtual_nodes.is_empty()
    }

    /// The owner of a key: its successor, the first virtual node at or after it. `None` if the ring is empty.
    /// Logarithmic in the size of the ring.
    pub fn owner(&self, key: &Key) -> Option<&VirtualNode> {
        let index = self.virtual_nodes.partition_point(|virtual_node| virtual_node.id.0 < *key);
        self.virtual_nodes.get(index).or(self.virtual_nodes.first())
    }

    /// The last virtual node before a place: that of the place itself, if nobody else is there. `None` if the ring is
    /// empty. Logarithmic in the size of the ring.
    pub fn predecessor(&self, id: &VirtualId) -> Option<&VirtualNode> {
        let (Ok(index) | Err(index)) = self.index_of(id);
        self.virtual_nodes[..index].last().or(self.virtual_nodes.last())
    }

    /// The range that a virtual ID owns. `None` if nobody stands there.
    pub fn range_of(&self, id: &VirtualId) -> Option<KeyRange> {
        self.index_of(id).ok()?;
        self.predecessor(id).map(|before| KeyRange::new(before.id.0, id.0))
    }

    /// The chain of the range that a virtual ID owns, head first: the owner and those that follow clockwise, until there
    /// are `replicas` members (the paper's R). `None` if nobody stands at the place.
    ///
    /// * A virtual node whose *machine* is already in the chain is passed over. With fewer machines than `replicas`, the
    ///   chain is shorter and has one member on each.
    /// * A virtual node whose *failure domain* is already in the chain is passed over, unless there are fewer domains
    ///   than `replicas`: then each domain has its first member as before, and the places left are filled with the next
    ///   virtual nodes on further machines.
    /// * The members are in ring order.
    /// * Where nodes of the ring are [archives](NodeId::is_archive), a chain has as many of them as there are machines with
    ///   any, but for one place; they come after the others. The members are in as many failure domains as so many of each
    ///   class can be.
    ///
    /// Takes a few steps more than `replicas`, unless one domain has a small part of the ring and every chain needs it.
    pub fn chain(&self, id: &VirtualId, replicas: usize) -> Option<Vec<VirtualNode>> {
        assert!(replicas >= 1, "a chain has one member at least");
        let start = self.index_of(id).ok()?;
        let length = replicas.min(self.machines());
        let archives = self.machines_of[1].min(length - usize::from(self.machines_of[0] > 0));
        let mut picks =
            Picks { chain: Vec::with_capacity(length), left: [length - archives, archives], rest: self.unit_counts };
        for class in [0, 1] {
            for candidate in self.clockwise(start).filter(|place| self::class(place) == class) {
                if picks.left[class] == 0 {
                    break;
                }
                picks.offer(candidate, self.units[&FailureUnit::of(candidate)]);
            }
        }
        // A machine with nodes of both classes is in the chain once: others take the place of its second.
        while picks.chain.len() < length {
            let another = self.clockwise(start).find(|place| !picks.has_machine(place));
            picks.chain.push(*another.expect("the ring has as many machines"));
        }
        let mut chain = picks.chain;
        chain.sort_by_key(|place| (place.node.is_archive(), place.id < *id, place.id));
        Some(chain)
    }

    /// Once round the ring, from a place on.
    fn clockwise(&self, start: usize) -> impl Iterator<Item = &VirtualNode> {
        self.virtual_nodes[start..].iter().chain(&self.virtual_nodes[..start])
    }

    /// The chain of the range that a key lies in, as [`chain`](Self::chain). `None` if the ring is empty.
    pub fn chain_of_key(&self, key: &Key, replicas: usize) -> Option<Vec<VirtualNode>> {
        self.owner(key).and_then(|owner| self.chain(&owner.id, replicas))
    }

    /// Every range with its owner, in ring order. The ranges tile the ring.
    pub fn ranges(&self) -> impl Iterator<Item = (KeyRange, &VirtualNode)> {
        let before = self.virtual_nodes.last().into_iter().chain(&self.virtual_nodes);
        before.zip(&self.virtual_nodes).map(|(before, owner)| (KeyRange::new(before.id.0, owner.id.0), owner))
    }

    /// Where a virtual ID is in the ring order, or would be.
    fn index_of(&self, id: &VirtualId) -> Result<usize, usize> {
        self.virtual_nodes.binary_search_by_key(id, |virtual_node| virtual_node.id)
    }
}

/// Members of a chain, as they are picked.
struct Picks {
    chain: Vec<VirtualNode>,
    /// How many of each class are to come.
    left: ByClass,
    /// Failure units that no member is in.
    rest: UnitCounts,
}

impl Picks {
    fn has_machine(&self, candidate: &VirtualNode) -> bool {
        self.chain.iter().any(|member| member.machine == candidate.machine)
    }

    /// Picks a place, whose failure unit has so many of each class, unless its machine is in the chain, or the chain would be
    /// in fewer failure units than it can be.
    fn offer(&mut self, candidate: &VirtualNode, unit: ByClass) {
        if self.has_machine(candidate) {
            return;
        }
        let (mut left, mut rest) = (self.left, self.rest);
        left[class(candidate)] -= 1;
        let is_new = !self.chain.iter().any(|member| FailureUnit::of(member) == FailureUnit::of(candidate));
        if is_new {
            rest.count_mut(unit).into_iter().for_each(|count| *count -= 1);
        }
        if usize::from(is_new) + rest.most(left) >= self.rest.most(self.left) {
            (self.left, self.rest) = (left, rest);
            self.chain.push(*candidate);
        }
    }
}
