//! Why something cannot be simulated or read, and what the user can change: flags, or values of a device of
//! `fawn gordon replay`. The models say what is wrong, and know no flag.

use std::fmt::Display;

use anyhow::anyhow;
use fawn_gordon::flash::presets::preset;
use fawn_gordon::flash::{FlashModel, Geometry};
use fawn_gordon::ftl::settings::CleaningSettings;
use fawn_gordon::ftl::striping::StripeError;
use fawn_gordon::ftl::{FtlError, FtlSettings, HostRoom, Stripe};
use fawn_gordon::measure::MeasurementError;
use fawn_gordon::measure::steady::WarmUpError;
use fawn_gordon::store::{StoreTrialError, StuckTrial, WorkloadNumber};
use fawn_gordon::survey::cost::schedule::ScheduleError;
use fawn_gordon::trace::{RecordingError, TraceError};
use fawn_report::amount::{counted, percent};

use super::array::flag_of;
use crate::outcome::UsageError;

/// Divisors up to which all are listed. Of more, the nearest two are.
const MOST_LISTED: usize = 12;

/// What changes an array's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayOrigin<'a> {
    /// Flags.
    Flags,
    /// A file, by this argument of --on.
    Device(&'a str),
}

impl ArrayOrigin<'_> {
    /// A value of the array: its flag, or its name in a file.
    pub fn name(self, key: &str) -> String {
        match self {
            Self::Flags => flag_of(key),
            Self::Device(_) => format!("`{key}` in {}", self.file()),
        }
    }

    /// The same as it is given.
    fn value(self, key: &str, value: impl Display) -> String {
        match self {
            Self::Flags => format!("{} {value}", flag_of(key)),
            Self::Device(_) => format!("`{key} = {value}`"),
        }
    }

    /// Where the values of a device are changed.
    fn file(self) -> String {
        match self {
            Self::Device(name) if preset(name).is_some() => format!("a file with `preset = \"{name}\"`"),
            _ => "its file".to_owned(),
        }
    }
}

/// An array with its settings, to say what is wrong with them.
#[derive(Clone, Copy, Debug)]
pub struct ArrayRefusal<'a> {
    origin: ArrayOrigin<'a>,
    geometry: Geometry,
    settings: FtlSettings,
}

impl<'a> ArrayRefusal<'a> {
    /// Of this array.
    pub fn of(origin: ArrayOrigin<'a>, model: &FlashModel, settings: FtlSettings) -> Self {
        Self { origin, geometry: model.design.geometry, settings }
    }

    /// The error with what to change: a usage error, unless the array wore out.
    pub fn error(&self, error: &MeasurementError) -> anyhow::Error {
        match error {
            MeasurementError::Ftl(FtlError::WornOut { .. })
            | MeasurementError::WarmUp(WarmUpError::Ftl(FtlError::WornOut { .. })) => {
                let name = match self.origin {
                    ArrayOrigin::Flags => String::new(),
                    ArrayOrigin::Device(name) => format!("{name}: "),
                };
                let rated_erases = self.origin.name("rated_erases");
                anyhow!("{name}{error}; leave --wear-out out, or raise {rated_erases}")
            }
            _ => {
                let array = match self.origin {
                    ArrayOrigin::Flags => "the array",
                    ArrayOrigin::Device(name) => name,
                };
                UsageError(format!("{array} cannot be simulated: {}", self.sentence(error))).into()
            }
        }
    }

    fn sentence(&self, error: &MeasurementError) -> String {
        match error {
            MeasurementError::Ftl(error) | MeasurementError::WarmUp(WarmUpError::Ftl(error)) => self.of_ftl(error),
            MeasurementError::WarmUp(WarmUpError::Way(_)) => {
                "--first-state closed-form needs more spare blocks than there are: give --first-state fill:3".to_owned()
            }
            MeasurementError::Medium { pages } => format!(
                "--power-cut keeps what is on flash in memory, and {pages} super-pages are too many: give fewer than \
                 --blocks {}",
                self.geometry.blocks_per_plane
            ),
        }
    }

    fn of_ftl(&self, error: &FtlError) -> String {
        match error {
            FtlError::NoRoom { most, pages, .. } => self.no_room(*most, *pages),
            FtlError::Dram { needs, has } => format!(
                "the FTL needs {needs} bytes of DRAM, and --dram is {has}: give more, a larger --stripe, or fewer {}",
                self.origin.name("blocks_per_plane")
            ),
            FtlError::Stripe(error) => self.of_stripe(*error),
            other => other.to_string(),
        }
    }

    fn no_room(&self, most: u64, pages: u64) -> String {
        let spare = match self.origin {
            ArrayOrigin::Flags => format!("--spare {}", percent(self.settings.spare_factor)),
            ArrayOrigin::Device(_) => self.origin.value("spare_factor", self.settings.spare_factor),
        };
        let blocks = self.origin.value("blocks_per_plane", self.geometry.blocks_per_plane);
        let choices: Vec<String> = self.larger(most, pages).into_iter().chain(self.fewer()).collect();
        let choices = if choices.is_empty() { "another --stripe".to_owned() } else { choices.join(", or ") };
        format!("{blocks} with {spare} leaves cleaning no room: give {choices}")
    }

