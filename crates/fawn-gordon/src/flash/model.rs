//! An array as a user describes it: a preset, a file, and changes of either.

use serde::{Deserialize, Serialize};

use super::design::FlashDesign;
use super::geometry::Geometry;
use super::presets::{FlashPreset, preset, presets};
use super::timing::{BusTiming, CellTiming, DieOptions};
use super::usage::DiePower;
use crate::time::SimTime;
use crate::values_file::{self, ValuesError, check_text};

/// The largest count of a geometry.
const MOST: u32 = 1 << 20;

/// Data bytes of the largest array: sums and products of a few such sizes fit in 64 bits.
const MOST_BYTES: u64 = 1 << 60;

/// An array with what is known of it besides its design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlashModel {
    /// Its name.
    pub name: String,
    /// Where its values are from.
    pub source: String,
    /// The design.
    pub design: FlashDesign,
    /// Share of its pages that the host does not see, 0 to 1 exclusive.
    pub spare_factor: f64,
    /// Power of a die, if it is known.
    pub power: Option<DiePower>,
    /// Erases that a block is rated for, if they are known.
    pub rated_erases: Option<u32>,
}

impl From<FlashPreset> for FlashModel {
    fn from(preset: FlashPreset) -> Self {
        let FlashPreset { name, source, design, spare_factor, power, rated_erases } = preset;
        Self { name: name.to_owned(), source: source.to_owned(), design, spare_factor, power, rated_erases }
    }
}

fn no_preset(name: &str) -> ValuesError {
    let known = presets().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    ValuesError::Preset { name: name.to_owned(), known }
}

/// Values of an array, any of which may be absent: those of a file, or what a command changes of a preset.
///
/// ```toml
/// name = "a drive"
/// source = "its data sheet"
/// preset = "mqsim-default"    # values that are absent here are this one's
/// buses = 8
/// packages_per_bus = 4
/// dies_per_package = 2
/// planes_per_die = 2
/// blocks_per_plane = 512
/// pages_per_block = 512
/// page_bytes = 16384
/// spare_bytes = 1024
/// read_us = [40, 65]          # of cells with two bits, page by page in turn
/// program_us = [500, 1300]
/// erase_us = 3500
/// bus_bits = 8
/// bus_mt = 400                # million transfers per second
/// command_cycles = 7
/// cache_register = true
/// spare_factor = 0.07
/// die_idle_w = 0.003
/// die_active_w = 0.04
/// rated_erases = 3000
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlashValues {
    /// What the array is called.
    pub name: Option<String>,
    /// Where the values are from.
    pub source: Option<String>,
    /// The preset to begin with.
    pub preset: Option<String>,
    /// See [`Geometry`].
    pub buses: Option<u32>,
    /// See [`Geometry`].
    pub packages_per_bus: Option<u32>,
    /// See [`Geometry`].
    pub dies_per_package: Option<u32>,
    /// See [`Geometry`].
    pub planes_per_die: Option<u32>,
    /// See [`Geometry`].
    pub blocks_per_plane: Option<u32>,
    /// See [`Geometry`].
    pub pages_per_block: Option<u32>,
    /// See [`Geometry`].
    pub page_bytes: Option<u32>,
    /// See [`Geometry`].
    pub spare_bytes: Option<u32>,
    /// From the cells into the page register, in microseconds, page by page in turn.
    pub read_us: Option<Vec<f64>>,
    /// From the page register into the cells.
    pub program_us: Option<Vec<f64>>,
    /// Erase of a block.
    pub erase_us: Option<f64>,
    /// Data lines of a bus: 8 or 16.
    pub bus_bits: Option<u32>,
    /// Transfers per second of a bus, in millions.
    pub bus_mt: Option<f64>,
    /// Transfers that the command and address of a page take.
    pub command_cycles: Option<u32>,
    /// Whether a transfer runs beside the cells.
    pub cache_register: Option<bool>,
    /// Share of pages that the host does not see.
    pub spare_factor: Option<f64>,
    /// Watts of a die at rest.
    pub die_idle_w: Option<f64>,
    /// Watts of a die whose cells work.
    pub die_active_w: Option<f64>,
    /// Erases that a block is rated for.
    pub rated_erases: Option<u32>,
}

