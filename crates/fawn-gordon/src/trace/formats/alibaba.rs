//! Alibaba's traces.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked, parse_access};
use crate::trace::request::BlockRequest;

/// The request of a line.
pub fn parse(line: &[u8]) -> Result<BlockRequest, LineProblem> {
    let fields = Fields::by_commas(line);
    fields.expect(5..=5, "5")?;
    checked(BlockRequest {
        device: fields.device(0)?,
        access: parse_access(fields.get(1))?,
        offset: fields.number(2, "offset")?,
        bytes: fields.number(3, "length")?,
        time_ns: fields.time_ns(4, 1000, "timestamp")?,
        response_ns: None,
    })
}
