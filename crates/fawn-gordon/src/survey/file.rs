//! One's own designs, as TOML or as JSON with the same names.
//!
//! ```toml
//! title = "two ways to build it"
//!
//! [[nodes]]
//! name = "board with NVMe"
//! processors = 4
//! hz = 2.4e9
//! network_bytes_per_second = 117e6
//! overhead_share = 0.1
//! base_price_dollars = 60
//! [nodes.processor]
//! name = "Cortex-A76"
//! instructions_per_cycle = 1.5
//! rated_hz = 2.4e9
//! watts = { idle = 0.4, active = 1.7 }
//! price_dollars = 10
//! [nodes.memory]
//! watts = { idle = 0.5, active = 1 }
//! bytes_per_second = 17e9
//! price_dollars = 30
//! [nodes.storage]
//! name = "NVMe"
//! devices = 1
//! read = { bytes_per_second = 800e6, seconds_per_access = 80e-6 }
//! write = { bytes_per_second = 700e6, seconds_per_access = 30e-6 }
//! watts = { idle = 0.5, read = 3, write = 4 }
//! price_dollars = 120
//! ```
//!
//! `[[spaces]]` has parts instead, which are multiplied out ([`DesignSpace`]).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::space::DesignSpace;
use crate::node::NodeDesign;

/// Processors, or devices of storage, of a design.
const MOST_PARTS: u32 = 4096;

/// Designs of a file at most.
const MOST_DESIGNS: usize = 10_000;

/// Bytes of names and notes of all designs: each design of a space repeats those of its parts.
const MOST_TEXT_BYTES: usize = 16 << 20;

