//! A disk as a user describes it: a preset, a file, and changes of either.

use std::ops::RangeInclusive;

use serde::Deserialize;

use super::geometry::linear_zones;
use super::model::{BufferModel, CommandOverheads, DiskModel, QueueModel, QueuePolicy};
use super::presets::{DiskPower, DiskPreset, named, preset};
use super::seek::SeekCurve;
use crate::node::DeviceWatts;
use crate::values_file::{self, ValuesError, check_text};

/// A disk with its power.
#[derive(Clone, Debug, PartialEq)]
pub struct PoweredDisk {
    /// The disk.
    pub model: DiskModel,
    /// Its power, if it is known.
    pub power: Option<DiskPower>,
}

impl From<DiskPreset> for PoweredDisk {
    fn from(preset: DiskPreset) -> Self {
        Self { model: preset.model, power: preset.power }
    }
}

fn no_preset(name: &str) -> ValuesError {
    let known = named().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    ValuesError::Preset { name: name.to_owned(), known }
}

/// Values of a disk, any of which may be absent: those of a file, or what a command changes of a preset.
///
/// ```toml
/// name = "a disk"
/// source = "its data sheet"
/// preset = "sata-1tb-2008"      # values that are absent here are this one's
/// rpm = 7200
/// heads = 8
/// cylinders = 170000
/// zones = 16                    # of as many cylinders each, from the outer edge
/// outer_track_sectors = 1915    # of 512 bytes
/// inner_track_sectors = 958
/// seek_ms = [0.8, 8.5, 17]      # to the next track, on average, over all
/// head_switch_ms = 0.8
/// write_settle_ms = 0.2
/// read_hit_ms = 0.1             # the controller's time for a command
/// read_miss_ms = 0.1
/// write_hit_ms = 0.1
/// write_miss_ms = 0.1
/// interface_mb_per_s = 300      # 10^6 bytes
/// queue_depth = 32
/// policy = "shortest-positioning"
/// longest_wait_ms = 2000
/// idle_w = 9
/// read_w = 13
/// write_w = 17
///
/// [buffer]
/// segments = 16                 # 0: none for reads
/// segment_sectors = 2048
/// read_ahead_sectors = 1024
/// read_watermark = 0
/// write_sectors = 32768         # 0: none for writes
/// write_extents = 1024
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiskValues {
    /// What the disk is called.
    pub name: Option<String>,
    /// Where the values are from.
    pub source: Option<String>,
    /// The preset to begin with.
    pub preset: Option<String>,
    /// Revolutions per minute, 1 to 1,000,000.
    pub rpm: Option<u32>,
    /// Heads, 1 to 256.
    pub heads: Option<u32>,
    /// Cylinders of all zones, 2 to 10,000,000.
    pub cylinders: Option<u32>,
    /// Zones, 1 to 1,024.
    pub zones: Option<u32>,
    /// Sectors of an outermost track, 1 to 1,000,000.
    pub outer_track_sectors: Option<u32>,
    /// Sectors of an innermost track, at most as many.
    pub inner_track_sectors: Option<u32>,
    /// Milliseconds of a seek to the next track, of a mean one, and over all cylinders: see [`SeekCurve::ThreePoints`].
    pub seek_ms: Option<[f64; 3]>,
    /// See [`DiskModel`].
    pub head_switch_ms: Option<f64>,
    /// See [`DiskModel`].
    pub write_settle_ms: Option<f64>,
    /// See [`CommandOverheads`].
    pub read_hit_ms: Option<f64>,
    /// See [`CommandOverheads`].
    pub read_miss_ms: Option<f64>,
    /// See [`CommandOverheads`].
    pub write_hit_ms: Option<f64>,
    /// See [`CommandOverheads`].
    pub write_miss_ms: Option<f64>,
    /// 10⁶ bytes per second between host and buffer.
    pub interface_mb_per_s: Option<f64>,
    /// Its buffer.
    pub buffer: BufferValues,
    /// Commands that the disk takes at a time, 1 to 65,536.
    pub queue_depth: Option<u32>,
    /// Which of them is served first.
    pub policy: Option<QueuePolicy>,
    /// A command that has waited for so long is served before all others, in milliseconds.
    pub longest_wait_ms: Option<f64>,
    /// Watts at rest.
    pub idle_w: Option<f64>,
    /// Watts while it reads.
    pub read_w: Option<f64>,
    /// Watts while it writes.
    pub write_w: Option<f64>,
}

