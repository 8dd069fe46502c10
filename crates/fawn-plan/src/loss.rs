//! What it means that a node of a cluster is lost.

use serde::Serialize;

use crate::store::COPY_BYTES_PER_SECOND;
use crate::{CatalogueModel, NodeOption, Quantity, Sizing, Workload};

/// What it means that a node is lost, of a cluster as a plan has it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// Share of all that is stored that was on it, and is to be copied.
    pub share: f64,
    /// Bytes of that.
    pub bytes: f64,
    /// Whether these were the only copies.
    pub is_final: bool,
    /// Seconds to copy it to all that are left, each receiving its part at its network's rate, and no faster than a node of
    /// this store copies unless it is told otherwise; `None` where that is unknown or nobody is left.
    pub seconds_spread: Option<f64>,
    /// Seconds to copy it to one new node at that rate; `None` where that is unknown.
    pub seconds_to_one: Option<f64>,
    /// Share of the nodes that is left.
    pub capacity_left: f64,
    /// Share of their rate that the others are asked for meanwhile; more than 1 is too much. `None` where no limit of
    /// the rate is known or nobody is left.
    pub rate_share: Option<f64>,
    /// Share of their space that the others need once all is copied; `None` where space is unknown or nobody is left.
    pub space_share: Option<f64>,
    /// Whether there are too few nodes left for all copies until another comes.
    pub lacks_nodes: bool,
}

impl Loss {
    /// Of one node among as many as the sizing has.
    pub fn of(option: &NodeOption, model: CatalogueModel, sizing: &Sizing, workload: &Workload) -> Self {
        let nodes = sizing.nodes as f64;
        let left = nodes - 1.0;
        let bytes = sizing.stored_bytes / nodes;
        let most_bytes = match model {
            CatalogueModel::Stated => f64::INFINITY,
            CatalogueModel::Fawn => COPY_BYTES_PER_SECOND,
        };
        let copy_bytes = option.value(Quantity::NetworkMbit).map(|mbit| (mbit * 1e6 / 8.0).min(most_bytes));
        let of_left = |share: f64| (left > 0.0).then_some(share / left);
        let rate = sizing.limits.least().map(|(_, rate)| workload.gets_per_second / rate);
        let space = option.value(Quantity::Gb).map(|gb| sizing.stored_bytes / (gb * 1e9));
        Self {
            share: 1.0 / nodes,
            bytes,
            is_final: workload.replicas == 1,
            seconds_spread: copy_bytes.and_then(|rate| of_left(bytes / rate)),
            seconds_to_one: copy_bytes.map(|rate| bytes / rate),
            capacity_left: left / nodes,
            rate_share: rate.and_then(of_left),
            space_share: space.and_then(of_left),
            lacks_nodes: left < f64::from(workload.replicas),
        }
    }
}
