//! The FTL's switches.

use std::str::FromStr;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use fawn_gordon::flash::FlashModel;
use fawn_gordon::ftl::cleaning::CleaningPolicy;
use fawn_gordon::ftl::wear::Endurance;
use fawn_gordon::ftl::{FtlSettings, Stripe};
use fawn_gordon::measure::steady::WarmUpChoice;
use fawn_gordon::time::SimTime;
use fawn_report::amount::counted;

use crate::outcome::UsageError;
use crate::values::{Size, number};

/// Arguments of the FTL.
#[derive(Debug, Args)]
#[command(next_help_heading = "The FTL")]
pub struct FtlArguments {
    /// Settings to begin with [default: gordon for the paper's arrays, plain for others]
    #[arg(long, value_name = "NAME")]
    pub ftl: Option<FtlChoice>,
    /// Rectangle of a super-page [default: 4x4x2 of gordon, 1x1x1 of plain]
    #[arg(long, value_name = "BUSESxDIESxPLANES", value_parser = parse_stripe)]
    pub stripe: Option<Stripe>,
    /// Write points of each stripe set
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=64))]
    pub write_points: Option<u32>,
    /// Programs that a write point may have under way
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1024))]
    pub programs_ahead: Option<u32>,
    /// Requests of the host that are under way at most
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=65_536))]
    pub queue_depth: Option<u32>,
    /// Join reads of one super-page, and keep the last one read: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub bypass: Option<bool>,
    /// Join waiting writes of one super-page, and serve reads from them: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub combining: Option<bool>,
    /// Read all of a super-page, however little is asked for: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub whole_pages: Option<bool>,
    /// Cleaning: greedy, fifo, random, d:N (the best of N random blocks) or cost-benefit
    #[arg(long, value_name = "POLICY", value_parser = parse_policy)]
    pub policy: Option<CleaningPolicy>,
    /// Clean a set that has fewer erased blocks than this
    #[arg(long, value_name = "N", value_parser = number::<u32>(2..=65_536))]
    pub low_blocks: Option<u32>,
    /// Pages of a set that are copied at a time
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=1024))]
    pub copies_ahead: Option<u32>,
    /// Copy inside a die, without the bus: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub copy_back: Option<bool>,
    /// Give cleaned pages blocks of their own: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub cold_apart: Option<bool>,
    /// Dynamic wear levelling, the least-erased block first: on or off
    #[arg(long, value_name = "SWITCH", value_parser = BoolishValueParser::new())]
    pub dynamic_wear: Option<bool>,
    /// Static wear levelling: clean a block that is more than N erases behind
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..))]
    pub static_wear: Option<u32>,
    /// Let blocks fail around their rated erases, and take them out of service
    #[arg(long)]
    pub wear_out: bool,
    /// DRAM of the controller; an FTL that needs more is refused [default: 512M of gordon, any of plain]
    #[arg(long, value_name = "SIZE")]
    pub dram: Option<Size>,
    /// Microseconds for which a read of a super-page holds its buses beside the transfer
    #[arg(long, value_name = "US", value_parser = parse_us)]
    pub read_overhead_us: Option<SimTime>,
    /// The same of a program
    #[arg(long, value_name = "US", value_parser = parse_us)]
    pub program_overhead_us: Option<SimTime>,
    /// Microseconds to look at an entry of the queue, with bypass or combining
    #[arg(long, value_name = "US", value_parser = parse_us)]
    pub queue_entry_us: Option<SimTime>,
    /// Microseconds of a read of what was never written
    #[arg(long, value_name = "US", value_parser = parse_us)]
    pub unmapped_read_us: Option<SimTime>,
    /// Microseconds of a read from the controller's memory
    #[arg(long, value_name = "US", value_parser = parse_us)]
    pub buffered_read_us: Option<SimTime>,
    /// State to begin with: auto, empty, sequential, closed-form or fill:N
    #[arg(long, value_name = "STATE", default_value = "auto", value_parser = parse_first_state)]
    pub first_state: WarmUpChoice,
}

/// Settings to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FtlChoice {
    /// The paper's: 64 KB super-pages, bypass, combining, 512 MB of DRAM
    Gordon,
    /// Single pages, greedy cleaning, nothing that takes time or memory
    Plain,
}

impl FtlArguments {
    /// The settings on an array.
    ///
    /// # Errors
    /// Blocks are to fail, and nobody knows when.
    pub fn settings(&self, model: &FlashModel, seed: u64) -> anyhow::Result<FtlSettings> {
        let usual = if is_paper_array(model) { FtlChoice::Gordon } else { FtlChoice::Plain };
        let mut settings = match self.ftl.unwrap_or(usual) {
            FtlChoice::Gordon => FtlSettings::gordon(),
            FtlChoice::Plain => FtlSettings::plain(Stripe::SINGLE, model.spare_factor),
        };
        settings.spare_factor = model.spare_factor;
        settings.seed = seed;
        set(&mut settings.stripe, self.stripe);
        set(&mut settings.write_points_per_set, self.write_points);
        set(&mut settings.programs_ahead, self.programs_ahead);
        set(&mut settings.queue_depth, self.queue_depth);
        set(&mut settings.read_bypass, self.bypass);
        set(&mut settings.write_combining, self.combining);
        set(&mut settings.whole_page_reads, self.whole_pages);
        set(&mut settings.dram_bytes, self.dram.map(|dram| dram.bytes));
        let cleaning = &mut settings.cleaning;
        set(&mut cleaning.policy, self.policy);
        set(&mut cleaning.low_blocks, self.low_blocks);
        set(&mut cleaning.copies_ahead, self.copies_ahead);
        set(&mut cleaning.copy_back, self.copy_back);
        set(&mut cleaning.cold_apart, self.cold_apart);
        let costs = &mut settings.costs;
        set(&mut costs.read, self.read_overhead_us);
        set(&mut costs.program, self.program_overhead_us);
        set(&mut costs.queue_entry, self.queue_entry_us);
        set(&mut costs.unmapped_read, self.unmapped_read_us);
        set(&mut costs.buffered_read, self.buffered_read_us);
        set(&mut settings.wear.dynamic, self.dynamic_wear);
        settings.wear.spread = self.static_wear;
        if self.wear_out {
            let rated = model.rated_erases.ok_or_else(|| {
                UsageError(format!("nobody states how many erases {} lasts: give --rated-erases too", model.name))
            })?;
            settings.wear.endurance = Some(Endurance::gordon(rated));
        }
        Ok(settings)
    }
}

