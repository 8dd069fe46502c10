//! One simulated file: what is durable, and above it every version of every page since the last sync, of which a power
//! cut leaves any.

use std::collections::BTreeMap;
use std::sync::Arc;

use fawn_check::random::Random;
use fawn_store::page::{PAGE_BYTES, Page};

use super::contents::{Contents, Holes, PageContents, SECTOR_BYTES, SECTORS, load, store};

/// What a power cut leaves of that which was not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerCut {
    /// Nothing.
    Lost,
    /// All of it.
    Kept,
    /// Each page, length and name on its own: lost, kept, an older version, or (pages) torn between versions at
    /// sectors of 512 bytes.
    Torn,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SimFile {
    durable: Contents,
    durable_len: u64,
    /// Versions since the last sync, oldest first, never empty; the last one is what reads see.
    unsynced: BTreeMap<u64, Vec<PageContents>>,
    /// Lengths since the last sync, oldest first; the last one is what reads see.
    lengths: Vec<u64>,
    /// What reads still see of pages that a failed sync dropped: a later sync does not save them.
    phantoms: BTreeMap<u64, PageContents>,
    holes: Holes,
}

impl SimFile {
    /// A file of `pages` pages that hold space and read as zeros.
    pub(super) fn new(pages: u64) -> Self {
        Self { lengths: vec![pages], ..Self::default() }
    }

    /// Length in pages.
    pub(super) fn len(&self) -> u64 {
        self.lengths.last().copied().unwrap_or(self.durable_len)
    }

    /// Pages that hold space.
    pub(super) fn allocated(&self) -> u64 {
        self.len() - self.holes.pages()
    }

    /// Pages that a write of `first..end` would newly take.
    pub(super) fn growth(&self, first: u64, end: u64) -> u64 {
        end.saturating_sub(self.len().max(first)) + self.holes.within(first, end)
    }

    pub(super) fn memory(&self) -> usize {
        let versions = self.unsynced.values().flatten().chain(self.phantoms.values());
        self.durable.memory()
            + versions.map(|stored| 48 + stored.as_ref().map_or(0, |bytes| bytes.len())).sum::<usize>()
    }

    pub(super) fn read(&self, page: u64, into: &mut Page) {
        load(self.seen(page), into);
    }

    pub(super) fn visible(&self, page: u64) -> PageContents {
        self.seen(page).cloned()
    }

    fn seen(&self, page: u64) -> Option<&Arc<[u8]>> {
        let newest = self.unsynced.get(&page).map(|versions| versions.last().expect("a version at least"));
        newest.or_else(|| self.phantoms.get(&page)).map_or_else(|| self.durable.get(page), Option::as_ref)
    }

    pub(super) fn write(&mut self, first: u64, pages: &[Page]) {
        let (len, end) = (self.len(), first + pages.len() as u64);
        if first > len {
            self.holes.add(len, first);
        }
        self.holes.remove(first, end);
        if end > len {
            self.lengths.push(end);
        }
        for (number, page) in (first..).zip(pages) {
            self.version(number, store(&page.0));
        }
    }

    pub(super) fn punch(&mut self, first: u64, count: u64) {
        let end = first.saturating_add(count).min(self.len());
        self.clear(first, end);
        self.holes.add(first, end);
    }

    pub(super) fn truncate(&mut self, pages: u64) {
        let len = self.len();
        if pages < len {
            self.clear(pages, len);
            self.holes.remove(pages, len);
            self.lengths.push(pages);
        }
    }

    /// Everything written is durable.
    pub(super) fn sync(&mut self) {
        self.durable_len = self.len();
        self.lengths.clear();
        for (page, mut versions) in std::mem::take(&mut self.unsynced) {
            self.durable.set(page, versions.pop().expect("a version at least"));
        }
    }

