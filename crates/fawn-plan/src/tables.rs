//! A plan as rows of text, for a terminal and for a page.

use fawn_report::TextTable;
use fawn_report::amount::{bytes, count, digits, dollars, exact, grouped, percent, seconds};

use crate::{CatalogueModel, Dollars, Index, PurchasePlan, RankedOption, Resource, Sizing};

/// What is asked for, in a line.
pub fn question(plan: &PurchasePlan) -> String {
    let workload = &plan.workload;
    let copies = if workload.replicas == 1 { "one copy".to_owned() } else { format!("{} copies", workload.replicas) };
    format!(
        "{} in values of {}, {copies}, at {} gets per second; at most {} in use, {}, ${} per kilowatt-hour, PUE {}",
        exact::bytes(workload.data_bytes),
        exact::bytes(workload.value_bytes),
        exact::count(workload.gets_per_second),
        exact::percent(plan.assumptions.utilisation),
        exact::years(plan.assumptions.years),
        exact::digits(plan.assumptions.kwh_dollars),
        exact::digits(plan.assumptions.pue),
    )
}

/// The options, the cheapest first.
pub fn ranking(plan: &PurchasePlan) -> TextTable {
    let has_rent = plan.ranked.iter().any(|choice| choice.cost.rent.value > 0.0);
    let bought = if has_rent { "to buy or rent" } else { "to buy" };
    let head = ["option", "nodes", "binds", "total", bought, "energy", "gets/J", "racks", "ports"];
    TextTable::of(&head, &[2], plan.ranked.iter().map(ranked))
}

fn ranked(choice: &RankedOption) -> Vec<String> {
    let unknown = || "unknown".to_owned();
    let (capital, rent) = (&choice.cost.capital, &choice.cost.rent);
    let is_rented = rent.value > 0.0;
    vec![
        choice.name.clone(),
        grouped(choice.sizing.nodes),
        choice.sizing.binds.word().to_owned(),
        range(&choice.cost.total),
        dollars(if is_rented { rent.value } else { capital.value }),
        if is_rented { "included in the rent".to_owned() } else { dollars(choice.cost.energy.value) },
        choice.gets_a_joule.map_or_else(unknown, digits),
        choice.racks.map_or_else(unknown, grouped),
        format!("{} on {}", grouped(choice.switch_ports), switches(choice.switches)),
    ]
}

fn switches(switches: u64) -> String {
    if switches == 1 { "1 switch".to_owned() } else { format!("{} switches", grouped(switches)) }
}

/// How records are found, and the DRAM of a node that it takes; nothing where DRAM does not matter.
fn index(sizing: &Sizing) -> String {
    let Some((index, dram)) = sizing.index.zip(sizing.index_bytes) else { return String::new() };
    format!("{}, {}", index_word(index), bytes(dram))
}

fn index_word(index: Index) -> &'static str {
    match index {
        Index::Indexed => "indexed",
        Index::Drained => "drained",
    }
}

/// What is reckoned with, and the range where there is one.
fn range(dollars_: &Dollars) -> String {
    let Dollars { value, low, high } = *dollars_;
    if low < high { format!("{} ({} to {})", dollars(value), dollars(low), dollars(high)) } else { dollars(value) }
}

/// What each node does, and what losing one means.
pub fn losses(plan: &PurchasePlan) -> TextTable {
    let head =
        ["option", "gets/s a node", "index", "to copy", "of all", "to all others", "to one new node", "what is left"];
    let rows = plan.ranked.iter().map(|choice| {
        let loss = &choice.loss;
        let time = |time: Option<f64>| match time {
            _ if loss.is_final => String::new(),
            Some(time) => seconds(time),
            None => "unknown".to_owned(),
        };
        vec![
            choice.name.clone(),
            rate(choice),
            index(&choice.sizing),
            if loss.is_final { "none is left".to_owned() } else { bytes(loss.bytes) },
            percent(loss.share),
            time(loss.seconds_spread),
            time(loss.seconds_to_one),
            left(choice),
        ]
    });
    TextTable::of(&head, &[2, 7], rows)
}

/// What a node is asked for, of what it can do.
fn rate(choice: &RankedOption) -> String {
    let asked = count(choice.gets_a_node);
    let Some((resource, rate)) = choice.sizing.limits.least() else { return asked };
    let mark = if choice.unknown.is_empty() { "" } else { "≤ " };
    let by = if choice.sizing.limits.is_stated { String::new() } else { format!(" ({})", resource.word()) };
    format!("{asked} of {mark}{}{by}", count(rate))
}

/// What the others are asked for.
fn left(choice: &RankedOption) -> String {
    let loss = &choice.loss;
    let nodes = format!("{} of the nodes", percent(loss.capacity_left));
    match loss.rate_share {
        None => "nothing".to_owned(),
        Some(share) => format!("{nodes}, at {} of their rate", percent(share)),
    }
}

