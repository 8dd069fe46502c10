//! Members and clusters for tests of the parts.

use super::committed::CommittedState;
use crate::replicated_state::{Decision, Genesis};
use fawn_kv::ids::{ClusterId, Rules};
use fawn_kv::manager::roster::{Change, Enrolment, NodeClass, Roster};
use fawn_kv::manager::{Leases, Settings};

/// A process with one seat, and a directory of its own.
pub fn enrolment(name: &str) -> Enrolment {
    let mut directory = [0; 16];
    directory[..name.len()].copy_from_slice(name.as_bytes());
    Enrolment {
        name: name.to_owned(),
        directory,
        address: format!("{name}:1"),
        clients: None,
        node: NodeClass::Serving,
        is_front: true,
        seats: 1,
        machine: name.to_owned(),
        domain: None,
        virtual_ids: 8,
        release: "1".to_owned(),
    }
}

/// A roster of these members.
pub fn roster(names: &[&str]) -> Roster {
    let mut roster = Roster::default();
    for name in names {
        assert!(roster.apply(&Change::Enrol(enrolment(name))));
    }
    roster
}

/// What a cluster of one replica begins with.
pub fn genesis() -> Genesis {
    let settings = Settings { replicas: 1, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
    Genesis { cluster: ClusterId([7; 16]), settings, wedges: 8 }
}

/// A cluster that has begun, with these members.
pub fn committed(names: &[&str]) -> CommittedState {
    let mut committed = CommittedState::default();
    assert!(committed.apply(&Decision::Begin(genesis()), 0).did);
    for name in names {
        assert!(committed.apply(&Decision::Roster(Change::Enrol(enrolment(name))), 0).did);
    }
    committed
}
