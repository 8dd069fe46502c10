//! Energy, cost and size as the FAWN-DHT report has them.

use super::table::{Cell, PaperTable};

/// Queries a joule: Table 2.
pub fn queries_a_joule() -> PaperTable {
    let machine = |name: &str, printed, queries: f64, watts: f64| {
        Cell::of(format!("{name}, queries a joule"), printed, queries / watts)
    };
    PaperTable {
        name: "dht-table-2",
        title: "Queries a joule (FAWN-DHT Table 2)",
        cells: vec![
            machine("Alix", "117", 704.0, 6.0),
            machine("Soekris (1)", "89", 334.0, 3.75),
            machine("Soekris (8)", "81", 2431.0, 30.0),
            machine("Desktop+SSD", "34", 2728.0, 80.0),
            machine("Gumstix", "25", 50.0, 2.0),
            machine("MacBook Pro", "1.8", 53.0, 29.0),
            machine("Desktop", "1.8", 160.0, 87.0),
            machine("Server", "1.2", 600.0, 400.0)
                .note("600 queries a second and 400 W as printed give 1.5; 1.2 would be 500 W"),
        ],
    }
}

/// What the two machines of Table 1 cost over three years. The report prints no price of the hardware, so what it prints
/// cannot be recomputed; their energy can.
pub fn cost() -> PaperTable {
    let watt_dollars = 2.628;
    let note = "the prices of the hardware that are in it are not printed";
    PaperTable {
        name: "dht-table-1",
        title: "Cost over three years (FAWN-DHT Table 1)",
        cells: vec![
            Cell::of("high-end machine, energy of 300 W in dollars", "9,000", 300.0 * watt_dollars).note(note),
            Cell::of("wimpy node, energy of 0.75 W in dollars", "453", 0.75 * watt_dollars).note(note),
        ],
    }
}

/// A switch.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Switch {
    ports: u64,
    watts: f64,
    dollars: f64,
}

/// A cluster of back-ends behind front-ends, in a network of two tiers of switches with one at the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoTiers {
    back_ends: u64,
    back_end: DhtMachine,
    /// Flash of a back-end, in GB.
    gb: f64,
    replicas: f64,
    front_end: DhtMachine,
    edge: Switch,
    top: Switch,
    /// Ports of an edge switch that go up.
    uplinks: u64,
}

/// A machine that answers or forwards.
#[derive(Clone, Copy, Debug, PartialEq)]
struct DhtMachine {
    queries_per_second: f64,
    watts: f64,
    dollars: f64,
}

impl TwoTiers {
    /// The cluster of §5.2, with so many ports of each edge switch for the way up; the report has none.
    pub fn of_720(uplinks: u64) -> Self {
        Self {
            back_ends: 720,
            back_end: DhtMachine { queries_per_second: 704.0, watts: 6.0, dollars: 266.0 },
            gb: 16.0,
            replicas: 3.0,
            front_end: DhtMachine { queries_per_second: 81_000.0, watts: 80.0, dollars: 600.0 },
            edge: Switch { ports: 16, watts: 1.5, dollars: 65.0 },
            top: Switch { ports: 48, watts: 66.0, dollars: 750.0 },
            uplinks,
        }
    }

    /// Back-ends whose queries a front-end can forward.
    pub fn back_ends_a_front_end(&self) -> u64 {
        (self.front_end.queries_per_second / self.back_end.queries_per_second) as u64
    }

    /// Front-ends for all back-ends.
    pub fn front_ends(&self) -> u64 {
        self.back_ends.div_ceil(self.back_ends_a_front_end())
    }

    /// Edge switches for all back-ends.
    pub fn switches(&self) -> u64 {
        self.back_ends.div_ceil(self.edge.ports - self.uplinks)
    }

    /// Watts of the network.
    pub fn network_watts(&self) -> f64 {
        self.switches() as f64 * self.edge.watts + self.top.watts
    }

    /// Dollars of the network.
    pub fn network_dollars(&self) -> f64 {
        self.switches() as f64 * self.edge.dollars + self.top.dollars
    }

    /// Watts of all of it.
    pub fn watts(&self) -> f64 {
        let machines = self.back_ends as f64 * self.back_end.watts + self.front_ends() as f64 * self.front_end.watts;
        machines + self.network_watts()
    }

    /// Dollars of all of it.
    pub fn dollars(&self) -> f64 {
        let machines =
            self.back_ends as f64 * self.back_end.dollars + self.front_ends() as f64 * self.front_end.dollars;
        machines + self.network_dollars()
    }

    /// Queries a second of all back-ends.
    pub fn queries_per_second(&self) -> f64 {
        self.back_ends as f64 * self.back_end.queries_per_second
    }

    /// Data that all copies leave room for, in TB.
    pub fn terabytes(&self) -> f64 {
        self.back_ends as f64 * self.gb / self.replicas / 1000.0
    }
}

/// The cluster of 720 nodes, and what it is compared with: §5.2.
pub fn cluster() -> PaperTable {
    let cluster = TwoTiers::of_720(0);
    PaperTable {
        name: "dht-cluster",
        title: "A cluster of 720 nodes (FAWN-DHT section 5.2)",
        cells: vec![
            Cell::of("back-ends a front-end", "115", cluster.back_ends_a_front_end() as f64),
            Cell::of("front-ends", "7", cluster.front_ends() as f64),
            Cell::of("front-ends, watts", "560", cluster.front_ends() as f64 * 80.0),
            Cell::of("front-ends, dollars", "4,200", cluster.front_ends() as f64 * 600.0),
            Cell::of("traffic of a back-end, Kbit/s", "720", 128.0 * 704.0 * 8.0 / 1000.0),
            Cell::drawn("switches of 16 ports", cluster.switches() as f64)
                .note("45 leave no port for the way up; with one they are 48"),
            Cell::of("network, watts", "134", cluster.network_watts()),
            Cell::of("network, dollars", "3,675", cluster.network_dollars()),
            Cell::of("back-ends, watts", "4,320", 720.0 * 6.0),
            Cell::of("back-ends, dollars", "191,520", 720.0 * 266.0),
            Cell::of("all, watts", "5,014", cluster.watts()).note("5,013.5; the report adds up the rounded 134"),
            Cell::of("all, dollars", "199,395", cluster.dollars()),
            Cell::of("queries a second", "506K", cluster.queries_per_second()),
            Cell::of("queries a joule", "101", cluster.queries_per_second() / cluster.watts()),
            Cell::of("data with three copies, TB", "3.8", cluster.terabytes()),
            Cell::of("disks for the rate, watts", "20K", 2000.0 * 10.0),
            Cell::of("4 TB of DRAM, dollars", "150K", 4000.0 * 50.0)
                .note("at the 50 dollars a GB that the report says elsewhere it is 200,000"),
            Cell::of("192 desktops with SSD, watts", "15K", 192.0 * 80.0),
        ],
    }
}

/// The front-ends' cache: §3.5.
pub fn cache() -> PaperTable {
    let nodes = 1000.0_f64;
    let entry = 512.0;
    PaperTable {
        name: "dht-cache",
        title: "A front-end's cache of N log N entries (FAWN-DHT section 3.5)",
        cells: vec![
            Cell::of("1000 nodes, entries of 512 bytes, KB", "512", nodes * nodes.ln() * entry / 1000.0)
                .note("512 KB is N entries; N log N, by the natural logarithm, are 3.5 MB"),
            Cell::drawn("N log N entries, by the natural logarithm", nodes * nodes.ln()),
        ],
    }
}