/// Values of a disk's buffer, any of which may be absent; see [`BufferModel`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferValues {
    /// Segments for reads, up to 2²⁸; 0: reads are not kept.
    pub segments: Option<u32>,
    /// Sectors of a segment, up to 2²⁸.
    pub segment_sectors: Option<u32>,
    /// Sectors that are read ahead, up to 2²⁸.
    pub read_ahead_sectors: Option<u32>,
    /// Share of a read that is there when the interface begins, 0 to 1.
    pub read_watermark: Option<f64>,
    /// Sectors for writes, up to 2²⁸; 0: writes are not kept.
    pub write_sectors: Option<u32>,
    /// Pieces that these may be of, up to 2²⁸.
    pub write_extents: Option<u32>,
}

impl BufferValues {
    /// Those of a disk without a buffer.
    pub fn none() -> Self {
        let none = Some(0);
        Self {
            segments: none,
            segment_sectors: none,
            read_ahead_sectors: none,
            read_watermark: Some(0.0),
            write_sectors: none,
            write_extents: none,
        }
    }

    fn apply(&self, buffer: &mut BufferModel) {
        for (place, value) in [
            (&mut buffer.segments, self.segments),
            (&mut buffer.segment_sectors, self.segment_sectors),
            (&mut buffer.read_ahead_sectors, self.read_ahead_sectors),
            (&mut buffer.write_sectors, self.write_sectors),
            (&mut buffer.write_extents, self.write_extents),
        ] {
            *place = value.unwrap_or(*place);
        }
        buffer.read_watermark = self.read_watermark.unwrap_or(buffer.read_watermark);
    }

    fn check(&self) -> Result<(), ValuesError> {
        for (count, name) in [
            (self.segments, "buffer.segments"),
            (self.segment_sectors, "buffer.segment_sectors"),
            (self.read_ahead_sectors, "buffer.read_ahead_sectors"),
            (self.write_sectors, "buffer.write_sectors"),
            (self.write_extents, "buffer.write_extents"),
        ] {
            check_range(name, count, 0..=1 << 28)?;
        }
        check_range("buffer.read_watermark", self.read_watermark, 0.0..=1.0)
    }
}

impl DiskValues {
    /// Reads a file: JSON if it begins with a brace, else TOML.
    ///
    /// # Errors
    /// The text has another form, or names what there is not.
    pub fn parse(text: &str) -> Result<Self, ValuesError> {
        values_file::parse(text).map_err(ValuesError::Form)
    }

    /// The disk that a file describes.
    ///
    /// # Errors
    /// Something is absent and no preset is named, or a value cannot be.
    pub fn disk(&self) -> Result<PoweredDisk, ValuesError> {
        match &self.preset {
            Some(name) => self.change(&preset(name).ok_or_else(|| no_preset(name))?.into()),
            None => self.apply(self.whole()?),
        }
    }

    /// A disk of whose values these take the place. Its source says so, unless these have a source of their own.
    ///
    /// # Errors
    /// A value cannot be.
    pub fn change(&self, disk: &PoweredDisk) -> Result<PoweredDisk, ValuesError> {
        let mut changed = self.apply(disk.clone())?;
        if self.source.is_none() && changed != *disk {
            changed.model.source = format!("{}; changed", changed.model.source).into();
        }
        Ok(changed)
    }

    fn apply(&self, mut disk: PoweredDisk) -> Result<PoweredDisk, ValuesError> {
        self.check()?;
        let model = &mut disk.model;
        let set = |place: &mut u32, value: Option<u32>| *place = value.unwrap_or(*place);
        let set_f64 = |place: &mut f64, value: Option<f64>| *place = value.unwrap_or(*place);
        set(&mut model.rpm, self.rpm);
        set(&mut model.heads, self.heads);
        set_f64(&mut model.head_switch_ms, self.head_switch_ms);
        set_f64(&mut model.write_settle_ms, self.write_settle_ms);
        let overheads = &mut model.overheads;
        set_f64(&mut overheads.read_hit_ms, self.read_hit_ms);
        set_f64(&mut overheads.read_miss_ms, self.read_miss_ms);
        set_f64(&mut overheads.write_hit_ms, self.write_hit_ms);
        set_f64(&mut overheads.write_miss_ms, self.write_miss_ms);
        set_f64(&mut model.interface_bytes_per_s, self.interface_mb_per_s.map(|mb| mb * 1e6));
        self.buffer.apply(&mut model.buffer);
        let queue = &mut model.queue;
        set(&mut queue.depth, self.queue_depth);
        set_f64(&mut queue.longest_wait_ms, self.longest_wait_ms);
        queue.policy = self.policy.unwrap_or(queue.policy);
        self.place(model)?;
        if let [Some(idle), Some(read), Some(write)] = [self.idle_w, self.read_w, self.write_w] {
            check_range("read_w", self.read_w, idle..=1_000_000.0)?;
            check_range("write_w", self.write_w, idle..=1_000_000.0)?;
            let source = self.source.clone().unwrap_or_else(|| "as given".to_owned()).into();
            disk.power = Some(DiskPower { watts: DeviceWatts { idle, read, write }, source });
        }
        if let Some(name) = &self.name {
            model.name = name.clone().into();
        }
        if let Some(source) = &self.source {
            model.source = source.clone().into();
        }
        model.layout().map_err(|error| ValuesError::Unfit(error.to_string()))?;
        Ok(disk)
    }

