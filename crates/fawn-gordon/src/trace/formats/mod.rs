//! One file for each format that is text. A parser turns a line into a request, or passes it over.

mod alibaba;
mod blkparse;
mod disksim;
mod fio;
mod fiu;
mod msr;
mod spc;
mod tencent;

pub use blkparse::{BlkparseAction, access as blkparse_access};
pub use disksim::DiskSimTime;

use super::error::LineProblem;
use super::names::DeviceNames;
use super::request::BlockRequest;

/// A format of block traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceFormat {
    /// MSR Cambridge (Narayanan et al., FAST '08): `timestamp,host,disk,Read|Write,offset,size,response`. Timestamps and
    /// responses count 100 ns, timestamps from 1601; offsets and sizes are bytes.
    Msr,
    /// Alibaba 2020 (`alibaba/block-traces`): `device,R|W,offset,length,timestamp`, in bytes and microseconds.
    Alibaba,
    /// Tencent CBS (Zhang et al., ATC '20): `timestamp,offset,size,0|1,volume`, in seconds and sectors; 1 is a write.
    Tencent,
    /// The Storage Performance Council's format, as of the `UMass` repository: `unit,address,size,R|W,timestamp`.
    /// Addresses are sectors, sizes bytes, timestamps seconds with decimals.
    Spc,
    /// FIU (Koller & Rangaswami, FAST '10): `timestamp pid process address blocks R|W major minor md5`, in nanoseconds and
    /// sectors.
    Fiu,
    /// `DiskSim`'s ASCII format: `time device block blocks flags`, in sectors. Bit 0 of the flags, which are hexadecimal, is
    /// a read. Milliseconds with decimals; `MQSim` writes nanoseconds.
    DiskSim,
    /// The text that blkparse prints by default, one event a line, seconds and sectors.
    Blkparse,
    /// fio's iolog, version 2: `file action offset length`, in bytes. Time passes in `wait` lines only.
    FioV2,
    /// fio's iolog, version 3: `timestamp file action offset length`, in microseconds and bytes.
    FioV3,
    /// This project's own binary format, see [`compact`](super::compact).
    Compact,
}

impl TraceFormat {
    /// All formats.
    pub const ALL: [Self; 10] = [
        Self::Msr,
        Self::Alibaba,
        Self::Tencent,
        Self::Spc,
        Self::Fiu,
        Self::DiskSim,
        Self::Blkparse,
        Self::FioV2,
        Self::FioV3,
        Self::Compact,
    ];

    /// Its name on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Spc => "spc",
            Self::Fiu => "fiu",
            Self::DiskSim => "disksim",
            Self::Blkparse => "blkparse",
            Self::FioV2 => "fio-v2",
            Self::FioV3 => "fio-v3",
            Self::Compact => "compact",
        }
    }

    /// The format with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether each request has a time. Otherwise a replay must issue one request after another.
    pub fn has_times(self) -> bool {
        self != Self::FioV2
    }
}

/// What a trace does not say of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// The unit of a `DiskSim` trace's times.
    pub disksim_time: DiskSimTime,
    /// Which events of a blkparse trace are requests.
    pub blkparse_action: BlkparseAction,
}

/// Parses the lines of one trace.
#[derive(Debug)]
pub struct LineParser {
    format: TraceFormat,
    options: TraceOptions,
    names: DeviceNames,
    fio: fio::Iolog,
    blkparse: blkparse::Events,
}

impl LineParser {
    /// A parser for a format that is text.
    pub fn new(format: TraceFormat, options: TraceOptions) -> Self {
        assert!(format != TraceFormat::Compact, "a compact trace has no lines");
        let (names, fio, blkparse) = (DeviceNames::default(), fio::Iolog::default(), blkparse::Events::default());
        Self { format, options, names, fio, blkparse }
    }

    /// The name of a device, of formats that give names.
    pub fn device_name(&self, device: u32) -> Option<&str> {
        self.names.name(device)
    }

    /// The request of a line; `None` if the line is right and no request.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse(&mut self, line: &[u8]) -> Result<Option<BlockRequest>, LineProblem> {
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        match self.format {
            TraceFormat::Msr => msr::parse(line, &mut self.names).map(Some),
            TraceFormat::Alibaba => alibaba::parse(line).map(Some),
            TraceFormat::Tencent => tencent::parse(line).map(Some),
            TraceFormat::Spc => spc::parse(line).map(Some),
            TraceFormat::Fiu => fiu::parse(line).map(Some),
            TraceFormat::DiskSim => disksim::parse(line, self.options.disksim_time).map(Some),
            TraceFormat::Blkparse => self.blkparse.parse(line, self.options.blkparse_action),
            TraceFormat::FioV2 => self.fio.parse_v2(line, &mut self.names),
            TraceFormat::FioV3 => self.fio.parse_v3(line, &mut self.names),
            TraceFormat::Compact => unreachable!("a compact trace has no lines"),
        }
    }
}
