//! The bytes of a journal.
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `FAWNMLG1` |
//! | 8 | 8 | the file's ID: random, another one each time that the file is written anew |
//! | 16 | 4 | CRC-32C of these 16 |
//! | 4096 | 12 | a mark: up to which byte the file was synced (8), and a CRC-32C (4) |
//! | 8192 | 12 | another mark |
//! | 12288 | … | frames |
//!
//! A frame is the length of its payload (4), a CRC-32C (4), and the payload: [`Change`]s in postcard's encoding, which happen
//! together. Checksums of marks and frames cover the file's ID and their own position, too. Numbers have their lowest byte first.
//!
//! **Damage and power cuts are told apart by the marks.** A frame is written and synced, and then a mark is written in place of the
//! older of the two, which the next sync takes along. Frames before the newest mark were synced, so each of them must be whole.
//! After it there may be a frame that was being written when the power failed; it was never acknowledged, and is cut off. The marks
//! have pages of their own, so that a write that tears one leaves the other as it was, and the frames.

use super::{Change, JournalImage};

/// How a journal begins.
pub const MAGIC: &[u8; 8] = b"FAWNMLG1";

/// Where the marks are.
pub const MARKS: [u64; 2] = [4096, 8192];

/// Where the frames begin.
pub const FIRST: u64 = 12288;

/// Bytes of a frame before its payload.
const FRAME_BYTES: u64 = 8;

/// What makes a file another one than all others.
pub type Id = [u8; 8];

/// Why a journal cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It begins otherwise.
    #[error("it does not begin like a manager's log of this release")]
    Header,
    /// Neither of the marks is one.
    #[error("neither record of the synced length can be read")]
    Marks,
    /// It is shorter than it has been.
    #[error("it has {length} bytes, but {synced} were synced")]
    Short {
        /// What it has.
        length: u64,
        /// What it had, at least.
        synced: u64,
    },
    /// The frame there is another than the one that was synced.
    #[error("the checksum at byte {0} is wrong")]
    Frame(u64),
    /// It is whole, and makes no sense.
    #[error("this release does not know the entry at byte {0}")]
    Unknown(u64),
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The file's ID.
    pub id: Id,
    /// All that is kept.
    pub image: JournalImage,
    /// Where the last frame ends.
    pub end: u64,
    /// The place of the mark to be written next.
    pub next_mark: usize,
}

fn checksum(id: Id, at: u64, parts: &[&[u8]]) -> [u8; 4] {
    let before = crc32c::crc32c_append(crc32c::crc32c(&id), &at.to_le_bytes());
    parts.iter().fold(before, |sum, part| crc32c::crc32c_append(sum, part)).to_le_bytes()
}