impl FlashValues {
    /// Reads a file: JSON if it begins with a brace, else TOML.
    ///
    /// # Errors
    /// The text has another form, or names what there is not.
    pub fn parse(text: &str) -> Result<Self, ValuesError> {
        values_file::parse(text).map_err(ValuesError::Form)
    }

    /// The array that a file describes.
    ///
    /// # Errors
    /// Something is absent and no preset is named, or a value cannot be.
    pub fn model(&self) -> Result<FlashModel, ValuesError> {
        match &self.preset {
            Some(name) => self.change(&preset(name).ok_or_else(|| no_preset(name))?.into()),
            None => self.apply(self.whole()?),
        }
    }

    /// An array of whose values these take the place. Its source says so, unless these have a source of their own.
    ///
    /// # Errors
    /// A value cannot be.
    pub fn change(&self, model: &FlashModel) -> Result<FlashModel, ValuesError> {
        let mut changed = self.apply(model.clone())?;
        if self.source.is_none() && changed != *model {
            changed.source += "; changed";
        }
        Ok(changed)
    }

    fn apply(&self, mut model: FlashModel) -> Result<FlashModel, ValuesError> {
        check_text("name", self.name.as_deref())?;
        check_text("source", self.source.as_deref())?;
        let set = |place: &mut u32, value: Option<u32>| *place = value.unwrap_or(*place);
        let geometry = &mut model.design.geometry;
        set(&mut geometry.buses, self.buses);
        set(&mut geometry.packages_per_bus, self.packages_per_bus);
        set(&mut geometry.dies_per_package, self.dies_per_package);
        set(&mut geometry.planes_per_die, self.planes_per_die);
        set(&mut geometry.blocks_per_plane, self.blocks_per_plane);
        set(&mut geometry.pages_per_block, self.pages_per_block);
        set(&mut geometry.page_bytes, self.page_bytes);
        set(&mut geometry.spare_bytes, self.spare_bytes);
        let bus = &mut model.design.bus;
        set(&mut bus.width_bits, self.bus_bits);
        set(&mut bus.command_cycles, self.command_cycles);
        bus.mega_transfers = self.bus_mt.unwrap_or(bus.mega_transfers);
        let cells = &mut model.design.cells;
        let times = |us: &[f64], name| us.iter().map(|us| time(*us, name)).collect::<Result<Vec<_>, _>>();
        if let Some(us) = &self.read_us {
            cells.reads = times(us, "read_us")?;
        }
        if let Some(us) = &self.program_us {
            cells.programs = times(us, "program_us")?;
        }
        if let Some(us) = self.erase_us {
            cells.erase = time(us, "erase_us")?;
        }
        model.design.die.cache_register = self.cache_register.unwrap_or(model.design.die.cache_register);
        model.spare_factor = self.spare_factor.unwrap_or(model.spare_factor);
        model.rated_erases = self.rated_erases.or(model.rated_erases);
        let power = model.power;
        let idle_w = self.die_idle_w.or(power.map(|power| power.idle_w));
        let active_w = self.die_active_w.or(power.map(|power| power.active_w));
        match (idle_w, active_w) {
            (Some(_), None) => return Err(ValuesError::Alone { lacks: "die_active_w", given: "die_idle_w" }),
            (None, Some(_)) => return Err(ValuesError::Alone { lacks: "die_idle_w", given: "die_active_w" }),
            _ => {}
        }
        model.power = idle_w.zip(active_w).map(|(idle_w, active_w)| DiePower { idle_w, active_w });
        check(&model)?;
        model.name = self.name.clone().unwrap_or(model.name);
        model.source = self.source.clone().unwrap_or(model.source);
        Ok(model)
    }

