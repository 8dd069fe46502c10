//! The making of a plan: options are sized, paid for and ranked.

use crate::cost::unknown_cost;
use crate::warnings::warnings;
use crate::{
    Assumptions, Catalogue, CatalogueModel, Cost, Flip, Loss, NodeOption, PurchasePlan, Quantity, RankedOption,
    Resource, Sizing, UnrankedOption, Workload,
};

impl PurchasePlan {
    /// Sizes and ranks every option. What is asked for is something that [`Workload::check`] has let pass.
    pub fn of(catalogue: &Catalogue, workload: &Workload, assumptions: &Assumptions) -> Self {
        let mut ranked = Vec::new();
        let mut unranked = Vec::new();
        for option in &catalogue.options {
            let sizing = Sizing::of(option, catalogue.model, workload, assumptions);
            match rankable(option, catalogue.model, &sizing, assumptions) {
                Ok(cost) => {
                    ranked.push(RankedOption::of(option, catalogue.model, sizing, &cost, workload, assumptions));
                }
                Err(missing) => unranked.push(UnrankedOption {
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
            puts_per_second: None,
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
    model: CatalogueModel,
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

impl RankedOption {
    fn of(
        option: &NodeOption,
        model: CatalogueModel,
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
            drive_wear: None,
            figures: option.figures.clone(),
            sizing,
        }
    }
}
