//! Energy as the e-Energy 2010 paper has it.

use super::printed::Reading;
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

/// Records of the class in which the paper competed.
const SORTED_RECORDS: f64 = 1e8;

/// A column of the five runs of Tables 2 and 3, and what the paper prints below it.
struct RunColumn {
    what: &'static str,
    runs: [&'static str; 5],
    mean: &'static str,
    deviation: &'static str,
}

/// Table 2.
const SORT_RUNS: [RunColumn; 4] = [
    RunColumn {
        what: "time, s",
        runs: ["21.278", "21.333", "21.286", "21.454", "20.854"],
        mean: "21.241",
        deviation: "0.227",
    },
    RunColumn {
        what: "power, W",
        runs: ["105.4", "104.1", "104.9", "104.1", "106.0"],
        mean: "104.9",
        deviation: "0.849",
    },
    RunColumn {
        what: "energy, J",
        runs: ["2242.5", "2219.8", "2232.6", "2233.7", "2211.5"],
        mean: "2228.0",
        deviation: "12.273",
    },
    RunColumn {
        what: "records a joule",
        runs: ["44593", "45049", "44791", "44769", "45218"],
        mean: "44884",
        deviation: "247.564",
    },
];

/// Table 3.
const SORT_STATISTICS: [RunColumn; 4] = [
    RunColumn { what: "CPU while reading, %", runs: ["343", "339", "339", "336", "343"], mean: "340", deviation: "3" },
    RunColumn {
        what: "CPU while writing, %",
        runs: ["628", "651", "613", "622", "646"],
        mean: "632",
        deviation: "16.078",
    },
    RunColumn {
        what: "input, MB/s",
        runs: ["973.71", "953.29", "971.82", "975.61", "976.56"],
        mean: "970.198",
        deviation: "9.626",
    },
    RunColumn {
        what: "output, MB/s",
        runs: ["1062", "1074", "1056", "1050", "1081"],
        mean: "1065",
        deviation: "12.759",
    },
];

/// What Tables 2 and 3 print: the five runs, their mean, and their deviation. Each has seconds, watts, joules, records a joule,
/// % of CPU while reading and while writing, and MB/s in and out.
pub fn sort_figures() -> [[f64; 8]; 7] {
    let columns: Vec<&RunColumn> = SORT_RUNS.iter().chain(&SORT_STATISTICS).collect();
    std::array::from_fn(|line| {
        std::array::from_fn(|at| {
            let column = columns[at];
            let printed = column.runs.iter().chain([&column.mean, &column.deviation]).nth(line);
            printed.map_or(f64::NAN, |figure| Reading::of(figure).value())
        })
    })
}

/// The sort benchmark: Tables 2 and 3.
pub fn joulesort() -> PaperTable {
    let [seconds, watts, joules, a_joule] = &SORT_RUNS;
    let mut cells = Vec::new();
    for run in 0..5 {
        let of = |column: &RunColumn| Reading::of(column.runs[run]);
        let name = |what: &str| format!("run {}, {what}", run + 1);
        cells.push(Cell::within(name(joules.what), joules.runs[run], of(seconds) * of(watts)));
        let records = Reading::exactly(SORTED_RECORDS) / of(joules);
        cells.push(Cell::within(name(a_joule.what), a_joule.runs[run], records));
    }
    for column in SORT_RUNS.iter().chain(&SORT_STATISTICS) {
        let runs = column.runs.map(Reading::of);
        cells.push(Cell::within(format!("{}, mean", column.what), column.mean, Reading::mean(&runs)));
        let deviation = format!("{}, deviation", column.what);
        cells.push(Cell::within(deviation, column.deviation, Reading::deviation(&runs)));
    }
    // Processor, memory, mainboard and supply; the ioDrive; four X25-E.
    let at_rest = "31 W, 6 W, and four drives of about 1 W; 43 W are 1.5 W a drive";
    cells.push(Cell::of("watts at rest, by parts", "43", 31.0 + 6.0 + 4.0 * 1.0).note(at_rest));
    let mean = |column: &RunColumn| Reading::mean(&column.runs.map(Reading::of)).value();
    let [.., input, output] = &SORT_STATISTICS;
    let transfers = SORTED_RECORDS * 100.0 / 1e6 * (1.0 / mean(input) + 1.0 / mean(output));
    cells.push(Cell::drawn("seconds of reading and then writing at these rates", transfers));
    cells.push(Cell::drawn("the same as a share of the time, %", 100.0 * transfers / mean(seconds)));
    PaperTable { name: "energy-tables-2-3", title: "Sort benchmark (e-Energy 2010 Tables 2 and 3)", cells }
}

/// Work a joule of digests and signatures: Table 4.
pub fn cryptography() -> PaperTable {
    let cells = [
        ("SHA-1, MB a joule, Core i7", "4.8", "360", "75"),
        ("SHA-1, MB a joule, Atom", "5.6", "107", "19.1"),
        ("SHA-1 with all threads, MB a joule, Core i7", "10.1", "1187", "117"),
        ("SHA-1 with all threads, MB a joule, Atom", "12.51", "259", "20.7"),
        ("RSA, signatures a joule, Core i7", "70.6", "8748", "124"),
        ("RSA, signatures a joule, Atom", "55.9", "1173.5", "21.0"),
        ("RSA, verifications a joule, Core i7", "1373", "170248", "124"),
        ("RSA, verifications a joule, Atom", "1013", "21279.0", "21.0"),
    ];
    let cell = |(what, printed, rate, watts): (&str, _, _, _)| {
        Cell::within(what, printed, Reading::of(rate) / Reading::of(watts))
    };
    PaperTable {
        name: "energy-table-4",
        title: "Work a joule of digests and signatures (e-Energy 2010 Table 4)",
        cells: cells.map(cell).into(),
    }
}
