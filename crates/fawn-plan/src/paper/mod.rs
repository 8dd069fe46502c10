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
//! | [`energy_joulesort`] | e-Energy 2010 Tables 2 and 3 |
//! | [`energy_cryptography`] | e-Energy 2010 Table 4 |
//!
//! A cell agrees with what is printed if that is the recomputed value rounded or cut off at the digits printed. So does one
//! whose inputs are rounded themselves, if they may have given it before; a note says so. Where it does not, the paper's inputs
//! do not give what it prints, and a note says what they give.

mod dht;
mod energy;
mod printed;
mod sosp;
mod table;

pub use dht::{
    TwoTiers, cache as dht_cache, cluster as dht_cluster, cost as dht_cost, queries_a_joule as dht_queries_a_joule,
};
pub use energy::{
    cryptography as energy_cryptography, joulesort as energy_joulesort, queries_a_joule as energy_queries_a_joule,
    sort_figures as energy_sort_figures,
};
pub use sosp::{cost, queries_a_joule, solution_map, solution_space};
pub use table::{Cell, PaperTable};

/// Every table.
pub fn tables() -> Vec<PaperTable> {
    vec![
        queries_a_joule(),
        cost(),
        solution_space(),
        dht_cost(),
        dht_queries_a_joule(),
        dht_cluster(),
        dht_cache(),
        energy_queries_a_joule(),
        energy_joulesort(),
        energy_cryptography(),
    ]
}
