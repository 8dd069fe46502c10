//! What the operator of a cluster sets.

use crate::ids::Rules;
use serde::{Deserialize, Serialize};

/// Members of a chain, at most.
pub const MOST_REPLICAS: u32 = 64;

/// Places of a node on the ring, at most.
pub const MOST_VIRTUAL_IDS: u32 = 1024;

/// A lease lasts no longer, in microseconds.
pub const MOST_LEASE_US: u64 = 3_600_000_000;

/// What the operator sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Members that each chain is to have.
    pub replicas: u32,
    /// Nodes to wait for before the first ranges are made.
    pub first_nodes: u32,
    /// What chains go by: each is changed for it, if need be.
    pub rules: Rules,
    /// How long leases last. A cluster keeps that for life: each leader waits for what the ones before it may have granted.
    pub leases: Leases,
}

/// How long leases last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leases {
    /// Microseconds from when a lease was asked for, but for what clocks may be wrong.
    pub lease_us: u64,
    /// Clocks may be wrong by so many parts in a thousand: whoever has a lease counts so much less, and whoever waits for its
    /// end so much more.
    pub drift_permille: u32,
}

impl Default for Leases {
    fn default() -> Self {
        Self { lease_us: 2_000_000, drift_permille: 10 }
    }
}

impl Leases {
    fn drift_us(&self) -> u64 {
        self.lease_us * u64::from(self.drift_permille) / 1000
    }

    /// For how long whoever is granted a lease has it, by its own clock.
    pub fn shortest_us(&self) -> u64 {
        self.lease_us - self.drift_us()
    }

    /// When it is over for certain, by any clock.
    pub fn longest_us(&self) -> u64 {
        self.lease_us + self.drift_us()
    }
}

/// What no cluster can go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A chain has a member at least.
    #[error("a chain has from 1 to {MOST_REPLICAS} replicas: not {0}")]
    Replicas(u32),
    /// No chain would ever take a write.
    #[error("min_write_replicas is {least}, but chains have at most {replicas} replicas: none would accept a write")]
    WriteReplicas {
        /// Members that a chain needs to take writes.
        least: u8,
        /// Members that it is to have.
        replicas: u32,
    },
    /// A lease lasts for a while, and clocks go on.
    #[error("leases last from 1 ms to {} s, with clocks wrong by less than half: not {lease_us} us and {drift_permille} of 1000", MOST_LEASE_US / 1_000_000)]
    Leases {
        /// See [`Leases`].
        lease_us: u64,
        /// See [`Leases`].
        drift_permille: u32,
    },
    /// No member would ever take a record.
    #[error("unsynced is the number of records that a member may hold unsynced: give at least 1")]
    Unsynced,
    /// A node has a place at least.
    #[error("a node has from 1 to {MOST_VIRTUAL_IDS} virtual IDs: not {0}")]
    VirtualIds(u32),
}

impl Settings {
    /// Whether a cluster can go by them: managers take no others.
    ///
    /// # Errors
    /// The number of replicas is 0, or more than [`MOST_REPLICAS`], or less than writes need; no record may be unsynced;
    /// leases last for no time, or longer than [`MOST_LEASE_US`].
    pub fn check(&self) -> Result<(), SettingsError> {
        let Self { replicas, rules, leases: Leases { lease_us, drift_permille }, .. } = *self;
        if !(1..=MOST_REPLICAS).contains(&replicas) {
            return Err(SettingsError::Replicas(replicas));
        }
        let least = rules.min_write_replicas;
        if u32::from(least) > replicas {
            return Err(SettingsError::WriteReplicas { least, replicas });
        }
        if rules.unsynced == 0 {
            return Err(SettingsError::Unsynced);
        }
        if !(1000..=MOST_LEASE_US).contains(&lease_us) || drift_permille >= 500 {
            return Err(SettingsError::Leases { lease_us, drift_permille });
        }
        Ok(())
    }
}

/// Whether a node may have so many places on the ring: managers register no others.
///
/// # Errors
/// It is 0, or more than [`MOST_VIRTUAL_IDS`].
pub fn check_virtual_ids(count: u32) -> Result<(), SettingsError> {
    if (1..=MOST_VIRTUAL_IDS).contains(&count) { Ok(()) } else { Err(SettingsError::VirtualIds(count)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ClusterId;
    use crate::manager::Manager;
    use crate::timing::Timing;

    fn settings(replicas: u32, least: u8, leases: Leases) -> Settings {
        let rules = Rules { min_write_replicas: least, ..Rules::default() };
        Settings { replicas, first_nodes: 1, rules, leases }
    }

    #[test]
    fn a_cluster_does_not_begin_with_settings_that_none_can_go_by() {
        let new = |settings| Manager::new(Timing::default(), settings, ClusterId([1; 16])).err();
        let leases = Leases::default();
        assert_eq!(new(settings(3, 3, leases)), None);
        let refused = new(settings(2, 3, leases));
        assert_eq!(refused, Some(SettingsError::WriteReplicas { least: 3, replicas: 2 }));
        let said = refused.unwrap().to_string();
        assert!(said.starts_with("min_write_replicas is 3, but chains have at most 2 replicas"), "{said}");
        let lasting = |lease_us, drift_permille| new(settings(3, 1, Leases { lease_us, drift_permille }));
        assert_eq!(lasting(1000, 499), None);
        let synced = Rules { unsynced: 0, ..Rules::default() };
        assert_eq!(new(Settings { rules: synced, ..settings(3, 1, leases) }), Some(SettingsError::Unsynced));
        for (lease_us, drift_permille) in [(999, 10), (MOST_LEASE_US + 1, 10), (1000, 500)] {
            assert_eq!(lasting(lease_us, drift_permille), Some(SettingsError::Leases { lease_us, drift_permille }));
        }
    }

    #[test]
    fn whoever_has_a_lease_counts_less_and_whoever_waits_for_its_end_counts_more() {
        let leases = Leases { lease_us: 2_000_000, drift_permille: 10 };
        assert_eq!((leases.shortest_us(), leases.longest_us()), (1_980_000, 2_020_000));
        // By clocks that are wrong by so much in opposite directions, it is over in time.
        assert!(leases.shortest_us() * 1010 / 1000 <= leases.longest_us() * 990 / 1000);
    }
}
