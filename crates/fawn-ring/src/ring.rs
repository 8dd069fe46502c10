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

/// All virtual nodes of a cluster, in ring order. A value: it knows who is a member, not who is alive or up to date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ring {
    /// Sorted by virtual ID, no two equal.
    virtual_nodes: Vec<VirtualNode>,
    /// Where each node runs, and at how many places of the ring it stands.
    nodes: BTreeMap<NodeId, (MachineId, usize)>,
    /// The domain of each machine, and at how many places of the ring its nodes stand.
    machines: BTreeMap<MachineId, (Option<DomainId>, usize)>,
    /// Number of machines of each failure domain.
    domains: BTreeMap<DomainId, usize>,
    /// How many machines are in no failure domain, which makes each a domain of its own.
    single_machines: usize,
    /// At how many places of the ring the archives of each machine stand that has any.
    archives: BTreeMap<MachineId, usize>,
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
        if node.is_archive() {
            *self.archives.entry(machine).or_insert(0) += 1;
        }
        let (_, places) = self.machines.entry(machine).or_insert((domain, 0));
        *places += 1;
        if *places == 1 {
            *self.machines_in(domain) += 1;
        }
        Ok(())
    }

    /// Removes one virtual node: one step of a leave. `None` if nobody stands there.
    pub fn remove(&mut self, id: &VirtualId) -> Option<VirtualNode> {
        let removed = self.virtual_nodes.remove(self.index_of(id).ok()?);
        let VirtualNode { node, machine, domain, .. } = removed;
        let (_, places) = self.nodes.get_mut(&node).expect("the node of each virtual node is counted");
        *places -= 1;
        if *places == 0 {
            self.nodes.remove(&node);
        }
        if let Some(archives) = self.archives.get_mut(&machine).filter(|_| node.is_archive()) {
            *archives -= 1;
            self.archives.retain(|_, archives| *archives > 0);
        }
        let (_, places) = self.machines.get_mut(&machine).expect("the machine of each virtual node is counted");
        *places -= 1;
        if *places == 0 {
            self.machines.remove(&machine);
            *self.machines_in(domain) -= 1;
            self.domains.retain(|_, machines| *machines > 0);
        }
        Some(removed)
    }

    /// The counter of a domain's machines.
    fn machines_in(&mut self, domain: Option<DomainId>) -> &mut usize {
        match domain {
            Some(domain) => self.domains.entry(domain).or_insert(0),
            None => &mut self.single_machines,
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
        self.domains.len() + self.single_machines
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
    /// * The members are in ring order in any case.
    /// * Where nodes of the ring are [archives](NodeId::is_archive), those come after the others, and a chain takes as many
    ///   of them as it can: all its members but one. Of each class it takes those that the rules above give, on machines
    ///   that it does not have yet. If there are too few nodes of one class, the other one fills the chain.
    ///
    /// Takes a few steps more than `replicas`, unless one domain has a small part of the ring and every chain needs it.
    pub fn chain(&self, id: &VirtualId, replicas: usize) -> Option<Vec<VirtualNode>> {
        assert!(replicas >= 1, "a chain has one member at least");
        let start = self.index_of(id).ok()?;
        let length = replicas.min(self.machines());
        let mut chain = Vec::with_capacity(length);
        let is_serving = |place: &VirtualNode| !place.node.is_archive();
        self.take(start, length.saturating_sub(self.archives.len()).max(1), is_serving, &mut chain);
        self.take(start, length, |place| place.node.is_archive(), &mut chain);
        // Archives that share a machine with a node that serves leave places to others of those.
        self.take(start, length, is_serving, &mut chain);
        assert!(chain.len() == length, "once round the ring leads past every machine and every domain");
        chain.sort_by_key(|place| (place.node.is_archive(), place.id < *id, place.id));
        Some(chain)
    }

    /// Takes nodes of a class into a chain, clockwise from a place, until it has `length` members or there are no more.
    fn take(
        &self,
        start: usize,
        length: usize,
        is_of_class: impl Fn(&VirtualNode) -> bool,
        chain: &mut Vec<VirtualNode>,
    ) {
        let mut domains = self.domains() - count_domains(chain);
        let mut others = Vec::new();
        let clockwise = self.virtual_nodes[start..].iter().chain(&self.virtual_nodes[..start]);
        for candidate in clockwise.filter(|place| is_of_class(place)) {
            if chain.len() >= length || (domains == 0 && chain.len() + others.len() >= length) {
                break;
            }
            if chain.iter().chain(&others).any(|member| member.machine == candidate.machine) {
                continue;
            }
            if chain.iter().any(|member| share_domain(member, candidate)) {
                others.push(*candidate);
            } else {
                domains -= 1;
                chain.push(*candidate);
            }
        }
        let room = length.saturating_sub(chain.len());
        chain.extend(others.into_iter().take(room));
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

/// Whether two places, of distinct machines, may fail together.
fn share_domain(one: &VirtualNode, other: &VirtualNode) -> bool {
    one.domain.is_some() && one.domain == other.domain
}

/// How many domains these members are in, each on a machine of its own.
fn count_domains(chain: &[VirtualNode]) -> usize {
    let is_first = |at: usize| !chain[..at].iter().any(|member| share_domain(member, &chain[at]));
    (0..chain.len()).filter(|at| is_first(*at)).count()
}