    /// The fewest blocks and the least spare with which cleaning has room, beside `most` of the `pages`.
    fn larger(&self, most: u64, pages: u64) -> Option<String> {
        let blocks = least_blocks(self.geometry, &self.settings);
        // Rounded up to a tenth of a percent.
        let thousandths = (1000.0 * (1.0 - most as f64 / (pages as f64).max(1.0))).ceil();
        let spare = (thousandths < 1000.0).then(|| match self.origin {
            ArrayOrigin::Flags => format!("--spare {}%", thousandths / 10.0),
            ArrayOrigin::Device(_) => self.origin.value("spare_factor", thousandths / 1000.0),
        });
        let blocks = blocks.map(|least| self.origin.value("blocks_per_plane", least));
        let values: Vec<String> = blocks.into_iter().chain(spare).map(|value| format!("{value} or more")).collect();
        let values = (!values.is_empty()).then(|| values.join(", or "))?;
        Some(match self.origin {
            ArrayOrigin::Flags => values,
            ArrayOrigin::Device(_) => format!("{values} in {}", self.origin.file()),
        })
    }

    /// The most blocks of a set that cleaning and write points may take, where fewer help.
    fn fewer(&self) -> Vec<String> {
        let settings = self.settings;
        let has_room = |settings: FtlSettings| HostRoom::of(self.geometry, &settings).is_ok();
        let low_blocks = largest(2, settings.cleaning.low_blocks, |low_blocks| {
            let cleaning = CleaningSettings { low_blocks, ..settings.cleaning };
            has_room(FtlSettings { cleaning, ..settings })
        });
        let write_points = largest(1, settings.write_points_per_set, |write_points_per_set| {
            has_room(FtlSettings { write_points_per_set, ..settings })
        });
        let flags = [("--low-blocks", low_blocks), ("--write-points", write_points)];
        flags.into_iter().filter_map(|(flag, most)| Some(format!("{flag} {} or less", most?))).collect()
    }

    fn of_stripe(&self, error: StripeError) -> String {
        let Stripe { buses, dies, planes } = self.settings.stripe;
        match error {
            StripeError::NoDivisor { name, side, of } => {
                let (whose, of_whole) = match name {
                    "dies" => ("a bus", " of a bus"),
                    "planes" => ("a die", " of a die"),
                    _ => ("the array", ""),
                };
                format!(
                    "--stripe {buses}x{dies}x{planes} takes {} at a time, and {whose} has {of}: give {}",
                    counted(
                        side.into(),
                        &format!("{}{of_whole}", name.trim_end_matches('s')),
                        &format!("{name}{of_whole}")
                    ),
                    divisors_near(of, side)
                )
            }
            StripeError::TooManyPages(pages) => format!(
                "{pages} super-pages are more than 2^31 - 2: give a larger --stripe, or fewer {}",
                self.origin.name("blocks_per_plane")
            ),
            StripeError::SummaryTooLarge { pages, bytes } => format!(
                "the summary of a block of {pages} pages does not fit a super-page of {bytes} bytes: give a larger \
                 --stripe, or fewer {}",
                self.origin.name("pages_per_block")
            ),
            StripeError::NoDataPage => format!(
                "{} leaves no page beside the summary of a block: give {} or more",
                self.origin.value("pages_per_block", self.geometry.pages_per_block),
                self.origin.value("pages_per_block", 2)
            ),
        }
    }
}

/// What leaves the disk servers of `fawn gordon cost` no time, and what would fit.
pub fn of_schedule(error: &ScheduleError) -> UsageError {
    UsageError(match *error {
        ScheduleError::NoWake { .. } => {
            format!("{error}; give --wakes-per-day 1 or more, or leave --changed-per-day out")
        }
        ScheduleError::Waking { most_wake_seconds, most_wakes_per_day: 0, .. } => {
            format!("{error}; give --wake-time {most_wake_seconds}s or less")
        }
        ScheduleError::Waking { most_wake_seconds, most_wakes_per_day, .. } => format!(
            "{error}; give --wake-time {most_wake_seconds}s or less, or --wakes-per-day {most_wakes_per_day} or less"
        ),
        ScheduleError::Taking { .. } => {
            format!("{error}, so lower --changed-per-day, --wakes-per-day or --wake-time")
        }
    })
}

