//! Who is in a cluster, by name, and where: what managers decide beside the protocol, which knows numbers alone.

use crate::ids::{ManagerId, SeatId};
use crate::wire::version::ARCHIVES;
use fawn_ring::{DomainId, MachineId, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Longest name of a member, a machine or a domain, in bytes.
pub const MOST_NAME_BYTES: usize = 64;

/// Most seats of one member.
pub const MOST_SEATS: u32 = 64;

/// What a member keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeClass {
    /// Nothing: it is a front-end alone.
    None,
    /// Data that it serves.
    Serving,
    /// Copies that are read only if nobody else has them. Since version [`ARCHIVES`].
    Archive,
}

impl NodeClass {
    /// Whether it has stores.
    pub fn is_node(self) -> bool {
        self != Self::None
    }

    /// What an operator calls the class.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "front-end",
            Self::Serving => "serving",
            Self::Archive => "archive",
        }
    }

    /// The bit that the numbers of its seats have.
    fn seat_bit(self) -> u32 {
        if self == Self::Archive { NodeId::ARCHIVE as u32 } else { 0 }
    }
}

/// A process that asks to be a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolment {
    /// Its name, which it keeps for life.
    pub name: String,
    /// Drawn when its directory was made: one with another directory is a member whose disk was replaced.
    pub directory: [u8; 16],
    /// Where others reach it: HOST:PORT.
    pub address: String,
    /// Where memcached clients reach it, if they do.
    pub clients: Option<String>,
    /// What it keeps, for life.
    pub node: NodeClass,
    /// It serves clients.
    pub is_front: bool,
    /// Number of its event loops, which never changes.
    pub seats: u32,
    /// The machine that it runs on.
    pub machine: String,
    /// What fails together with the machine.
    pub domain: Option<String>,
    /// Places on the ring of each of its nodes.
    pub virtual_ids: u32,
    /// The release that it runs.
    pub release: String,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// What it said last.
    pub said: Enrolment,
    /// The first of its seats; the others follow.
    pub first: SeatId,
    /// Its machine.
    pub machine: MachineId,
    /// Its domain.
    pub domain: Option<DomainId>,
}

impl Member {
    /// Its seats.
    pub fn seats(&self) -> impl Iterator<Item = SeatId> + use<> {
        // Managers enrol nobody with more: what says so is damaged.
        (self.first.0..self.first.0.saturating_add(self.said.seats.min(MOST_SEATS))).map(SeatId)
    }
}

/// A change of the roster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// A process becomes a member, or comes back as one.
    Enrol(Enrolment),
    /// A member is gone for good, and nobody gets its name.
    Strike {
        /// Its name.
        name: String,
    },
    /// Where a manager is reached; `None`: it is no longer one.
    Manager {
        /// Which.
        id: ManagerId,
        /// HOST:PORT.
        address: Option<String>,
    },
}

/// Why a process cannot be a member.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnrolError {
    /// A name that is none.
    #[error("{0:?} is not a valid name: use 1 to {MOST_NAME_BYTES} letters, digits, dots, dashes and underscores")]
    Name(String),
    /// It would do nothing.
    #[error("{0} would neither keep data nor serve clients: leave out --no-clients")]
    Idle(String),
    /// It had another number of loops.
    #[error(
        "{name} was created with {had} event loops, and now has {has}: start it with --threads {had}, or under \
        another name"
    )]
    Seats {
        /// Who.
        name: String,
        /// How many it had.
        had: u32,
        /// How many it has now.
        has: u32,
    },
    /// None, or too many.
    #[error("a member has from 1 to {MOST_SEATS} event loops: not {0}")]
    SeatCount(u32),
    /// It was something else.
    #[error("{name} was created with class {}, not {}: start it as before, or under another name", had.name(), has.name())]
    Class {
        /// Who.
        name: String,
        /// What it was.
        had: NodeClass,
        /// What it is now.
        has: NodeClass,
    },
    /// Two members in one place.
    #[error("{address} is already the address of {other}: give each member its own --cluster-listen or --advertise")]
    Address {
        /// The address.
        address: String,
        /// Whose it is.
        other: String,
    },
}

/// Who is in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    /// Grows with every change.
    pub number: u64,
    /// Where managers are reached.
    pub managers: BTreeMap<ManagerId, String>,
    /// By name.
    pub members: BTreeMap<String, Member>,
    /// Numbers of machines, which are never given to others.
    machines: BTreeMap<String, MachineId>,
    domains: BTreeMap<String, DomainId>,
    seats: u32,
}