    /// Zones and seek times, which go together.
    fn place(&self, model: &mut DiskModel) -> Result<(), ValuesError> {
        let [single_ms, mean_ms, full_ms] = match (self.seek_ms, &model.seek) {
            (Some(ms), _) => ms,
            (None, SeekCurve::ThreePoints { single_ms, mean_ms, full_ms, .. }) => [*single_ms, *mean_ms, *full_ms],
            (None, curve) => [curve.time_ms(1), 0.0, 0.0],
        };
        if let Some(geometry) = self.geometry()? {
            let [cylinders, zones, outer, inner] = geometry;
            // For writes, too: the arm comes to rest after each switch.
            let switch_ms = [model.head_switch_ms, single_ms].map(|ms| ms + model.write_settle_ms);
            model.zones = linear_zones(zones, cylinders, (outer, inner), model.revolution_ms(), switch_ms.into());
        }
        let is_of_three = matches!(model.seek, SeekCurve::ThreePoints { .. });
        if self.seek_ms.is_some() || is_of_three {
            let cylinders = model.zones.iter().map(|zone| zone.cylinders).sum();
            model.seek = SeekCurve::ThreePoints { cylinders, single_ms, mean_ms, full_ms };
        }
        Ok(())
    }

    /// Cylinders, zones, and sectors of the outermost and innermost tracks: all of them or none.
    fn geometry(&self) -> Result<Option<[u32; 4]>, ValuesError> {
        let values = [
            (self.cylinders, "cylinders"),
            (self.zones, "zones"),
            (self.outer_track_sectors, "outer_track_sectors"),
            (self.inner_track_sectors, "inner_track_sectors"),
        ];
        together(&values)?;
        let [Some(cylinders), Some(zones), Some(outer), Some(inner)] = values.map(|(value, _)| value) else {
            return Ok(None);
        };
        check_range("zones", Some(zones), 1..=1024.min(cylinders))?;
        check_range("inner_track_sectors", Some(inner), 1..=outer)?;
        Ok(Some([cylinders, zones, outer, inner]))
    }

    /// Each value alone.
    fn check(&self) -> Result<(), ValuesError> {
        check_text("name", self.name.as_deref())?;
        check_text("source", self.source.as_deref())?;
        check_range("rpm", self.rpm, 1..=1_000_000)?;
        check_range("heads", self.heads, 1..=256)?;
        check_range("cylinders", self.cylinders, 2..=10_000_000)?;
        check_range("outer_track_sectors", self.outer_track_sectors, 1..=1_000_000)?;
        for (ms, name) in [
            (self.head_switch_ms, "head_switch_ms"),
            (self.write_settle_ms, "write_settle_ms"),
            (self.read_hit_ms, "read_hit_ms"),
            (self.read_miss_ms, "read_miss_ms"),
            (self.write_hit_ms, "write_hit_ms"),
            (self.write_miss_ms, "write_miss_ms"),
        ] {
            check_range(name, ms, 0.0..=10_000.0)?;
        }
        check_range("longest_wait_ms", self.longest_wait_ms, 0.0..=1e9)?;
        check_range("interface_mb_per_s", self.interface_mb_per_s, 0.001..=1_000_000.0)?;
        self.buffer.check()?;
        check_range("queue_depth", self.queue_depth, 1..=65_536)?;
        let watts = [(self.idle_w, "idle_w"), (self.read_w, "read_w"), (self.write_w, "write_w")];
        for (value, name) in watts {
            check_range(name, value, 0.0..=1_000_000.0)?;
        }
        together(&watts)?;
        let Some([single_ms, mean_ms, full_ms]) = self.seek_ms else { return Ok(()) };
        check_seeks(single_ms, mean_ms, full_ms).map_err(|range| ValuesError::Range { name: "seek_ms", range })
    }

