//! A purchase catalogue's options as designs.
//!
//! A catalogue knows a node's price, its power at rest and under load, its network and its drive's reads. It does not
//! know how fast the processors are. [`ComputeRating`]s add that. What is still missing is named, and such an option is
//! not surveyed.

use std::collections::{BTreeMap, BTreeSet};

use fawn_plan::{Catalogue, NodeOption, Quantity};
use serde::{Deserialize, Serialize};

use super::file::{SurveyFileError, is_access_time, is_rate};
use crate::node::{AccessRate, DeviceWatts, MemoryModel, NodeDesign, NodeStorage, ProcessorModel, WattRange};

/// Instructions per cycle of a Core 2 (Gordon Table 4), which traces after the paper count.
pub const CORE_2_INSTRUCTIONS_PER_CYCLE: f64 = 1.5;

/// Bytes of the reads that catalogues count.
const READ_BYTES: f64 = 4096.0;

/// How fast a machine's processors are together, by the rating of `7z b` with all threads.
///
/// 7-Zip's rating is normalised to a Core 2 that runs one thread: a rating of 2,400 MIPS is a Core 2 at 2.4 GHz
/// (<https://documentation.help/7-Zip-18.0/bench.htm>). That makes it the measure that Gordon's traces need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComputeRating {
    /// The machine's name in the catalogue.
    pub machine: String,
    /// The rating.
    pub seven_zip_mips: f64,
    /// Who measured it on what.
    pub source: String,
    /// When, as `YYYY-MM` or `YYYY-MM-DD`.
    pub date: String,
}

/// Bandwidth of an option's drives, where somebody measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StorageRating {
    /// The option's name in the catalogue.
    pub option: String,
    /// Reads of all its drives together.
    pub read: AccessRate,
    /// Writes.
    pub write: AccessRate,
    /// Who measured it on what.
    pub source: String,
}

/// What a catalogue lacks for a survey.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyRatings {
    /// Processors by machine.
    #[serde(default)]
    pub machines: Vec<ComputeRating>,
    /// Storage by option.
    #[serde(default)]
    pub storage: Vec<StorageRating>,
    /// Whether a drive of which only reads are known is taken to write as fast. If not, its option is left out.
    #[serde(default)]
    pub writes_as_reads: bool,
}

impl SurveyRatings {
    /// Reads a file of ratings, as TOML.
    ///
    /// # Errors
    /// The text has another form, or a rating cannot be.
    pub fn parse(text: &str) -> Result<Self, SurveyFileError> {
        let ratings: Self = crate::values_file::parse(text).map_err(SurveyFileError::Form)?;
        ratings.check()?;
        Ok(ratings)
    }

    fn check(&self) -> Result<(), SurveyFileError> {
        let refused = |design: &String, what| Err(SurveyFileError::Value { design: design.clone(), what });
        Self::check_names("machine", self.machines.iter().map(|rating| &rating.machine))?;
        Self::check_names("option", self.storage.iter().map(|rating| &rating.option))?;
        if let Some(rating) = self.machines.iter().find(|rating| !is_rate(rating.seven_zip_mips * 1e6)) {
            return refused(&rating.machine, "seven_zip_mips must be from 10^-9 to 10^12");
        }
        let is_known = |rate: &AccessRate| is_rate(rate.bytes_per_second) && is_access_time(rate.seconds_per_access);
        match self.storage.iter().find(|rating| ![rating.read, rating.write].iter().all(is_known)) {
            Some(rating) => refused(
                &rating.option,
                "a drive moves from 0.001 to 10^18 bytes per second, and an access takes from 0 to 3,600 seconds",
            ),
            None => Ok(()),
        }
    }

