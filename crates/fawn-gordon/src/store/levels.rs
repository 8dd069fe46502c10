//! The levels of a log-structured merge tree: which keys lie in which file.

use std::rc::Rc;

/// How many times as large as the one above a level is, as in `LevelDB` and `RocksDB`.
const SIZE_RATIO: u64 = 10;
/// Files of level 0 at which they are merged into level 1 (`RocksDB`'s `level0_file_num_compaction_trigger`).
pub const LEVEL_0_FILES: usize = 4;

/// A file of sorted keys.
#[derive(Clone, Debug)]
pub struct SortedFile {
    /// Its number.
    pub number: u64,
    /// Its keys, ascending. Not empty.
    pub keys: Rc<Vec<u32>>,
}

impl SortedFile {
    fn first(&self) -> u32 {
        self.keys[0]
    }

    fn last(&self) -> u32 {
        self.keys[self.keys.len() - 1]
    }
}

/// Files that are merged into a level.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// All that go in, of both levels.
    pub inputs: Vec<SortedFile>,
    /// Where the output goes.
    pub level: usize,
}

impl Compaction {
    /// What comes out: each key once.
    pub fn output(&self) -> Vec<u32> {
        let mut keys: Vec<u32> = self.inputs.iter().flat_map(|file| file.keys.iter().copied()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}

/// All levels. Level 0 has files as they were flushed, the others disjoint files by key.
#[derive(Debug)]
pub struct Levels {
    files: Vec<Vec<SortedFile>>,
    /// Keys of each level at which it is too large; the last one never is.
    targets: Vec<u64>,
    /// The key after which a level's next file is merged.
    cursors: Vec<u32>,
}

impl Levels {
    /// For so many keys in all. Sizes are reckoned from the last level up, as `RocksDB` does with
    /// `level_compaction_dynamic_level_bytes`.
    pub fn new(keys: u64, keys_a_file: u64) -> Self {
        let mut targets = vec![u64::MAX];
        let mut size = keys;
        while size > LEVEL_0_FILES as u64 * keys_a_file {
            size /= SIZE_RATIO;
            targets.push(size.max(1));
        }
        targets.push(LEVEL_0_FILES as u64);
        targets.reverse();
        Self { files: vec![Vec::new(); targets.len()], cursors: vec![0; targets.len()], targets }
    }

    /// Files of level 0.
    pub fn level_0(&self) -> usize {
        self.files[0].len()
    }

    /// A flushed file.
    pub fn flushed(&mut self, file: SortedFile) {
        self.files[0].push(file);
    }

    /// The file with the newest version of a key, and the key's place in it.
    pub fn find(&self, key: u32) -> Option<(u64, u64)> {
        let place = |file: &SortedFile| Some((file.number, file.keys.binary_search(&key).ok()? as u64));
        self.files[0].iter().rev().find_map(place).or_else(|| {
            self.files[1..].iter().find_map(|files| place(files.get(files.partition_point(|file| file.last() < key))?))
        })
    }

    /// What is to be merged next: the level that is furthest over its size.
    pub fn next_compaction(&mut self) -> Option<Compaction> {
        let last = self.files.len() - 1;
        let score = |level: usize| {
            let files = &self.files[level];
            let size = if level == 0 { files.len() } else { files.iter().map(|file| file.keys.len()).sum() };
            size as f64 / self.targets[level] as f64
        };
        let level = (0..last).max_by(|a, b| score(*a).total_cmp(&score(*b)))?;
        if score(level) < 1.0 {
            return None;
        }
        let mut inputs = if level == 0 {
            self.files[0].clone()
        } else {
            let files = &self.files[level];
            let at = files.partition_point(|file| file.first() <= self.cursors[level]);
            let file = files[if at < files.len() { at } else { 0 }].clone();
            self.cursors[level] = file.first();
            vec![file]
        };
        let first = inputs.iter().map(SortedFile::first).min()?;
        let end = inputs.iter().map(SortedFile::last).max()?;
        inputs.extend(self.files[level + 1].iter().filter(|file| file.first() <= end && first <= file.last()).cloned());
        Some(Compaction { inputs, level: level + 1 })
    }

    /// The output takes the place of the inputs.
    pub fn install(&mut self, compaction: &Compaction, output: Vec<SortedFile>) {
        let is_input = |file: &SortedFile| compaction.inputs.iter().any(|input| input.number == file.number);
        self.files[compaction.level - 1].retain(|file| !is_input(file));
        let files = &mut self.files[compaction.level];
        files.retain(|file| !is_input(file));
        files.extend(output);
        files.sort_unstable_by_key(SortedFile::first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_their_newest_file_through_flushes_and_merges() {
        let mut levels = Levels::new(10_000, 100);
        assert_eq!(levels.files.len(), 4, "4 files; 100, 1,000 and 10,000 keys");
        let mut newest = std::collections::BTreeMap::new();
        for number in 0..400_u64 {
            let mut keys: Vec<u32> =
                (0..100).map(|at| (fawn_workload::mix(number * 100 + at) % 10_000) as u32).collect();
            keys.sort_unstable();
            keys.dedup();
            newest.extend(keys.iter().map(|key| (*key, number)));
            levels.flushed(SortedFile { number, keys: Rc::new(keys) });
            let mut next = (number + 1) << 32;
            while let Some(compaction) = levels.next_compaction() {
                let keys = compaction.output();
                let output = keys.chunks(100).map(|keys| {
                    next += 1;
                    SortedFile { number: next, keys: Rc::new(keys.to_vec()) }
                });
                let output = output.collect();
                levels.install(&compaction, output);
            }
            assert!(levels.level_0() < LEVEL_0_FILES);
        }
        assert!(newest.len() > 9_000 && newest.keys().all(|key| levels.find(*key).is_some()));
        let held: usize = levels.files.iter().flatten().map(|file| file.keys.len()).sum();
        assert!(held < newest.len() * 5 / 4, "files hold {held} keys of {}", newest.len());
    }
}
