//! What other members and managers say is checked before it is believed: an assertion would let a damaged message end the node.

use super::context::Context;
use super::head::is_too_long;
use super::log_suffix::LoggedEntry;
use super::replica::Replica;
use crate::range::entry::{Asked, Change, Entry, MAX_KEY_BYTES};
use crate::range::sessions::RequestStatus;
use crate::store::RangeStore;
use std::sync::Arc;

impl Replica {
    /// Appends a record that another member says comes next, if it can.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn append_of_other<S: RangeStore>(
        &mut self,
        entry: Arc<Entry>,
        context: &mut Context<'_, S>,
    ) -> Result<(), &'static str> {
        let logged = LoggedEntry::new(entry, context.secret);
        self.check(&logged, context)?;
        self.append_logged(logged, context);
        Ok(())
    }

    /// Whether a record of another member can be one of this range.
    fn check<S: RangeStore>(&self, entry: &LoggedEntry, context: &Context<'_, S>) -> Result<(), &'static str> {
        let is_flush = matches!(entry.change, Change::Flush { .. });
        let has_key = matches!(entry.change, Change::Value(_) | Change::Delete);
        if !entry.position.is_possible() {
            return Err("a record's number is beyond the limit");
        }
        if has_key && !(1..=MAX_KEY_BYTES).contains(&entry.key.len()) {
            return Err("a record's key is empty, or too long");
        }
        if !entry.key.is_empty() && !self.keys.contains(&entry.lies) {
            return Err("a record's key is not in the range");
        }
        // The store's log has to hold it.
        if entry.bytes() > context.store.longest_record().saturating_mul(8) || is_too_long(&entry.change) {
            return Err("a record is longer than this node's log can hold: give all nodes the same --memory");
        }
        let is_known = |asked: &Asked| {
            self.asked.contains_key(&asked.id) || matches!(self.meta.sessions.known(asked.id), RequestStatus::Done(..))
        };
        if !is_flush && entry.asked.as_ref().is_some_and(is_known) && !crate::range::sessions::may_double() {
            return Err("a record repeats a request that was already applied");
        }
        Ok(())
    }

    /// A message cannot be true: nothing comes of the rest of it.
    pub(super) fn refuse(&mut self, reason: &'static str) {
        self.invalid.get_or_insert(reason);
    }

    /// Why a message was refused since this was last called, if one was.
    pub(crate) fn take_invalid(&mut self) -> Option<&'static str> {
        self.invalid.take()
    }
}
