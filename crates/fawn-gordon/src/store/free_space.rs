//! Free pages of a volume: runs by their first page.

use std::collections::BTreeMap;

/// Disjoint runs of free pages that do not touch.
#[derive(Clone, Debug, Default)]
pub struct FreeSpace {
    runs: BTreeMap<u32, u32>,
    pages: u64,
}

impl FreeSpace {
    /// Free pages.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// Frees so many pages.
    pub fn add(&mut self, first: u32, count: u32) {
        if count == 0 {
            return;
        }
        self.pages += u64::from(count);
        let (mut first, mut end) = (first, first + count);
        if let Some((&before, &len)) = self.runs.range(..first).next_back() {
            assert!(before + len <= first, "page {first} is freed twice");
            if before + len == first {
                first = before;
            }
        }
        if let Some(&len) = self.runs.get(&end) {
            self.runs.remove(&end);
            end += len;
        }
        self.runs.insert(first, end - first);
    }

    /// So many pages: one run where there is one, the lowest; else pieces from the lowest on. None if there are too few.
    pub fn take(&mut self, count: u32) -> Option<Vec<(u32, u32)>> {
        if self.pages < u64::from(count) {
            return None;
        }
        self.pages -= u64::from(count);
        let whole = self.runs.iter().find(|(_, len)| **len >= count).map(|(first, _)| *first);
        let (mut taken, mut left) = (Vec::new(), count);
        while left > 0 {
            let first = whole.or_else(|| self.runs.keys().next().copied()).expect("there are enough free pages");
            let len = self.runs.remove(&first).expect("a run that was found");
            let used = len.min(left);
            taken.push((first, used));
            left -= used;
            if used < len {
                self.runs.insert(first + used, len - used);
            }
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_and_taken_whole_where_they_fit() {
        let mut free = FreeSpace::default();
        free.add(0, 10);
        free.add(20, 30);
        assert_eq!(free.take(20), Some(vec![(20, 20)]));
        assert_eq!(free.take(15), Some(vec![(0, 10), (40, 5)]));
        assert_eq!((free.pages(), free.take(6)), (5, None));
        free.add(0, 10);
        free.add(10, 35);
        assert_eq!(free.take(50), Some(vec![(0, 50)]));
    }
}
