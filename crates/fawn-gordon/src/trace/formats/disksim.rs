//! `DiskSim`'s ASCII traces.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked};
use crate::trace::request::{Access, BlockRequest};

/// The unit of a trace's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiskSimTime {
    /// As `DiskSim` reads them.
    #[default]
    Milliseconds,
    /// As `MQSim` reads them.
    Nanoseconds,
}

/// The request of a line.
pub fn parse(line: &[u8], time: DiskSimTime) -> Result<BlockRequest, LineProblem> {
    let fields = Fields::by_blanks(line);
    fields.expect(5..=5, "5")?;
    let unit_ns = match time {
        DiskSimTime::Milliseconds => 1_000_000,
        DiskSimTime::Nanoseconds => 1,
    };
    let flags = std::str::from_utf8(fields.get(4)).ok().filter(|flags| !flags.starts_with('+'));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.strip_prefix("0x").unwrap_or(flags), 16).ok());
    let flags = flags.ok_or(LineProblem::Number { field: "flags" })?;
    checked(BlockRequest {
        time_ns: fields.time_ns(0, unit_ns, "time")?,
        device: fields.device(1)?,
        offset: fields.sectors(2, "block number")?,
        bytes: fields.sectors(3, "number of blocks")?,
        access: if flags & 1 == 1 { Access::Read } else { Access::Write },
        response_ns: None,
    })
}