    /// Each machine or option is named, and rated once.
    fn check_names<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), SurveyFileError> {
        let mut known = BTreeSet::new();
        for name in names {
            if name.trim().is_empty() {
                let what = "a rating needs the name that its machine or option has in the catalogue";
                return Err(SurveyFileError::Value { design: name.clone(), what });
            }
            if !known.insert(name) {
                return Err(SurveyFileError::RatedTwice { what, name: name.clone() });
            }
        }
        Ok(())
    }

    /// The machines and options with a rating that a catalogue does not have.
    pub fn unknown_to(&self, catalogue: &Catalogue) -> Vec<String> {
        let is_machine = |name: &str| catalogue.options.iter().any(|option| option.machine == name);
        let is_option = |name: &str| catalogue.options.iter().any(|option| option.name == name);
        let machines = self.machines.iter().map(|rating| &rating.machine).filter(|name| !is_machine(name));
        let options = self.storage.iter().map(|rating| &rating.option).filter(|name| !is_option(name));
        machines.map(|name| format!("machine `{name}`")).chain(options.map(|name| format!("option `{name}`"))).collect()
    }

    /// These ratings, and those of `others` for machines and options that these do not rate.
    #[must_use]
    pub fn completed_by(mut self, others: Self) -> Self {
        let (machines, options): (BTreeSet<String>, BTreeSet<String>) = (
            self.machines.iter().map(|rating| rating.machine.clone()).collect(),
            self.storage.iter().map(|rating| rating.option.clone()).collect(),
        );
        self.machines.extend(others.machines.into_iter().filter(|rating| !machines.contains(&rating.machine)));
        self.storage.extend(others.storage.into_iter().filter(|rating| !options.contains(&rating.option)));
        self.writes_as_reads |= others.writes_as_reads;
        self
    }

    /// Ratings of machines that the built-in catalogue `today` has.
    pub fn today() -> Self {
        toml::from_str(include_str!("../../parts/today.toml")).expect("the built-in ratings are well formed")
    }
}

/// An option that cannot be surveyed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnsurveyedOption {
    /// The option.
    pub name: String,
    /// What nobody has said of it.
    pub missing: Vec<&'static str>,
}

/// The options of a catalogue as designs, and those of which too little is known.
pub fn designs(catalogue: &Catalogue, ratings: &SurveyRatings) -> (Vec<NodeDesign>, Vec<UnsurveyedOption>) {
    let machines: BTreeMap<&str, &ComputeRating> =
        ratings.machines.iter().map(|rating| (rating.machine.as_str(), rating)).collect();
    let storage: BTreeMap<&str, &StorageRating> =
        ratings.storage.iter().map(|rating| (rating.option.as_str(), rating)).collect();
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for option in &catalogue.options {
        let rating = machines.get(option.machine.as_str()).copied();
        match design(option, rating, storage.get(option.name.as_str()).copied(), ratings.writes_as_reads) {
            Ok(design) => known.push(design),
            Err(missing) => unknown.push(UnsurveyedOption { name: option.name.clone(), missing }),
        }
    }
    (known, unknown)
}

