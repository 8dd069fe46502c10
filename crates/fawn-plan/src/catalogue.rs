//! Catalogues: what nodes there are to choose from, with every value's source, date and kind. reference/planning in the
//! book has the form.
//!
//! A catalogue is TOML: sources, machines, drives, and options put together from a machine and maybe drives. What it does
//! not say is unknown; nothing here fills it in.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::quantity::{LEAST, MOST};
use crate::{Date, Figure, FigureKind, PlanError, Quantity};

/// How the figures of a catalogue turn into what a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CatalogueModel {
    /// Rates and space of whole nodes, taken as the source states them, whatever the size of a value.
    Stated,
    /// Machines that run this store: its reads, answers, bytes a record and index.
    Fawn,
}

/// Nodes to choose from.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// What it is called.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// How its figures are meant.
    pub model: CatalogueModel,
    /// Dollars a kilowatt-hour that its authors reckon with.
    pub kwh_dollars: Option<Figure>,
    /// Power usage effectiveness that its authors reckon with.
    pub pue: Option<Figure>,
    /// In the order in which they are written; the first of equals is chosen. Never empty.
    pub options: Vec<NodeOption>,
}

/// A kind of node.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeOption {
    /// What it is called; no other of its catalogue has the name.
    pub name: String,
    /// What its machine is called.
    pub machine: String,
    /// What its drives are called, and how many there are.
    pub drives: Option<(String, u32)>,
    /// What is to be known beside the figures.
    pub note: Option<String>,
    /// What is known of the whole node.
    pub figures: BTreeMap<Quantity, Figure>,
    /// Whether it has a drive whose power nobody says, so that it is in no sum.
    pub drive_watts_unknown: bool,
    /// Whether a measured node's values have taken the place of the catalogue's.
    pub is_measured: bool,
}

impl NodeOption {
    /// What is known of it.
    pub fn figure(&self, quantity: Quantity) -> Option<&Figure> {
        self.figures.get(&quantity)
    }

    /// The value to reckon with; `None` is unknown.
    pub fn value(&self, quantity: Quantity) -> Option<f64> {
        self.figure(quantity).map(|figure| figure.value)
    }
}

/// A catalogue's text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueText {
    name: String,
    title: String,
    #[serde(default = "CatalogueText::model")]
    model: CatalogueModel,
    #[serde(default)]
    energy: Energy,
    #[serde(default)]
    sources: BTreeMap<String, FigureSource>,
    #[serde(default)]
    machines: BTreeMap<String, CataloguePart>,
    #[serde(default)]
    drives: BTreeMap<String, CataloguePart>,
    #[serde(default)]
    options: Vec<OptionText>,
}

impl CatalogueText {
    fn model() -> CatalogueModel {
        CatalogueModel::Fawn
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Energy {
    kwh_dollars: Option<FigureText>,
    pue: Option<FigureText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureSource {
    title: String,
    url: Option<String>,
    date: Date,
}

#[derive(Debug, Deserialize)]
struct CataloguePart {
    name: String,
    #[serde(flatten)]
    figures: BTreeMap<Quantity, FigureText>,
}

/// A figure's text: a value, or the range that sources give.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureText {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    kind: FigureKind,
    source: String,
    date: Option<Date>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionText {
    name: String,
    machine: String,
    drive: Option<String>,
    #[serde(default = "OptionText::one")]
    drives: u32,
    note: Option<String>,
}

impl OptionText {
    fn one() -> u32 {
        1
    }
}

impl Catalogue {
    /// Reads a catalogue.
    ///
    /// # Errors
    /// The text is not TOML of this form, a figure has no source, an option no machine.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let text: CatalogueText = toml::from_str(text).map_err(|error| PlanError::Form(one_line(&error, text)))?;
        let sources = &text.sources;
        let machines = parts("machines", &text.machines, sources)?;
        let drives = parts("drives", &text.drives, sources)?;
        let mut names = BTreeSet::new();
        let mut options = Vec::new();
        for option in &text.options {
            if !names.insert(&option.name) {
                return Err(PlanError::Twice(option.name.clone()));
            }
            options.push(assemble(option, &machines, &drives)?);
        }
        if options.is_empty() {
            return Err(PlanError::Empty);
        }
        let figure = |name: &str, it: &Option<FigureText>, bounds| {
            it.as_ref().map(|it| it.figure(&format!("energy.{name}"), sources, bounds)).transpose()
        };
        Ok(Self {
            kwh_dollars: figure("kwh_dollars", &text.energy.kwh_dollars, NOT_NEGATIVE)?,
            pue: figure("pue", &text.energy.pue, FROM_ONE)?,
            name: text.name,
            title: text.title,
            model: text.model,
            options,
        })
    }
}

/// An error of the TOML parser in one line, with its place.
pub(crate) fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let message = error.message().split('\n').collect::<Vec<_>>().join(", ");
    match line {
        Some(line) => format!("line {line}: {message}"),
        None => message,
    }
}

/// A machine or a drive, read.
struct KnownPart {
    name: String,
    figures: BTreeMap<Quantity, Figure>,
}

fn parts(
    table: &str,
    parts: &BTreeMap<String, CataloguePart>,
    sources: &BTreeMap<String, FigureSource>,
) -> Result<BTreeMap<String, KnownPart>, PlanError> {
    let mut out = BTreeMap::new();
    for (key, part) in parts {
        let mut figures = BTreeMap::new();
        for (quantity, text) in &part.figures {
            figures.insert(*quantity, text.figure(&format!("{table}.{key} ({quantity})"), sources, bounds(*quantity))?);
        }
        if let Some(what) = contradiction(&figures) {
            return Err(PlanError::Contradiction(format!("`{table}.{key}` {what}")));
        }
        out.insert(key.clone(), KnownPart { name: part.name.clone(), figures });
    }
    Ok(out)
}

/// What cannot be true of one part or node, if anything.
pub(crate) fn contradiction(figures: &BTreeMap<Quantity, Figure>) -> Option<&'static str> {
    let figure = |quantity| figures.get(&quantity);
    let (rest, busy) = (figure(Quantity::WattsIdle), figure(Quantity::WattsStress));
    if rest.zip(busy).is_some_and(|(rest, busy)| rest.low > busy.high) {
        return Some(
            "draws more watts at rest than under load: watts_idle and watts_stress are exchanged, or have different \
            scopes",
        );
    }
    if figures.contains_key(&Quantity::PriceDollars) && figures.contains_key(&Quantity::RentDollarsHour) {
        return Some("has a price and a rent: give one of them, or one option for each");
    }
    None
}

