//! What a member keeps: the consensus library's own tests, and snapshots.

use crate::caller::{Caller, enrolment, greeting};
use fawn_kv::ids::{ClusterId, Rules};
use fawn_kv::link::Party;
use fawn_kv::manager::roster::Change;
use fawn_kv::manager::{Command, Leases, Settings, Waits};
use fawn_kv::wire::version::{SKIPPED_SEATS, STRUCK_NAMES};
use fawn_manager::consensus::state_machine::{self, SnapshotError};
use fawn_manager::consensus::types::{LogEntry, LogId, StorageError, Types};
use fawn_manager::consensus::{LogStore, StateMachine};
use fawn_manager::replicated_state::{Decision, Genesis, ReplicatedState};
use fawn_manager::{Options, Running, directory, sealed, start};
use fawn_ring::{MachineId, NodeId, Secret};
use openraft::testing::{StoreBuilder, Suite};
use openraft::{BasicNode, EntryPayload, Membership};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::mpsc;

struct Stores;

impl StoreBuilder<Types, LogStore, StateMachine, TempDir> for Stores {
    async fn build(&self) -> Result<(TempDir, LogStore, StateMachine), StorageError> {
        let dir = tempfile::tempdir().unwrap();
        let store = directory::open(dir.path()).unwrap();
        let (news, _) = mpsc::unbounded_channel();
        let machine = StateMachine::open(store.clone(), news).unwrap();
        Ok((dir, store, machine))
    }
}

#[test]
fn the_store_is_what_the_consensus_library_asks_for() {
    Suite::test_all(Stores).unwrap();
}

/// A cluster with a node.
fn decided() -> ReplicatedState {
    let settings = Settings { replicas: 3, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
    let mut decided = ReplicatedState::default();
    let (node, machine) = (NodeId(1), MachineId(1));
    let register = Command::Register { node, nonce: 5, machine, domain: None, virtual_ids: 1 };
    let decisions = [
        Decision::Begin(Genesis { cluster: ClusterId([3; 16]), settings, wedges: 8 }),
        Decision::Secret(Secret([4; 32])),
        Decision::command(&register),
    ];
    for decision in decisions {
        assert!(decided.apply(&decision).unwrap());
        assert!(!decided.apply(&decision).unwrap(), "only the first counts");
    }
    decided
}

#[test]
fn a_snapshot_that_was_changed_or_cut_is_refused() {
    let bytes = state_machine::encode(&decided());
    assert_eq!(state_machine::decode(&bytes).unwrap(), decided());
    let mut removed = decided();
    let steps = [
        Decision::Version(STRUCK_NAMES),
        Decision::Roster(Change::Enrol(enrolment("a", 1))),
        Decision::Roster(Change::Strike { name: "a".into() }),
    ];
    for step in &steps {
        assert!(removed.apply(step).unwrap());
    }
    assert!(!removed.apply(&steps[1]).unwrap(), "its name is gone");
    assert_eq!(state_machine::decode(&state_machine::encode(&removed)).unwrap(), removed);
    for at in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        assert!(matches!(state_machine::decode(&bytes), Err(SnapshotError::Sealed(_))), "bit {at}");
    }
    for length in 0..bytes.len() {
        assert!(state_machine::decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    let other = sealed::seal(&vec![9_u8; 40]);
    assert!(state_machine::decode(&other).is_err(), "sealed, and no state");
}

#[test]
fn seats_and_numbers_of_the_roster_are_skipped_once_all_managers_skip_them() {
    let (before, lost) = (decided(), Decision::Recovered { lost: 1000, waits: Waits::ForAll });
    let mut older = before.clone();
    older.apply(&lost).unwrap();
    assert_eq!(older.facts.roster, before.facts.roster);
    let mut newer = before.clone();
    for step in [&Decision::Version(SKIPPED_SEATS), &lost] {
        newer.apply(step).unwrap();
    }
    assert_eq!(newer.facts.roster.number, before.facts.roster.number + 1000);
}

#[test]
fn a_change_of_the_group_that_was_left_half_done_is_brought_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let ask = |manager: &Running| {
        let mut operator = Caller::call(manager.connect().unwrap(), greeting(Party::Operator)).unwrap();
        operator.status().leader.0
    };
    let id = ask(&start(Options::new(dir.path())).unwrap());
    let change = |store: &LogStore| {
        let entries = store.all().unwrap().into_iter().rev();
        let mut changes = entries.filter_map(|entry| match entry.payload {
            EntryPayload::Membership(members) => Some(members.get_joint_config().len()),
            _ => None,
        });
        changes.next().unwrap()
    };
    {
        let store = directory::open(dir.path()).unwrap();
        let (last, vote) = (store.last().unwrap().unwrap(), store.vote().unwrap().unwrap());
        let log_id = LogId::new(last.leader_id, last.index + 1);
        // The first step alone: both groups have to agree.
        let nodes = BTreeMap::from([(id, BasicNode::new(""))]);
        let members = Membership::new(vec![BTreeSet::from([id]), BTreeSet::from([id])], nodes);
        let step = LogEntry { log_id, payload: EntryPayload::Membership(members) };
        store.rewrite(vote, vec![step]).unwrap();
        assert_eq!(change(&store), 2);
    }
    {
        let manager = start(Options::new(dir.path())).unwrap();
        ask(&manager);
        std::thread::sleep(Duration::from_secs(2));
        ask(&manager);
    }
    assert_eq!(change(&directory::open(dir.path()).unwrap()), 1);
}
