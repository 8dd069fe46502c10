//! fio's iologs, versions 2 and 3.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked};
use crate::trace::names::DeviceNames;
use crate::trace::request::{Access, BlockRequest};

/// fio passes over waits that are shorter than this, in microseconds.
const LEAST_WAIT_US: u64 = 100;

/// The state of one iolog.
#[derive(Debug, Default)]
pub struct Iolog {
    /// Whether the first line was there.
    has_header: bool,
    /// Version 2: the sum of all waits, in nanoseconds.
    waits_ns: u64,
}

impl Iolog {
    /// The request of a line of version 2.
    pub fn parse_v2(&mut self, line: &[u8], names: &mut DeviceNames) -> Result<Option<BlockRequest>, LineProblem> {
        if self.is_header(line, "fio version 2 iolog")? {
            return Ok(None);
        }
        let fields = Fields::by_blanks(line);
        fields.expect(2..=4, "2 or 4")?;
        if fields.get(1) == b"wait" {
            fields.expect(3..=4, "4")?;
            let wait_us = fields.number(2, "wait")?;
            if wait_us >= LEAST_WAIT_US {
                let waits_ns = wait_us.checked_mul(1000).and_then(|wait_ns| self.waits_ns.checked_add(wait_ns));
                self.waits_ns = waits_ns.ok_or(LineProblem::Number { field: "wait" })?;
            }
            return Ok(None);
        }
        request(&fields, 0, self.waits_ns, names)
    }

    /// The request of a line of version 3.
    pub fn parse_v3(&mut self, line: &[u8], names: &mut DeviceNames) -> Result<Option<BlockRequest>, LineProblem> {
        if self.is_header(line, "fio version 3 iolog")? {
            return Ok(None);
        }
        let fields = Fields::by_blanks(line);
        fields.expect(3..=5, "3 or 5")?;
        let time_ns = fields.time_ns(0, 1000, "timestamp")?;
        request(&fields, 1, time_ns, names)
    }

    /// Whether this line is the header, which the first one has to be.
    fn is_header(&mut self, line: &[u8], header: &str) -> Result<bool, LineProblem> {
        if self.has_header {
            return Ok(false);
        }
        self.has_header = line.trim_ascii() == header.as_bytes();
        if self.has_header { Ok(true) } else { Err(LineProblem::Header) }
    }
}

/// The request whose file is field `first`.
fn request(
    fields: &Fields<'_>,
    first: usize,
    time_ns: u64,
    names: &mut DeviceNames,
) -> Result<Option<BlockRequest>, LineProblem> {
    let access = match fields.get(first + 1) {
        b"read" => Access::Read,
        b"write" => Access::Write,
        b"trim" => Access::Discard,
        b"sync" | b"datasync" | b"sync_file_range" => Access::Flush,
        b"add" | b"open" | b"close" => return Ok(None),
        _ => return Err(LineProblem::Operation),
    };
    let has_extent = fields.count() == first + 4;
    let (offset, bytes) = match (has_extent, access) {
        (true, _) => (fields.number(first + 2, "offset")?, fields.number(first + 3, "length")?),
        (false, Access::Flush) => (0, 0),
        (false, _) => return Err(LineProblem::Fields { expected: "4 after the time", found: fields.count() }),
    };
    let request = checked(BlockRequest { time_ns, device: 0, access, offset, bytes, response_ns: None })?;
    Ok(Some(BlockRequest { device: names.number(fields.get(first))?, ..request }))
}
