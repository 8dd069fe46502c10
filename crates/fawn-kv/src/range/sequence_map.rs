//! A table by number whose numbers grow: most are added at the end, and go about as they came.
//!
//! It is one piece of memory, in order. What goes leaves a hole until all before it is gone, so that nothing is moved.

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

/// Places that are kept, however few are in use.
const KEEP: usize = 64;

/// The table.
#[derive(Clone, Debug)]
pub struct SequenceMap<T> {
    /// By number; the first is no hole.
    slots: VecDeque<(u64, Option<T>)>,
    len: usize,
}

impl<T> Default for SequenceMap<T> {
    fn default() -> Self {
        Self { slots: VecDeque::new(), len: 0 }
    }
}

impl<T: PartialEq> PartialEq for SequenceMap<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for SequenceMap<T> {}

impl<T> SequenceMap<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lowest number.
    pub fn first(&self) -> Option<u64> {
        self.slots.front().map(|(number, _)| *number)
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.slots.iter().filter_map(|(number, slot)| Some((*number, slot.as_ref()?)))
    }

    /// All, in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        self.slots.iter_mut().filter_map(|(number, slot)| Some((*number, slot.as_mut()?)))
    }

    /// Where the number is, or would be.
    fn place(&self, number: u64) -> Result<usize, usize> {
        let first = self.first().ok_or(0_usize)?;
        // Where few numbers are left out, it is where it would be if none were.
        let guess = number.checked_sub(first).and_then(|ahead| usize::try_from(ahead).ok());
        match guess.and_then(|guess| self.slots.get(guess)) {
            Some((found, _)) if *found == number => Ok((number - first) as usize),
            _ => self.slots.binary_search_by_key(&number, |(number, _)| *number),
        }
    }

    /// What has this number.
    pub fn get(&self, number: u64) -> Option<&T> {
        self.slots[self.place(number).ok()?].1.as_ref()
    }

    /// What has this number.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let place = self.place(number).ok()?;
        self.slots[place].1.as_mut()
    }

    /// Gives a number to something; what had it before.
    pub fn insert(&mut self, number: u64, value: T) -> Option<T> {
        let is_last = self.slots.back().is_none_or(|(last, _)| *last < number);
        let before = match if is_last { Err(self.slots.len()) } else { self.place(number) } {
            Ok(at) => self.slots[at].1.replace(value),
            Err(at) => {
                self.slots.insert(at, (number, Some(value)));
                None
            }
        };
        self.len += usize::from(before.is_none());
        before
    }

    /// Takes what has this number.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let place = self.place(number).ok()?;
        let value = self.slots[place].1.take()?;
        self.len -= 1;
        while self.slots.pop_front_if(|(_, slot)| slot.is_none()).is_some() {}
        self.shrink();
        Some(value)
    }

    /// Drops all up to a number.
    pub fn remove_up_to(&mut self, last: u64) {
        while let Some((_, slot)) = self.slots.pop_front_if(|(number, slot)| *number <= last || slot.is_none()) {
            self.len -= usize::from(slot.is_some());
        }
        self.shrink();
    }

    /// Gives back memory that was needed once.
    fn shrink(&mut self) {
        let slots = self.slots.len();
        if self.slots.capacity() > KEEP && self.slots.capacity() / 8 > slots {
            self.slots.shrink_to(slots * 2);
        }
    }

    /// Drops all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl<T> Extend<(u64, T)> for SequenceMap<T> {
    fn extend<I: IntoIterator<Item = (u64, T)>>(&mut self, others: I) {
        for (number, value) in others {
            self.insert(number, value);
        }
    }
}

impl<T> IntoIterator for SequenceMap<T> {
    type Item = (u64, T);
    type IntoIter = std::iter::FilterMap<
        std::collections::vec_deque::IntoIter<(u64, Option<T>)>,
        fn((u64, Option<T>)) -> Option<(u64, T)>,
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.slots.into_iter().filter_map(|(number, slot)| Some((number, slot?)))
    }
}

/// As a map.
impl<T: Serialize> Serialize for SequenceMap<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.len))?;
        for (number, value) in self.iter() {
            map.serialize_entry(&number, value)?;
        }
        map.end()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for SequenceMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = SequenceMap<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map by number")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SequenceMap<T>, A::Error> {
                let mut numbered = SequenceMap::default();
                while let Some((number, value)) = map.next_entry()? {
                    numbered.insert(number, value);
                }
                Ok(numbered)
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(u64, u8),
        Remove(u64),
        UpTo(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0..40_u64, any::<u8>()).prop_map(|(number, value)| Step::Insert(number, value)),
            3 => (0..40_u64).prop_map(Step::Remove),
            1 => (0..40_u64).prop_map(Step::UpTo),
        ];
        proptest::collection::vec(step, 0..80)
    }

    proptest! {
        #[test]
        fn it_holds_what_a_map_would_in_the_same_bytes(steps in steps()) {
            let (mut numbered, mut map) = (SequenceMap::default(), BTreeMap::new());
            for step in steps {
                match step {
                    Step::Insert(number, value) => {
                        prop_assert_eq!(numbered.insert(number, value), map.insert(number, value));
                    }
                    Step::Remove(number) => prop_assert_eq!(numbered.remove(number), map.remove(&number)),
                    Step::UpTo(last) => {
                        numbered.remove_up_to(last);
                        map.retain(|number, _| *number > last);
                    }
                }
                prop_assert_eq!((numbered.len(), numbered.is_empty()), (map.len(), map.is_empty()));
                prop_assert_eq!(numbered.first(), map.keys().next().copied());
                for number in 0..40 {
                    prop_assert_eq!(numbered.get(number), map.get(&number));
                    prop_assert_eq!(numbered.get_mut(number), map.get_mut(&number));
                }
            }
            let bytes = postcard::to_allocvec(&numbered).unwrap();
            prop_assert_eq!(&bytes, &postcard::to_allocvec(&map).unwrap());
            prop_assert_eq!(&postcard::from_bytes::<SequenceMap<u8>>(&bytes).unwrap(), &numbered);
            prop_assert!(numbered.into_iter().eq(map));
        }
    }
}