    /// An array without a preset: everything that has no default is there.
    fn whole(&self) -> Result<FlashModel, ValuesError> {
        let lacks = ValuesError::Lacks;
        let geometry = Geometry {
            buses: self.buses.ok_or(lacks("buses"))?,
            packages_per_bus: self.packages_per_bus.ok_or(lacks("packages_per_bus"))?,
            dies_per_package: self.dies_per_package.ok_or(lacks("dies_per_package"))?,
            planes_per_die: self.planes_per_die.ok_or(lacks("planes_per_die"))?,
            blocks_per_plane: self.blocks_per_plane.ok_or(lacks("blocks_per_plane"))?,
            pages_per_block: self.pages_per_block.ok_or(lacks("pages_per_block"))?,
            page_bytes: self.page_bytes.ok_or(lacks("page_bytes"))?,
            spare_bytes: self.spare_bytes.ok_or(lacks("spare_bytes"))?,
        };
        for (is_there, name) in [
            (self.read_us.is_some(), "read_us"),
            (self.program_us.is_some(), "program_us"),
            (self.erase_us.is_some(), "erase_us"),
        ] {
            is_there.then_some(()).ok_or(lacks(name))?;
        }
        let bus = BusTiming {
            width_bits: self.bus_bits.ok_or(lacks("bus_bits"))?,
            mega_transfers: self.bus_mt.ok_or(lacks("bus_mt"))?,
            command_cycles: self.command_cycles.ok_or(lacks("command_cycles"))?,
        };
        let die = DieOptions { cache_register: self.cache_register.ok_or(lacks("cache_register"))? };
        Ok(FlashModel {
            name: "own array".to_owned(),
            source: "no source given".to_owned(),
            design: FlashDesign { geometry, cells: CellTiming::uniform_us(0, 0, 0), bus, die },
            spare_factor: self.spare_factor.ok_or(lacks("spare_factor"))?,
            power: None,
            rated_erases: None,
        })
    }
}

fn time(us: f64, name: &'static str) -> Result<SimTime, ValuesError> {
    if (0.0..=1e9).contains(&us) {
        Ok(SimTime::from_seconds(us / 1e6))
    } else {
        Err(ValuesError::Range { name, range: "microseconds from 0 to 10^9".to_owned() })
    }
}

