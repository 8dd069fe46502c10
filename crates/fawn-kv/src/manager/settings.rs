//! What the operator of a cluster sets.

use crate::ids::Rules;
use serde::{Deserialize, Serialize};

/// Members of a chain, at most.
pub const MOST_REPLICAS: u32 = 64;

/// Places of a node on the ring, at most.
pub const MOST_VIRTUAL_IDS: u32 = 1024;

/// What the operator sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Members that each chain is to have.
    pub replicas: u32,
    /// Nodes to wait for before the first ranges are made.
    pub first_nodes: u32,
    /// What chains go by, each from its next activation on.
    pub rules: Rules,
}

/// What no cluster can go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A chain has a member at least.
    #[error("a chain has from 1 to {MOST_REPLICAS} replicas: not {0}")]
    Replicas(u32),
    /// A node has a place at least.
    #[error("a node has from 1 to {MOST_VIRTUAL_IDS} virtual IDs: not {0}")]
    VirtualIds(u32),
}

impl Settings {
    /// Whether a cluster can go by them: managers take no others.
    ///
    /// # Errors
    /// The number of replicas is 0, or more than [`MOST_REPLICAS`].
    pub fn check(&self) -> Result<(), SettingsError> {
        if (1..=MOST_REPLICAS).contains(&self.replicas) { Ok(()) } else { Err(SettingsError::Replicas(self.replicas)) }
    }
}

/// Whether a node may have so many places on the ring: managers register no others.
///
/// # Errors
/// It is 0, or more than [`MOST_VIRTUAL_IDS`].
pub fn check_virtual_ids(count: u32) -> Result<(), SettingsError> {
    if (1..=MOST_VIRTUAL_IDS).contains(&count) { Ok(()) } else { Err(SettingsError::VirtualIds(count)) }
}