/// One option as a design, or what is missing. Its power is that of the whole node, and goes with its processors.
fn design(
    option: &NodeOption,
    compute: Option<&ComputeRating>,
    storage: Option<&StorageRating>,
    writes_as_reads: bool,
) -> Result<NodeDesign, Vec<&'static str>> {
    let watts = option.value(Quantity::WattsIdle).zip(option.value(Quantity::WattsStress));
    let network = option.value(Quantity::NetworkMbit);
    let reads = option.value(Quantity::Read4kPerSecond);
    let mut notes: Vec<String> = option.note.iter().cloned().collect();
    let rates = match (storage, reads) {
        (Some(rating), _) => {
            notes.push(format!("drives: {}", rating.source));
            Some((rating.read, rating.write))
        }
        (None, Some(reads)) if writes_as_reads => {
            notes.push(
                "drives at 4 KiB for each random read; nobody has measured writes, taken as fast as reads".into(),
            );
            let rate = AccessRate { bytes_per_second: reads * READ_BYTES, seconds_per_access: 0.0 };
            Some((rate, rate))
        }
        _ => None,
    };
    let (Some(compute), Some((idle, stress)), Some(network), Some((read, write))) = (compute, watts, network, rates)
    else {
        let known = [
            (compute.is_some(), "processor rating"),
            (watts.is_some(), "watts at rest and under load"),
            (network.is_some(), "network rate"),
            (storage.is_some() || reads.is_some(), "read rate of its drive"),
            (rates.is_some(), "write rate of its drive"),
        ];
        return Err(known.into_iter().filter(|(is_known, _)| !is_known).map(|(_, what)| what).collect());
    };
    notes.push(format!(
        "processors: 7-Zip rating of {} MIPS, {} ({})",
        compute.seven_zip_mips, compute.source, compute.date
    ));
    notes.push("power is known of the whole node alone: all of it is counted as the processors'".to_owned());
    if option.drive_watts_unknown {
        notes.push("power without the drive's, which nobody states".to_owned());
    }
    let hz = compute.seven_zip_mips * 1e6;
    Ok(NodeDesign {
        name: option.name.clone(),
        processor: ProcessorModel {
            name: option.machine.clone(),
            instructions_per_cycle: CORE_2_INSTRUCTIONS_PER_CYCLE,
            rated_hz: hz,
            watts: WattRange::new(idle, stress.max(idle)),
            volts: None,
            price_dollars: Some(0.0),
        },
        processors: 1,
        hz,
        memory: MemoryModel {
            bytes: option.value(Quantity::DramGib).map(|gib| gib * f64::from(1 << 30)),
            // Its power is in the node's, so that its activity does not matter.
            watts: WattRange::default(),
            bytes_per_second: 1e12,
            price_dollars: Some(0.0),
        },
        storage: NodeStorage {
            name: option.drives.as_ref().map_or_else(|| "built-in drive".to_owned(), |(name, _)| name.clone()),
            devices: 1,
            read,
            write,
            watts: DeviceWatts::default(),
            watts_controller: WattRange::default(),
            price_dollars: Some(0.0),
        },
        network_bytes_per_second: network * 1e6 / 8.0,
        overhead_share: 0.0,
        base_price_dollars: option.value(Quantity::PriceDollars),
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_or_an_option_is_named_and_rated_once() {
        let refused = |text: &str| SurveyRatings::parse(text).unwrap_err().to_string();
        let machine = |name: &str| {
            format!("[[machines]]\nmachine = '{name}'\nseven_zip_mips = 1\nsource = 's'\ndate = '2026-01'\n")
        };
        let storage = |name: &str| {
            let rate = "{ bytes_per_second = 1e6, seconds_per_access = 0.1 }";
            format!("[[storage]]\noption = '{name}'\nread = {rate}\nwrite = {rate}\nsource = 's'\n")
        };
        assert!(SurveyRatings::parse(&[machine("a"), machine("b"), storage("a"), storage("b")].concat()).is_ok());
        let twice = refused(&[machine("a"), storage("b"), storage("b")].concat());
        assert_eq!(twice, "it rates the option `b` twice: leave one rating out");
        assert_eq!(
            refused(&[machine("a"), machine("a")].concat()),
            "it rates the machine `a` twice: leave one rating out"
        );
        for nameless in [machine(" "), storage("")] {
            assert!(refused(&nameless).contains("a rating needs the name"), "{nameless}");
        }
    }

    #[test]
    fn todays_options_are_surveyed_or_say_what_is_missing() {
        let catalogue = Catalogue::built_in("today").unwrap();
        let mut ratings = SurveyRatings::today();
        let (measured, unknown) = designs(&catalogue, &ratings);
        assert_eq!(measured.len() + unknown.len(), catalogue.options.len());
        let orange = unknown.iter().find(|option| option.name == "Orange Pi 5 + NVMe 1 TB").unwrap();
        assert_eq!(orange.missing, ["write rate of its drive"]);
        let minisforum = unknown.iter().find(|option| option.name == "Minisforum MS-R1 + NVMe 1 TB").unwrap();
        assert_eq!(minisforum.missing, ["read rate of its drive", "write rate of its drive"], "its processor is rated");
        ratings.writes_as_reads = true;
        let (designs, unknown) = designs(&catalogue, &ratings);
        assert_eq!(designs.len(), measured.len() + 2, "two Orange Pi");
        let pi = designs.iter().find(|design| design.name == "Raspberry Pi 5 8 GB + NVMe 1 TB").unwrap();
        assert_eq!(pi.price_dollars(), Some(125.0 + 120.0));
        assert_eq!((pi.watts().idle, pi.watts().active), (2.8, 9.7));
        assert_eq!(pi.storage.read, AccessRate { bytes_per_second: 858.27e6, seconds_per_access: 46.7e-6 });
        let orange = designs.iter().find(|design| design.name == "Orange Pi 5 + NVMe 1 TB").unwrap();
        assert!((orange.storage.read.bytes_per_second - 95_000.0 * 4096.0).abs() < 1.0);
        assert!((pi.instructions_per_second() - 11_830e6 * 1.5).abs() < 1.0);
        assert!(orange.notes.iter().any(|note| note.contains("taken as fast as reads")));
        let rented = unknown.iter().find(|option| option.name == "AWS i4i.large").unwrap();
        let missing = ["processor rating", "watts at rest and under load", "network rate"];
        assert_eq!(rented.missing, missing, "its reads are known");
        for rating in &ratings.machines {
            assert!(catalogue.options.iter().any(|option| option.machine == rating.machine), "{}", rating.machine);
        }
        for rating in &ratings.storage {
            assert!(catalogue.options.iter().any(|option| option.name == rating.option), "{}", rating.option);
        }
    }

    #[test]
    fn own_ratings_come_before_those_that_complete_them() {
        let catalogue = Catalogue::built_in("today").unwrap();
        let text = "[[machines]]\nmachine = \"Raspberry Pi 5 8 GB\"\nseven_zip_mips = 7000\nsource = \"here\"\n\
            date = \"2026-11\"\n[[storage]]\noption = \"Rock 5B 4 GB + NVMe 1 TB\"\n\
            read = { bytes_per_second = 7e8, seconds_per_access = 8e-5 }\n\
            write = { bytes_per_second = 6e8, seconds_per_access = 3e-5 }\nsource = \"here\"\n";
        let ratings = SurveyRatings::parse(text).unwrap().completed_by(SurveyRatings::today());
        let (surveyed, _) = designs(&catalogue, &ratings);
        let (built_in, _) = designs(&catalogue, &SurveyRatings::today());
        assert_eq!(surveyed.len(), built_in.len() + 1, "the Rock 5B, whose processor is rated already");
        let pi = surveyed.iter().find(|design| design.name == "Raspberry Pi 5 8 GB + NVMe 1 TB").unwrap();
        assert!((pi.instructions_per_second() - 7000e6 * 1.5).abs() < 1.0);
    }

    #[test]
    fn ratings_that_cannot_be_are_refused() {
        let refused = |text: &str| SurveyRatings::parse(text).unwrap_err().to_string();
        let machine = |mips: &str| {
            format!(
                "[[machines]]\nmachine = \"board\"\nseven_zip_mips = {mips}\nsource = \"here\"\ndate = \"2026-11\"\n"
            )
        };
        assert_eq!(SurveyRatings::parse(&machine("12000")).unwrap().machines.len(), 1);
        for mips in ["0", "-1", "nan", "inf"] {
            assert!(refused(&machine(mips)).contains("`board`: seven_zip_mips must be"), "{mips}");
        }
        let storage = |bytes: &str, seconds: &str| {
            let rate = format!("{{ bytes_per_second = {bytes}, seconds_per_access = {seconds} }}");
            format!("[[storage]]\noption = \"slot\"\nread = {rate}\nwrite = {rate}\nsource = \"here\"\n")
        };
        assert_eq!(SurveyRatings::parse(&storage("7e8", "8e-5")).unwrap().storage.len(), 1);
        assert!(refused(&storage("0", "8e-5")).contains("`slot`: a drive moves"));
        assert!(refused(&storage("7e8", "-1")).contains("`slot`: a drive moves"));
    }

    #[test]
    fn a_storage_rating_takes_the_place_of_the_reads() {
        let catalogue = Catalogue::built_in("today").unwrap();
        let mut ratings = SurveyRatings::today();
        let rate = AccessRate { bytes_per_second: 7e8, seconds_per_access: 8e-5 };
        ratings.storage.push(StorageRating {
            option: "Rock 5B 4 GB + NVMe 1 TB".to_owned(),
            read: rate,
            write: rate,
            source: "a test".to_owned(),
        });
        let (designs, _) = designs(&catalogue, &ratings);
        let rock = designs.iter().find(|design| design.name == "Rock 5B 4 GB + NVMe 1 TB").unwrap();
        assert_eq!(rock.storage.read, rate);
    }
}
