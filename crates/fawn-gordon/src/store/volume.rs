//! A file system as far as a drive sees it: where pages of files lie, what is freed, and a journal.
//!
//! Files are lists of pages of 4 KiB. Names, lengths and places are durable once the journal holds them: the sync after a change
//! writes one page there, as ext4 does in its ordered mode. Freed pages are used again, and trimmed, only after that.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fawn_store::flash::FileId;

use super::free_space::FreeSpace;

/// Pages of the journal, written in turn.
pub const JOURNAL_PAGES: u32 = 64;

/// A page of a file that has no place.
const HOLE: u32 = u32::MAX;
/// Has a place that was not written yet: it reads as zeros.
const UNWRITTEN: u32 = 1 << 31;

/// Places of a file's pages.
type PagePlaces = Rc<Vec<u32>>;
/// Files by name.
type Names = BTreeMap<FileId, PagePlaces>;
/// A run of pages on the drive: the first, and how many.
pub type PageExtent = (u32, u32);

/// What the journal is about to hold.
#[derive(Debug)]
struct Commit {
    number: u64,
    names: Names,
    freed: Vec<PageExtent>,
}

/// Names and places.
#[derive(Debug)]
pub struct Volume {
    pages: u32,
    visible: Names,
    durable: Names,
    free: FreeSpace,
    /// Freed since the last commit began.
    freed: Vec<PageExtent>,
    /// Files whose length or places have changed since then, removed ones included.
    changed: BTreeSet<FileId>,
    commits: Vec<Commit>,
    next_commit: u64,
    /// Freed and not usable yet.
    pending_pages: u64,
}

impl Volume {
    /// An empty volume of so many pages.
    pub fn new(pages: u32) -> Self {
        Self::holding(pages, Names::new())
    }

    fn holding(pages: u32, names: Names) -> Self {
        let mut used: Vec<u32> =
            names.values().flat_map(|places| places.iter()).filter_map(|place| place_of(*place)).collect();
        used.sort_unstable();
        let mut free = FreeSpace::default();
        let mut next = JOURNAL_PAGES;
        for page in used {
            free.add(next, page - next);
            next = page + 1;
        }
        free.add(next, pages - next);
        Self {
            pages,
            durable: names.clone(),
            visible: names,
            free,
            freed: Vec::new(),
            changed: BTreeSet::new(),
            commits: Vec::new(),
            next_commit: 1,
            pending_pages: 0,
        }
    }

    /// What a power cut leaves: what the journal holds, or, `with_unsynced`, all of it.
    #[must_use]
    pub fn after_power_cut(&self, with_unsynced: bool) -> Self {
        Self::holding(self.pages, if with_unsynced { self.visible.clone() } else { self.durable.clone() })
    }

    /// Pages in all, without the journal, and free ones.
    pub fn space(&self) -> (u64, u64) {
        (u64::from(self.pages - JOURNAL_PAGES), self.free.pages() + self.pending_pages)
    }

    /// Whether there is such a file.
    pub fn has(&self, file: FileId) -> bool {
        self.visible.contains_key(&file)
    }

    /// Whether the journal has yet to hold a change of this file.
    pub fn has_changed(&self, file: FileId) -> bool {
        self.changed.contains(&file)
    }

    /// Pages of a file.
    pub fn length(&self, file: FileId) -> Option<u64> {
        self.visible.get(&file).map(|places| places.len() as u64)
    }

    /// All files with their pages.
    pub fn list(&self) -> Vec<(FileId, u64)> {
        self.visible.iter().map(|(file, places)| (*file, places.len() as u64)).collect()
    }

    /// Makes a file of so many pages. False if there is no room.
    pub fn create(&mut self, file: FileId, pages: u64) -> bool {
        let Some(runs) = u32::try_from(pages).ok().and_then(|pages| self.free.take(pages)) else { return false };
        let places = runs.iter().flat_map(|&(first, count)| (first..first + count).map(|page| page | UNWRITTEN));
        self.visible.insert(file, Rc::new(places.collect()));
        self.changed.insert(file);
        true
    }

    /// Places that a write of these pages goes to. None if there is no room.
    pub fn places_to_write(&mut self, file: FileId, first: u64, count: u64) -> Option<Vec<PageExtent>> {
        let places = self.visible.get_mut(&file)?;
        let (first, end) = (first as usize, (first + count) as usize);
        let is_new = |place: &u32| *place & UNWRITTEN != 0;
        let beyond = end.saturating_sub(places.len());
        if beyond > 0 || places[first..end].iter().any(is_new) {
            let own = Rc::make_mut(places);
            own.resize(own.len().max(end), HOLE);
            let missing = own[first..end].iter().filter(|place| **place == HOLE).count() as u32;
            let taken = if missing > 0 { self.free.take(missing)? } else { Vec::new() };
            let mut taken = taken.into_iter().flat_map(|(first, count)| first..first + count);
            for place in &mut own[first..end] {
                *place =
                    if *place == HOLE { taken.next().expect("as many as are missing") } else { *place & !UNWRITTEN };
            }
            self.changed.insert(file);
        }
        Some(runs(self.visible[&file][first..end].iter().copied()))
    }

    /// Where these pages of a file are, by page; none for what reads as zeros.
    pub fn places_to_read(&self, file: FileId, first: u64, count: u64) -> Option<Vec<Option<u32>>> {
        let places = self.visible.get(&file)?.get(first as usize..(first + count) as usize)?;
        Some(places.iter().map(|place| if *place & UNWRITTEN == 0 { Some(*place) } else { None }).collect())
    }

