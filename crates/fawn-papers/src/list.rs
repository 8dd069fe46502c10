//! All experiments, in the order of the papers.

use serde::Serialize;

use crate::error::Error;
use crate::finding::Finding;
use crate::run::{Run, Scale};

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Paper {
    /// FAWN: A Fast Array of Wimpy Nodes, SOSP 2009.
    #[serde(rename = "FAWN, SOSP 2009")]
    Sosp,
    /// FAWN-DHT, the technical report before it.
    #[serde(rename = "FAWN-DHT, technical report")]
    Dht,
    /// Energy-efficient computing with FAWN, e-Energy 2010.
    #[serde(rename = "FAWN workloads, e-Energy 2010")]
    Energy,
    /// Gordon, ASPLOS 2009.
    #[serde(rename = "Gordon, ASPLOS 2009")]
    Gordon,
}

impl Paper {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Sosp => "FAWN, SOSP 2009",
            Self::Dht => "FAWN-DHT, technical report",
            Self::Energy => "FAWN workloads, e-Energy 2010",
            Self::Gordon => "Gordon, ASPLOS 2009",
        }
    }
}

/// An experiment.
pub struct ExperimentEntry {
    /// What it is called on the command line, and its files.
    pub name: &'static str,
    /// Where it is from.
    pub paper: Paper,
    /// Where it is there.
    pub place: &'static str,
    /// What it measures.
    pub what: &'static str,
    /// About how long it takes at each scale on two cores, seconds, tiny first.
    pub seconds: [u64; 3],
    /// Rows that it has at least at each scale, the paper's left out.
    pub rows: [usize; 3],
    /// It measures it.
    pub run: fn(&Run<'_>) -> Result<Finding, Error>,
}

impl ExperimentEntry {
    /// About how long it takes, seconds, at least 1.
    pub fn seconds(&self, scale: Scale) -> u64 {
        self.seconds[scale as usize].max(1)
    }

