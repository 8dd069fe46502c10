//! Connections by token: a slot number and a generation, so that an event or answer for a closed connection never
//! reaches the one that took its slot.

/// Generations of a slot: the highest bit of `epoll_data` is for what is no connection.
const MOST_GENERATIONS: u32 = i32::MAX.cast_unsigned();

/// Names one entry of a [`Slab`], never again after it is removed (until its slot has been reused 2^31 times).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Token {
    index: u32,
    generation: u32,
}

impl Token {
    /// The token as a number, for `epoll_data`. Its upper half is the generation, never 0.
    pub fn to_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The token that [`to_u64`](Self::to_u64) gave.
    pub fn from_u64(number: u64) -> Self {
        Self { index: number as u32, generation: (number >> 32) as u32 }
    }
}

/// Entries by token.
#[derive(Debug)]
pub struct Slab<T> {
    /// Each slot's current generation, never 0, and its entry.
    slots: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of slots, used or free: the bound of [`at`](Self::at).
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Adds an entry.
    pub fn insert(&mut self, entry: T) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((1, None));
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        assert!(slot.1.is_none(), "a free slot is empty");
        slot.1 = Some(entry);
        Token { index, generation: slot.0 }
    }

    /// The entry that `token` names, unless it was removed.
    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        let slot = self.slots.get_mut(token.index as usize)?;
        if slot.0 == token.generation { slot.1.as_mut() } else { None }
    }

    /// The entry that `token` names, to look at.
    pub fn at_token(&self, token: Token) -> Option<&T> {
        let slot = self.slots.get(token.index as usize)?;
        if slot.0 == token.generation { slot.1.as_ref() } else { None }
    }

    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|(_, entry)| entry.as_ref())
    }

    /// The token of the entry in slot `index`, if there is one.
    pub fn at(&self, index: usize) -> Option<Token> {
        let (generation, entry) = self.slots.get(index)?;
        entry.as_ref().map(|_| Token { index: index as u32, generation: *generation })
    }

    /// Removes the entry that `token` names.
    pub fn remove(&mut self, token: Token) -> Option<T> {
        let slot = self.slots.get_mut(token.index as usize)?;
        if slot.0 != token.generation {
            return None;
        }
        let entry = slot.1.take()?;
        slot.0 = slot.0 % MOST_GENERATIONS + 1;
        self.free.push(token.index);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_reaches_the_next_entry_in_its_slot() {
        let mut slab = Slab::default();
        let first = slab.insert("first");
        assert_eq!(slab.remove(first), Some("first"));
        let second = slab.insert("second");
        assert_eq!((first.index, slab.get_mut(first)), (second.index, None));
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get_mut(second), Some(&mut "second"));
        assert_eq!((slab.len(), slab.slots(), slab.at(0)), (1, 1, Some(second)));
        assert_eq!(Token::from_u64(second.to_u64()), second);
    }
}