/// Why a file of designs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SurveyFileError {
    /// Not the form that is expected.
    #[error("{0}")]
    Form(String),
    /// There is nothing to survey.
    #[error("it has no designs: write [[nodes]] or [[spaces]]")]
    Empty,
    /// There is too much.
    #[error("its spaces multiply out to {0} designs, and {MOST_DESIGNS} are the most: leave out some values")]
    TooMany(usize),
    /// Their texts take too much memory.
    #[error("its spaces repeat names and notes up to {0} bytes, and {MOST_TEXT_BYTES} are the most: shorten them")]
    TooLong(usize),
    /// Two designs have one name.
    #[error("two designs have the name `{0}`: give each its own")]
    Twice(String),
    /// Two ratings are of one machine or option.
    #[error("it rates the {what} `{name}` twice: leave one rating out")]
    RatedTwice {
        /// Of what.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A value cannot be.
    #[error("`{design}`: {what}")]
    Value {
        /// The design.
        design: String,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// A file of designs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyFile {
    /// What it is, in a line.
    #[serde(default)]
    pub title: String,
    /// Whole nodes.
    #[serde(default)]
    pub nodes: Vec<NodeDesign>,
    /// Parts to put together.
    #[serde(default)]
    pub spaces: Vec<DesignSpace>,
}

impl SurveyFile {
    /// Reads a file: JSON if it begins with a brace, else TOML.
    ///
    /// # Errors
    /// The text has another form, or a design in it cannot be.
    pub fn parse(text: &str) -> Result<Self, SurveyFileError> {
        let file: Self = crate::values_file::parse(text).map_err(SurveyFileError::Form)?;
        file.check()?;
        Ok(file)
    }

    /// All of its designs: the nodes, then the spaces.
    pub fn designs(&self) -> Vec<NodeDesign> {
        self.nodes.iter().cloned().chain(self.spaces.iter().flat_map(DesignSpace::designs)).collect()
    }

    fn check(&self) -> Result<(), SurveyFileError> {
        let size = self.spaces.iter().map(space_size).fold(self.nodes.len(), usize::saturating_add);
        if size > MOST_DESIGNS {
            return Err(SurveyFileError::TooMany(size));
        }
        let text_bytes = self.spaces.iter().map(|it| space_size(it).saturating_mul(text_bytes(it)));
        let text_bytes = text_bytes.fold(0, usize::saturating_add);
        if text_bytes > MOST_TEXT_BYTES {
            return Err(SurveyFileError::TooLong(text_bytes));
        }
        let designs = self.designs();
        if designs.is_empty() {
            return Err(SurveyFileError::Empty);
        }
        let mut names = BTreeSet::new();
        for design in &designs {
            if !names.insert(&design.name) {
                return Err(SurveyFileError::Twice(design.name.clone()));
            }
            if let Some(what) = fault(design) {
                return Err(SurveyFileError::Value { design: design.name.clone(), what });
            }
        }
        Ok(())
    }
}

/// How many designs a space has, its power budget aside.
fn space_size(space: &DesignSpace) -> usize {
    let processors = space.processors.iter().map(|it| it.counts.len().saturating_mul(it.hz.len()));
    let storages = space.storages.iter().map(|it| it.counts.len());
    let sum = |sizes: &mut dyn Iterator<Item = usize>| sizes.fold(0usize, usize::saturating_add);
    let (processors, storages) = (sum(&mut processors.into_iter()), sum(&mut storages.into_iter()));
    processors.saturating_mul(storages).saturating_mul(space.network_bytes_per_second.len())
}

/// Bytes of names and notes that a design of a space may have: its own name has those of its parts.
fn text_bytes(space: &DesignSpace) -> usize {
    let processor = space.processors.iter().map(|it| it.model.name.len()).max().unwrap_or_default();
    let storage = space.storages.iter().map(|it| it.storage.name.len()).max().unwrap_or_default();
    let notes: usize = space.notes.iter().map(String::len).sum();
    2 * (processor + storage) + notes
}

/// What cannot be of a design, if anything.
fn fault(design: &NodeDesign) -> Option<&'static str> {
    let is_amount = |value: f64| (0.0..=1e12).contains(&value);
    let (processor, storage) = (&design.processor, &design.storage);
    let rates = [
        processor.instructions_per_cycle,
        processor.rated_hz,
        design.hz,
        design.memory.bytes_per_second,
        storage.read.bytes_per_second,
        storage.write.bytes_per_second,
        design.network_bytes_per_second,
    ];
    let watts = [processor.watts, design.memory.watts, storage.watts_controller];
    let devices = storage.watts;
    let prices =
        [processor.price_dollars, design.memory.price_dollars, storage.price_dollars, design.base_price_dollars];
    if design.name.trim().is_empty() {
        return Some("a design needs a name");
    }
    if processor.name.trim().is_empty() || storage.name.trim().is_empty() {
        return Some("its processor and its storage need names");
    }
    let counts = 1..=MOST_PARTS;
    if !counts.contains(&design.processors) || !counts.contains(&storage.devices) {
        return Some("it needs from 1 to 4,096 processors, and as many devices of storage");
    }
    if !rates.into_iter().all(is_rate) {
        return Some("rates and frequencies must be from 0.001 to 10^18 per second");
    }
    if ![storage.read, storage.write].iter().all(|rate| is_access_time(rate.seconds_per_access)) {
        return Some("an access takes from 0 to 3,600 seconds");
    }
    let is_range = |idle: f64, active: f64| is_amount(idle) && is_amount(active) && idle <= active;
    let devices_fit = is_range(devices.idle, devices.read) && is_range(devices.idle, devices.write);
    if !devices_fit || !watts.iter().all(|range| is_range(range.idle, range.active)) {
        return Some("watts must be from 0 to 10^12, and not more at rest than when active");
    }
    if !prices.into_iter().flatten().all(is_amount) {
        return Some("prices must be from 0 to 10^12");
    }
    if !(0.0..=0.95).contains(&design.overhead_share) {
        return Some("overhead_share must be from 0 to 0.95");
    }
    let volts_fit = processor.volts.as_ref().is_none_or(|volts| {
        let fits = |hz: f64, value: f64| is_rate(hz) && (0.01..=100.0).contains(&value);
        fits(volts.low_hz, volts.low_volts) && fits(volts.high_hz, volts.high_volts)
    });
    (!volts_fit).then_some("volts must be from 0.01 to 100, at frequencies above 0")
}

