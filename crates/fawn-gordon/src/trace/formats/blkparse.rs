//! The text of blkparse: one event a line, then a summary that holds no events.

use crate::trace::error::LineProblem;
use crate::trace::fields::{Fields, checked, device_of, parse_number};
use crate::trace::request::{Access, BlockRequest};

/// The event that counts as a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlkparseAction {
    /// `Q`: a request was handed to the block layer.
    #[default]
    Queue,
    /// `D`: a request, possibly merged from several, was handed to the driver.
    Issue,
}

impl BlkparseAction {
    fn letter(self) -> &'static [u8] {
        match self {
            Self::Queue => b"Q",
            Self::Issue => b"D",
        }
    }
}

/// The events of one trace.
#[derive(Debug, Default)]
pub struct Events {
    /// Whether the summary has begun.
    is_over: bool,
}

impl Events {
    /// The request of a line, if it is the event of one.
    pub fn parse(&mut self, line: &[u8], action: BlkparseAction) -> Result<Option<BlockRequest>, LineProblem> {
        let fields = Fields::by_blanks(line);
        let Some((major, minor)) = device(fields.get(0)) else {
            self.is_over |= begins_summary(fields.get(0));
            return if self.is_over { Ok(None) } else { Err(LineProblem::Number { field: "device" }) };
        };
        fields.expect(6..=usize::MAX, "7 or more")?;
        fields.number(1, "CPU")?;
        fields.number(2, "sequence number")?;
        let time_ns = fields.time_ns(3, 1_000_000_000, "time")?;
        fields.number(4, "process ID")?;
        if fields.get(5) != action.letter() {
            return Ok(None);
        }
        fields.expect(7..=usize::MAX, "7 or more")?;
        let has_extent = fields.get(8) == b"+";
        let bytes = if has_extent { fields.sectors(9, "number of sectors")? } else { 0 };
        // A flush has no place; kernels print 0 or the last sector there is.
        let offset = if bytes == 0 { 0 } else { fields.sectors(7, "sector")? };
        let Some(access) = access(fields.get(6), bytes)? else { return Ok(None) };
        let device = device_of(major, minor)?;
        checked(BlockRequest { time_ns, device, access, offset, bytes, response_ns: None }).map(Some)
    }
}

/// The major and the minor number of `8,16`.
fn device(text: &[u8]) -> Option<(u32, u32)> {
    let comma = text.iter().position(|&byte| byte == b',')?;
    let number = |text: &[u8]| u32::try_from(parse_number(text)?).ok();
    Some((number(&text[..comma])?, number(&text[comma + 1..])?))
}

/// Whether the summary begins with this word: `CPU0`, `Total`.
fn begins_summary(word: &[u8]) -> bool {
    word == b"Total" || word.strip_prefix(b"CPU").is_some_and(|number| parse_number(number).is_some())
}

/// What the letters of an event ask for. `None`: nothing that moves data (`N`), or a part of a flush without an extent.
pub fn access(letters: &[u8], bytes: u64) -> Result<Option<Access>, LineProblem> {
    if letters.is_empty() || !letters.iter().all(u8::is_ascii_uppercase) {
        return Err(LineProblem::Operation);
    }
    let has = |letter: u8| letters.contains(&letter);
    if bytes == 0 {
        return Ok(has(b'F').then_some(Access::Flush));
    }
    Ok(if has(b'D') {
        Some(Access::Discard)
    } else if has(b'W') {
        Some(Access::Write)
    } else if has(b'R') {
        Some(Access::Read)
    } else {
        None
    })
}
