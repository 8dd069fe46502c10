//! A plan: every option of a catalogue sized and paid for, the cheapest first, and what is to be said beside the numbers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::cost::unknown_cost;
use crate::warnings::warnings;
use crate::{
    Assumptions, Catalogue, Cost, Figure, Flip, Loss, Model, NodeOption, Quantity, Resource, Sizing, Workload,
};

/// What to buy or rent for a workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The catalogue's name.
    pub catalogue: String,
    /// What it is.
    pub title: String,
    /// How its figures are meant.
    pub model: Model,
    /// What is asked for.
    pub workload: Workload,
    /// What is reckoned with.
    pub assumptions: Assumptions,
    /// Options of which enough is known, the cheapest first.
    pub ranked: Vec<Choice>,
    /// The others, in the catalogue's order.
    pub unranked: Vec<Unranked>,
    /// What would make the second option the first; `None` where there are not two.
    pub flip: Option<Flip>,
    /// What is to be known before one believes this, a sentence each.
    pub warnings: Vec<String>,
}

/// An option, as many nodes of it as are needed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
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
    /// Every value with where it is from.
    pub figures: BTreeMap<Quantity, Figure>,
}

/// An option of which too little is known to rank it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unranked {
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

impl Plan {
    /// Sizes and ranks every option. What is asked for is something that [`Workload::check`] has let pass.
    pub fn of(catalogue: &Catalogue, workload: &Workload, assumptions: &Assumptions) -> Self {
        let mut ranked = Vec::new();
        let mut unranked = Vec::new();
        for option in &catalogue.options {
            let sizing = Sizing::of(option, catalogue.model, workload, assumptions);
            match rankable(option, catalogue.model, &sizing, assumptions) {
                Ok(cost) => ranked.push(Choice::of(option, catalogue.model, sizing, &cost, workload, assumptions)),
                Err(missing) => unranked.push(Unranked {
                    name: option.name.clone(),
                    note: option.note.clone(),
                    missing,
                    least_nodes: sizing.nodes,
                    least_total: Cost::of_node(option, assumptions)
                        .map(|cost| cost.times(sizing.nodes as f64).total.value),
                    figures: option.figures.clone(),
                }),
            }
        }
        ranked.sort_by(|a, b| a.cost.total.value.total_cmp(&b.cost.total.value));
        let flip = match ranked.as_slice() {
            [first, second, ..] => Some(Flip::between(&first.cost, &second.cost, assumptions.kwh_dollars)),
            _ => None,
        };
        let mut plan = Self {
            catalogue: catalogue.name.clone(),
            title: catalogue.title.clone(),
            model: catalogue.model,
            workload: *workload,
            assumptions: *assumptions,
            ranked,
            unranked,
            flip,
            warnings: Vec::new(),
        };
        plan.warnings = warnings(&plan, catalogue);
        plan
    }
}

/// What one node costs, or what is unknown of it that a rank needs. The CPU limit is none of that: it is unknown of every
/// machine that nobody ran this store on, and is warned of.
pub(crate) fn rankable(
    option: &NodeOption,
    model: Model,
    sizing: &Sizing,
    assumptions: &Assumptions,
) -> Result<Cost, Vec<String>> {
    let rates =
        Sizing::unknown(option, model, &sizing.limits).into_iter().filter(|resource| *resource != Resource::Cpu);
    let rates = rates.map(|resource| {
        let quantity = match resource {
            Resource::Space => Quantity::Gb,
            Resource::Network => Quantity::NetworkMbit,
            Resource::Dram => Quantity::DramGib,
            _ => Quantity::Read4kPerSecond,
        };
        quantity.words().to_owned()
    });
    let costs = unknown_cost(option).into_iter().map(|quantity| quantity.words().to_owned());
    let missing: Vec<String> = costs.chain(rates).collect();
    match Cost::of_node(option, assumptions) {
        Some(cost) if missing.is_empty() => Ok(cost),
        _ => Err(missing),
    }
}

impl Choice {
    fn of(
        option: &NodeOption,
        model: Model,
        sizing: Sizing,
        node: &Cost,
        workload: &Workload,
        assumptions: &Assumptions,
    ) -> Self {
        let nodes = sizing.nodes as f64;
        let watts = option.value(Quantity::WattsStress).map(|watts| watts * nodes);
        let by_power = watts.map(|watts| watts / assumptions.rack_watts);
        let by_room = option.value(Quantity::NodesPerRack).map(|room| nodes / room);
        let racks = by_power.into_iter().chain(by_room).reduce(f64::max).map(|racks| racks.ceil() as u64);
        let ports = u64::from(assumptions.switch_ports);
        let switches = if sizing.nodes <= ports { 1 } else { sizing.nodes.div_ceil(ports - 1) };
        let most = sizing.limits.least().zip(option.value(Quantity::WattsStress));
        Self {
            name: option.name.clone(),
            machine: option.machine.clone(),
            drives: option.drives.clone(),
            note: option.note.clone(),
            gets_a_node: workload.gets_per_second / nodes,
            unknown: sizing.limits.unknown(),
            cost: node.times(nodes),
            watts,
            gets_a_joule: watts.map(|watts| workload.gets_per_second / watts),
            most_gets_a_joule: most.map(|((_, rate), watts)| rate / watts),
            racks,
            switch_ports: sizing.nodes,
            switches,
            loss: Loss::of(option, model, &sizing, workload),
            figures: option.figures.clone(),
            sizing,
        }
    }
}
