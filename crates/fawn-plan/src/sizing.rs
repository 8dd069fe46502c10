//! How many nodes are needed, and for what (FAWN SOSP'09 §5.2): N = max(data / space of a node, rate / rate of a node).
//!
//! Beyond the paper: copies, the share of a node that may be in use, more limits than one for the rate, and the index's
//! DRAM.

use serde::Serialize;

use crate::store::{DRAINED_BYTES, INDEXED_BYTES, record_bytes};
use crate::{Assumptions, CatalogueModel, NodeLimits, NodeOption, Quantity, Resource, Workload};

/// How the index finds records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Index {
    /// DRAM holds an entry for every record.
    Indexed,
    /// Most records are found by the page directories of large runs alone.
    Drained,
}

impl Index {
    /// DRAM an entry, in bytes.
    pub fn entry_bytes(self) -> f64 {
        match self {
            Self::Indexed => INDEXED_BYTES,
            Self::Drained => DRAINED_BYTES,
        }
    }
}

/// How many nodes one resource asks for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Need {
    /// Of what.
    pub resource: Resource,
    /// Nodes, before they are rounded up.
    pub nodes: f64,
}

/// How many nodes of a kind are needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sizing {
    /// Nodes, as many as the largest need, rounded up; at least one for each copy.
    pub nodes: u64,
    /// What asks for the most.
    pub binds: Resource,
    /// What each resource asks for, of those that are known.
    pub needs: Vec<Need>,
    /// How the index finds records; `None` where DRAM is unknown or does not matter.
    pub index: Option<Index>,
    /// DRAM that the index of a node takes, in bytes; `None` as above.
    pub index_bytes: Option<f64>,
    /// Gets a second that each part of a node allows.
    pub limits: NodeLimits,
    /// Bytes of flash that all copies of all records take, on all nodes.
    pub stored_bytes: f64,
}

impl Sizing {
    /// As many as are needed by all that is known of the option: where something is unknown, at least so many.
    pub fn of(option: &NodeOption, model: CatalogueModel, workload: &Workload, assumptions: &Assumptions) -> Self {
        let (limits, stored_bytes, mut needs) = all_but_dram(option, model, workload, assumptions);
        let mut largest = largest(&needs);
        let mut index = None;
        if let (CatalogueModel::Fawn, Some(gib)) = (model, option.value(Quantity::DramGib)) {
            let usable = gib * 1024f64.powi(3) * assumptions.utilisation;
            let nodes_for = |index: Index| workload.entries() * index.entry_bytes() / usable;
            let mode = if nodes_for(Index::Indexed) <= whole(largest.nodes) { Index::Indexed } else { Index::Drained };
            let need = Need { resource: Resource::Dram, nodes: nodes_for(mode) };
            needs.push(need);
            index = Some(mode);
            if need.nodes > whole(largest.nodes) {
                largest = need;
            }
        }
        let nodes = whole(largest.nodes);
        let index_bytes = index.map(|index| workload.entries() * index.entry_bytes() / nodes);
        Self { nodes: nodes as u64, binds: largest.resource, needs, index, index_bytes, limits, stored_bytes }
    }

    /// Nodes by the paper's formula without rounding, to find boundaries between options: it grows in proportion to data
    /// and rate, and knows no least number of copies.
    pub fn exact_nodes(
        option: &NodeOption,
        model: CatalogueModel,
        workload: &Workload,
        assumptions: &Assumptions,
    ) -> f64 {
        let (_, _, needs) = all_but_dram(option, model, workload, assumptions);
        let nodes = needs.iter().filter(|need| need.resource != Resource::Replicas).map(|need| need.nodes);
        let nodes = nodes.fold(0.0, f64::max);
        match (model, option.value(Quantity::DramGib)) {
            (CatalogueModel::Fawn, Some(gib)) => {
                let usable = gib * 1024f64.powi(3) * assumptions.utilisation;
                nodes.max(workload.entries() * DRAINED_BYTES / usable)
            }
            _ => nodes,
        }
    }

    /// What this option does not say and this sizing would need.
    pub fn unknown(option: &NodeOption, model: CatalogueModel, limits: &NodeLimits) -> Vec<Resource> {
        let space = option.value(Quantity::Gb).is_none().then_some(Resource::Space);
        let has_dram = model == CatalogueModel::Stated || option.value(Quantity::DramGib).is_some();
        let dram = (!has_dram).then_some(Resource::Dram);
        space.into_iter().chain(limits.unknown()).chain(dram).collect()
    }
}

fn whole(nodes: f64) -> f64 {
    // 4000.0000000000005 is 4000: what floating point adds is no node.
    (nodes * (1.0 - 1e-12)).ceil().max(1.0)
}

fn largest(needs: &[Need]) -> Need {
    let first = Need { resource: Resource::Replicas, nodes: 1.0 };
    needs.iter().fold(first, |largest, need| if need.nodes > largest.nodes { *need } else { largest })
}

/// Limits, bytes of flash, and what every resource but DRAM asks for.
fn all_but_dram(
    option: &NodeOption,
    model: CatalogueModel,
    workload: &Workload,
    assumptions: &Assumptions,
) -> (NodeLimits, f64, Vec<Need>) {
    let limits = NodeLimits::of(option, model, workload.value_bytes);
    let replicas = f64::from(workload.replicas);
    let growth = match model {
        CatalogueModel::Stated => 1.0,
        CatalogueModel::Fawn => record_bytes(workload.value_bytes) / workload.value_bytes,
    };
    let stored_bytes = workload.data_bytes * growth * replicas;
    let mut needs = vec![Need { resource: Resource::Replicas, nodes: replicas }];
    if let Some(gb) = option.value(Quantity::Gb) {
        needs.push(Need { resource: Resource::Space, nodes: stored_bytes / (gb * 1e9 * assumptions.utilisation) });
    }
    needs.extend(
        limits.known().map(|(resource, rate)| Need {
            resource,
            nodes: workload.gets_per_second / (rate * assumptions.utilisation),
        }),
    );
    (limits, stored_bytes, needs)
}