    /// Rows that it has at least, unless it is skipped.
    pub fn rows(&self, scale: Scale) -> usize {
        self.rows[scale as usize]
    }
}

const fn entry(
    (paper, name, place): (Paper, &'static str, &'static str),
    what: &'static str,
    seconds: [u64; 3],
    rows: [usize; 3],
    run: fn(&Run<'_>) -> Result<Finding, Error>,
) -> ExperimentEntry {
    ExperimentEntry { name, paper, place, what, seconds, rows, run }
}

use Paper::{Dht, Energy, Gordon, Sosp};

/// All of them.
pub const LIST: &[ExperimentEntry] = &[
    entry(
        (Sosp, "sosp-table-1", "Table 1, §4.1.1"),
        "flash through the file system, and the store on it",
        [1, 10, 150],
        [9; 3],
        crate::sosp::table_1::run,
    ),
    entry(
        (Sosp, "sosp-table-2", "Table 2"),
        "random gets by the size of the store",
        [2, 25, 600],
        [4, 12, 16],
        crate::sosp::table_2::run,
    ),
    entry(
        (Sosp, "sosp-table-3", "Table 3"),
        "queries a joule of one node, locally",
        [1, 7, 120],
        [2; 3],
        crate::sosp::table_3::run,
    ),
    entry(
        (Sosp, "sosp-bdb", "§4.1.2"),
        "inserting into BerkeleyDB, B-tree and hash, and into the store",
        [2, 25, 1000],
        [3; 3],
        crate::sosp::bdb::run,
    ),
    entry(
        (Sosp, "sosp-figure-9", "Figure 9"),
        "appending to many files, and putting into many ranges",
        [1, 6, 120],
        [4, 8, 16],
        crate::sosp::figure_9::run,
    ),
    entry(
        (Sosp, "sosp-figure-10", "Figure 10"),
        "operations a second by the share of puts, one node",
        [2, 12, 150],
        [9; 3],
        crate::sosp::figure_10::run,
    ),
    entry(
        (Sosp, "sosp-cleaning", "§4.1.3"),
        "gets and puts while the store is cleaned",
        [1, 20, 120],
        [5; 3],
        crate::sosp::cleaning::run,
    ),
    entry(
        (Sosp, "sosp-figure-11", "Figure 11"),
        "gets of a cluster by time",
        [6, 20, 900],
        [4, 20, 500],
        crate::sosp::figure_11::run,
    ),
    entry(
        (Sosp, "sosp-figure-12", "Figure 12"),
        "power of a cluster by time: at rest, gets, puts",
        [5, 16, 600],
        [10, 24, 40],
        crate::sosp::figure_12::run,
    ),
    entry(
        (Sosp, "sosp-network", "§4.2"),
        "rate of one node over the network, as a share of its local rate",
        [2, 8, 80],
        [3; 3],
        crate::sosp::network::run,
    ),
    entry(
        (Sosp, "sosp-figure-13", "Figure 13"),
        "gets of a cluster while a node joins",
        [8, 30, 600],
        [8, 60, 800],
        crate::sosp::figure_13::run,
    ),
    entry(
        (Sosp, "sosp-figure-14", "Figure 14"),
        "gets during a split, a merge and compaction",
        [3, 24, 150],
        [10, 60, 600],
        crate::sosp::figure_14::run,
    ),
    entry(
        (Sosp, "sosp-figure-15", "Figure 15"),
        "latency of gets beside splits",
        [1, 10, 110],
        [39; 3],
        crate::sosp::figure_15::run,
    ),
    entry(
        (Sosp, "sosp-put-latency", "§4.3"),
        "latency of puts with one copy and three, alone and beside gets",
        [9, 30, 400],
        [72; 3],
        crate::sosp::put_latency::run,
    ),
    entry((Sosp, "sosp-load", "§5.1"), "queries a joule by load", [3, 14, 400], [6; 3], crate::sosp::load::run),
    entry(
        (Sosp, "sosp-table-4", "Table 4"),
        "cost of six systems over three years, computed",
        [1, 1, 1],
        [24; 3],
        |_| Ok(crate::cost::sosp_table_4::finding()),
    ),
    entry(
        (Sosp, "sosp-figure-16", "Figure 16"),
        "the cheapest system by data and rate, computed",
        [1, 1, 1],
        [9; 3],
        |_| Ok(crate::cost::sosp_figure_16::finding()),
    ),
    entry(
        (Dht, "dht-table-2", "Table 2"),
        "queries a joule of one node, over the network",
        [3, 12, 240],
        [2; 3],
        crate::dht::table_2::run,
    ),
    entry(
        (Dht, "dht-figure-6", "Figure 6"),
        "gets by the number of nodes",
        [4, 20, 300],
        [2, 3, 4],
        crate::dht::figure_6::run,
    ),
    entry((Dht, "dht-sizing", "§5.2"), "a cluster of 720 nodes, computed", [1, 1, 1], [18; 3], |_| {
        Ok(crate::cost::dht_sizing::finding())
    }),
    entry(
        (Dht, "dht-figures-7-8", "Figures 7 and 8"),
        "inserting by the number of files",
        [1, 25, 700],
        [3; 3],
        crate::dht::figures_7_8::run,
    ),
    entry(
        (Dht, "dht-figure-9", "Figure 9"),
        "split and merge by the size of the store",
        [1, 12, 120],
        [4, 8, 16],
        crate::dht::figure_9::run,
    ),
    entry(
        (Dht, "dht-join", "§5.3"),
        "until a new node has a copy of everything",
        [4, 24, 600],
        [2, 4, 6],
        crate::dht::join::run,
    ),
    entry(
        (Dht, "dht-weak", "§3.3"),
        "puts and gets without an order among copies, and with one, also while a node fails",
        [16, 45, 240],
        [8; 3],
        crate::dht::weak::run,
    ),
    entry(
        (Dht, "dht-figure-10", "Figure 10"),
        "gets by how few keys are popular, with and without caches",
        [6, 40, 600],
        [6, 14, 20],
        crate::dht::figure_10::run,
    ),
    entry((Dht, "dht-cache", "§3.5"), "the size of a front-end's cache, computed", [1, 1, 1], [2; 3], |_| {
        Ok(crate::cost::dht_cache::finding())
    }),
    entry(
        (Energy, "energy-table-1", "Table 1"),
        "queries a joule with values of 1 KB, over the network",
        [2, 6, 120],
        [2; 3],
        crate::energy::table_1::run,
    ),
    entry(
        (Energy, "energy-figure-2", "Figure 2"),
        "efficiency of processors with a tenth of a watt of fixed power, computed",
        [1, 1, 1],
        [30; 3],
        |_| Ok(crate::energy::figure_2::finding()),
    ),
    entry(
        (Energy, "energy-figures-4-5", "Figures 4 and 5"),
        "a matrix product over the size of the matrix, with all threads and with one",
        [1, 15, 130],
        [8, 20, 20],
        crate::energy::figures_4_5::run,
    ),
    entry(
        (Energy, "energy-tables-2-3", "Tables 2 and 3"),
        "the sort benchmark in one pass and in two, beside GNU sort where it is installed",
        [1, 15, 900],
        [4, 5, 7],
        crate::energy::tables_2_3::run,
    ),
    entry(
        (Energy, "energy-table-4", "Table 4"),
        "SHA-1 and RSA, beside openssl where it is installed",
        [1, 25, 130],
        [14; 3],
        crate::energy::table_4::run,
    ),
    entry(
        (Energy, "energy-section-3-6-2", "§3.6.2"),
        "a search for very many phrases, exact and one-sided, beside grep and ripgrep where they are installed",
        [2, 10, 180],
        [12, 12, 18],
        crate::energy::section_3_6_2::run,
    ),
    entry(
        (Gordon, "gordon-table-1", "Table 1"),
        "bandwidth of flash chips, simulated",
        [1, 1, 1],
        [12; 3],
        crate::gordon::table_1::run,
    ),
    entry(
        (Gordon, "gordon-section-4-1", "§4.1, §4.2"),
        "bandwidths of one plane, and what follows from an array's parts",
        [1, 1, 1],
        [13; 3],
        crate::gordon::section_4_1::run,
    ),
    entry(
        (Gordon, "gordon-figure-4", "Figure 4, §4.2.2"),
        "bandwidth of the array by super-page, transfer, bus and cells, simulated",
        [1, 10, 60],
        [44, 80, 80],
        crate::gordon::figure_4::run,
    ),
    entry(
        (Gordon, "gordon-figure-5", "Figure 5"),
        "bandwidth of applications by super-page, simulated on traces",
        [1, 10, 60],
        [16, 80, 80],
        crate::gordon::figure_5::run,
    ),
    entry(
        (Gordon, "gordon-table-2", "Table 2"),
        "bytes of the workloads, of traces",
        [1, 1, 1],
        [7; 3],
        crate::gordon::table_2::run,
    ),
    entry(
        (Gordon, "gordon-table-3", "Table 3"),
        "the power model and nodes by it, computed",
        [1, 1, 1],
        [9; 3],
        |_| Ok(crate::gordon::table_3::finding()),
    ),
    entry(
        (Gordon, "gordon-table-4", "Table 4"),
        "performance of components, disk and flash simulated",
        [1, 2, 10],
        [8; 3],
        crate::gordon::table_4::run,
    ),
    entry((Gordon, "gordon-table-5", "Table 5"), "the design space, computed", [1, 1, 1], [5; 3], |_| {
        Ok(crate::gordon::table_5::finding())
    }),
    entry(
        (Gordon, "gordon-figure-6", "Figure 6"),
        "time and energy of 84 designs, simulated on traces",
        [1, 10, 10],
        [672; 3],
        crate::gordon::figure_6::run,
    ),
    entry(
        (Gordon, "gordon-table-6", "Table 6"),
        "the best designs, simulated on traces",
        [1, 10, 10],
        [6; 3],
        crate::gordon::table_6::run,
    ),
    entry(
        (Gordon, "gordon-figure-7", "Figure 7"),
        "time by component, simulated on traces",
        [1, 10, 10],
        [21; 3],
        crate::gordon::figure_7::run,
    ),
    entry(
        (Gordon, "gordon-figure-8", "Figure 8"),
        "modelled energy by component, simulated on traces",
        [1, 10, 10],
        [16; 3],
        crate::gordon::figure_8::run,
    ),
    entry(
        (Gordon, "gordon-section-5-3", "§5.3"),
        "bounds of the simulator beside the time of recorded jobs, simulated on traces",
        [1, 1, 1],
        [7; 3],
        crate::gordon::section_5_3::run,
    ),
    entry(
        (Gordon, "gordon-tables-7-8", "Tables 7 and 8"),
        "what a petabyte costs, computed",
        [1, 1, 1],
        [4; 3],
        |_| Ok(crate::gordon::tables_7_8::finding()),
    ),
    entry(
        (Gordon, "gordon-section-6-1", "§6.1"),
        "copies on archives: puts, gets, and gets after the only other node is lost",
        [20, 60, 240],
        [3; 3],
        crate::gordon::section_6_1::run,
    ),
    entry(
        (Gordon, "gordon-section-6-3", "§6.3"),
        "jobs that take turns on a slice of a cluster, computed",
        [1, 1, 1],
        [11; 3],
        |_| Ok(crate::gordon::section_6_3::finding()),
    ),
];

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static ExperimentEntry> {
    LIST.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_their_own_and_fit_files_and_command_lines() {
        for (at, entry) in LIST.iter().enumerate() {
            assert!(LIST[..at].iter().all(|other| other.name != entry.name), "{} is there twice", entry.name);
            assert!(entry.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'));
            assert!(entry.rows.iter().all(|rows| *rows > 0), "{} has rows", entry.name);
            let [tiny, small, full] = entry.seconds;
            assert!(tiny <= small && small <= full, "{}: larger scales take longer", entry.name);
        }
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        assert!(find("sosp-table-1").is_some() && find("sosp-table-9").is_none());
    }
}
