//! What a type's encoding is made of, as serde tells it: a deserializer that writes down what it is asked for.
//!
//! Fields are written as `docs/wire.md` writes them: `` `name` type``, parted by semicolons.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::de::value::{Error, U32Deserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// By the type's name: its fields or, by their numbers, its variants with their names and fields.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Schema {
    pub structs: BTreeMap<String, String>,
    pub enums: BTreeMap<String, BTreeMap<u32, (String, String)>>,
    /// Variants that there are.
    variants: BTreeSet<(&'static str, u32)>,
}

impl Schema {
    /// Writes down what `T` is made of.
    pub fn add<T: Deserialize<'static>>(&mut self) {
        // Each round takes another variant of each type, until a while has brought none that is new.
        let (mut round, mut idle) = (0, 0);
        while idle < 1000 {
            let before = (self.structs.len(), self.found());
            let mut kind = String::new();
            T::deserialize(Tracer { schema: self, kind: &mut kind, round }).expect("the tracer reads any type");
            round += 1;
            idle = if before == (self.structs.len(), self.found()) { idle + 1 } else { 0 };
        }
        let lacking = self.variants.iter().find(|(name, number)| !self.enums[*name].contains_key(number));
        assert_eq!(lacking, None, "each variant is taken once at least");
    }

    fn found(&self) -> usize {
        self.enums.values().map(BTreeMap::len).sum()
    }
}

/// Reads one value, and writes its type into `kind`.
struct Tracer<'t> {
    schema: &'t mut Schema,
    kind: &'t mut String,
    round: u32,
}

impl Tracer<'_> {
    fn again<'a>(&'a mut self, kind: &'a mut String) -> Tracer<'a> {
        Tracer { schema: self.schema, kind, round: self.round }
    }

    /// Reads fields; returns the value, and what they are.
    fn fields<V: Visitor<'static>>(
        mut self,
        names: Option<&'static [&'static str]>,
        count: usize,
        visitor: V,
    ) -> Result<(V::Value, Vec<String>), Error> {
        let mut kinds = Vec::new();
        let value =
            visitor.visit_seq(Fields { from: self.again(&mut String::new()), left: count, kinds: &mut kinds })?;
        if let Some(names) = names {
            kinds = names.iter().zip(kinds).map(|(name, kind)| format!("`{name}` {kind}")).collect();
        }
        Ok((value, kinds))
    }
}

/// A sequence's type, of what it is made of.
fn list_of(kind: &str) -> String {
    if kind == "u8" { "bytes".to_owned() } else { format!("list of {kind}") }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $value:expr, $kind:expr);+ $(;)?) => {$(
        fn $method<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
            self.kind.push_str($kind);
            visitor.$visit($value)
        }
    )+};
}

impl Deserializer<'static> for Tracer<'_> {
    type Error = Error;

    numbers!(
        deserialize_bool visit_bool true, "bool";
        deserialize_u8 visit_u8 1, "u8";
        deserialize_u32 visit_u32 1, "u32";
        deserialize_u64 visit_u64 1, "u64";
        deserialize_i64 visit_i64 1, "i64";
        deserialize_bytes visit_borrowed_bytes b"x", "bytes";
        deserialize_byte_buf visit_byte_buf b"x".to_vec(), "bytes";
        deserialize_str visit_borrowed_str "x", "string";
        deserialize_string visit_borrowed_str "x", "string";
    );

