//! Which option is cheapest for how much data and which rate (FAWN SOSP'09 Fig. 16).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::ranking::rankable;
use crate::{Assumptions, Catalogue, CatalogueModel, Cost, NodeOption, Sizing, Workload};

/// Sizes along the map, from 100 GB to 10 PB, twenty a power of ten.
pub const COLUMNS: usize = 101;

/// Rates along the map, from 100,000 to 10^9 gets a second, twenty a power of ten.
pub const ROWS: usize = 81;

/// Which option is cheapest where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Map {
    /// Options that can be ranked, in the catalogue's order.
    pub names: Vec<String>,
    /// Which of them is cheapest, row by row from the lowest rate, in each by growing data; of equals the first.
    #[serde(skip)]
    pub cells: Vec<usize>,
    /// Cells of each option that has any, as a share of all; the largest first.
    pub shares: Vec<Share>,
    /// Where one option takes over from another as gets a second for each GB grow, by nodes that are not rounded.
    pub boundaries: Vec<Boundary>,
}

/// How much of a map is an option's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The option.
    pub name: String,
    /// Of all cells.
    pub share: f64,
}

/// Where one option takes over from another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boundary {
    /// Gets a second for each GB of data.
    pub gets_a_gb: f64,
    /// The cheaper one below.
    pub below: String,
    /// The cheaper one above.
    pub above: String,
}

/// Bytes of data in a column of the map.
pub fn column_bytes(column: usize) -> f64 {
    100e9 * 10f64.powf(column as f64 / 20.0)
}

/// Gets a second in a row of the map.
pub fn row_rate(row: usize) -> f64 {
    100e3 * 10f64.powf(row as f64 / 20.0)
}

/// An option with what a node of it costs.
struct Candidate<'a> {
    option: &'a NodeOption,
    dollars: f64,
}

impl Map {
    /// Of the options that can be ranked; `None` if none can. Of `workload` the size of values and the copies count.
    pub fn of(catalogue: &Catalogue, workload: &Workload, assumptions: &Assumptions) -> Option<Self> {
        let candidates: Vec<Candidate> = catalogue
            .options
            .iter()
            .filter_map(|option| {
                let sizing = Sizing::of(option, catalogue.model, workload, assumptions);
                let cost: Cost = rankable(option, catalogue.model, &sizing, assumptions).ok()?;
                Some(Candidate { option, dollars: cost.total.value })
            })
            .collect();
        if candidates.is_empty() {
            return None;
        }
        let model = catalogue.model;
        let cells: Vec<usize> = (0..ROWS * COLUMNS)
            .map(|cell| {
                let (data_bytes, gets_per_second) = (column_bytes(cell % COLUMNS), row_rate(cell / COLUMNS));
                let workload = Workload { data_bytes, gets_per_second, ..*workload };
                let nodes = |option| Sizing::of(option, model, &workload, assumptions).nodes as f64;
                cheapest(&candidates, nodes)
            })
            .collect();
        Some(Self {
            shares: shares(&candidates, &cells),
            boundaries: boundaries(&candidates, model, workload, assumptions),
            names: candidates.iter().map(|candidate| candidate.option.name.clone()).collect(),
            cells,
        })
    }

    /// The options that are nowhere the cheapest.
    pub fn never(&self) -> Vec<&str> {
        let names = self.names.iter().filter(|name| !self.shares.iter().any(|share| share.name == **name));
        names.map(String::as_str).collect()
    }
}

fn cheapest<'a>(candidates: &[Candidate<'a>], nodes: impl Fn(&'a NodeOption) -> f64) -> usize {
    let dollars = candidates.iter().map(|candidate| nodes(candidate.option) * candidate.dollars);
    let least = dollars.enumerate().reduce(|least, next| if next.1 < least.1 { next } else { least });
    least.expect("a map has candidates").0
}

fn shares(candidates: &[Candidate], cells: &[usize]) -> Vec<Share> {
    let mut counts = BTreeMap::new();
    for cell in cells {
        *counts.entry(*cell).or_insert(0_u32) += 1;
    }
    let share = |(at, count): (&usize, &u32)| Share {
        name: candidates[*at].option.name.clone(),
        share: f64::from(*count) / cells.len() as f64,
    };
    let mut shares: Vec<_> = counts.iter().map(share).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

/// Goes through the rates of a GB that are on the map, and closes in on each change.
fn boundaries(
    candidates: &[Candidate],
    model: CatalogueModel,
    workload: &Workload,
    assumptions: &Assumptions,
) -> Vec<Boundary> {
    const STEPS: u32 = 2000;
    let winner = |gets_a_gb: f64| {
        let workload = Workload { data_bytes: 1e9, gets_per_second: gets_a_gb, ..*workload };
        cheapest(candidates, |option| Sizing::exact_nodes(option, model, &workload, assumptions))
    };
    let (lowest, highest) =
        (row_rate(0) / (column_bytes(COLUMNS - 1) / 1e9), row_rate(ROWS - 1) / (column_bytes(0) / 1e9));
    let at = |step: u32| lowest * (highest / lowest).powf(f64::from(step) / f64::from(STEPS));
    let mut out = Vec::new();
    let mut below = winner(lowest);
    for step in 1..=STEPS {
        let above = winner(at(step));
        if above != below {
            let (mut low, mut high) = (at(step - 1), at(step));
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if winner(middle) == below { low = middle } else { high = middle }
            }
            let name = |at: usize| candidates[at].option.name.clone();
            out.push(Boundary { gets_a_gb: high, below: name(below), above: name(above) });
        }
        below = above;
    }
    out
}