    /// A disk without a preset: everything that has no default is there.
    fn whole(&self) -> Result<PoweredDisk, ValuesError> {
        let lacks = ValuesError::Lacks;
        let model = DiskModel {
            name: "own disk".into(),
            source: "no source given".into(),
            rpm: self.rpm.ok_or(lacks("rpm"))?,
            heads: self.heads.ok_or(lacks("heads"))?,
            zones: Vec::new(),
            seek: SeekCurve::Table(Vec::new()),
            head_switch_ms: self.head_switch_ms.ok_or(lacks("head_switch_ms"))?,
            write_settle_ms: self.write_settle_ms.ok_or(lacks("write_settle_ms"))?,
            overheads: CommandOverheads::default(),
            interface_bytes_per_s: self.interface_mb_per_s.ok_or(lacks("interface_mb_per_s"))? * 1e6,
            buffer: BufferModel::default(),
            queue: QueueModel::default(),
        };
        for (is_there, name) in [
            (self.cylinders.is_some(), "cylinders"),
            (self.zones.is_some(), "zones"),
            (self.outer_track_sectors.is_some(), "outer_track_sectors"),
            (self.inner_track_sectors.is_some(), "inner_track_sectors"),
            (self.seek_ms.is_some(), "seek_ms"),
        ] {
            is_there.then_some(()).ok_or(lacks(name))?;
        }
        Ok(PoweredDisk { model, power: None })
    }
}

/// Whether a curve goes through three seek times and rises all the way.
///
/// # Errors
/// What they must be.
pub fn check_seeks(single_ms: f64, mean_ms: f64, full_ms: f64) -> Result<(), String> {
    let is_ascending = 0.0 < single_ms && single_ms <= mean_ms && mean_ms <= full_ms && full_ms <= 60_000.0;
    if !is_ascending {
        return Err("three times in ascending order, above 0 and up to 60000 ms, e.g. 0.8, 8.5 and 17".to_owned());
    }
    let means = SeekCurve::mean_range_ms(single_ms, full_ms);
    if means.contains(&mean_ms) {
        return Ok(());
    }
    Err(format!(
        "times with a mean from {:.2} to {:.2} ms for {single_ms} and {full_ms} ms, as no longer seek takes less",
        means.start(),
        means.end()
    ))
}

fn check_range<T: PartialOrd + std::fmt::Display>(
    name: &'static str,
    value: Option<T>,
    range: RangeInclusive<T>,
) -> Result<(), ValuesError> {
    match value {
        Some(value) if !range.contains(&value) => {
            let range = format!("from {} to {}", range.start(), range.end());
            Err(ValuesError::Range { name, range })
        }
        _ => Ok(()),
    }
}