    /// Gives pages of a file back.
    pub fn punch(&mut self, file: FileId, first: u64, count: u64) {
        let Some(places) = self.visible.get_mut(&file) else { return };
        let end = (first.saturating_add(count)).min(places.len() as u64) as usize;
        let first = (first as usize).min(end);
        let punched = &mut Rc::make_mut(places)[first..end];
        let freed: Vec<u32> = punched.iter().filter_map(|place| place_of(*place)).collect();
        punched.fill(HOLE);
        self.release(file, freed);
    }

    /// Cuts a file to so many pages.
    pub fn truncate(&mut self, file: FileId, pages: u64) {
        let Some(places) = self.visible.get_mut(&file) else { return };
        let pages = (pages as usize).min(places.len());
        let cut = Rc::make_mut(places).split_off(pages);
        self.release(file, cut.into_iter().filter_map(place_of).collect());
    }

    /// Removes a file.
    pub fn remove(&mut self, file: FileId) -> bool {
        let Some(places) = self.visible.remove(&file) else { return false };
        self.release(file, places.iter().filter_map(|place| place_of(*place)).collect());
        true
    }

    fn release(&mut self, file: FileId, pages: Vec<u32>) {
        self.pending_pages += pages.len() as u64;
        self.freed.extend(runs(pages.into_iter()));
        self.changed.insert(file);
    }

    /// Begins to write what has changed to the journal: the commit's number. None if nothing has.
    pub fn begin_commit(&mut self) -> Option<u64> {
        if self.changed.is_empty() {
            return None;
        }
        self.changed.clear();
        let number = self.next_commit;
        self.next_commit += 1;
        let freed = std::mem::take(&mut self.freed);
        self.commits.push(Commit { number, names: self.visible.clone(), freed });
        Some(number)
    }

    /// A commit is on flash. Each holds all before it. What was freed may be used again: the runs to trim.
    pub fn finish_commit(&mut self, number: u64) -> Vec<PageExtent> {
        let mut freed = Vec::new();
        for commit in self.commits.extract_if(.., |commit| commit.number <= number) {
            self.durable = commit.names;
            freed.extend(commit.freed);
        }
        for &(first, count) in &freed {
            self.pending_pages -= u64::from(count);
            self.free.add(first, count);
        }
        freed
    }
}

/// The place of an entry, written or not.
fn place_of(entry: u32) -> Option<u32> {
    (entry != HOLE).then_some(entry & !UNWRITTEN)
}

/// Neighbouring places as runs.
pub fn runs(places: impl Iterator<Item = u32>) -> Vec<PageExtent> {
    let mut runs: Vec<PageExtent> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == place => *count += 1,
            _ => runs.push((place, 1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FileId = FileId::Segment(1);
    const B: FileId = FileId::Segment(2);

    #[test]
    fn freed_pages_are_used_again_only_after_the_commit() {
        let mut volume = Volume::new(JOURNAL_PAGES + 10);
        assert!(volume.create(A, 6) && !volume.create(B, 5));
        assert_eq!(volume.places_to_write(A, 0, 6), Some(vec![(JOURNAL_PAGES, 6)]));
        volume.remove(A);
        assert_eq!(volume.space(), (10, 10));
        assert!(!volume.create(B, 5), "the journal does not hold the removal yet");
        let commit = volume.begin_commit().unwrap();
        assert_eq!(volume.finish_commit(commit), [(JOURNAL_PAGES, 6)]);
        assert!(volume.create(B, 5) && volume.begin_commit().is_some() && volume.begin_commit().is_none());
    }

    #[test]
    fn a_power_cut_leaves_what_the_journal_holds() {
        let mut volume = Volume::new(JOURNAL_PAGES + 20);
        volume.create(A, 4);
        let first = volume.begin_commit().unwrap();
        volume.finish_commit(first);
        volume.places_to_write(A, 0, 2);
        volume.create(B, 4);
        assert_eq!(volume.list(), [(A, 4), (B, 4)]);
        let lost = volume.after_power_cut(false);
        assert_eq!(lost.list(), [(A, 4)]);
        assert_eq!(lost.places_to_read(A, 0, 1), Some(vec![None]), "the page is not known to be written");
        let kept = volume.after_power_cut(true);
        assert_eq!(kept.places_to_read(A, 0, 1), Some(vec![Some(JOURNAL_PAGES)]));
        assert_eq!(kept.space(), (20, 12));
    }

    #[test]
    fn holes_take_no_place_and_a_write_fills_them() {
        let mut volume = Volume::new(JOURNAL_PAGES + 10);
        volume.create(A, 3);
        volume.places_to_write(A, 0, 3);
        volume.punch(A, 0, 2);
        assert_eq!(volume.places_to_read(A, 0, 3), Some(vec![None, None, Some(JOURNAL_PAGES + 2)]));
        assert_eq!(
            volume.places_to_write(A, 1, 3),
            Some(vec![(JOURNAL_PAGES + 3, 1), (JOURNAL_PAGES + 2, 1), (JOURNAL_PAGES + 4, 1)])
        );
        assert_eq!(volume.length(A), Some(4));
        volume.truncate(A, 1);
        assert_eq!((volume.length(A), volume.space()), (Some(1), (10, 10)));
    }
}
