//! [`MemberFile`]: the file `MEMBER`, which says who a cluster's node is.
//!
//! It has lines of text:
//!
//! | line | what |
//! |---|---|
//! | `FAWN member` | |
//! | `directory D` | 16 bytes, hexadecimal, drawn when the file was made: tells the directory from any other |
//! | `grown` | the stores were a plain directory's before |
//! | `name N` | the node's name |
//! | `cluster C` | 16 bytes, hexadecimal: the cluster |
//! | `seat F` | the number of the first of its seats |
//! | `end` | |
//!
//! The file's checksum follows. Lines whose content is not known yet are left out, and so is `SECRET`, until the cluster has sent
//! it.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use super::error::DirectoryError;
use super::hex::{hex, parse_hex};
use super::layout::MEMBER;
use super::text::{self, replace};
use crate::os::random::random;

const TITLE: &str = "FAWN member";
/// The last line, so that a file that was cut off is seen.
const END: &str = "end";

/// The contents of the file `MEMBER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemberFile {
    pub directory: [u8; 16],
    pub grown: bool,
    /// The node may have acknowledged what it had yet to sync, and has not stopped cleanly since.
    pub rested: bool,
    pub name: Option<String>,
    pub cluster: Option<[u8; 16]>,
    pub seat: Option<u32>,
}

impl MemberFile {
    /// That of a node that nobody knows yet.
    pub fn new(grown: bool) -> io::Result<Self> {
        Ok(Self { directory: random()?, grown, rested: false, name: None, cluster: None, seat: None })
    }

    /// The file's text, without its checksum.
    pub fn text(&self) -> String {
        let mut text = format!("{TITLE}\ndirectory {}\n", hex(&self.directory));
        let mut line = |line: String| writeln!(text, "{line}").expect("writing to a string cannot fail");
        if self.grown {
            line("grown".to_owned());
        }
        if self.rested {
            line("rested".to_owned());
        }
        if let Some(name) = &self.name {
            line(format!("name {name}"));
        }
        if let Some(cluster) = &self.cluster {
            line(format!("cluster {}", hex(cluster)));
        }
        if let Some(seat) = self.seat {
            line(format!("seat {seat}"));
        }
        line(END.to_owned());
        text
    }

    /// That of the directory `path`, if it has one.
    pub fn read(path: &Path, must_be_sealed: bool) -> Result<Option<Self>, DirectoryError> {
        let name = path.join(MEMBER);
        let damaged = |what: &str| DirectoryError::Damaged { path: name.clone(), what: what.to_owned() };
        let Some((text, is_sealed)) = text::read(&name)? else { return Ok(None) };
        if must_be_sealed && !is_sealed {
            return Err(damaged("its checksum is missing"));
        }
        Self::parse(&text).map(Some).ok_or_else(|| damaged("it has lines that no node writes"))
    }

    /// `None`: the text is not one that [`text`](Self::text) makes.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.lines();
        (lines.next() == Some(TITLE)).then_some(())?;
        let directory = parse_hex(lines.next()?.strip_prefix("directory ")?)?;
        let mut card = Self { directory, grown: false, rested: false, name: None, cluster: None, seat: None };
        while let Some(line) = lines.next() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("grown", "") => card.grown = true,
                ("rested", "") => card.rested = true,
                ("name", name) => card.name = Some(name.to_owned()),
                ("cluster", cluster) => card.cluster = Some(parse_hex(cluster)?),
                ("seat", seat) => card.seat = Some(seat.parse().ok()?),
                (END, "") => {
                    // The two become known together.
                    let whole = lines.next().is_none() && card.cluster.is_some() == card.seat.is_some();
                    return whole.then_some(card);
                }
                _ => return None,
            }
        }
        None
    }
}

/// Gives the file of an older format its checksum.
pub(super) fn seal(path: &Path) -> io::Result<()> {
    match MemberFile::read(path, false) {
        Ok(Some(card)) => replace(path, MEMBER, &card.text()),
        // The opening reports what is wrong with it.
        _ => Ok(()),
    }
}
