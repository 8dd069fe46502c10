//! A tree of losers: the least of many heads, with one comparison a level for each that is taken.

use std::cmp::Ordering;

/// The low bits of an entry: where its record is.
pub const PLACE_BITS: u128 = 0xFFFF_FFFF;
/// Set in the low bits of a head that stands for a list without records. Such a head is greater than all others.
const IS_EMPTY: u128 = 0x8000_0000;

/// Compares the whole keys of two heads whose prefixes are equal.
pub trait HeadOrder {
    /// Whether equal prefixes do not mean equal keys.
    const IS_LONG: bool;

    /// Compares the heads of two lists that have records.
    fn compare_keys(&self, first: usize, second: usize) -> Ordering;
}

/// The heads of sorted lists. A head is the prefix of a key with the list's number in its low bits; so of equal keys that of the
/// first list comes first.
#[derive(Debug)]
pub struct LoserTree {
    winner: u128,
    /// The loser of each inner node; the root is the second.
    losers: Vec<u128>,
}

/// The head of a list whose first record has this prefix.
#[inline]
pub fn head(prefix: u128, list: usize) -> u128 {
    prefix | list as u128
}

/// The head of a list without records.
#[inline]
pub fn empty_head(list: usize) -> u128 {
    !PLACE_BITS | IS_EMPTY | list as u128
}

/// The list of a head.
#[inline]
fn list_of(head: u128) -> usize {
    (head & (PLACE_BITS ^ IS_EMPTY)) as usize
}

impl LoserTree {
    /// Of the heads of all lists, in their order.
    pub fn new(heads: &[u128], order: &impl HeadOrder) -> Self {
        let leaves = heads.len().next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for list in 0..leaves {
            winners[leaves + list] = heads.get(list).copied().unwrap_or_else(|| empty_head(list));
        }
        let mut losers = vec![0; leaves];
        for node in (1..leaves).rev() {
            let [first, second] = [winners[2 * node], winners[2 * node + 1]];
            (winners[node], losers[node]) =
                if is_less(second, first, order) { (second, first) } else { (first, second) };
        }
        Self { winner: winners[1], losers }
    }

    /// The list with the least head; `None` if all are empty.
    #[inline]
    pub fn least(&self) -> Option<usize> {
        (self.winner & IS_EMPTY == 0).then(|| list_of(self.winner))
    }

    /// Puts the next head of the list that has the least in its place.
    #[inline]
    pub fn replace(&mut self, head: u128, order: &impl HeadOrder) {
        let mut winner = head;
        let mut node = self.losers.len() + list_of(head);
        while node > 1 {
            node /= 2;
            let other = self.losers[node];
            let (less, greater) = if is_less(other, winner, order) { (other, winner) } else { (winner, other) };
            self.losers[node] = greater;
            winner = less;
        }
        self.winner = winner;
    }
}

#[inline]
fn is_less<O: HeadOrder>(first: u128, second: u128, order: &O) -> bool {
    if O::IS_LONG && (first ^ second) & !PLACE_BITS == 0 && (first | second) & IS_EMPTY == 0 {
        return order.compare_keys(list_of(first), list_of(second)).then(first.cmp(&second)).is_lt();
    }
    first < second
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ShortKeys;

    impl HeadOrder for ShortKeys {
        const IS_LONG: bool = false;

        fn compare_keys(&self, _: usize, _: usize) -> Ordering {
            unreachable!("prefixes are whole keys")
        }
    }

    #[test]
    fn lists_are_merged_and_of_equal_keys_those_of_the_first_list_come_first() {
        for count in 1..20usize {
            let lists: Vec<Vec<u32>> = (0..count)
                .map(|list| {
                    let mut keys: Vec<u32> = (0..list * 3).map(|at| ((at * 7 + list * 5) % 11) as u32).collect();
                    // The greatest prefix there is, beside lists that are empty.
                    keys.extend((list % 2 == 0).then_some(u32::MAX));
                    keys.sort_unstable();
                    keys
                })
                .collect();
            let prefix = |key: u32| (u128::from(key) << 96) | if key == u32::MAX { u128::MAX << 32 } else { 0 };
            let mut at = vec![0; count];
            let head_of = |list: usize, at: usize| {
                lists[list].get(at).map_or_else(|| empty_head(list), |key| head(prefix(*key), list))
            };
            let heads: Vec<u128> = (0..count).map(|list| head_of(list, 0)).collect();
            let mut tree = LoserTree::new(&heads, &ShortKeys);
            let mut merged = Vec::new();
            while let Some(list) = tree.least() {
                merged.push((lists[list][at[list]], list));
                at[list] += 1;
                tree.replace(head_of(list, at[list]), &ShortKeys);
            }
            let mut expected: Vec<(u32, usize)> =
                lists.iter().enumerate().flat_map(|(list, keys)| keys.iter().map(move |key| (*key, list))).collect();
            expected.sort_unstable();
            assert_eq!(merged, expected, "{count} lists");
        }
    }
}