/// All of these values are there, or none is.
fn together<T>(values: &[(Option<T>, &'static str)]) -> Result<(), ValuesError> {
    let absent = values.iter().find(|(value, _)| value.is_none());
    let there = values.iter().find(|(value, _)| value.is_some());
    match (absent, there) {
        (Some((_, lacks)), Some((_, given))) => Err(ValuesError::Alone { lacks, given }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "rpm = 5400\nheads = 4\ncylinders = 1000\nzones = 10\nouter_track_sectors = 200\n\
        inner_track_sectors = 100\nseek_ms = [1, 9, 18]\nhead_switch_ms = 1\nwrite_settle_ms = 0.5\n\
        interface_mb_per_s = 100\n";

    fn disk(text: &str) -> Result<PoweredDisk, ValuesError> {
        DiskValues::parse(text)?.disk()
    }

    #[test]
    fn a_whole_file_needs_no_preset() {
        let PoweredDisk { model, power } = disk(WHOLE).unwrap();
        assert_eq!((model.rpm, model.zones.len(), model.zones[9].track_sectors), (5400, 10, 100));
        assert_eq!(model.seek, SeekCurve::ThreePoints { cylinders: 1000, single_ms: 1.0, mean_ms: 9.0, full_ms: 18.0 });
        assert_eq!((model.interface_bytes_per_s, model.buffer, power), (100e6, BufferModel::default(), None));
        assert_eq!(model.source, "no source given");
    }

    #[test]
    fn a_file_changes_its_preset_as_toml_and_as_json() {
        let toml = disk("preset = \"sata-1tb-2008\"\nrpm = 10000\nname = \"faster\"").unwrap();
        let json = disk(r#"{"preset": "sata-1tb-2008", "rpm": 10000, "name": "faster"}"#).unwrap();
        assert_eq!(toml, json);
        assert_eq!((toml.model.rpm, toml.model.heads), (10_000, 8));
        assert!(toml.model.source.ends_with("; changed") && toml.power.is_some());
        let base = PoweredDisk::from(preset("sata-1tb-2008").unwrap());
        assert_eq!(DiskValues::default().change(&base).unwrap(), base);
    }

    #[test]
    fn what_a_preset_is_of_describes_the_same_disk_in_a_file() {
        let text = "preset = \"sata-1tb-2008\"\nsource = \"s\"\nname = \"n\"\ncylinders = 170000\nzones = 16\n\
            outer_track_sectors = 1915\ninner_track_sectors = 958\nseek_ms = [0.8, 8.5, 17]\npolicy = \"shortest-positioning\"";
        let PoweredDisk { model, .. } = disk(text).unwrap();
        let preset = preset("sata-1tb-2008").unwrap().model;
        assert_eq!(model, DiskModel { name: "n".into(), source: "s".into(), ..preset });
    }

    #[test]
    fn what_cannot_be_is_named() {
        let with = |from: &str, to: &str| disk(&WHOLE.replace(from, to)).unwrap_err().to_string();
        for (from, to, says) in [
            ("rpm = 5400\n", "", "it lacks `rpm`"),
            ("rpm = 5400", "rpm = 5400\nname = ''", "`name` must be a text with a letter"),
            ("rpm = 5400", "rpm = 5400\nsource = ' '", "`source` must be a text with a letter"),
            ("seek_ms = [1, 9, 18]\n", "", "it lacks `seek_ms`"),
            ("rpm = 5400", "rpm = 0", "`rpm` must be from 1 to 1000000"),
            ("heads = 4", "heads = 257", "`heads` must be from 1 to 256"),
            ("zones = 10", "zones = 0", "`zones` must be from 1 to 1000"),
            ("zones = 10", "zones = 1001", "`zones` must be from 1 to 1000"),
            ("inner_track_sectors = 100", "inner_track_sectors = 201", "`inner_track_sectors` must be from 1 to 200"),
            ("cylinders = 1000", "cylinders = 1", "`cylinders` must be from 2 to 10000000"),
            ("[1, 9, 18]", "[9, 1, 18]", "`seek_ms` must be three times in ascending order"),
            ("[1, 9, 18]", "[1, 1, 18]", "`seek_ms` must be times with a mean from 6.67 to 13.47 ms"),
            ("[1, 9, 18]", "[1, 9]", "line 7: "),
            ("head_switch_ms = 1", "head_switch_ms = nan", "`head_switch_ms` must be from 0 to 10000"),
            ("write_settle_ms = 0.5", "write_settle_ms = -1", "`write_settle_ms` must be from 0 to 10000"),
            ("mb_per_s = 100", "mb_per_s = 0", "`interface_mb_per_s` must be from 0.001 to 1000000"),
            ("rpm = 5400", "rpm = 5400\nbuffer.read_watermark = 2", "`buffer.read_watermark` must be from 0 to 1"),
            ("rpm = 5400", "rpm = 5400\nqueue_depth = 0", "`queue_depth` must be from 1 to 65536"),
            ("rpm = 5400", "rpm = 5400\npolicy = \"best\"", "unknown variant `best`"),
            ("rpm = 5400", "rpm = 5400\nidle_w = 5", "it lacks `read_w`, which goes with `idle_w`"),
            ("rpm = 5400", "rpm = 5400\nbuffer.segments = 4", "segments need sectors"),
            ("rpm = 5400", "speed = 5400", "line 1: unknown field `speed`"),
            ("rpm = 5400", "preset = \"tape\"", "there is no preset `tape`; there are hp-97560, "),
        ] {
            assert!(with(from, to).contains(says), "{to}: {}", with(from, to));
        }
        let alone = disk("preset = \"sata-1tb-2008\"\ncylinders = 9").unwrap_err().to_string();
        assert_eq!(alone, "it lacks `zones`, which goes with `cylinders`: give both");
    }
}
