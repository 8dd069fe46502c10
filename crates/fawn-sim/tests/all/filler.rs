//! Values of any type of the wire, made up for it: a deserializer that has no bytes, and draws what it is asked for.

use std::collections::BTreeSet;

use serde::de::value::{Error, U32Deserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// Drawn values in a row that brought no new variant, after which a type counts as covered.
const IDLE_ROUNDS: u32 = 40;

/// Drawn values that are kept whatever they bring, because options and lists differ in them.
const KEPT_ROUNDS: u32 = 3;

/// What is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    /// Zeros, no options, empty lists, first variants.
    Least,
    /// The highest numbers, all options, lists of two, last variants.
    Most,
    /// Anything, by a seed.
    Drawn,
}

/// Values of a type: one of the least, one of the most, and drawn ones until each variant of each type in it has come.
/// `variant` fixes the outermost enum's.
pub fn values<T: Deserialize<'static>>(variant: Option<u32>) -> Vec<T> {
    let mut seen = BTreeSet::new();
    let mut make = |profile, seed| {
        let before = seen.len();
        let mut plan = Plan { profile, state: seed, seen: &mut seen, fixed: variant, half: Half::Any };
        let value = T::deserialize(Filler { plan: &mut plan }).expect("what is put in is possible");
        (value, seen.len() > before)
    };
    let mut values = vec![make(Profile::Least, 0).0, make(Profile::Most, 0).0];
    let (mut round, mut idle) = (0, 0);
    while idle < IDLE_ROUNDS {
        let (value, is_new) = make(Profile::Drawn, u64::from(round));
        if is_new || round < KEPT_ROUNDS {
            values.push(value);
        }
        idle = if is_new { 0 } else { idle + 1 };
        round += 1;
    }
    values
}

/// Which half of the key space a position is drawn from, so that the ends of an interval are in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Any,
    Lower,
    Upper,
}

struct Plan<'p> {
    profile: Profile,
    state: u64,
    /// Variants that have come.
    seen: &'p mut BTreeSet<(&'static str, u32)>,
    fixed: Option<u32>,
    half: Half,
}

impl Plan<'_> {
    /// The next number of `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of so many bits, of any length as a varint.
    fn number(&mut self, bits: u32) -> u64 {
        match self.profile {
            Profile::Least => 0,
            Profile::Most => u64::MAX >> (64 - bits),
            Profile::Drawn => {
                let length = 1 + self.draw() % u64::from(bits);
                self.draw() >> (64 - length)
            }
        }
    }

    fn count(&mut self) -> usize {
        match self.profile {
            Profile::Least => 0,
            Profile::Most => 2,
            Profile::Drawn => (self.draw() % 3) as usize,
        }
    }

    fn flag(&mut self) -> bool {
        self.profile == Profile::Most || (self.profile == Profile::Drawn && self.draw() & 1 == 1)
    }

    /// Bytes, now and then so many that their number takes two.
    fn bytes(&mut self) -> Vec<u8> {
        let drawn = self.draw();
        let length = match self.profile {
            Profile::Least => 0,
            Profile::Most => 3,
            Profile::Drawn if drawn.is_multiple_of(16) => 130,
            Profile::Drawn => drawn % 6,
        };
        (0..length).map(|_| self.number(8) as u8).collect()
    }

    fn text(&mut self) -> String {
        let length = self.bytes().len();
        "node-ä.7:".chars().cycle().take(length).collect()
    }
}

struct Filler<'f, 'p> {
    plan: &'f mut Plan<'p>,
}

impl<'p> Filler<'_, 'p> {
    fn fields<'a>(&'a mut self, left: usize, of: &'static str) -> Elements<'a, 'p> {
        Elements { plan: self.plan, left, of, taken: 0 }
    }
}

