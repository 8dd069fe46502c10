//! Little-endian encoding of the manifest's types: fields in order, lists and options prefixed by a count.
//!
//! Decoding is bounded by the bytes given and never panics.

use std::collections::BTreeMap;

use fawn_ring::{Interval, Key, Secret};

/// The bytes are not what the type is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// They end too early, or a value is out of its bounds.
    Malformed,
    /// A kind that this version does not know.
    Unknown,
}

/// Bytes still to decode.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self.bytes.split_first_chunk::<N>().ok_or(DecodeError::Malformed)?;
        self.bytes = rest;
        Ok(*head)
    }

    /// A count of elements, each of which takes a byte at least.
    fn count(&mut self) -> Result<usize, DecodeError> {
        let count = u32::decode(self)? as usize;
        if count <= self.bytes.len() { Ok(count) } else { Err(DecodeError::Malformed) }
    }
}

/// A type with one encoding.
pub(super) trait Code: Sized {
    fn encode(&self, out: &mut Vec<u8>);
    /// # Errors
    /// [`DecodeError`].
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

/// Encodes a struct as its fields, in the order given.
macro_rules! code_fields {
    ($name:ident { $($field:ident),+ $(,)? }) => {
        impl $crate::format::manifest::codec::Code for $name {
            fn encode(&self, out: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::format::manifest::codec::Code::encode($field, out);)+
            }

            fn decode(
                from: &mut $crate::format::manifest::codec::Reader<'_>,
            ) -> Result<Self, $crate::format::manifest::codec::DecodeError> {
                Ok(Self { $($field: $crate::format::manifest::codec::Code::decode(from)?),+ })
            }
        }
    };
}
pub(super) use code_fields;

macro_rules! code_number {
    ($($number:ty),+) => {$(
        impl Code for $number {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                from.array().map(Self::from_le_bytes)
            }
        }
    )+};
}
code_number!(u8, u16, u32, u64);

impl Code for Key {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.array().map(Self)
    }
}

impl Code for Secret {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.array().map(Self)
    }
}

impl Code for Interval {
    fn encode(&self, out: &mut Vec<u8>) {
        self.low.encode(out);
        self.high.encode(out);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (low, high) = Code::decode(from)?;
        if low <= high { Ok(Self { low, high }) } else { Err(DecodeError::Malformed) }
    }
}

impl<A: Code, B: Code> Code for (A, B) {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((A::decode(from)?, B::decode(from)?))
    }
}

impl<T: Code> Code for Option<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.encode(out);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match u8::decode(from)? {
            0 => Ok(None),
            1 => T::decode(from).map(Some),
            _ => Err(DecodeError::Malformed),
        }
    }
}

/// Encodes a slice as [`Vec`] is encoded.
pub(super) fn encode_list<T: Code>(list: &[T], out: &mut Vec<u8>) {
    (list.len() as u32).encode(out);
    for element in list {
        element.encode(out);
    }
}

impl<T: Code> Code for Vec<T> {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_list(self, out);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.count()?;
        (0..count).map(|_| T::decode(from)).collect()
    }
}

impl<K: Code + Ord, V: Code> Code for BTreeMap<K, V> {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.len() as u32).encode(out);
        for (key, value) in self {
            key.encode(out);
            value.encode(out);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let count = from.count()?;
        let map: Self = (0..count).map(|_| <(K, V)>::decode(from)).collect::<Result<_, _>>()?;
        if map.len() == count { Ok(map) } else { Err(DecodeError::Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::format::manifest::{Edit, State};

    fn round_trip<T: Code + PartialEq + std::fmt::Debug>(value: &T) {
        let mut bytes = Vec::new();
        value.encode(&mut bytes);
        let mut reader = Reader::new(&bytes);
        assert_eq!(T::decode(&mut reader).as_ref(), Ok(value));
        assert!(reader.is_at_end());
        for len in 0..bytes.len() {
            assert_eq!(T::decode(&mut Reader::new(&bytes[..len])), Err(DecodeError::Malformed), "cut to {len} bytes");
        }
    }

    fn state() -> State {
        State::new(2, 4, Interval::ALL, Secret([5; 32]), 9, 3, 64)
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back_and_nothing_less_does(
            numbers in any::<(u8, u16, u32, u64)>(),
            list in vec(any::<Option<u16>>(), 0..9),
            map in btree_map(any::<u16>(), any::<u64>(), 0..9),
            key in any::<[u8; 20]>(),
        ) {
            round_trip(&((numbers.0, numbers.1), (numbers.2, numbers.3)));
            round_trip(&list);
            round_trip(&map);
            round_trip(&Interval { low: Key(key), high: Key::MAX });
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..600)) {
            let _ = State::decode(&mut Reader::new(&bytes));
            if let Ok(edits) = Vec::<Edit>::decode(&mut Reader::new(&bytes)) {
                let mut state = state();
                for edit in &edits {
                    let _ = state.apply(edit);
                }
            }
        }

        #[test]
        fn no_edit_makes_apply_panic(kind in 1..=15u8, bytes in vec(prop_oneof![Just(0), Just(1), any::<u8>()], 300)) {
            let bytes = [&[kind], &bytes[..]].concat();
            if let Ok(edit) = Edit::decode(&mut Reader::new(&bytes)) {
                let _ = state().apply(&edit);
            }
        }
    }

    #[test]
    fn a_state_reads_back() {
        round_trip(&state());
    }

    #[test]
    fn values_out_of_bounds_are_malformed() {
        let decode = |bytes: &[u8]| Option::<u8>::decode(&mut Reader::new(bytes));
        assert_eq!((decode(&[2, 0]), decode(&[1, 7])), (Err(DecodeError::Malformed), Ok(Some(7))));
        let mut backwards = Vec::new();
        Interval { low: Key::MAX, high: Key::MIN }.encode(&mut backwards);
        assert_eq!(Interval::decode(&mut Reader::new(&backwards)), Err(DecodeError::Malformed));
        let twice = [2, 0, 0, 0, 5, 1, 5, 2];
        assert_eq!(BTreeMap::<u8, u8>::decode(&mut Reader::new(&twice)), Err(DecodeError::Malformed));
        assert_eq!(Edit::decode(&mut Reader::new(&[16])), Err(DecodeError::Unknown));
    }
}
