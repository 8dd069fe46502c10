//! A plan: every option of a catalogue sized and paid for, the cheapest first, and what is to be said beside the numbers.
//! [`crate::ranking`] makes it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Assumptions, CatalogueModel, Cost, DriveWear, Figure, Flip, Loss, Quantity, Resource, Sizing, Workload};

/// What to buy or rent for a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PurchasePlan {
    /// The catalogue's name.
    pub catalogue: String,
    /// What it is.
    pub title: String,
    /// How its figures are meant.
    pub model: CatalogueModel,
    /// What is asked for.
    pub workload: Workload,
    /// What is reckoned with.
    pub assumptions: Assumptions,
    /// Puts a second for which drives were judged; `None` if nobody has asked.
    pub puts_per_second: Option<f64>,
    /// Options of which enough is known, the cheapest first.
    pub ranked: Vec<RankedOption>,
    /// The others, in the catalogue's order.
    pub unranked: Vec<UnrankedOption>,
    /// What would make the second option the first; `None` where there are not two.
    pub flip: Option<Flip>,
    /// What is to be known before one believes this, a sentence each.
    pub warnings: Vec<String>,
}

/// An option, as many nodes of it as are needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedOption {
    /// What it is called.
    pub name: String,
    /// Its machine.
    pub machine: String,
    /// Its drives, and how many of them.
    pub drives: Option<(String, u32)>,
    /// What is to be known beside the figures.
    pub note: Option<String>,
    /// Nodes and what asks for them.
    pub sizing: Sizing,
    /// Gets a second that each node is asked for.
    pub gets_a_node: f64,
    /// Limits of a node's rate that are unknown, so that it may be lower than is reckoned with.
    pub unknown: Vec<Resource>,
    /// Of all nodes.
    pub cost: Cost,
    /// Watts of all nodes when they are busy, without what the building takes; `None` if unknown.
    pub watts: Option<f64>,
    /// Gets a joule at the rate that is asked for, of nodes that are always busy.
    pub gets_a_joule: Option<f64>,
    /// Gets a joule at the highest rate that a node's known limits allow.
    pub most_gets_a_joule: Option<f64>,
    /// Racks, by their power and, where it is known, by their room; `None` if neither is.
    pub racks: Option<u64>,
    /// Ports that nodes take.
    pub switch_ports: u64,
    /// Switches for these, each with one port up if there are several.
    pub switches: u64,
    /// What losing one node does.
    pub loss: Loss,
    /// How its drives wear; `None` if nobody has asked, or it has none of a known size.
    pub drive_wear: Option<DriveWear>,
    /// Every value with where it is from.
    pub figures: BTreeMap<Quantity, Figure>,
}

/// An option of which too little is known to rank it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnrankedOption {
    /// What it is called.
    pub name: String,
    /// What is to be known beside the figures.
    pub note: Option<String>,
    /// What is unknown.
    pub missing: Vec<String>,
    /// Nodes that are needed at least, by what is known.
    pub least_nodes: u64,
    /// Dollars that these cost at least, if prices and watts are known.
    pub least_total: Option<f64>,
    /// Every value that is known, with where it is from.
    pub figures: BTreeMap<Quantity, Figure>,
}