/// What a value may be: in words, and the least.
type Bounds = (&'static str, f64);

const POSITIVE: Bounds = ("from 0.001 to 10^12", LEAST);
const NOT_NEGATIVE: Bounds = ("from 0 to 10^12", 0.0);
const FROM_ONE: Bounds = ("from 1 to 10^12", 1.0);

/// What a value of this may be.
pub(crate) fn bounds(quantity: Quantity) -> Bounds {
    if quantity.may_be_nothing() { NOT_NEGATIVE } else { POSITIVE }
}

impl FigureText {
    fn figure(
        &self,
        place: &str,
        sources: &BTreeMap<String, FigureSource>,
        bounds: Bounds,
    ) -> Result<Figure, PlanError> {
        let (words, least) = bounds;
        let wrong = || PlanError::Value { figure: place.to_owned(), bounds: words };
        let (low, value, high) = match (self.low, self.value, self.high) {
            (None, Some(value), None) => (value, value, value),
            (Some(low), None, Some(high)) => (low, f64::midpoint(low, high), high),
            _ => return Err(wrong()),
        };
        if !(least <= low && low <= high && high <= MOST) {
            return Err(wrong());
        }
        let source = sources
            .get(&self.source)
            .ok_or_else(|| PlanError::UnknownSource { figure: place.to_owned(), source_key: self.source.clone() })?;
        let told = match &source.url {
            Some(url) => format!("{} <{url}>", source.title),
            None => source.title.clone(),
        };
        let date = self.date.unwrap_or(source.date);
        Ok(Figure { value, low, high, kind: self.kind, source: told, date, scope: None })
    }
}

/// The whole node: its machine with its drives.
fn assemble(
    option: &OptionText,
    machines: &BTreeMap<String, KnownPart>,
    drives: &BTreeMap<String, KnownPart>,
) -> Result<NodeOption, PlanError> {
    let missing = |what: &'static str, name: &String| PlanError::UnknownPart {
        option: option.name.clone(),
        what,
        name: name.clone(),
    };
    let machine = machines.get(&option.machine).ok_or_else(|| missing("machine", &option.machine))?;
    let mut node = NodeOption {
        name: option.name.clone(),
        machine: machine.name.clone(),
        drives: None,
        note: option.note.clone(),
        figures: machine.figures.clone(),
        drive_watts_unknown: false,
        is_measured: false,
    };
    if option.name.trim().is_empty() {
        return Err(PlanError::Form("an option has an empty name: give it one".to_owned()));
    }
    if let Some(key) = &option.drive {
        if option.drives == 0 {
            return Err(PlanError::NoDrives(option.name.clone()));
        }
        let drive = drives.get(key).ok_or_else(|| missing("drive", key))?;
        node.drives = Some((drive.name.clone(), option.drives));
        node.drive_watts_unknown = !drive.figures.contains_key(&Quantity::WattsStress);
        add_drives(&mut node.figures, &drive.figures, f64::from(option.drives));
    }
    Ok(node)
}

