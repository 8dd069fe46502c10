//! The traces of Florida International University.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked, device_of, parse_access};
use crate::trace::request::BlockRequest;

/// The request of a line. The process's name may have blanks, and the hash may be missing.
pub fn parse(line: &[u8]) -> Result<BlockRequest, LineProblem> {
    let fields = Fields::by_blanks(line);
    fields.expect(8..=20, "8 or 9")?;
    let last = fields.get(fields.count() - 1);
    let has_hash = last.len() == 32 && last.iter().all(u8::is_ascii_hexdigit);
    let minor = fields.count() - 1 - usize::from(has_hash);
    // Before it: two fields or more, the address, blocks, the operation and the major number.
    if minor < 7 {
        return Err(LineProblem::Fields { expected: "8 or 9", found: fields.count() });
    }
    fields.number(1, "process ID")?;
    checked(BlockRequest {
        time_ns: fields.number(0, "timestamp")?,
        offset: fields.sectors(minor - 4, "address")?,
        bytes: fields.sectors(minor - 3, "number of blocks")?,
        access: parse_access(fields.get(minor - 2))?,
        device: device_of(fields.device(minor - 1)?, fields.device(minor)?)?,
        response_ns: None,
    })
}
