//! Hashes, in each of the forms that files have them in.

use crate::byte_reader::{ByteReader, RdbSource};
use crate::error::RdbError;
use crate::{listpack, ziplist, zipmap};

/// The fields of a hash, each a name and a value, in the file's order. No name comes twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HashFields {
    /// Names and values in turn.
    bytes: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl HashFields {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all names and values.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Names and values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> {
        let element = |index: usize| {
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.bytes[start..self.ends[index]]
        };
        (0..self.len()).map(move |index| (element(2 * index), element(2 * index + 1)))
    }

    fn push(&mut self, element: &[u8]) {
        self.bytes.extend_from_slice(element);
        self.ends.push(self.bytes.len());
    }

    fn has_a_name_twice(&self) -> bool {
        let mut names: Vec<&[u8]> = self.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }
}

/// A form of hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HashForm {
    /// Strings one after another.
    Table,
    Zipmap,
    Ziplist,
    Listpack,
}

/// Bytes that a block may have beside those of names and values.
const BLOCK_EXTRA: usize = 64 << 10;

/// A hash that begins here. `None`: its names and values have more than `most` bytes, and it was passed over.
pub(crate) fn read<S: RdbSource>(
    input: &mut ByteReader<S>,
    form: HashForm,
    most: usize,
) -> Result<Option<HashFields>, RdbError> {
    let offset = input.offset();
    let fields = if form == HashForm::Table { table(input, most)? } else { block(input, form, most)? };
    match fields {
        Some(fields) if fields.has_a_name_twice() => {
            Err(RdbError::Damaged { offset, what: "a hash has one field twice" })
        }
        fields => Ok(fields),
    }
}

fn table<S: RdbSource>(input: &mut ByteReader<S>, most: usize) -> Result<Option<HashFields>, RdbError> {
    let pairs = input.number()?;
    let mut fields = HashFields::default();
    for left in (0..pairs).rev() {
        for is_value in [false, true] {
            let room = most - fields.bytes.len();
            if input.string(&mut fields.bytes, room)?.is_none() {
                let strings = u128::from(left) * 2 + u128::from(!is_value);
                (0..strings).try_for_each(|_| input.skip_string())?;
                return Ok(None);
            }
            fields.ends.push(fields.bytes.len());
        }
    }
    Ok(Some(fields))
}

fn block<S: RdbSource>(input: &mut ByteReader<S>, form: HashForm, most: usize) -> Result<Option<HashFields>, RdbError> {
    let offset = input.offset();
    let damaged = |what| RdbError::Damaged { offset, what };
    let mut block = Vec::new();
    if input.string(&mut block, most.saturating_mul(2).saturating_add(BLOCK_EXTRA))?.is_none() {
        return Ok(None);
    }
    let elements = match form {
        HashForm::Zipmap => zipmap::elements,
        HashForm::Ziplist => ziplist::elements,
        HashForm::Table | HashForm::Listpack => listpack::elements,
    };
    let mut fields = HashFields::default();
    let found = elements(&block, &mut |element| fields.push(element)).map_err(damaged)?;
    if found % 2 != 0 {
        return Err(damaged("a hash has a name without a value"));
    }
    Ok(Some(fields).filter(|fields| fields.bytes() <= most))
}