impl Roster {
    /// Whether a process may be, or go on as, a member.
    ///
    /// # Errors
    /// [`EnrolError`].
    pub fn check(&self, asked: &Enrolment) -> Result<(), EnrolError> {
        for name in [Some(&asked.name), Some(&asked.machine), asked.domain.as_ref()].into_iter().flatten() {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
            if name.is_empty() || name.len() > MOST_NAME_BYTES || !name.bytes().all(is_plain) {
                return Err(EnrolError::Name(name.clone()));
            }
        }
        if !(1..=MOST_SEATS).contains(&asked.seats) {
            return Err(EnrolError::SeatCount(asked.seats));
        }
        let name = asked.name.clone();
        if !asked.node.is_node() && !asked.is_front {
            return Err(EnrolError::Idle(name));
        }
        if let Some(Member { said, .. }) = self.members.get(&name) {
            if said.seats != asked.seats {
                return Err(EnrolError::Seats { name, had: said.seats, has: asked.seats });
            }
            if said.node != asked.node {
                return Err(EnrolError::Class { name, had: said.node, has: asked.node });
            }
        }
        let mut others = self.members.iter().filter(|(other, _)| **other != name);
        if let Some((other, _)) = others.find(|(_, member)| member.said.address == asked.address) {
            return Err(EnrolError::Address { address: asked.address.clone(), other: other.clone() });
        }
        Ok(())
    }

    /// Carries a change out; whether there was anything to change.
    pub fn apply(&mut self, change: &Change) -> bool {
        let did = match change {
            Change::Enrol(asked) => self.check(asked).is_ok() && self.enrol(asked),
            Change::Strike { name } => self.members.remove(name).is_some(),
            Change::Manager { id, address: Some(address) } => {
                self.managers.insert(*id, address.clone()).as_ref() != Some(address)
            }
            Change::Manager { id, address: None } => self.managers.remove(id).is_some(),
        };
        self.number += u64::from(did);
        did
    }

    /// Goes on without changes that are lost, of which there may have been so many: whoever has heard of some takes what comes now
    /// for newer, and nobody gets a seat that one of them may have given away.
    pub fn recovered(&mut self, lost: u32) {
        self.number += u64::from(lost);
        self.seats = self.seats.saturating_add(lost);
    }

    fn enrol(&mut self, asked: &Enrolment) -> bool {
        if self.members.get(&asked.name).is_some_and(|known| known.said == *asked) {
            return false;
        }
        let next = MachineId(self.machines.len() as u64 + 1);
        let machine = *self.machines.entry(asked.machine.clone()).or_insert(next);
        let next = DomainId(self.domains.len() as u64 + 1);
        let domain = asked.domain.clone().map(|name| *self.domains.entry(name).or_insert(next));
        let first =
            self.members.get(&asked.name).map_or(SeatId((self.seats + 1) | asked.node.seat_bit()), |known| known.first);
        self.seats = self.seats.max(first.number() + asked.seats - 1);
        self.members.insert(asked.name.clone(), Member { said: asked.clone(), first, machine, domain });
        true
    }

    /// The roster for a peer that speaks a version: older ones know no archives, and hear of nodes.
    #[must_use]
    pub fn spoken_in(&self, version: u8) -> Self {
        let mut roster = self.clone();
        if version < ARCHIVES {
            let archives = roster.members.values_mut().filter(|member| member.said.node == NodeClass::Archive);
            archives.for_each(|member| member.said.node = NodeClass::Serving);
        }
        roster
    }

    /// The member that has a seat, and its name.
    pub fn member_of(&self, seat: SeatId) -> Option<(&str, &Member)> {
        let has = |member: &Member| (member.first.0..member.first.0 + member.said.seats).contains(&seat.0);
        self.members.iter().find(|(_, member)| has(member)).map(|(name, member)| (name.as_str(), member))
    }

    /// Whether a seat was given to a member that is none any more, or would have been by changes that are lost.
    pub fn has_taken(&self, seat: SeatId) -> bool {
        seat.number() <= self.seats && self.member_of(seat).is_none()
    }

