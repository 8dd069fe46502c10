//! Any value of a type that serde can read: a deserializer that reads random choices.
//!
//! A type whose variants and fields change is generated as it is now, without a word here.

use fawn_check::random::Random;
use fawn_ring::Key;
use serde::de::value::{Error, SeqDeserializer, U32Deserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// A value of `T`; byte strings that it borrows are pieces of `pool`, which is not empty.
pub fn generate<'de, T: Deserialize<'de>>(random: &mut Random, pool: &'de [u8]) -> T {
    // A type may refuse a choice.
    for _ in 0..1000 {
        if let Ok(value) = T::deserialize(Generator { random, pool }) {
            return value;
        }
    }
    panic!("one in a thousand random values of a type is one that the type takes");
}

struct Generator<'r, 'de> {
    random: &'r mut Random,
    pool: &'de [u8],
}

impl<'de> Generator<'_, 'de> {
    fn again(&mut self) -> Generator<'_, 'de> {
        Generator { random: self.random, pool: self.pool }
    }

    /// Small, at the edge of a power of two, or anything.
    fn number(&mut self) -> u64 {
        match self.random.below(8) {
            0..4 => self.random.below(5),
            4 => self.random.below(300),
            5 => (1_u64 << self.random.below(64)).wrapping_sub(self.random.below(2)),
            6 => u64::MAX,
            _ => self.random.word(),
        }
    }

    fn length(&mut self) -> usize {
        *self.random.pick(&[0, 1, 1, 2, 2, 3, 5, 20]) as usize
    }

    /// Two positions in their order, each a type of one field: of random pairs half are no interval, and of lists of them
    /// nearly all.
    fn ends(&mut self) -> Vec<Vec<Vec<u8>>> {
        let mut ends: Vec<Vec<Vec<u8>>> =
            (0..2).map(|_| vec![(0..Key::LEN).map(|_| self.number() as u8).collect()]).collect();
        ends.sort_unstable();
        ends
    }

    fn bytes(&mut self) -> &'de [u8] {
        let from = self.random.below(self.pool.len() as u64) as usize;
        let length = self.random.below(40) as usize;
        &self.pool[from..(from + length).min(self.pool.len())]
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $kind:ty),+ $(,)?) => {$(
        fn $method<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
            visitor.$visit(self.number() as $kind)
        }
    )+};
}

impl<'de> Deserializer<'de> for Generator<'_, 'de> {
    type Error = Error;

    numbers!(
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
        deserialize_u64 visit_u64 u64,
    );

    fn deserialize_i64<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self.number().cast_signed())
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        panic!("a kind of field that no message has had so far: generate it here");
    }

    forward_to_deserialize_any! {
        i8 i16 i32 f32 f64 char str string unit unit_struct identifier ignored_any
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.random.chance(1, 2))
    }

    fn deserialize_bytes<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_bytes(self.bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.random.chance(1, 3) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length();
        visitor.visit_seq(Elements { from: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { from: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { from: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let left = self.length();
        visitor.visit_map(Elements { from: self, left })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        mut self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == "Interval" {
            return visitor.visit_seq(SeqDeserializer::new(self.ends().into_iter()));
        }
        visitor.visit_seq(Elements { from: self, left: fields.len() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let chosen = self.random.below(variants.len() as u64) as u32;
        visitor.visit_enum(Variant { from: self, chosen })
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// So many elements.
struct Elements<'r, 'de> {
    from: Generator<'r, 'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.from.again()).map(Some)
    }
}

impl<'de> MapAccess<'de> for Elements<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.from.again())
    }
}

/// One variant of an enum.
struct Variant<'r, 'de> {
    from: Generator<'r, 'de>,
    chosen: u32,
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let index: U32Deserializer<Error> = self.chosen.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self.from)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { from: self.from, left })
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { from: self.from, left: fields.len() })
    }
}
