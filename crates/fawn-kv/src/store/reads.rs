//! Lookups and scans that wait for flash.

use fawn_store::flash::FlashError;
use fawn_store::page::Page;
use fawn_store::record::Record;
use fawn_store::work::ScanPart;
use fawn_store::{FinishedRead, Lookup as Looked, Losses, Store};
use std::collections::{BTreeMap, VecDeque};

use super::cas::CasNumbers;
use super::convert::kept;
use super::lookups::{Answer, Fetch, PendingLookup};
use super::{Lookup, Part, Ticket};
use crate::range::entry::Kept;

/// The reads of a store that are under way.
#[derive(Debug)]
pub(super) struct FlashReads {
    /// What clients were told while the store was not a node's.
    cas: CasNumbers,
    fetches: VecDeque<Fetch>,
    /// Lookups that wait for an index.
    loading: Vec<PendingLookup>,
    /// Scans under way, by the store's number.
    scans: BTreeMap<u64, Ticket>,
    passes_over_lost: bool,
    passed_over: Option<Losses>,
    answers: VecDeque<(Ticket, Answer)>,
}

impl FlashReads {
    /// None are under way.
    pub(super) fn new(cas: CasNumbers) -> Self {
        Self {
            cas,
            fetches: VecDeque::new(),
            loading: Vec::new(),
            scans: BTreeMap::new(),
            passes_over_lost: false,
            passed_over: None,
            answers: VecDeque::new(),
        }
    }

    /// Looks a key up.
    pub(super) fn look(&mut self, name: &[u8], ticket: Ticket, store: &mut Store) -> Lookup {
        let key = store.options().secret.position(name);
        let asked = || PendingLookup { ticket, key, name: name.to_vec() };
        match store.replication().lookup(&key, name) {
            Looked::Found { record, .. } => return Lookup::Known(Some(kept(&record, self.cas))),
            Looked::Absent { .. } => return Lookup::Known(None),
            Looked::Read(read) => self.fetches.push_back(Fetch { asked: asked(), read }),
            Looked::Loading => self.loading.push(asked()),
            Looked::Damaged(damage) => self.answers.push_back((ticket, Answer::Failed(damage.to_string()))),
        }
        Lookup::Later
    }

    /// The next read to carry out.
    pub(super) fn take_fetch(&mut self) -> Option<Fetch> {
        self.fetches.pop_front()
    }

    /// Takes the pages of a read, exactly those asked for, or why they cannot be read.
    pub(super) fn fetched(&mut self, fetch: Fetch, pages: Result<&mut [Page], FlashError>, store: &mut Store) {
        let Fetch { asked, read } = fetch;
        let answer = match pages {
            Err(error) => {
                store.abandon(read);
                match error {
                    FlashError::Transient(why) => Answer::Refused(why),
                    error => Answer::Failed(error.to_string()),
                }
            }
            Ok(pages) => match store.replication().finish(read, pages, &asked.key, &asked.name) {
                FinishedRead::Found(record) => Answer::Version(Some(kept(&record, self.cas))),
                FinishedRead::Absent { .. } => Answer::Version(None),
                FinishedRead::Damaged(damage) => Answer::Failed(damage.to_string()),
                FinishedRead::Read(read) => return self.fetches.push_back(Fetch { asked, read }),
            },
        };
        self.answers.push_back((asked.ticket, answer));
    }

    /// The next answer to a lookup or a scan that had to wait.
    pub(super) fn take_answer(&mut self) -> Option<(Ticket, Answer)> {
        self.answers.pop_front()
    }

    /// From now on scans leave out what cannot be read, instead of failing: for whoever wants what there is of a damaged copy,
    /// never for a chain, which has other copies.
    pub(super) fn pass_over_lost(&mut self) {
        self.passes_over_lost = true;
    }

    /// What scans have left out.
    pub(super) fn passed_over(&self) -> Option<&Losses> {
        self.passed_over.as_ref()
    }

    /// A scan has begun, under a number of the store's.
    pub(super) fn begin_scan(&mut self, id: u64, ticket: Ticket) {
        self.scans.insert(id, ticket);
    }

    /// Looks again where an index was not loaded.
    pub(super) fn look_again(&mut self, store: &mut Store) {
        for PendingLookup { ticket, name, .. } in std::mem::take(&mut self.loading) {
            if let Lookup::Known(version) = self.look(&name, ticket, store) {
                self.answers.push_back((ticket, Answer::Version(version)));
            }
        }
    }