    fn deserialize_any<V: Visitor<'static>>(self, _: V) -> Result<V::Value, Error> {
        panic!("a kind of field that no message has had so far: describe it here and in docs/wire.md");
    }

    forward_to_deserialize_any! {
        <V: Visitor<'static>>
        i8 i16 i32 u16 f32 f64 char unit unit_struct tuple_struct identifier ignored_any
    }

    fn deserialize_option<V: Visitor<'static>>(self, visitor: V) -> Result<V::Value, Error> {
        self.kind.push_str("option of ");
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'static>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut inner = String::new();
        let value = visitor.visit_newtype_struct(self.again(&mut inner))?;
        self.kind.push_str(name);
        self.schema.structs.insert(name.to_owned(), inner);
        Ok(value)
    }

    fn deserialize_seq<V: Visitor<'static>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let mut kinds = Vec::new();
        let value = visitor.visit_seq(Fields { from: self.again(&mut String::new()), left: 1, kinds: &mut kinds })?;
        self.kind.push_str(&list_of(&kinds[0]));
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'static>>(mut self, count: usize, visitor: V) -> Result<V::Value, Error> {
        let mut inner = String::new();
        let (value, kinds) = self.again(&mut inner).fields(None, count, visitor)?;
        if kinds.iter().all(|kind| kind == "u8") {
            write!(self.kind, "{count} bytes as they are").expect("text takes text");
        } else {
            write!(self.kind, "({})", kinds.join(", ")).expect("text takes text");
        }
        Ok(value)
    }

    fn deserialize_map<V: Visitor<'static>>(mut self, visitor: V) -> Result<V::Value, Error> {
        let mut kinds = Vec::new();
        let value = visitor.visit_map(Fields { from: self.again(&mut String::new()), left: 1, kinds: &mut kinds })?;
        write!(self.kind, "map of {} to {}", kinds[0], kinds[1]).expect("text takes text");
        Ok(value)
    }

    fn deserialize_struct<V: Visitor<'static>>(
        mut self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut inner = String::new();
        let (value, kinds) = self.again(&mut inner).fields(Some(fields), fields.len(), visitor)?;
        self.kind.push_str(name);
        self.schema.structs.insert(name.to_owned(), kinds.join("; "));
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'static>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let count = variants.len() as u32;
        self.schema.variants.extend((0..count).map(|number| (name, number)));
        let known = self.schema.enums.entry(name.to_owned()).or_default();
        let chosen = (0..count).find(|number| !known.contains_key(number)).unwrap_or(self.round % count);
        self.kind.push_str(name);
        visitor.visit_enum(Variant { from: self, of: name, name: variants[chosen as usize], chosen })
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// So many fields, whose types go into `kinds`.
struct Fields<'t> {
    from: Tracer<'t>,
    left: usize,
    kinds: &'t mut Vec<String>,
}

impl SeqAccess<'static> for Fields<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'static>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut kind = String::new();
        let value = seed.deserialize(self.from.again(&mut kind))?;
        self.kinds.push(kind);
        Ok(Some(value))
    }
}

impl MapAccess<'static> for Fields<'_> {
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
struct Variant<'t> {
    from: Tracer<'t>,
    of: &'static str,
    name: &'static str,
    chosen: u32,
}

impl Variant<'_> {
    fn note(self, fields: String) {
        let variants = self.from.schema.enums.get_mut(self.of).expect("the enum was begun");
        variants.insert(self.chosen, (self.name.to_owned(), fields));
    }
}

impl EnumAccess<'static> for Variant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'static>>(self, seed: V) -> Result<(V::Value, Self), Error> {
        let index: U32Deserializer<Error> = self.chosen.into_deserializer();
        Ok((seed.deserialize(index)?, self))
    }
}

impl VariantAccess<'static> for Variant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.note(String::new());
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'static>>(mut self, seed: T) -> Result<T::Value, Error> {
        let mut inner = String::new();
        let value = seed.deserialize(self.from.again(&mut inner))?;
        self.note(inner);
        Ok(value)
    }

    fn tuple_variant<V: Visitor<'static>>(mut self, count: usize, visitor: V) -> Result<V::Value, Error> {
        let mut inner = String::new();
        let (value, kinds) = self.from.again(&mut inner).fields(None, count, visitor)?;
        self.note(kinds.join("; "));
        Ok(value)
    }

    fn struct_variant<V: Visitor<'static>>(
        mut self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut inner = String::new();
        let (value, kinds) = self.from.again(&mut inner).fields(Some(fields), fields.len(), visitor)?;
        self.note(kinds.join("; "));
        Ok(value)
    }
}
