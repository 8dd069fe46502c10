//! What is to be said beside a plan's numbers: what is unknown, old, or close.

use fawn_report::amount::{exact, grouped};

use crate::workload::{KWH_DOLLARS, PUE};
use crate::{
    Assumptions, Catalogue, CatalogueModel, Figure, NodeOption, PurchasePlan, Quantity, RankedOption, Resource, Scope,
    UnrankedOption,
};

/// Names that one sentence lists; the rest is counted.
const NAMES: usize = 3;

/// Every warning, the most important first.
pub(crate) fn warnings(plan: &PurchasePlan, catalogue: &Catalogue) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(nothing_to_rank(plan));
    out.extend(one_copy(plan));
    out.extend(unknown_processors(plan));
    out.extend(passed_on(plan));
    out.extend(maybe_cheaper(plan));
    out.extend(close(plan));
    out.extend(narrow_watts(catalogue));
    out.extend(overloaded(plan));
    out.extend(weak_racks(plan));
    out.extend(stale(plan, catalogue));
    out.extend(drives(plan, catalogue));
    out.extend(assumed(plan));
    out.extend(notes(plan));
    if plan.model == CatalogueModel::Fawn {
        out.push("Costs are those of the nodes, without switches, cables, racks and people.".to_owned());
    }
    out
}

fn nothing_to_rank(plan: &PurchasePlan) -> Option<String> {
    plan.ranked.is_empty().then(|| {
        format!(
            "No option of `{}` has enough known values to be ranked: add the missing ones to its catalogue.",
            plan.catalogue
        )
    })
}

fn one_copy(plan: &PurchasePlan) -> Option<String> {
    let is_alone = plan.workload.replicas == 1 && plan.model == CatalogueModel::Fawn;
    is_alone.then(|| "There is only one copy of each value: a lost node loses its data.".to_owned())
}

fn unknown_processors(plan: &PurchasePlan) -> Option<String> {
    let unknown: Vec<_> = plan.ranked.iter().filter(|choice| choice.unknown.contains(&Resource::Cpu)).collect();
    let most = unknown.iter().map(|choice| choice.gets_a_node).reduce(f64::max)?;
    let which = if unknown.len() == plan.ranked.len() {
        "all of these machines".to_owned()
    } else {
        names(unknown.iter().map(|choice| choice.name.as_str()))
    };
    Some(format!(
        "The processor's rate is unknown for {which}: the plan has the rate of device and network alone, and up to \
        {} per second per node; measure a node, and give --node FILE.",
        grouped(most.ceil() as u64)
    ))
}

/// Of which options a rack cannot supply one node.
fn weak_racks(plan: &PurchasePlan) -> Option<String> {
    let supply = plan.assumptions.rack_watts;
    let watts = |choice: &RankedOption| choice.figures.get(&Quantity::WattsStress).map(|figure| figure.value);
    let is_weak = |choice: &&RankedOption| watts(choice).is_some_and(|watts| watts > supply);
    let weak: Vec<_> = plan.ranked.iter().filter(is_weak).map(|choice| choice.name.as_str()).collect();
    (!weak.is_empty()).then(|| {
        format!(
            "A rack of {} W cannot supply a node of {}: the number of racks is only their power divided by that of \
            a rack; give a larger --rack-watts.",
            exact::digits(supply),
            names(weak.into_iter())
        )
    })
}

/// What a cluster does that a node alone does not.
fn passed_on(plan: &PurchasePlan) -> Option<String> {
    let is_cluster = plan.model == CatalogueModel::Fawn && plan.ranked.iter().any(|choice| choice.sizing.nodes > 1);
    is_cluster.then(|| {
        "The plan counts gets at the node that has the value. A memcached client asks any node, which forwards most \
        gets. Their replies then pass two ports, and take about 2.5 times the processors' time. So halve the rates \
        of network and processors, or more."
            .to_owned()
    })
}

/// Whether an option of which too little is known may be the cheapest.
fn maybe_cheaper(plan: &PurchasePlan) -> Option<String> {
    let first = plan.ranked.first()?;
    let may_be = |it: &&UnrankedOption| it.least_total.is_some_and(|total| total < first.cost.total.value);
    let cheaper: Vec<_> = plan.unranked.iter().filter(may_be).map(|it| it.name.as_str()).collect();
    (!cheaper.is_empty()).then(|| {
        format!(
            "{} might cost less than {}, depending on unknown values: see the values that are unknown.",
            names(cheaper.into_iter()),
            first.name
        )
    })
}

/// Whether what sources leave open could change the first place.
fn close(plan: &PurchasePlan) -> Option<String> {
    let [first, others @ ..] = plan.ranked.as_slice() else { return None };
    let near: Vec<_> = others.iter().filter(|other| other.cost.total.low <= first.cost.total.high).collect();
    (!near.is_empty()).then(|| {
        format!(
            "It is open whether {} is cheaper than {}: the ranges of their prices and power overlap.",
            first.name,
            names(near.iter().map(|choice| choice.name.as_str()))
        )
    })
}