/// Adds `count` drives to a machine. A price of which a part is unknown is unknown. Reads are the least of what the slot
/// and the drives do, of those that are known.
fn add_drives(node: &mut BTreeMap<Quantity, Figure>, drive: &BTreeMap<Quantity, Figure>, count: f64) {
    match (node.remove(&Quantity::PriceDollars), drive.get(&Quantity::PriceDollars)) {
        (Some(machine), Some(price)) => node.insert(Quantity::PriceDollars, machine.plus(price, count)),
        _ => None,
    };
    for quantity in [Quantity::WattsIdle, Quantity::WattsStress] {
        if let (Some(machine), Some(watts)) = (node.get(&quantity), drive.get(&quantity)) {
            let sum = machine.plus(watts, count);
            node.insert(quantity, sum);
        }
    }
    match (node.remove(&Quantity::Gb), drive.get(&Quantity::Gb)) {
        (Some(own), Some(gb)) => node.insert(Quantity::Gb, own.plus(gb, count)),
        (None, Some(gb)) => node.insert(Quantity::Gb, gb.times(count)),
        (_, None) => None,
    };
    if let Some(rating) = drive.get(&Quantity::TbWritten) {
        node.insert(Quantity::TbWritten, rating.times(count));
    }
    if let Some(reads) = drive.get(&Quantity::Read4kPerSecond) {
        let reads = reads.times(count);
        let least = node.get(&Quantity::Read4kPerSecond).map_or(reads.clone(), |slot| slot.least(&reads).clone());
        node.insert(Quantity::Read4kPerSecond, least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
name = "small"
title = "Two parts"
[sources.shop]
title = "a shop"
date = "2026-01"
[machines.board]
name = "Board"
price_dollars = { low = 80, high = 120, kind = "vendor", source = "shop" }
watts_stress = { value = 10, kind = "measured", source = "shop", date = "2025-12-01" }
read_4k_per_second = { value = 90000, kind = "measured", source = "shop" }
[drives.disk]
name = "Disk"
price_dollars = { value = 50, kind = "vendor", source = "shop" }
gb = { value = 1000, kind = "vendor", source = "shop" }
tb_written = { value = 600, kind = "vendor", source = "shop" }
read_4k_per_second = { value = 60000, kind = "vendor", source = "shop" }
[[options]]
name = "Board + 2 disks"
machine = "board"
drive = "disk"
drives = 2
"#;

    #[test]
    fn an_option_is_its_machine_with_its_drives() {
        let catalogue = Catalogue::parse(SMALL).unwrap();
        assert_eq!(catalogue.model, CatalogueModel::Fawn);
        let option = &catalogue.options[0];
        let price = option.figure(Quantity::PriceDollars).unwrap();
        assert_eq!((price.low, price.value, price.high), (180.0, 200.0, 220.0));
        assert_eq!(option.value(Quantity::Gb), Some(2000.0));
        assert_eq!(option.value(Quantity::TbWritten), Some(1200.0), "two disks may be written twice as much");
        assert_eq!(option.value(Quantity::Read4kPerSecond), Some(90_000.0), "the slot is slower than two disks");
        assert_eq!(option.value(Quantity::DramGib), None, "what is not said is unknown");
        assert!(option.drive_watts_unknown);
        assert_eq!(option.figure(Quantity::WattsStress).unwrap().date.to_string(), "2025-12-01");
    }

    #[test]
    fn a_price_with_an_unknown_part_is_unknown() {
        let text = SMALL.replace("price_dollars = { value = 50, kind = \"vendor\", source = \"shop\" }\n", "");
        assert_eq!(Catalogue::parse(&text).unwrap().options[0].value(Quantity::PriceDollars), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("source = \"shop\", date", "source = \"fair\", date", "names the source `fair`"),
            ("value = 50", "value = 50, low = 1", "drives.disk (price)` needs either a value or low and high"),
            (
                "value = 1000",
                "value = 0",
                "drives.disk (space)` needs either a value or low and high, from 0.001 to 10^12",
            ),
            ("value = 1000", "value = 1e300", "from 0.001 to 10^12"),
            ("low = 80", "low = 180", "machines.board (price)"),
            ("machine = \"board\"", "machine = \"tower\"", "names the machine `tower`"),
            ("drive = \"disk\"", "drive = \"tape\"", "names the drive `tape`"),
            ("watts_stress", "wats_stress", "line 7: unknown variant `wats_stress`"),
            ("kind = \"measured\", source = \"shop\", date", "source = \"shop\", date", "missing field `kind`"),
            ("2025-12-01", "yesterday", "`yesterday` is not a date"),
            ("[[options]]", "[other]", "unknown field `other`"),
            ("\"2026-01\"", "2026-01-01", "write it in quotes"),
            ("drives = 2", "drives = 0", "0 of them: write drives = 1"),
            ("name = \"Board + 2 disks\"", "name = \"\"", "empty name"),
            (
                "watts_stress",
                "watts_idle = { value = 11, kind = \"measured\", source = \"shop\" }\nwatts_stress",
                "at rest than under",
            ),
            (
                "watts_stress",
                "rent_dollars_hour = { value = 1, kind = \"vendor\", source = \"shop\" }\nwatts_stress",
                "a price and a rent",
            ),
            ("drives = 2", "drives = 2\n[[options]]\nname = \"Board + 2 disks\"\nmachine = \"board\"", "two options"),
        ];
        for (from, to, expected) in cases {
            assert!(SMALL.contains(from), "{from}");
            let error = Catalogue::parse(&SMALL.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{expected}: {error}");
        }
        let head = SMALL.split("[[options]]").next().unwrap();
        assert_eq!(Catalogue::parse(head), Err(PlanError::Empty));
    }
}
