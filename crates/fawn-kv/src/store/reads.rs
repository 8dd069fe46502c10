//! Lookups and scans that wait for flash.

use fawn_store::flash::FlashError;
use fawn_store::page::Page;
use fawn_store::record::Record;
use fawn_store::work::ScanPart;
use fawn_store::{FinishedRead, Lookup as Looked, Losses, Trouble};

use super::cas::CasNumbers;
use super::convert::kept;
use super::flash::FlashStore;
use super::lookups::{Answer, Fetch, PendingLookup};
use super::{Lookup, Part, Ticket};
use crate::range::entry::Kept;

impl FlashStore {
    pub(super) fn look(&mut self, name: &[u8], ticket: Ticket) -> Lookup {
        let key = self.store.options().secret.position(name);
        let asked = || PendingLookup { ticket, key, name: name.to_vec() };
        match self.store.replication().lookup(&key, name) {
            Looked::Found { record, .. } => return Lookup::Known(Some(kept(&record, self.cas))),
            Looked::Absent { .. } => return Lookup::Known(None),
            Looked::Read(read) => self.fetches.push_back(Fetch { asked: asked(), read }),
            Looked::Loading => self.loading.push(asked()),
            Looked::Damaged(damage) => self.answers.push_back((ticket, Answer::Failed(damage.to_string()))),
        }
        Lookup::Later
    }

    /// The next read to carry out.
    pub fn take_fetch(&mut self) -> Option<Fetch> {
        self.fetches.pop_front()
    }

    /// Takes the pages of a read, exactly those asked for, or why they cannot be read.
    pub fn fetched(&mut self, fetch: Fetch, pages: Result<&mut [Page], FlashError>) {
        let Fetch { asked, read } = fetch;
        let answer = match pages {
            Err(error) => {
                self.store.abandon(read);
                match error {
                    FlashError::Transient(why) => Answer::Refused(why),
                    error => Answer::Failed(error.to_string()),
                }
            }
            Ok(pages) => match self.store.replication().finish(read, pages, &asked.key, &asked.name) {
                FinishedRead::Found(record) => Answer::Version(Some(kept(&record, self.cas))),
                FinishedRead::Absent { .. } => Answer::Version(None),
                FinishedRead::Damaged(damage) => Answer::Failed(damage.to_string()),
                FinishedRead::Read(read) => return self.fetches.push_back(Fetch { asked, read }),
            },
        };
        self.answers.push_back((asked.ticket, answer));
    }

    /// The next answer to a lookup or a scan that had to wait.
    pub fn take_answer(&mut self) -> Option<(Ticket, Answer)> {
        self.answers.pop_front()
    }

    /// As [`fawn_store::Reports::take_trouble`].
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        self.store.reports().take_trouble()
    }

    /// From now on scans leave out what cannot be read, instead of failing: for whoever wants what there is of a damaged copy,
    /// never for a chain, which has other copies.
    pub fn pass_over_lost(&mut self) {
        self.passes_over_lost = true;
    }

    /// What scans have left out.
    pub fn passed_over(&self) -> Option<&Losses> {
        self.passed_over.as_ref()
    }

    /// Looks again where an index was not loaded.
    pub(super) fn look_again(&mut self) {
        for PendingLookup { ticket, name, .. } in std::mem::take(&mut self.loading) {
            if let Lookup::Known(version) = self.look(&name, ticket) {
                self.answers.push_back((ticket, Answer::Version(version)));
            }
        }
    }

    /// Takes the parts of scans that have been read.
    pub(super) fn take_parts(&mut self) {
        while let Some(ScanPart { id, records, next, lost, error }) = self.store.reports().take_scanned() {
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