impl Deserializer<'static> for Filler<'_, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'static>>(self, _: V) -> Result<V::Value, Error> {
        panic!("a kind of field that no message has had so far: draw it here");
    }

    forward_to_deserialize_any! {
        <V: Visitor<'static>>
        i8 i16 i32 u16 f32 f64 char unit unit_struct tuple_struct identifier ignored_any
    }

    fn deserialize_bool<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(self.plan.flag())
    }

    fn deserialize_u8<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u8(self.plan.number(8) as u8)
    }

    fn deserialize_u32<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(self.plan.number(32) as u32)
    }

    fn deserialize_u64<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.plan.number(64))
    }

    fn deserialize_i64<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        // Of any length as a varint: the lowest bit is the sign.
        let number = self.plan.number(64);
        visitor.visit_i64((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn deserialize_bytes<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_bytes(Vec::leak(self.plan.bytes()))
    }

    fn deserialize_byte_buf<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_byte_buf(self.plan.bytes())
    }

    fn deserialize_str<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.plan.text())
    }

    fn deserialize_string<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_string(self.plan.text())
    }

    fn deserialize_option<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.plan.flag() { visitor.visit_some(self) } else { visitor.visit_none() }
    }

    fn deserialize_newtype_struct<V: Visitor<'static>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'static>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let count = self.plan.count();
        visitor.visit_seq(self.fields(count, ""))
    }

    fn deserialize_tuple<V: Visitor<'static>>(mut self, count: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.fields(count, "tuple"))
    }

    fn deserialize_map<V: Visitor<'static>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let count = self.plan.count();
        visitor.visit_map(self.fields(count, ""))
    }

    fn deserialize_struct<V: Visitor<'static>>(
        mut self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(self.fields(fields.len(), name))
    }

    fn deserialize_enum<V: Visitor<'static>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let (count, plan) = (variants.len() as u32, self.plan);
        let chosen = match plan.profile {
            _ if plan.fixed.is_some() => plan.fixed.take().expect("it was just seen"),
            Profile::Least => 0,
            Profile::Most => count - 1,
            Profile::Drawn => {
                let drawn = (plan.draw() % u64::from(count)) as u32;
                (0..count).find(|number| !plan.seen.contains(&(name, *number))).unwrap_or(drawn)
            }
        };
        plan.seen.insert((name, chosen));
        visitor.visit_enum(Variant { plan, chosen })
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// So many elements of a list, a map or a type with fields, `of` its name.
struct Elements<'f, 'p> {
    plan: &'f mut Plan<'p>,
    left: usize,
    of: &'static str,
    taken: usize,
}

impl SeqAccess<'static> for Elements<'_, '_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'static>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.taken += 1;
        let (before, half) = (self.plan.half, if self.taken == 1 { Half::Lower } else { Half::Upper });
        if self.of == "Interval" {
            self.plan.half = half;
        }
        let is_first_byte = self.of == "tuple" && self.taken == 1 && before != Half::Any;
        if is_first_byte && self.plan.profile == Profile::Drawn {
            // The top bit of a position says which half it lies in.
            let byte = self.plan.number(7) as u32 | if before == Half::Upper { 0x80 } else { 0 };
            let byte: serde::de::value::U8Deserializer<Error> = (byte as u8).into_deserializer();
            return seed.deserialize(byte).map(Some);
        }
        let value = seed.deserialize(Filler { plan: self.plan });
        self.plan.half = before;
        value.map(Some)
    }
}

impl MapAccess<'static> for Elements<'_, '_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'static>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'static>>(&mut self, seed: V) -> Result<V::Value, Error> {
        self.left += 1;
        Ok(self.next_element_seed(seed)?.expect("a key has a value"))
    }
}

/// One variant of an enum.
struct Variant<'f, 'p> {
    plan: &'f mut Plan<'p>,
    chosen: u32,
}

impl<'f, 'p> EnumAccess<'static> for Variant<'f, 'p> {
    type Error = Error;
    type Variant = Filler<'f, 'p>;

    fn variant_seed<V: DeserializeSeed<'static>>(self, seed: V) -> Result<(V::Value, Filler<'f, 'p>), Error> {
        let index: U32Deserializer<Error> = self.chosen.into_deserializer();
        Ok((seed.deserialize(index)?, Filler { plan: self.plan }))
    }
}

impl VariantAccess<'static> for Filler<'_, '_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'static>>(self, seed: T) -> Result<T::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'static>>(mut self, count: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(self.fields(count, ""))
    }

    fn struct_variant<V: Visitor<'static>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_seq(self.fields(fields.len(), ""))
    }
}