    /// Takes the parts of scans that have been read.
    pub(super) fn take_parts(&mut self, store: &mut Store) {
        while let Some(ScanPart { id, records, next, lost, error }) = store.reports().take_scanned() {
            let Some(ticket) = self.scans.remove(&id) else { continue };
            let answer = match (error, lost) {
                (Some(why), _) => Answer::Failed(why),
                (None, Some(lost)) if self.passes_over_lost => {
                    Losses::add(&mut self.passed_over, lost.records, &lost.damage);
                    Answer::Part(Part { kept: all_kept(&records, self.cas), next })
                }
                (None, Some(lost)) => Answer::Failed(lost.to_string()),
                (None, None) => Answer::Part(Part { kept: all_kept(&records, self.cas), next }),
            };
            self.answers.push_back((ticket, answer));
        }
    }
}

/// What records that lie back to back keep of their keys.
fn all_kept(mut records: &[u8], cas: CasNumbers) -> Vec<Kept> {
    let mut all = Vec::new();
    while !records.is_empty() {
        let len = Record::peek_len(records).expect("a scan yields whole records");
        let record = Record::decode_trusted(&records[..len]).expect("a scan yields whole records");
        all.push(kept(&record, cas));
        records = &records[len..];
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_ring::Secret;
    use fawn_store::Options;
    use fawn_store::flash::{FileId, Flash, Space};
    use std::cell::RefCell;

    /// A flash of vectors.
    #[derive(Default)]
    struct Memory(RefCell<BTreeMap<FileId, Vec<Page>>>);

    impl Memory {
        fn with<T>(&self, file: FileId, step: impl FnOnce(&mut Vec<Page>) -> T) -> Result<T, FlashError> {
            self.0.borrow_mut().get_mut(&file).map(step).ok_or(FlashError::NotFound(file))
        }
    }

    impl Flash for Memory {
        fn create(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
            self.0.borrow_mut().insert(file, vec![Page::zeroed(); pages as usize]);
            Ok(())
        }

        fn read(&self, file: FileId, first: u64, pages: &mut [Page]) -> Result<(), FlashError> {
            let first = first as usize;
            let read = self.with(file, |from| {
                from.get(first..first + pages.len()).map(|from| pages.clone_from_slice(from)).is_some()
            })?;
            if read { Ok(()) } else { Err(FlashError::Short(file)) }
        }

        fn write(&self, file: FileId, first: u64, pages: &[Page]) -> Result<(), FlashError> {
            let (first, end) = (first as usize, first as usize + pages.len());
            self.with(file, |to| {
                to.resize(to.len().max(end), Page::zeroed());
                to[first..end].clone_from_slice(pages);
            })
        }

        fn sync(&self, _: FileId) -> Result<(), FlashError> {
            Ok(())
        }

        fn sync_names(&self) -> Result<(), FlashError> {
            Ok(())
        }

        fn punch(&self, _: FileId, _: u64, _: u64) -> Result<(), FlashError> {
            Ok(())
        }

        fn truncate(&self, file: FileId, pages: u64) -> Result<(), FlashError> {
            self.with(file, |all| all.truncate(pages as usize))
        }

        fn remove(&self, file: FileId) -> Result<(), FlashError> {
            self.0.borrow_mut().remove(&file);
            Ok(())
        }

        fn list(&self) -> Result<Vec<(FileId, u64)>, FlashError> {
            Ok(self.0.borrow().iter().map(|(file, pages)| (*file, pages.len() as u64)).collect())
        }

        fn space(&self) -> Result<Space, FlashError> {
            Ok(Space { total: 1 << 32, free: 1 << 32 })
        }
    }

    /// A store that holds nothing.
    fn empty() -> Store {
        let options = Options { slices: 4, ..Options::new(Secret([5; 32]), 16 << 20) };
        Store::open(options, &Memory::default(), 1).unwrap().0
    }

    #[test]
    fn answers_come_in_their_order() {
        let mut reads = FlashReads::new(CasNumbers::of(0, 1));
        assert!(reads.take_fetch().is_none() && reads.take_answer().is_none());
        reads.answers.push_back((7, Answer::Version(None)));
        reads.answers.push_back((6, Answer::Failed("gone".into())));
        assert_eq!(reads.take_answer(), Some((7, Answer::Version(None))));
        assert_eq!(reads.take_answer().map(|(ticket, _)| ticket), Some(6));
    }

    #[test]
    fn a_lookup_that_cannot_be_answered_waits() {
        let (mut store, mut reads) = (empty(), FlashReads::new(CasNumbers::of(0, 1)));
        assert_eq!(reads.look(b"key", 1, &mut store), Lookup::Later);
        for _ in 0..3 {
            assert_eq!(reads.loading.len() + reads.fetches.len(), 1);
            reads.look_again(&mut store);
            assert!(reads.take_answer().is_none());
        }
    }

    #[test]
    fn a_scan_of_an_empty_store_ends_at_once() {
        let (mut store, mut reads) = (empty(), FlashReads::new(CasNumbers::of(0, 1)));
        reads.take_parts(&mut store);
        assert!(reads.take_answer().is_none() && reads.passed_over().is_none());
    }
}
