//! What a member keeps: the consensus library's own tests, and damage.

use fawn_kv::ids::{ClusterId, Rules};
use fawn_kv::manager::{Command, Leases, Settings};
use fawn_manager::consensus::machine::{self, SnapshotError};
use fawn_manager::consensus::types::{StorageError, Types};
use fawn_manager::consensus::{LogStore, Machine};
use fawn_manager::decided::{Begun, Decided, Decision};
use fawn_manager::{ManagerError, Options, directory, sealed, start};
use fawn_ring::{MachineId, NodeId, Secret};
use openraft::testing::{StoreBuilder, Suite};
use tempfile::TempDir;
use tokio::sync::mpsc;

struct Stores;

impl StoreBuilder<Types, LogStore, Machine, TempDir> for Stores {
    async fn build(&self) -> Result<(TempDir, LogStore, Machine), StorageError> {
        let dir = tempfile::tempdir().unwrap();
        let store = directory::open(dir.path()).unwrap();
        let (news, _) = mpsc::unbounded_channel();
        let machine = Machine::open(store.clone(), news).unwrap();
        Ok((dir, store, machine))
    }
}

#[test]
fn the_store_is_what_the_consensus_library_asks_for() {
    Suite::test_all(Stores).unwrap();
}

/// A cluster with a node.
fn decided() -> Decided {
    let settings = Settings { replicas: 3, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
    let mut decided = Decided::default();
    let (node, machine) = (NodeId(1), MachineId(1));
    let register = Command::Register { node, nonce: 5, machine, domain: None, virtual_ids: 1 };
    let decisions = [
        Decision::Begin(Begun { cluster: ClusterId([3; 16]), settings, wedges: 8 }),
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
    let bytes = machine::encode(&decided());
    assert_eq!(machine::decode(&bytes).unwrap(), decided());
    for at in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        assert!(matches!(machine::decode(&bytes), Err(SnapshotError::Sealed(_))), "bit {at}");
    }
    for length in 0..bytes.len() {
        assert!(machine::decode(&bytes[..length]).is_err(), "{length} bytes");
    }
    let other = sealed::seal(&vec![9_u8; 40]);
    assert!(machine::decode(&other).is_err(), "sealed, and no state");
}

/// Changes one bit in the middle of each stretch of the file, and sees whether a manager starts from it.
#[test]
fn a_manager_does_not_start_from_a_damaged_file() {
    let dir = tempfile::tempdir().unwrap();
    drop(start(Options::new(dir.path())).unwrap());
    let path = dir.path().join("manager.redb");
    let whole = std::fs::read(&path).unwrap();
    let needle = [0x66; 0];
    assert!(needle.is_empty());
    let mut noticed = 0;
    for at in (0..whole.len()).step_by(whole.len() / 64) {
        let mut bytes = whole.clone();
        bytes[at] ^= 16;
        std::fs::write(&path, bytes).unwrap();
        match std::panic::catch_unwind(|| directory::open(dir.path())) {
            Ok(Ok(_)) => {}
            Ok(Err(ManagerError::Kept { .. } | ManagerError::InUse(_))) | Err(_) => noticed += 1,
            Ok(Err(other)) => panic!("{other}"),
        }
    }
    assert!(noticed > 0);
}
