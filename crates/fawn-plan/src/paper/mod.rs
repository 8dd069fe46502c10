//! What the papers print about cost, energy and size, recomputed from their own inputs.
//!
//! | table | from |
//! |---|---|
//! | [`queries_a_joule`] | SOSP'09 Table 3, §4.2 and §5.1 |
//! | [`cost`] | SOSP'09 Table 4 |
//! | [`solution_space`] | SOSP'09 Fig. 16 |
//! | [`dht_cost`] | FAWN-DHT Table 1 |
//! | [`dht_queries_a_joule`] | FAWN-DHT Table 2 |
//! | [`dht_cluster`] | FAWN-DHT §5.2: 720 nodes |
//! | [`dht_cache`] | FAWN-DHT §3.5 |
//! | [`energy_queries_a_joule`] | e-Energy 2010 Table 1 |
//!
//! A cell agrees with what is printed if that is the recomputed value rounded or cut off at the digits printed. Where it
//! does not, the paper's inputs do not give what it prints, and a note says what they give.

mod dht;
mod energy;
mod printed;
mod sosp;

use serde::Serialize;

pub use dht::{
    TwoTiers, cache as dht_cache, cluster as dht_cluster, cost as dht_cost, queries_a_joule as dht_queries_a_joule,
};
pub use energy::queries_a_joule as energy_queries_a_joule;
pub use sosp::{cost, queries_a_joule, solution_map, solution_space};

/// A table of a paper, recomputed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it shows, and where the paper has it.
    pub title: &'static str,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// A value that a paper prints, or that its figure shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// What it is, with its unit.
    pub what: String,
    /// As the paper prints it; `None` where it only draws it.
    pub printed: Option<&'static str>,
    /// From the paper's inputs.
    pub recomputed: f64,
    /// Whether these are the same; `None` where nothing is printed.
    pub agrees: Option<bool>,
    /// Why not, or with which reading.
    pub note: Option<&'static str>,
}

impl Cell {
    fn of(what: impl Into<String>, printed: &'static str, recomputed: f64) -> Self {
        let agrees = Some(printed::agrees(printed, recomputed));
        Self { what: what.into(), printed: Some(printed), recomputed, agrees, note: None }
    }

    fn drawn(what: impl Into<String>, recomputed: f64) -> Self {
        Self { what: what.into(), printed: None, recomputed, agrees: None, note: None }
    }

    fn note(self, note: &'static str) -> Self {
        Self { note: Some(note), ..self }
    }
}

impl Table {
    /// Cells in which what is printed does not follow.
    pub fn discrepancies(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| cell.agrees == Some(false))
    }
}

/// Every table.
pub fn tables() -> Vec<Table> {
    vec![
        queries_a_joule(),
        cost(),
        solution_space(),
        dht_cost(),
        dht_queries_a_joule(),
        dht_cluster(),
        dht_cache(),
        energy_queries_a_joule(),
    ]
}