/// Which watts leave out what is between the wall and where they were metered.
fn narrow_watts(catalogue: &Catalogue) -> Vec<String> {
    let scopes = [
        (Scope::Package, "the processor alone", "drives, the network and the power supply take"),
        (Scope::Board, "the board", "the power supply loses"),
    ];
    let told = scopes.into_iter().map(|(scope, of, lacks)| {
        let is_so = |option: &&NodeOption| {
            option.figures.iter().any(|(quantity, figure)| quantity.is_watts() && figure.scope == Some(scope))
        };
        let narrow: Vec<_> = catalogue.options.iter().filter(is_so).map(|option| option.name.as_str()).collect();
        (!narrow.is_empty()).then(|| {
            format!(
                "Watts of {} are of {of}, not at the wall: energy and cost do not include what {lacks}.",
                names(narrow.into_iter())
            )
        })
    });
    told.flatten().collect()
}

/// Whether the others can do without one.
fn overloaded(plan: &PurchasePlan) -> Option<String> {
    let is_short = |choice: &&RankedOption| {
        let loss = &choice.loss;
        !loss.is_final
            && (loss.lacks_nodes
                || loss.rate_share.is_none_or(|share| share > 1.0)
                || loss.space_share.is_some_and(|share| share > 1.0))
    };
    let short: Vec<_> = plan.ranked.iter().filter(is_short).map(|choice| choice.name.as_str()).collect();
    (!short.is_empty()).then(|| {
        format!(
            "When a node is lost, the rest of {} is too small for the data, the rate or all copies until a \
            replacement comes: buy one node more than the plan says.",
            names(short.into_iter())
        )
    })
}

fn stale(plan: &PurchasePlan, catalogue: &Catalogue) -> Option<String> {
    let Assumptions { today, .. } = plan.assumptions;
    let is_stale = |figure: &&Figure| figure.date.is_stale(today);
    let all = || catalogue.options.iter().flat_map(|option| option.figures.values());
    let oldest = all().filter(is_stale).min_by_key(|figure| figure.date)?;
    let is_old_price = |option: &&NodeOption| {
        let price = option.figure(Quantity::PriceDollars).or(option.figure(Quantity::RentDollarsHour));
        price.is_some_and(|price| price.date.is_stale(today))
            && plan.ranked.iter().any(|choice| choice.name == option.name)
    };
    let (old, total) = (all().filter(is_stale).count(), all().count());
    let prices: Vec<_> = catalogue.options.iter().filter(is_old_price).map(|option| option.name.as_str()).collect();
    let priced = match prices.as_slice() {
        [] => String::new(),
        _ if prices.len() == plan.ranked.len() => ", with all prices among them".to_owned(),
        _ => format!(", with the prices of {} among them", names(prices.into_iter())),
    };
    Some(format!("{old} of {total} values are older than a year at {today}, the oldest of {}{priced}.", oldest.date))
}

fn drives(plan: &PurchasePlan, catalogue: &Catalogue) -> Option<String> {
    let is_ranked = |option: &&NodeOption| plan.ranked.iter().any(|choice| choice.name == option.name);
    let unknown = catalogue.options.iter().filter(|option| option.drive_watts_unknown).filter(is_ranked);
    let unknown: Vec<_> = unknown.map(|option| option.name.as_str()).collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "The power of the drives of {} is unknown: the plan has the power of the machine alone.",
            names(unknown.into_iter())
        )
    })
}

/// What is reckoned with that nobody has said.
fn assumed(plan: &PurchasePlan) -> Option<String> {
    let (kwh, pue) = (plan.assumptions.kwh_is_assumed, plan.assumptions.pue_is_assumed);
    let what = match (kwh, pue) {
        (true, true) => format!("${KWH_DOLLARS} per kilowatt-hour and a PUE of {PUE} are"),
        (true, false) => format!("${KWH_DOLLARS} per kilowatt-hour is"),
        (false, true) => format!("A PUE of {PUE} is"),
        (false, false) => return None,
    };
    let flags = match (kwh, pue) {
        (true, true) => "--kwh and --pue",
        (true, false) => "--kwh",
        _ => "--pue",
    };
    Some(format!("{what} assumed, without a source: give your own with {flags}."))
}

/// What the catalogue says of ranked options beside their figures, each once.
fn notes(plan: &PurchasePlan) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for choice in &plan.ranked {
        let Some(note) = &choice.note else { continue };
        match groups.iter_mut().find(|(known, _)| known == note) {
            Some((_, names)) => names.push(&choice.name),
            None => groups.push((note, vec![&choice.name])),
        }
    }
    groups.into_iter().map(|(note, of)| format!("{}: {note}.", names(of.into_iter()))).collect()
}

/// `A, B, C and 4 more`.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    let all: Vec<_> = all.collect();
    match all.as_slice() {
        [one] => (*one).to_owned(),
        [first @ .., last] if all.len() <= NAMES => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", all[..NAMES].join(", "), all.len() - NAMES),
    }
}
