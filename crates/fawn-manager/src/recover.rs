//! What is known of a group from one member's directory alone.

use crate::consensus::LogStore;
use crate::consensus::log::KeepError;
use crate::consensus::types::SnapshotMeta;
use openraft::EntryPayload;
use std::collections::BTreeMap;

/// The members of the group and where they are reached, as far as this member has heard.
///
/// # Errors
/// What is kept cannot be read.
pub fn members(store: &LogStore) -> Result<BTreeMap<u64, String>, KeepError> {
    let mut members = BTreeMap::new();
    let snapshot = store.snapshot()?.map(|kept| SnapshotMeta::from(kept.meta));
    let of_snapshot = snapshot.map(|meta| meta.last_membership.membership().clone());
    let of_entries = store.all()?.into_iter().rev().find_map(|entry| match entry.payload {
        EntryPayload::Membership(members) => Some(members),
        _ => None,
    });
    if let Some(membership) = of_entries.or(of_snapshot) {
        members.extend(membership.nodes().map(|(id, node)| (*id, node.addr.clone())));
    }
    Ok(members)
}
