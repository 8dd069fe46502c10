//! Which array is simulated: a preset, a file, and what the command line changes of it.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use clap::builder::BoolishValueParser;
use fawn_gordon::flash::presets::preset;
use fawn_gordon::flash::{FlashModel, FlashValues};
use fawn_gordon::values_file::ValuesError;

use crate::outcome::UsageError;
use crate::values::{decimal, number, parse_share};

/// The paper's array.
pub const PAPER_ARRAY: &str = "gordon-slc-133";

/// The most microseconds of an operation.
const MOST_US: f64 = 1e9;

/// Arguments that describe an array.
#[derive(Debug, Args)]
#[command(next_help_heading = "The array")]
pub struct ArrayArguments {
    /// Preset (`--presets` lists them), or a TOML or JSON file; the flags below change its values
    #[arg(long, value_name = "NAME|FILE", default_value = PAPER_ARRAY)]
    pub array: String,
    /// Buses
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=4096))]
    pub buses: Option<u32>,
    /// Packages on each bus
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=4096))]
    pub packages: Option<u32>,
    /// Dies in each package
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=4096))]
    pub dies: Option<u32>,
    /// Planes of each die
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=64))]
    pub planes: Option<u32>,
    /// Blocks of each plane: the array's size, which bandwidth does not depend on
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1_048_576))]
    pub blocks: Option<u32>,
    /// Pages of each block
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=65_536))]
    pub pages: Option<u32>,
    /// Data bytes of a page
    #[arg(long, value_name = "BYTES", value_parser = number::<u32>(1..=1_048_576))]
    pub page_bytes: Option<u32>,
    /// Bytes of a page beside its data
    #[arg(long, value_name = "BYTES", value_parser = number::<u32>(0..=1_048_576))]
    pub spare_bytes: Option<u32>,
    /// Microseconds of a read in the cells; several of cells with several bits, page by page in turn
    #[arg(long, value_name = "US", value_delimiter = ',', value_parser = decimal(0.0..=MOST_US))]
    pub read_us: Vec<f64>,
    /// Microseconds of a program in the cells, likewise
    #[arg(long, value_name = "US", value_delimiter = ',', value_parser = decimal(0.0..=MOST_US))]
    pub program_us: Vec<f64>,
    /// Microseconds of an erase
    #[arg(long, value_name = "US", value_parser = decimal(0.0..=MOST_US))]
    pub erase_us: Option<f64>,
    /// Data lines of a bus: 8 or 16
    #[arg(long, value_name = "N", value_parser = parse_bus_bits)]
    pub bus_bits: Option<u32>,
    /// Millions of transfers per second of a bus
    #[arg(long, value_name = "MT", value_parser = decimal(0.001..=1e6))]
    pub bus_mt: Option<f64>,
    /// Transfers that the command and address of a page take
    #[arg(long, value_name = "N", value_parser = number::<u32>(0..=1024))]
    pub command_cycles: Option<u32>,
    /// Whether a second register lets a transfer run beside the cells: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub cache_register: Option<bool>,
    /// Over-provisioning: share of the pages that the host does not see
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub spare: Option<f64>,
    /// Watts of a die at rest, for the modelled energy; with --die-active-w
    #[arg(long, value_name = "WATTS", value_parser = decimal(0.0..=1e6))]
    pub die_idle_w: Option<f64>,
    /// Watts of a die whose cells work
    #[arg(long, value_name = "WATTS", value_parser = decimal(0.0..=1e6))]
    pub die_active_w: Option<f64>,
    /// Erases that a block is rated for
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..))]
    pub rated_erases: Option<u32>,
}

fn parse_bus_bits(text: &str) -> Result<u32, String> {
    match text {
        "8" => Ok(8),
        "16" => Ok(16),
        _ => Err("write 8 or 16".to_owned()),
    }
}

/// The flag of a file's value, and the value that was given with it.
fn flag_of(name: &str) -> String {
    let short = match name {
        "packages_per_bus" => "packages",
        "dies_per_package" => "dies",
        "planes_per_die" => "planes",
        "blocks_per_plane" => "blocks",
        "pages_per_block" => "pages",
        "spare_factor" => "spare",
        other => other,
    };
    format!("--{}", short.replace('_', "-"))
}

impl ArrayArguments {
    /// What is wrong with the values, with the flags that they were given by.
    fn told(&self, error: &ValuesError) -> String {
        match error {
            ValuesError::Range { name, range } => {
                let value = match *name {
                    "buses" => self.buses.map(f64::from),
                    "packages_per_bus" => self.packages.map(f64::from),
                    "dies_per_package" => self.dies.map(f64::from),
                    "planes_per_die" => self.planes.map(f64::from),
                    "blocks_per_plane" => self.blocks.map(f64::from),
                    "pages_per_block" => self.pages.map(f64::from),
                    "page_bytes" => self.page_bytes.map(f64::from),
                    "spare_factor" => self.spare,
                    "die_idle_w" => self.die_idle_w,
                    "die_active_w" => self.die_active_w,
                    _ => None,
                };
                let given = value.map(|value| format!(" is {value}, and")).unwrap_or_default();
                format!("{}{given} must be {}", flag_of(name), range.replace("die_idle_w", "--die-idle-w"))
            }
            ValuesError::Alone { lacks, given } => {
                format!("{} needs {} too, as the array does not state it", flag_of(given), flag_of(lacks))
            }
            other => other.to_string(),
        }
    }

    /// The array.
    ///
    /// # Errors
    /// The file cannot be read or understood, or a value cannot be.
    pub fn model(&self) -> anyhow::Result<FlashModel> {
        let base = model(&self.array)?;
        let changed = self.values().change(&base);
        changed.map_err(|error| UsageError(format!("the array cannot be simulated: {}", self.told(&error))).into())
    }

    fn values(&self) -> FlashValues {
        let times = |us: &Vec<f64>| (!us.is_empty()).then(|| us.clone());
        FlashValues {
            buses: self.buses,
            packages_per_bus: self.packages,
            dies_per_package: self.dies,
            planes_per_die: self.planes,
            blocks_per_plane: self.blocks,
            pages_per_block: self.pages,
            page_bytes: self.page_bytes,
            spare_bytes: self.spare_bytes,
            read_us: times(&self.read_us),
            program_us: times(&self.program_us),
            erase_us: self.erase_us,
            bus_bits: self.bus_bits,
            bus_mt: self.bus_mt,
            command_cycles: self.command_cycles,
            cache_register: self.cache_register,
            spare_factor: self.spare,
            die_idle_w: self.die_idle_w,
            die_active_w: self.die_active_w,
            rated_erases: self.rated_erases,
            ..FlashValues::default()
        }
    }
}

/// The array of a preset or a file.
///
/// # Errors
/// There is neither, or the file cannot be used.
pub fn model(name: &str) -> anyhow::Result<FlashModel> {
    if let Some(preset) = preset(name) {
        return Ok(preset.into());
    }
    let text = fawn_files::text::read(Path::new(name)).with_context(|| {
        format!("cannot read the array {name} (`fawn gordon flash --presets` lists those built in)")
    })?;
    let values = FlashValues::parse(&text);
    values.and_then(|values| values.model()).with_context(|| format!("cannot use the array {name}"))
}
