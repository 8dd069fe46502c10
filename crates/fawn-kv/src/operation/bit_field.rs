//! Integers of any width within a string: the argument of [`EditKind::BitFields`](super::EditKind::BitFields).

use crate::wire::encoding::append;
use serde::{Deserialize, Serialize};

/// One step of several that are carried out in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BitFieldStep {
    /// What is done.
    pub action: BitFieldAction,
    /// The integer has a sign.
    pub is_signed: bool,
    /// Bits of the integer: 1 to 64 with a sign, 1 to 63 without.
    pub bits: u8,
    /// The place of its first bit: 0 is the highest bit of the string's first byte.
    pub place: u64,
    /// What becomes of a number that does not fit.
    pub overflow: BitFieldOverflow,
}

/// What a [`BitFieldStep`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BitFieldAction {
    /// Answers with the integer.
    Get,
    /// Writes this one, and answers with the one before.
    Set(i64),
    /// Adds so much, and answers with the sum.
    Add(i64),
}

/// What becomes of a number that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BitFieldOverflow {
    /// The bits that do not fit are dropped.
    #[default]
    Wrap,
    /// The nearest number that fits is written.
    Saturate,
    /// Nothing is written, and the answer of the step is nothing.
    Fail,
}

/// The steps as an argument.
pub fn encode(steps: &[BitFieldStep]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(&mut bytes, &steps);
    bytes
}
