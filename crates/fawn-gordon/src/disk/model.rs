//! What has to be known of a disk to simulate it.

use std::borrow::Cow;

use serde::Deserialize;
use thiserror::Error;

use super::geometry::{DiskZone, Layout};
use super::seek::SeekCurve;

/// A disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskModel {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Where the figures come from.
    pub source: Cow<'static, str>,
    /// Revolutions per minute.
    pub rpm: u32,
    /// Heads, which is surfaces.
    pub heads: u32,
    /// Zones, from the outer edge.
    pub zones: Vec<DiskZone>,
    /// Seek times.
    pub seek: SeekCurve,
    /// From one head to another of the same cylinder, in milliseconds.
    pub head_switch_ms: f64,
    /// By how much the arm must come to rest longer before a write than before a read, in milliseconds.
    pub write_settle_ms: f64,
    /// What the controller takes for a command.
    pub overheads: CommandOverheads,
    /// Bytes a second between host and buffer. Bytes of a read cross while the head reads on.
    pub interface_bytes_per_s: f64,
    /// The buffer.
    pub buffer: BufferModel,
    /// Commands in the disk.
    pub queue: QueueModel,
}

/// Time of the controller before a command begins, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommandOverheads {
    /// A read that the buffer has.
    pub read_hit_ms: f64,
    /// A read of the platters.
    pub read_miss_ms: f64,
    /// A write that the buffer takes.
    pub write_hit_ms: f64,
    /// A write to the platters.
    pub write_miss_ms: f64,
}

/// The buffer: segments for reads, and room for writes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BufferModel {
    /// Segments for reads, each of one sequential stream. 0: none.
    pub segments: u32,
    /// Sectors of a segment.
    pub segment_sectors: u32,
    /// How many sectors the head reads on after a read while nothing else waits. 0: none.
    pub read_ahead_sectors: u32,
    /// The share of a read that the buffer has when the interface begins to carry it, from 0 to 1.
    pub read_watermark: f64,
    /// Sectors of writes that are reported as done before they are on the platters. 0: writes go to the platters.
    pub write_sectors: u32,
    /// Separate extents of such writes.
    pub write_extents: u32,
}

/// Commands that the disk has at a time, and which it serves first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueModel {
    /// How many commands. SATA's native queueing has 32.
    pub depth: u32,
    /// Which one is served first.
    pub policy: QueuePolicy,
    /// A command that has been in the disk for so long is served before all that came later, in milliseconds. Those that
    /// wait at the host do not count, so that this bounds no latency of a disk that is asked for more than it can serve.
    pub longest_wait_ms: f64,
}

impl Default for QueueModel {
    fn default() -> Self {
        Self { depth: 32, policy: QueuePolicy::ShortestPositioning, longest_wait_ms: 2000.0 }
    }
}

/// Which command is served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueuePolicy {
    /// The one that came first.
    FirstCome,
    /// The one with the fewest cylinders to cross.
    ShortestSeek,
    /// The one that the head reaches first, rotation included.
    ShortestPositioning,
}

/// Why a model cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// There are no sectors, or too many.
    #[error("a disk needs heads, and zones with cylinders and sectors")]
    Geometry,
    /// It does not turn, or too fast for nanoseconds.
    #[error("a disk needs between 1 and 1,000,000 revolutions per minute")]
    Speed,
    /// A time is negative, or none.
    #[error("times and rates of a disk must be finite and at least 0, its interface's rate above 0")]
    Time,
    /// It takes no command.
    #[error("a disk's queue needs a depth of at least 1")]
    Queue,
    /// Segments without sectors, or extents without room.
    #[error("segments need sectors, write extents need room, each the other, and the watermark is a share")]
    Buffer,
}

impl DiskModel {
    /// The layout of its sectors.
    ///
    /// # Errors
    /// What of the model makes no sense.
    pub fn layout(&self) -> Result<Layout, ModelError> {
        let CommandOverheads { read_hit_ms, read_miss_ms, write_hit_ms, write_miss_ms } = self.overheads;
        let times = [self.head_switch_ms, self.write_settle_ms, read_hit_ms, read_miss_ms, write_hit_ms, write_miss_ms];
        let is_time = |time_ms: f64| time_ms >= 0.0 && time_ms.is_finite();
        let buffer = &self.buffer;
        let layout = Layout::new(self.heads, &self.zones).ok_or(ModelError::Geometry)?;
        let full_ms = self.seek.time_ms(layout.cylinders().saturating_sub(1));
        if !(1..=1_000_000).contains(&self.rpm) {
            return Err(ModelError::Speed);
        }
        let has_rate = self.interface_bytes_per_s > 0.0 && self.interface_bytes_per_s.is_finite();
        if !(has_rate && times.into_iter().chain([full_ms, self.queue.longest_wait_ms]).all(is_time)) {
            return Err(ModelError::Time);
        }
        if self.queue.depth == 0 {
            return Err(ModelError::Queue);
        }
        if (buffer.segments == 0) != (buffer.segment_sectors == 0)
            || (buffer.write_extents == 0) != (buffer.write_sectors == 0)
            || !(0.0..=1.0).contains(&buffer.read_watermark)
        {
            return Err(ModelError::Buffer);
        }
        Ok(layout)
    }

    /// Milliseconds of a revolution.
    pub fn revolution_ms(&self) -> f64 {
        60_000.0 / f64::from(self.rpm)
    }

    /// Bytes a second under the head in a zone, without any switch of head or cylinder.
    pub fn media_bytes_per_s(&self, zone: &DiskZone) -> f64 {
        f64::from(zone.track_sectors) * 512.0 * f64::from(self.rpm) / 60.0
    }
}