fn check(model: &FlashModel) -> Result<(), ValuesError> {
    let range = |is_right: bool, name, range: &str| {
        if is_right { Ok(()) } else { Err(ValuesError::Range { name, range: range.to_owned() }) }
    };
    let geometry = &model.design.geometry;
    geometry.check().map_err(|error| ValuesError::Unfit(error.to_string()))?;
    for (count, name) in [
        (geometry.buses, "buses"),
        (geometry.packages_per_bus, "packages_per_bus"),
        (geometry.dies_per_package, "dies_per_package"),
        (geometry.blocks_per_plane, "blocks_per_plane"),
        (geometry.pages_per_block, "pages_per_block"),
        (geometry.page_bytes, "page_bytes"),
        (geometry.spare_bytes, "spare_bytes"),
    ] {
        range(count <= MOST, name, "at most 1,048,576")?;
    }
    range(geometry.planes_per_die <= 64, "planes_per_die", "at most 64")?;
    let planes = u64::from(geometry.dies()) * u64::from(geometry.planes_per_die);
    range(
        planes * u64::from(geometry.blocks_per_plane) < 1 << 31,
        "blocks_per_plane",
        "so few that there are below 2^31",
    )?;
    let page_bytes = u64::from(geometry.page_bytes + geometry.spare_bytes);
    range(planes * page_bytes < 1 << 31, "page_bytes", "so few that pages of all planes together have below 2 GiB")?;
    let block_bytes = u64::from(geometry.pages_per_block) * u64::from(geometry.page_bytes);
    let blocks = planes * u64::from(geometry.blocks_per_plane);
    range(
        blocks.checked_mul(block_bytes).is_some_and(|bytes| bytes <= MOST_BYTES),
        "pages_per_block",
        "so few that the array has at most 2^60 bytes",
    )?;
    let bus = &model.design.bus;
    range(bus.width_bits == 8 || bus.width_bits == 16, "bus_bits", "8 or 16")?;
    range((1e-3..=1e6).contains(&bus.mega_transfers), "bus_mt", "from 0.001 to 1,000,000")?;
    range(bus.command_cycles <= MOST, "command_cycles", "at most 1,048,576")?;
    range(!model.design.cells.reads.is_empty(), "read_us", "one time or more")?;
    range(!model.design.cells.programs.is_empty(), "program_us", "one time or more")?;
    range(model.spare_factor > 0.0 && model.spare_factor < 1.0, "spare_factor", "above 0 and below 1")?;
    range(model.rated_erases != Some(0), "rated_erases", "1 or more")?;
    let watts = model.power.unwrap_or(DiePower { idle_w: 0.0, active_w: 0.0 });
    range((0.0..=1e6).contains(&watts.idle_w), "die_idle_w", "watts from 0 to 10^6")?;
    range((watts.idle_w..=1e6).contains(&watts.active_w), "die_active_w", "watts from die_idle_w to 10^6")
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "buses = 2\npackages_per_bus = 1\ndies_per_package = 2\nplanes_per_die = 1\n\
        blocks_per_plane = 64\npages_per_block = 32\npage_bytes = 4096\nspare_bytes = 128\nread_us = [25.5]\n\
        program_us = [200, 800]\nerase_us = 2000\nbus_bits = 8\nbus_mt = 400\ncommand_cycles = 7\n\
        cache_register = true\nspare_factor = 0.1\n";

    const HUGE: &str = "buses = 4294967295\npackages_per_bus = 4294967295\ndies_per_package = 4294967295";

    const LARGE: &str = "blocks_per_plane = 1048576\npages_per_block = 1048576\npage_bytes = 1048576";

    fn model(text: &str) -> Result<FlashModel, ValuesError> {
        FlashValues::parse(text)?.model()
    }

    #[test]
    fn a_whole_file_needs_no_preset() {
        let model = model(WHOLE).unwrap();
        assert_eq!(model.design.geometry.bytes(), 2 * 2 * 64 * 32 * 4096);
        assert_eq!(model.design.cells.reads, [SimTime::from_ns(25_500)]);
        assert_eq!(model.design.cells.program(1), SimTime::from_us(800));
        assert_eq!((model.power, model.rated_erases), (None, None));
        assert_eq!(model.source, "no source given");
    }

    #[test]
    fn a_file_changes_its_preset_as_toml_and_as_json() {
        let toml = model("preset = \"gordon-slc-133\"\nbus_mt = 200\nname = \"faster\"").unwrap();
        let json = model(r#"{"preset": "gordon-slc-133", "bus_mt": 200, "name": "faster"}"#).unwrap();
        assert_eq!(toml, json);
        assert_eq!((toml.design.bus.mega_transfers, toml.design.geometry.buses), (200.0, 4));
        assert_eq!((toml.power, toml.rated_erases), (Some(DiePower::GORDON_SLC), Some(100_000)));
        let changed = FlashValues { buses: Some(2), ..FlashValues::default() };
        let base: FlashModel = preset("gordon-slc-133").unwrap().into();
        assert!(changed.change(&base).unwrap().source.ends_with("; changed"));
        assert_eq!(FlashValues::default().change(&base).unwrap(), base);
    }

    #[test]
    fn what_cannot_be_is_named() {
        let with = |from: &str, to: &str| model(&WHOLE.replace(from, to)).unwrap_err().to_string();
        for (from, to, says) in [
            ("buses = 2\n", "", "it lacks `buses`"),
            ("erase_us = 2000", "", "it lacks `erase_us`"),
            ("bus_bits = 8", "bus_bits = 12", "`bus_bits` must be 8 or 16"),
            ("[25.5]", "[]", "`read_us` must be one time or more"),
            ("[25.5]", "[-1]", "`read_us` must be microseconds"),
            ("buses = 2", "buses = 0", "buses is 0"),
            ("buses = 2\npackages_per_bus = 1\ndies_per_package = 2", HUGE, "at most 2^24 can be simulated"),
            ("blocks_per_plane = 64\npages_per_block = 32\npage_bytes = 4096", LARGE, "at most 2^60 bytes"),
            ("spare_factor = 0.1", "spare_factor = 1", "above 0 and below 1"),
            ("buses = 2", "die_idle_w = 0.003\nbuses = 2", "it lacks `die_active_w`, which goes with `die_idle_w`"),
            ("buses = 2", "die_active_w = 0.04\nbuses = 2", "it lacks `die_idle_w`, which goes with `die_active_w`"),
            ("buses = 2", "name = ' '\nbuses = 2", "`name` must be a text with a letter"),
            ("buses = 2", "source = ''\nbuses = 2", "`source` must be a text with a letter"),
            ("buses = 2", "bus = 2", "line 1: unknown field `bus`"),
            ("buses = 2", "preset = \"none\"", "there is no preset `none`; there are gordon-slc-40, "),
        ] {
            assert!(with(from, to).contains(says), "{to}: {}", with(from, to));
        }
    }
}
