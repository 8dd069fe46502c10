//! Energy as the e-Energy 2010 paper has it.

use super::table::{Cell, PaperTable};

/// Queries a joule: Table 1.
pub fn queries_a_joule() -> PaperTable {
    let machine = |name: &str, printed, queries: f64, watts: f64| {
        Cell::of(format!("{name}, queries a joule"), printed, queries / watts)
    };
    PaperTable {
        name: "energy-table-1",
        title: "Queries a joule (e-Energy 2010 Table 1)",
        cells: vec![
            machine("Alix3c2 / Sandisk (CF)", "346", 1298.0, 3.75),
            machine("Server i7 / Fusion-io", "317.0", 61_494.0, 194.0),
            machine("Desktop i7 / X25-E (x6)", "606.6", 59_448.0, 98.0),
            machine("Atom / X25-E", "482.5", 10_760.0, 22.3),
        ],
    }
}
