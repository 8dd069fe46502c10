//! MSR Cambridge's traces.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked, parse_access};
use crate::trace::names::DeviceNames;
use crate::trace::request::BlockRequest;

/// Nanoseconds of Windows' unit of time.
const UNIT_NS: u64 = 100;

/// The request of a line.
pub fn parse(line: &[u8], names: &mut DeviceNames) -> Result<BlockRequest, LineProblem> {
    let fields = Fields::by_commas(line);
    fields.expect(7..=7, "7")?;
    let time_ns = fields.time_ns(0, UNIT_NS, "timestamp")?;
    let disk = fields.number(2, "disk number")?;
    let access = parse_access(fields.get(3))?;
    let offset = fields.number(4, "offset")?;
    let bytes = fields.number(5, "size")?;
    let response_ns = Some(fields.time_ns(6, UNIT_NS, "response time")?);
    let request = checked(BlockRequest { time_ns, device: 0, access, offset, bytes, response_ns })?;
    let name = [fields.get(1), b".", disk.to_string().as_bytes()].concat();
    Ok(BlockRequest { device: names.number(&name)?, ..request })
}