/// How drives wear under the puts that were asked about; empty if nobody has.
pub fn wear(plan: &PurchasePlan) -> TextTable {
    let head =
        ["option", "puts/s a node", "index", "full", "store ×", "FTL ×", "programmed", "rating", "years of the drives"];
    let rows = plan.ranked.iter().filter_map(|choice| {
        let wear = choice.drive_wear?;
        let or = |value: Option<f64>, told: fn(f64) -> String| value.map_or_else(|| "not known".to_owned(), told);
        Some(vec![
            choice.name.clone(),
            count(wear.puts_a_node),
            index_word(wear.index).to_owned(),
            percent(wear.full),
            or(wear.store_amplification, digits),
            or(wear.ftl_amplification, digits),
            or(wear.programmed_bytes_per_second, |rate| format!("{}/s", bytes(rate))),
            or(wear.rating_bytes, bytes),
            or(wear.years, |years| format!("≥ {}", digits(years))),
        ])
    });
    TextTable::of(&head, &[2], rows)
}

/// What is assumed of the drives' years, in sentences; none if nobody has asked.
pub fn wear_notes(plan: &PurchasePlan) -> Vec<String> {
    let Some(puts) = plan.puts_per_second else { return Vec::new() };
    let mut out = vec![
        format!(
            "Years of the drives: at {} puts per second all the time. `store ×` and `FTL ×` are of this store on a \
             simulated drive with 7 % spare flash and TRIM, under uniform overwrites of 256-byte values.",
            count(puts)
        ),
        "All that a drive programs is charged against its rating, which counts what is written to it: a drive lasts at \
         least as long. The logs of a cluster's ranges are not included."
            .to_owned(),
    ];
    let wears = || plan.ranked.iter().filter_map(|choice| choice.drive_wear);
    if wears().any(|wear| wear.index == Index::Indexed) {
        out.push(
            "indexed: both factors were measured with an entry for each record in DRAM. With less --memory the store \
             drains and writes more."
                .to_owned(),
        );
    }
    if wears().any(|wear| wear.index == Index::Drained) {
        out.push(
            "drained: both factors were measured with too little DRAM for that, on a small store. A large one writes less."
                .to_owned(),
        );
    }
    if wears().any(|wear| wear.rating_bytes.is_none()) {
        out.push("The rating of drives without one in the catalogue is not known: give it with --tbw.".to_owned());
    }
    if wears().any(|wear| wear.store_amplification.is_none()) {
        out.push("Nothing was measured of drives so full: give a lower --util.".to_owned());
    }
    out
}

/// What is not ranked, and why.
pub fn unranked(plan: &PurchasePlan) -> TextTable {
    let rows = plan.unranked.iter().map(|it| {
        vec![
            it.name.clone(),
            it.missing.join(", "),
            format!("≥ {}", grouped(it.least_nodes)),
            it.least_total.map_or_else(|| "unknown".to_owned(), |total| format!("≥ {}", dollars(total))),
        ]
    });
    TextTable::of(&["option", "unknown", "nodes", "total"], &[1], rows)
}

/// What is not ranked in few lines: for each set of unknown values, options with the nodes that they need at least.
pub fn unranked_lines(plan: &PurchasePlan) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for it in &plan.unranked {
        let total = it.least_total.map_or_else(String::new, |total| format!(", ≥ {}", dollars(total)));
        let (missing, told) = (it.missing.join(", "), format!("{} (≥ {}{total})", it.name, grouped(it.least_nodes)));
        match groups.iter_mut().find(|(known, _)| *known == missing) {
            Some((_, names)) => names.push(told),
            None => groups.push((missing, vec![told])),
        }
    }
    groups.into_iter().map(|(missing, names)| format!("{missing}: {}", names.join(", "))).collect()
}

/// What would make the second option the first, in sentences.
pub fn flips(plan: &PurchasePlan) -> Vec<String> {
    let (Some(flip), [first, second, ..]) = (&plan.flip, plan.ranked.as_slice()) else { return Vec::new() };
    let (first, second) = (&first.name, &second.name);
    let mut ways = Vec::new();
    if let Some(share) = flip.first_dearer {
        ways.push(format!("the price of {first} rises by {}", percent(share)));
    }
    if let Some(share) = flip.second_cheaper {
        ways.push(format!("that of {second} falls by {}", percent(share)));
    }
    if let Some(price) = flip.kwh_dollars {
        ways.push(format!("a kilowatt-hour costs ${}", digits(price)));
    }
    if ways.is_empty() {
        return vec![format!("No price makes {second} cheaper than {first}.")];
    }
    vec![format!("{second} is as cheap as {first} if {}.", ways.join(", or "))]
}

/// What is marked in the tables, in sentences.
pub fn marks(plan: &PurchasePlan) -> Vec<String> {
    let mut out = Vec::new();
    if plan.ranked.iter().any(|choice| choice.unknown.contains(&Resource::Cpu)) {
        out.push("≤: the limit of the known resources; the processor's limit is unknown.".to_owned());
    }
    if plan.ranked.iter().any(|choice| choice.sizing.index.is_some()) {
        out.push(
            "index: DRAM of the index on a node; give the node that much --memory, and some for buffers.".to_owned(),
        );
    }
    if plan.model == CatalogueModel::Fawn && plan.workload.replicas > 1 {
        out.push(
            "to others, to a new node: at 32 MiB per second for each node that copies, unless --copy-rate is higher."
                .to_owned(),
        );
    }
    out
}