/// Whether something can happen so often in a second.
pub(super) fn is_rate(per_second: f64) -> bool {
    (1e-3..=1e18).contains(&per_second)
}

/// Whether an access can take so many seconds.
pub(super) fn is_access_time(seconds: f64) -> bool {
    (0.0..=3600.0).contains(&seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::paper;

    fn file() -> SurveyFile {
        let node = NodeDesign { name: "own".to_owned(), ..paper::max_efficiency() };
        SurveyFile { title: "a test".to_owned(), nodes: vec![node], spaces: vec![paper::space()] }
    }

    #[test]
    fn a_file_is_written_as_json_and_read_again() {
        let file = file();
        assert_eq!(SurveyFile::parse(&serde_json::to_string(&file).unwrap()).unwrap(), file);
        assert_eq!(file.designs().len(), 85);
    }

    #[test]
    fn the_example_can_be_read() {
        let source = include_str!("file.rs");
        let example: Vec<&str> = source
            .lines()
            .skip_while(|line| !line.contains("```toml"))
            .skip(1)
            .take_while(|line| !line.contains("```"))
            .map(|line| line.trim_start_matches("//!").trim_start())
            .collect();
        let file = SurveyFile::parse(&example.join("\n")).unwrap();
        assert_eq!(file.designs()[0].price_dollars(), Some(60.0 + 40.0 + 30.0 + 120.0));
        let as_json = serde_json::to_string(&file).unwrap();
        assert_eq!(SurveyFile::parse(&as_json).unwrap(), file, "TOML and JSON have the same names");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |change: fn(&mut SurveyFile)| {
            let mut file = file();
            change(&mut file);
            SurveyFile::parse(&serde_json::to_string(&file).unwrap()).unwrap_err().to_string()
        };
        assert!(refused(|file| file.nodes[0].hz = 0.0).contains("`own`: rates"));
        assert!(refused(|file| file.nodes[0].processors = 0).contains("from 1 to 4,096 processors"));
        assert!(refused(|file| file.nodes[0].processors = 1_000_000_000).contains("from 1 to 4,096 processors"));
        assert!(refused(|file| file.nodes[0].name = " ".to_owned()).contains("needs a name"));
        assert!(refused(|file| file.nodes[0].processor.name = String::new()).contains("storage need names"));
        assert!(refused(|file| file.nodes[0].storage.name = " ".to_owned()).contains("storage need names"));
        let twice = refused(|file| {
            let part = file.spaces[0].storages[0].clone();
            file.spaces[0].storages.push(part);
        });
        assert!(twice.contains("two designs have the name"), "{twice}");
        assert!(refused(|file| file.nodes[0].overhead_share = 1.0).contains("overhead_share"));
        assert!(refused(|file| file.nodes[0].storage.watts.read = 0.0).contains("watts"));
        assert!(refused(|file| file.nodes[0].storage.read.seconds_per_access = -1.0).contains("access"));
        assert!(refused(|file| file.nodes[0].memory.price_dollars = Some(-1.0)).contains("prices"));
        assert!(refused(|file| file.spaces.push(paper::space())).contains("two designs have the name"));
        assert!(refused(|file| (file.nodes, file.spaces) = (Vec::new(), Vec::new())).contains("no designs"));
        assert!(refused(|file| file.spaces[0].processors[0].hz = vec![1e9; 5000]).contains("60049 designs"));
        assert!(refused(|file| file.spaces[0].notes = vec!["x".repeat(1 << 18)]).contains("names and notes up to 22"));
        assert!(SurveyFile::parse("nodes = 1").unwrap_err().to_string().contains("line 1"));
        assert!(SurveyFile::parse("{\"nods\": []}").unwrap_err().to_string().contains("unknown field"));
    }
}
