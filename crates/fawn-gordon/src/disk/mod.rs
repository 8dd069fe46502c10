//! A disk: seeks by distance, rotation by angle, zones, a buffer that reads ahead and writes behind, a queue.
//!
//! The Gordon paper compares flash with a 1 TB SATA disk that `DiskSim` simulated (ASPLOS 2009, §5.2). This is a model of
//! the same kind, with what matters in a SATA disk.
//!
//! ```
//! use fawn_gordon::disk::{ClosedReplay, DiskDevice, DiskRequest, presets};
//! use fawn_gordon::trace::{AddressPattern, Arrivals, TracePattern};
//!
//! let mut disk = DiskDevice::new(&presets::sata_1tb_2008()).unwrap();
//! let sectors = disk.sectors();
//! let addresses = AddressPattern::Uniform { least_bytes: 4096, most_bytes: 4096 };
//! let (arrivals, capacity_bytes) = (Arrivals::Together, sectors * 512);
//! let pattern = TracePattern { addresses, arrivals, read_share: 1.0, capacity_bytes, requests: 1000, seed: 1 };
//! let requests = pattern.trace().unwrap().zip(0..);
//! let requests = requests.map(|(request, id)| DiskRequest::fitted(&request, id, sectors).unwrap());
//! let last = ClosedReplay::new(&mut disk, requests, 1).last().unwrap().unwrap();
//! let per_second = 1000.0 / (last.finish_ns as f64 / 1e9);
//! assert!((75.0..81.0).contains(&per_second), "{per_second} random reads a second");
//! ```
//!
//! # Layout
//!
//! * `model`: what has to be known of a disk. [`presets`]: disks whose figures are public. `values`: disks of
//!   files. `seek`: seek times.
//!   `geometry`: where sectors are. `mechanism`: how long the head takes.
//! * `read_cache`, `write_buffer`: the buffer. `device`: the disk at work. `replay`: traces on it. `request`: what it is
//!   asked.

mod device;
mod geometry;
mod mechanism;
mod model;
pub mod presets;
mod read_cache;
mod replay;
mod request;
mod seek;
#[cfg(test)]
mod tests;
mod values;
mod write_buffer;

pub use device::{DiskActivity, DiskDevice};
pub use geometry::{DiskZone, Layout, SectorPlace, linear_zones};
pub use mechanism::{Arm, Mechanism, MediaTransfer, Positioning};
pub use model::{BufferModel, CommandOverheads, DiskModel, ModelError, QueueModel, QueuePolicy};
pub use replay::{ClosedReplay, OpenReplay};
pub use request::{DiskCompletion, DiskRefusal, DiskRequest, DiskService};
pub use seek::SeekCurve;
pub use values::{BufferValues, DiskValues, PoweredDisk, check_seeks};
