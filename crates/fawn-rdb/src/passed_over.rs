//! Values of all other types: passed over by the rules of their lengths.

use crate::byte_reader::{ByteReader, RdbSource};
use crate::entry::OtherType;
use crate::error::RdbError;

/// Passes over a value of the type that has this number in the file. `None`: none of these has it.
pub(crate) fn pass_over<S: RdbSource>(input: &mut ByteReader<S>, number: u8) -> Result<Option<OtherType>, RdbError> {
    let kind = match number {
        1 | 14 => {
            strings(input, 1)?;
            OtherType::List
        }
        2 => {
            strings(input, 1)?;
            OtherType::Set
        }
        3 => {
            // Each with a score as text, of which three have no text.
            for _ in 0..input.number()? {
                input.skip_string()?;
                let bytes = input.byte()?;
                input.skip(if bytes < 253 { u64::from(bytes) } else { 0 })?;
            }
            OtherType::SortedSet
        }
        5 => {
            for _ in 0..input.number()? {
                input.skip_string()?;
                input.skip(8)?;
            }
            OtherType::SortedSet
        }
        7 => {
            let id = input.number()?;
            module(input)?;
            OtherType::of_module(id)
        }
        10 => one(input, OtherType::List)?,
        11 | 20 => one(input, OtherType::Set)?,
        12 | 17 => one(input, OtherType::SortedSet)?,
        18 => {
            for _ in 0..input.number()? {
                if !matches!(input.number()?, 1 | 2) {
                    return Err(input.damaged("a node of a list is in no known form"));
                }
                input.skip_string()?;
            }
            OtherType::List
        }
        15 => stream(input, 1)?,
        19 => stream(input, 2)?,
        21 => stream(input, 3)?,
        _ => return Ok(None),
    };
    Ok(Some(kind))
}

/// A value in one string.
fn one<S: RdbSource>(input: &mut ByteReader<S>, kind: OtherType) -> Result<OtherType, RdbError> {
    input.skip_string().map(|()| kind)
}

/// A number, and so many times as many strings.
fn strings<S: RdbSource>(input: &mut ByteReader<S>, each: u64) -> Result<(), RdbError> {
    for _ in 0..input.number()? {
        (0..each).try_for_each(|_| input.skip_string())?;
    }
    Ok(())
}

/// So many numbers.
fn numbers<S: RdbSource>(input: &mut ByteReader<S>, count: u64) -> Result<(), RdbError> {
    (0..count).try_for_each(|_| input.number().map(drop))
}

/// What a module wrote, up to its end.
pub(crate) fn module<S: RdbSource>(input: &mut ByteReader<S>) -> Result<(), RdbError> {
    loop {
        match input.number()? {
            0 => return Ok(()),
            1 | 2 => numbers(input, 1)?,
            3 => input.skip(4)?,
            4 => input.skip(8)?,
            5 => input.skip_string()?,
            _ => return Err(input.damaged("a module's value has a part of no known kind")),
        }
    }
}

/// A stream, in the first, second or third form.
fn stream<S: RdbSource>(input: &mut ByteReader<S>, form: u8) -> Result<OtherType, RdbError> {
    strings(input, 2)?;
    // Its length and last entry; then its first and its latest deleted entry, and how many were ever added.
    numbers(input, if form == 1 { 3 } else { 8 })?;
    for _ in 0..input.number()? {
        // A group: its last entry, and how many entries it has read.
        input.skip_string()?;
        numbers(input, if form == 1 { 2 } else { 3 })?;
        // Entries without an acknowledgement: 16 bytes of name, the time in 8, and how often they were delivered.
        for _ in 0..input.number()? {
            input.skip(16 + 8)?;
            numbers(input, 1)?;
        }
        // Consumers, with the times when they were seen, and when they last got something.
        for _ in 0..input.number()? {
            input.skip_string()?;
            input.skip(if form == 3 { 16 } else { 8 })?;
            for _ in 0..input.number()? {
                input.skip(16)?;
            }
        }
    }
    Ok(OtherType::Stream)
}