    /// Where a seat is reached.
    pub fn address_of(&self, seat: SeatId) -> Option<&str> {
        self.member_of(seat).map(|(_, member)| member.said.address.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str, port: u16) -> Enrolment {
        Enrolment {
            name: name.to_owned(),
            directory: [1; 16],
            address: format!("127.0.0.1:{port}"),
            clients: None,
            node: NodeClass::Serving,
            is_front: true,
            seats: 2,
            machine: name.to_owned(),
            domain: None,
            virtual_ids: 1,
            release: "0.1.0".to_owned(),
        }
    }

    #[test]
    fn a_member_keeps_its_seats_and_no_other_ever_has_them() {
        let mut roster = Roster::default();
        for (name, port) in [("a", 1), ("b", 2)] {
            assert!(roster.apply(&Change::Enrol(asked(name, port))));
        }
        assert_eq!(roster.members["b"].first, SeatId(3));
        assert!(roster.apply(&Change::Strike { name: "b".into() }));
        assert!(roster.apply(&Change::Enrol(Enrolment { directory: [2; 16], ..asked("a", 1) })), "another disk");
        assert!(!roster.apply(&Change::Enrol(Enrolment { directory: [2; 16], ..asked("a", 1) })), "nothing new");
        assert!(roster.apply(&Change::Enrol(asked("b", 2))));
        let firsts: Vec<_> = roster.members.values().map(|member| member.first.0).collect();
        assert_eq!((firsts, roster.number), (vec![1, 5], 5));
        assert_eq!(roster.member_of(SeatId(6)).map(|(name, _)| name), Some("b"));
        assert_eq!(roster.address_of(SeatId(3)), None);
        assert_eq!([2, 3, 6, 7].map(|seat| roster.has_taken(SeatId(seat))), [false, true, false, false]);
    }

    #[test]
    fn the_seats_of_an_archive_say_so_and_no_other_has_their_number() {
        let mut roster = Roster::default();
        let archive = |name, port| Enrolment { node: NodeClass::Archive, ..asked(name, port) };
        for enrolment in [asked("a", 1), archive("b", 2), asked("c", 3)] {
            assert!(roster.apply(&Change::Enrol(enrolment)));
        }
        let seats = |name: &str| {
            roster.members[name].seats().map(|seat| (seat.number(), NodeId(u64::from(seat.0)).is_archive()))
        };
        assert_eq!(seats("b").collect::<Vec<_>>(), [(3, true), (4, true)]);
        assert_eq!(seats("c").collect::<Vec<_>>(), [(5, false), (6, false)]);
        assert_eq!(roster.member_of(roster.members["b"].first).map(|(name, _)| name), Some("b"));
        assert_eq!(roster.member_of(SeatId(3)), None, "no node that serves has it");
        assert_eq!(roster.spoken_in(ARCHIVES), roster);
        let older = roster.spoken_in(ARCHIVES - 1);
        assert_eq!((older.members["b"].said.node, older.number), (NodeClass::Serving, roster.number));
        let other = roster.check(&asked("b", 2)).unwrap_err().to_string();
        assert!(other.contains("class archive, not serving"), "{other}");
        let first = roster.members["b"].first;
        roster.apply(&Change::Strike { name: "b".into() });
        assert!(roster.has_taken(first));
        // As older releases say it: whether it is a node.
        let bytes = |class| postcard::to_allocvec(&class).unwrap();
        let is_node = |is_node: bool| postcard::to_allocvec(&is_node).unwrap();
        assert_eq!((bytes(NodeClass::None), bytes(NodeClass::Serving)), (is_node(false), is_node(true)));
    }

    #[test]
    fn what_a_lost_change_may_have_given_away_nobody_gets() {
        let mut roster = Roster::default();
        roster.apply(&Change::Enrol(asked("a", 1)));
        let mut lost = roster.clone();
        lost.apply(&Change::Enrol(asked("b", 2)));
        roster.recovered(1000);
        roster.apply(&Change::Enrol(asked("c", 3)));
        assert!(lost.members["b"].seats().all(|seat| roster.member_of(seat).is_none()), "b lives, and nobody is it");
        assert!(roster.number > lost.number, "whoever has heard of b hears that it is no member");
        assert_eq!(roster.members["a"], lost.members["a"]);
    }

    #[test]
    fn what_cannot_be_a_member_is_refused_with_what_to_do() {
        let mut roster = Roster::default();
        roster.apply(&Change::Enrol(asked("a", 1)));
        let refused = |asked: Enrolment| roster.check(&asked).unwrap_err().to_string();
        assert!(refused(asked("a b", 2)).contains("is not a valid name"));
        assert!(refused(Enrolment { seats: 3, ..asked("a", 1) }).contains("--threads 2"));
        assert!(refused(Enrolment { node: NodeClass::None, ..asked("a", 1) }).contains("class serving, not front-end"));
        assert!(refused(asked("b", 1)).contains("is already the address of a:"));
        assert!(refused(Enrolment { node: NodeClass::None, is_front: false, ..asked("c", 3) }).contains("neither"));
        assert_eq!(roster.check(&asked("a", 9)), Ok(()), "it may move");
    }
}