/// The file's first bytes.
pub fn header(id: Id) -> Vec<u8> {
    let mut bytes = [&MAGIC[..], &id].concat();
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

/// The mark at a place: everything before `end` was synced.
pub fn mark(id: Id, place: usize, end: u64) -> Vec<u8> {
    let end = end.to_le_bytes();
    [&end[..], &checksum(id, MARKS[place], &[&end])].concat()
}

/// The frame at a position.
///
/// # Panics
/// The changes have 4 GiB or more.
pub fn frame(id: Id, at: u64, changes: &[Change]) -> Vec<u8> {
    let mut bytes = postcard::to_extend(changes, vec![0; FRAME_BYTES as usize]).expect("changes can be encoded");
    let length = u32::try_from(bytes.len() - FRAME_BYTES as usize).expect("what managers keep is small");
    let (head, payload) = bytes.split_at_mut(FRAME_BYTES as usize);
    head[..4].copy_from_slice(&length.to_le_bytes());
    head[4..].copy_from_slice(&checksum(id, at, &[&length.to_le_bytes(), payload]));
    bytes
}

/// The bytes of a file that holds just this, and their mark.
pub fn whole(id: Id, image: &JournalImage) -> Vec<u8> {
    let mut bytes = header(id);
    bytes.resize(FIRST as usize, 0);
    bytes.extend(frame(id, FIRST, &image.changes()));
    let end = bytes.len() as u64;
    for (place, at) in MARKS.into_iter().enumerate() {
        let mark = mark(id, place, end);
        bytes[at as usize..][..mark.len()].copy_from_slice(&mark);
    }
    bytes
}

/// Up to where a file was synced, as the mark at a place has it.
fn read_mark(bytes: &[u8], id: Id, place: usize) -> Option<u64> {
    let end = u64::from_le_bytes(bytes.get(MARKS[place] as usize..)?.first_chunk().copied()?);
    let written = bytes.get(MARKS[place] as usize..MARKS[place] as usize + 12)?;
    (written == mark(id, place, end)).then_some(end)
}

/// The payload of the frame at a position, if there is a whole one.
fn read_frame(bytes: &[u8], id: Id, at: u64) -> Option<&[u8]> {
    let rest = bytes.get(at as usize..)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (sum, rest) = rest.split_first_chunk::<4>()?;
    let payload = rest.get(..u32::from_le_bytes(*length) as usize)?;
    (*sum == checksum(id, at, &[length, payload])).then_some(payload)
}

/// Reads a file. Whatever its bytes are, this ends with what was synced or with [`Damage`].
///
/// # Errors
/// [`Damage`].
pub fn read(bytes: &[u8]) -> Result<Journal, Damage> {
    let id: Id = bytes.get(8..16).and_then(|id| id.try_into().ok()).ok_or(Damage::Header)?;
    if bytes.get(..20) != Some(&header(id)[..]) {
        return Err(Damage::Header);
    }
    let marks = [0, 1].map(|place| read_mark(bytes, id, place));
    let synced = marks.into_iter().flatten().max().ok_or(Damage::Marks)?;
    let length = bytes.len() as u64;
    if length < synced {
        return Err(Damage::Short { length, synced });
    }
    let (mut image, mut at) = (JournalImage::default(), FIRST);
    while let Some(payload) = read_frame(bytes, id, at) {
        match postcard::take_from_bytes::<Vec<Change>>(payload) {
            Ok((changes, [])) => image.apply(&changes),
            _ => return Err(Damage::Unknown(at)),
        }
        at += FRAME_BYTES + payload.len() as u64;
    }
    if at < synced {
        return Err(Damage::Frame(at));
    }
    // The older one, or the one that cannot be read.
    Ok(Journal { id, image, end: at, next_mark: usize::from(marks[0] > marks[1]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Id = [7, 1, 2, 3, 4, 5, 6, 9];

    fn fact(name: &str, bytes: &[u8]) -> Change {
        Change::Fact { name: name.into(), bytes: bytes.into() }
    }

    fn entry(index: u64) -> Change {
        Change::Entry { index, bytes: format!("entry {index}").into() }
    }

    /// What a manager writes in a while.
    fn steps() -> Vec<Vec<Change>> {
        vec![
            vec![fact("member", b"one")],
            vec![entry(1), entry(2)],
            vec![fact("vote", b"term 1")],
            vec![Change::CutFrom(2), entry(2), entry(3)],
            vec![fact("vote", b"term 2"), Change::CutTo(1)],
            vec![entry(4)],
        ]
    }

    /// The file after each sync with its mark, and what is in it.
    fn files() -> Vec<(Vec<u8>, JournalImage)> {
        let mut image = JournalImage::default();
        let mut bytes = whole(ID, &image);
        let mut files = vec![(bytes.clone(), image.clone())];
        for (number, changes) in steps().iter().enumerate() {
            bytes.extend(frame(ID, bytes.len() as u64, changes));
            put_mark(&mut bytes, number % 2);
            image.apply(changes);
            files.push((bytes.clone(), image.clone()));
        }
        files
    }

    fn put_mark(bytes: &mut [u8], place: usize) {
        let mark = mark(ID, place, bytes.len() as u64);
        bytes[MARKS[place] as usize..][..mark.len()].copy_from_slice(&mark);
    }

    #[test]
    fn what_was_written_is_read_back() {
        for (number, (bytes, image)) in files().into_iter().enumerate() {
            let read = read(&bytes).unwrap();
            assert_eq!((&read.image, read.end), (&image, bytes.len() as u64), "after {number}");
        }
        let (_, image) = files().pop().unwrap();
        assert_eq!(image.entries.keys().collect::<Vec<_>>(), [&2, &3, &4]);
        assert_eq!(read(&whole(ID, &image)).unwrap().image, image);
    }

    #[test]
    fn every_flipped_bit_is_harmless_or_damage() {
        let (bytes, image) = files().pop().unwrap();
        let (mut harmless, mut refused) = (0, 0);
        for at in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            match read(&bytes) {
                Ok(read) => {
                    assert_eq!((&read.image, read.end), (&image, bytes.len() as u64), "bit {at}");
                    harmless += 1;
                }
                Err(_) => refused += 1,
            }
            let is_proved = at / 8 < 20 || at / 8 >= FIRST as usize;
            assert_eq!(read(&bytes).is_err(), is_proved, "bit {at}: padding and one of two marks are harmless");
        }
        assert_eq!(refused, (20 + bytes.len() - FIRST as usize) * 8);
        assert_eq!(harmless + refused, bytes.len() * 8);
    }

    #[test]
    fn a_file_that_was_cut_is_damaged_wherever_the_cut_is() {
        let (bytes, _) = files().pop().unwrap();
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn after_a_power_cut_there_is_what_was_synced_and_perhaps_what_was_being_written() {
        let files = files();
        for (number, changes) in steps().iter().enumerate() {
            let (before, image) = &files[number];
            let (_, after) = &files[number + 1];
            let frame = frame(ID, before.len() as u64, changes);
            for written in 0..=frame.len() {
                // What follows the last byte that was written is nothing, or zeros, or what the device had there.
                for rest in [None, Some(0), Some(0xA5)] {
                    let mut bytes = [&before[..], &frame[..written]].concat();
                    if let Some(fill) = rest {
                        bytes.resize(before.len() + frame.len() + 9, fill);
                    }
                    let found = read(&bytes).unwrap();
                    let is_whole = written == frame.len();
                    assert_eq!(&found.image, if is_whole { after } else { image }, "step {number}, {written} bytes");
                    assert_eq!(found.end, (before.len() + if is_whole { written } else { 0 }) as u64);
                }
            }
        }
    }

    #[test]
    fn a_mark_that_was_lost_or_torn_costs_nothing() {
        let (bytes, image) = files().pop().unwrap();
        for (place, at) in MARKS.into_iter().enumerate() {
            let at = at as usize;
            for torn in 0..12 {
                let mut bytes = bytes.clone();
                bytes[at + torn..at + 12].fill(0);
                let found = read(&bytes).unwrap();
                assert_eq!(found.image, image);
                let is_torn = read_mark(&bytes, ID, place).is_none();
                assert!(!is_torn || found.next_mark == place, "the next mark takes the place of the torn one");
            }
        }
        let mut bytes = bytes;
        bytes[MARKS[0] as usize] ^= 1;
        bytes[MARKS[1] as usize] ^= 1;
        assert_eq!(read(&bytes), Err(Damage::Marks));
    }

    #[test]
    fn frames_of_another_file_or_place_are_none() {
        let (bytes, _) = files().pop().unwrap();
        let other = whole([1; 8], &JournalImage::default());
        let mixed = [&bytes[..FIRST as usize], &other[FIRST as usize..]].concat();
        assert!(read(&mixed).is_err());
        assert_eq!(read(b""), Err(Damage::Header));
        assert_eq!(read(&vec![0; 20000]), Err(Damage::Header));
        let mut newer = bytes.clone();
        newer.truncate(FIRST as usize);
        let payload = [1, 9, 9];
        let length = (payload.len() as u32).to_le_bytes();
        newer.extend(length);
        newer.extend(checksum(ID, FIRST, &[&length, &payload]));
        newer.extend(payload);
        for place in 0..2 {
            put_mark(&mut newer, place);
        }
        assert_eq!(read(&newer), Err(Damage::Unknown(FIRST)));
    }
}
