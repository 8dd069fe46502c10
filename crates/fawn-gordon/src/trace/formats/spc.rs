//! The Storage Performance Council's traces.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked, parse_access};
use crate::trace::request::BlockRequest;

/// The request of a line. The format allows for fields after the fifth, which are passed over.
pub fn parse(line: &[u8]) -> Result<BlockRequest, LineProblem> {
    let fields = Fields::by_commas(line);
    fields.expect(5..=usize::MAX, "5 or more")?;
    checked(BlockRequest {
        device: fields.device(0)?,
        offset: fields.sectors(1, "address")?,
        bytes: fields.number(2, "size")?,
        access: parse_access(fields.get(3))?,
        time_ns: fields.time_ns(4, 1_000_000_000, "timestamp")?,
        response_ns: None,
    })
}