/// Why `fawn gordon store` has no figures: a usage error, unless drive or store failed on the way.
pub fn of_store(error: StoreTrialError) -> anyhow::Error {
    let what = match &error {
        StoreTrialError::Number { number, value, low, high } => {
            format!("{} is {value}; it must be from {low} to {high}", flag_of_workload(*number))
        }
        StoreTrialError::TooSmall { .. } => format!("{error}: lower --full"),
        StoreTrialError::Log { .. } => format!("{error}: lower --memtable or --full"),
        StoreTrialError::Drive { .. } => format!("{error}: change --records, --value or --full"),
        StoreTrialError::Ftl(drive) => format!("the drive cannot be simulated: {}", of_drive(drive)),
        StoreTrialError::NoRow(stuck) => {
            let notes: Vec<String> = stuck.iter().map(stuck_note).collect();
            return anyhow!("{}", notes.join(" "));
        }
        StoreTrialError::Stuck(_) => return anyhow!("{error}; lower --full, or raise --spare"),
        StoreTrialError::Open(_) | StoreTrialError::Wrong { .. } | StoreTrialError::Stopped(_) => return error.into(),
    };
    UsageError(what).into()
}

fn flag_of_workload(number: WorkloadNumber) -> &'static str {
    match number {
        WorkloadNumber::Records => "--records",
        WorkloadNumber::ValueBytes => "--value",
        WorkloadNumber::GetShare => "--gets",
        WorkloadNumber::WarmUp => "--warm-up",
        WorkloadNumber::Measured => "--measured",
        WorkloadNumber::Clients => "--clients",
        WorkloadNumber::ZipfExponent => "--zipf",
        WorkloadNumber::Rate => "--rate",
    }
}

/// The drive of `fawn gordon store`, which is a preset made smaller.
fn of_drive(error: &FtlError) -> String {
    match error {
        FtlError::NoRoom { .. } => {
            "its spare flash leaves cleaning no room: raise --spare or --records, or lower --full".to_owned()
        }
        FtlError::SpareFactor(_) => "--spare must be above 0% and below 100%".to_owned(),
        FtlError::Dram { .. } | FtlError::Geometry(_) | FtlError::Stripe(_) | FtlError::TooSmall { .. } => {
            format!("{error}; choose another --drive, or change --records")
        }
        FtlError::WornOut { .. } => format!("{error}; lower --warm-up or --measured"),
    }
}

/// A store without a row, and what would give it one.
pub fn stuck_note(stuck: &StuckTrial) -> String {
    let memory = if stuck.memory_per_record.is_some() { " or --memory-per-record" } else { "" };
    format!("{stuck}; lower --full, or raise --spare{memory}.")
}

/// A trace that cannot be read, and what can.
pub fn of_trace(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::IsRecording => {
            anyhow!("{error}; give it to `fawn gordon cluster`, and a trace of `fawn gordon record --requests` here")
        }
        _ => error.into(),
    }
}

/// A recording that cannot be read, and what can.
pub fn of_recording(error: RecordingError) -> anyhow::Error {
    match error {
        RecordingError::IsBlockTrace => {
            anyhow!("{error}; give it to `fawn gordon replay`, and a recording by the second here")
        }
        _ => error.into(),
    }
}

/// The fewest blocks of a plane that leave cleaning room.
fn least_blocks(geometry: Geometry, settings: &FtlSettings) -> Option<u32> {
    let fits = |blocks: u32| HostRoom::of(Geometry { blocks_per_plane: blocks, ..geometry }, settings).is_ok();
    let planes = u64::from(geometry.dies()) * u64::from(geometry.planes_per_die);
    let (mut low, mut high) = (geometry.blocks_per_plane, geometry.blocks_per_plane);
    while !fits(high) {
        low = high;
        high = high.checked_mul(2).filter(|blocks| *blocks <= 1 << 20 && planes * u64::from(*blocks) < 1 << 31)?;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The largest number from `least` on, below the one that is given, that leaves cleaning room. `None` if there is none.
fn largest(least: u32, given: u32, has_room: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = (least, given);
    if low >= high || !has_room(low) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if has_room(middle) { low = middle } else { high = middle }
    }
    Some(low)
}

/// `1, 2 or 4`: the divisors of a number, or the two next to `side` if there are many.
fn divisors_near(of: u32, side: u32) -> String {
    let mut divisors: Vec<u32> = (1..=of.isqrt()).filter(|low| of.is_multiple_of(*low)).collect();
    divisors.extend(divisors.clone().into_iter().map(|low| of / low));
    divisors.sort_unstable();
    divisors.dedup();
    if divisors.len() > MOST_LISTED {
        let above = divisors.partition_point(|divisor| *divisor < side).clamp(1, divisors.len() - 1);
        divisors = divisors[above - 1..=above].to_vec();
    }
    let texts: Vec<String> = divisors.iter().map(u32::to_string).collect();
    match texts.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => texts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_are_all_listed_or_the_two_that_are_nearest() {
        assert_eq!([1, 2, 4, 12].map(|of| divisors_near(of, 5)), ["1", "1 or 2", "1, 2 or 4", "1, 2, 3, 4, 6 or 12"]);
        assert_eq!(
            [0, 7, 721, 5_000].map(|side| divisors_near(720, side)),
            ["1 or 2", "6 or 8", "360 or 720", "360 or 720"]
        );
    }
}