/// Whether an array is one of the paper's.
fn is_paper_array(model: &FlashModel) -> bool {
    model.name.starts_with("gordon-")
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// The settings in a line.
pub fn line(settings: &FtlSettings) -> String {
    let FtlSettings { stripe, cleaning, wear, .. } = settings;
    let on = |is_on: bool| if is_on { "on" } else { "off" };
    let policy = match cleaning.policy {
        CleaningPolicy::Greedy => "greedy".to_owned(),
        CleaningPolicy::Fifo => "FIFO".to_owned(),
        CleaningPolicy::Random => "random".to_owned(),
        CleaningPolicy::DChoices(choices) => format!("best of {choices}"),
        CleaningPolicy::CostBenefit => "cost-benefit".to_owned(),
    };
    let levelling = match (wear.dynamic, wear.spread) {
        (true, Some(spread)) => format!("dynamic and static ({spread})"),
        (true, None) => "dynamic".to_owned(),
        (false, Some(spread)) => format!("static ({spread})"),
        (false, None) => "off".to_owned(),
    };
    format!(
        "FTL: super-pages of {} x {} x {} (buses x dies x planes), write points {}, bypass {}, combining {}, whole pages \
         {}, {} under way, {policy} cleaning, wear levelling {levelling}, spare {}",
        stripe.buses,
        stripe.dies,
        stripe.planes,
        settings.write_points_per_set,
        on(settings.read_bypass),
        on(settings.write_combining),
        on(settings.whole_page_reads),
        counted(u64::from(settings.queue_depth), "request", "requests"),
        fawn_report::amount::percent(settings.spare_factor),
    )
}

fn parse_stripe(text: &str) -> Result<Stripe, String> {
    let sides: Option<Vec<u32>> = text.split('x').map(|side| side.parse().ok().filter(|side| *side > 0)).collect();
    match sides.as_deref() {
        Some(&[buses, dies, planes]) => Ok(Stripe { buses, dies, planes }),
        _ => Err("write buses, dies of a bus and planes of a die, e.g. 4x4x2".to_owned()),
    }
}

fn parse_policy(text: &str) -> Result<CleaningPolicy, String> {
    match text.split_once(':') {
        None if text == "greedy" => Ok(CleaningPolicy::Greedy),
        None if text == "fifo" => Ok(CleaningPolicy::Fifo),
        None if text == "random" => Ok(CleaningPolicy::Random),
        None if text == "cost-benefit" => Ok(CleaningPolicy::CostBenefit),
        Some(("d", choices)) => parse_above_zero(choices, 1024)
            .map(CleaningPolicy::DChoices)
            .ok_or_else(|| "write d: and a number from 1 to 1024, e.g. d:10".to_owned()),
        _ => Err("write greedy, fifo, random, d:N (e.g. d:10) or cost-benefit".to_owned()),
    }
}

fn parse_first_state(text: &str) -> Result<WarmUpChoice, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(WarmUpChoice::Auto),
        None if text == "empty" => Ok(WarmUpChoice::Empty),
        None if text == "sequential" => Ok(WarmUpChoice::Sequential),
        None if text == "closed-form" => Ok(WarmUpChoice::ClosedForm),
        Some(("fill", passes)) => parse_above_zero(passes, 1000)
            .map(WarmUpChoice::Fill)
            .ok_or_else(|| "write fill: and a number from 1 to 1000, e.g. fill:3".to_owned()),
        _ => Err("write auto, empty, sequential, closed-form or fill:N (e.g. fill:3)".to_owned()),
    }
}

fn parse_above_zero(text: &str, most: u32) -> Option<u32> {
    u32::from_str(text).ok().filter(|number| (1..=most).contains(number))
}

fn parse_us(text: &str) -> Result<SimTime, String> {
    match text.parse::<f64>() {
        Ok(us) if (0.0..=1e9).contains(&us) => Ok(SimTime::from_seconds(us / 1e6)),
        _ => Err("write microseconds from 0 to 1000000000, e.g. 9 or 0.1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles_policies_and_states_are_as_they_are_written() {
        assert_eq!(parse_stripe("4x2x1"), Ok(Stripe { buses: 4, dies: 2, planes: 1 }));
        assert_eq!(parse_policy("d:7"), Ok(CleaningPolicy::DChoices(7)));
        assert_eq!(parse_first_state("fill:2"), Ok(WarmUpChoice::Fill(2)));
        assert_eq!(parse_us("0.1"), Ok(SimTime::from_ns(100)));
        for wrong in ["", "4x4", "0x1x1", "4x4x2x1"] {
            assert!(parse_stripe(wrong).is_err(), "{wrong}");
        }
        assert!(parse_policy("d:0").is_err() && parse_first_state("fill:0").is_err() && parse_us("-1").is_err());
    }
}
