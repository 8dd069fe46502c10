//! Tencent's traces.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked};
use crate::trace::request::{Access, BlockRequest};

/// The request of a line.
pub fn parse(line: &[u8]) -> Result<BlockRequest, LineProblem> {
    let fields = Fields::by_commas(line);
    fields.expect(5..=5, "5")?;
    let access = match fields.get(3) {
        b"0" => Access::Read,
        b"1" => Access::Write,
        _ => return Err(LineProblem::Operation),
    };
    checked(BlockRequest {
        time_ns: fields.time_ns(0, 1_000_000_000, "timestamp")?,
        offset: fields.sectors(1, "offset")?,
        bytes: fields.sectors(2, "size")?,
        access,
        device: fields.device(4)?,
        response_ns: None,
    })
}