    /// A sync that failed: of each unsynced page any version may be durable, reads may see any, and no later sync
    /// makes up for it.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        let seen: Vec<_> = self.unsynced.keys().map(|&page| (page, self.visible(page))).collect();
        let len = self.len();
        self.settle(PowerCut::Torn, random);
        if self.durable_len < len {
            self.lengths.push(len);
        }
        for (page, stored) in seen {
            if random.chance(1, 2) && self.durable.get(page) != stored.as_ref() {
                self.phantoms.insert(page, stored);
            }
        }
    }

    /// What is left after the power is cut.
    pub(super) fn settle(&mut self, cut: PowerCut, random: &mut Random) {
        let lengths = std::mem::take(&mut self.lengths);
        self.durable_len = match cut {
            PowerCut::Lost => self.durable_len,
            PowerCut::Kept => lengths.last().copied().unwrap_or(self.durable_len),
            PowerCut::Torn => match random.below(lengths.len() as u64 + 1) {
                0 => self.durable_len,
                chosen => lengths[chosen as usize - 1],
            },
        };
        for (page, versions) in std::mem::take(&mut self.unsynced) {
            let stored = match cut {
                PowerCut::Lost => continue,
                PowerCut::Kept => versions.last().expect("a version at least").clone(),
                PowerCut::Torn => fate(self.durable.get(page).cloned(), &versions, random),
            };
            self.durable.set(page, stored);
        }
        let beyond: Vec<u64> = self.durable.occupied(self.durable_len, u64::MAX).collect();
        for page in beyond {
            self.durable.set(page, None);
        }
        self.phantoms.clear();
        self.holes.remove(self.durable_len, u64::MAX);
        let occupied: Vec<u64> =
            self.durable.occupied(0, u64::MAX).filter(|&p| self.holes.within(p, p + 1) > 0).collect();
        for page in occupied {
            self.holes.remove(page, page + 1);
        }
    }

    /// Flips one bit, at rest.
    pub(super) fn flip(&mut self, byte: u64, bit: u8) {
        let (page, at) = (byte / PAGE_BYTES as u64, (byte % PAGE_BYTES as u64) as usize);
        let mut bytes = Page::zeroed();
        self.read(page, &mut bytes);
        bytes.0[at] ^= 1 << bit;
        self.replace(page, store(&bytes.0));
    }

    /// Puts `stored` at `page` as if it had always been there.
    pub(super) fn replace(&mut self, page: u64, stored: PageContents) {
        self.unsynced.remove(&page);
        self.phantoms.remove(&page);
        self.durable.set(page, stored);
    }

    /// Cuts the file at rest.
    pub(super) fn cut(&mut self, pages: u64) {
        self.truncate(pages);
        self.sync();
    }

    /// Page numbers that are not zeros, in order.
    pub(super) fn occupied(&self) -> Vec<u64> {
        let mut pages: Vec<u64> = self.durable.occupied(0, self.len()).collect();
        pages.extend(self.unsynced.keys().chain(self.phantoms.keys()));
        pages.sort_unstable();
        pages.dedup();
        pages.retain(|&page| self.visible(page).is_some());
        pages
    }

    fn version(&mut self, page: u64, stored: PageContents) {
        self.phantoms.remove(&page);
        self.unsynced.entry(page).or_default().push(stored);
    }

    fn clear(&mut self, first: u64, end: u64) {
        let mut pages: Vec<u64> = self.durable.occupied(first, end).collect();
        pages.extend(self.unsynced.range(first..end.max(first)).map(|(&page, _)| page));
        pages.extend(self.phantoms.range(first..end.max(first)).map(|(&page, _)| page));
        for page in pages {
            self.version(page, None);
        }
    }
}

/// One of: the durable version, one of `versions` (the newest most often), or a mix of them by sectors.
fn fate(durable: PageContents, versions: &[PageContents], random: &mut Random) -> PageContents {
    let any = |random: &mut Random| match random.below(versions.len() as u64 + 1) {
        0 => durable.clone(),
        chosen => versions[chosen as usize - 1].clone(),
    };
    match random.below(4) {
        0 => durable,
        1 => versions.last().expect("a version at least").clone(),
        2 => any(random),
        _ => {
            let (mut torn, mut source) = (Page::zeroed(), Page::zeroed());
            for sector in 0..SECTORS {
                load(any(random).as_ref(), &mut source);
                let bytes = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
                torn.0[bytes.clone()].copy_from_slice(&source.0[bytes]);
            }
            store(&torn.0)
        }
    }
}
