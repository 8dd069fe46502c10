//! What the owner of a store is told when it asks.

use std::collections::VecDeque;

use crate::api::Trouble;
use crate::work::ScanPart;

/// Troubles that wait to be reported: an owner that does not ask hears of the newest alone.
const MOST_TROUBLES: usize = 64;

/// Parts of scans, and troubles: [`Store::reports`](crate::Store::reports).
#[derive(Default)]
pub struct Reports {
    scanned: VecDeque<ScanPart>,
    /// The newest, at most [`MOST_TROUBLES`].
    troubles: VecDeque<Trouble>,
}

impl Reports {
    pub(super) fn push_scanned(&mut self, scanned: ScanPart) {
        self.scanned.push_back(scanned);
    }

    /// The next part of any scan.
    pub fn take_scanned(&mut self) -> Option<ScanPart> {
        self.scanned.pop_front()
    }

    pub(super) fn push_trouble(&mut self, trouble: Trouble) {
        if self.troubles.len() == MOST_TROUBLES {
            self.troubles.pop_front();
        }
        self.troubles.push_back(trouble);
    }

    /// What whoever runs the store should know, and was not told yet.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        self.troubles.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_troubles_are_kept() {
        let mut reports = Reports::default();
        (0..=MOST_TROUBLES).for_each(|number| reports.push_trouble(Trouble::CannotMerge(number.to_string())));
        assert_eq!(reports.take_trouble(), Some(Trouble::CannotMerge("1".to_owned())));
    }
}
