//! What edits of all kinds have in common.

use super::decision::value;
use super::{Decision, EditError, Item, NewValue, Outcome, Version};

/// The item that an edit meets.
#[derive(Clone, Copy)]
pub(super) struct Editor<'i> {
    /// The key's current item.
    pub(super) current: Option<Item<'i>>,
    /// Bounds the new value.
    pub(super) most_value_bytes: usize,
}

impl Editor<'_> {
    /// Refuses a new value of so many bytes, if they are too many.
    pub(super) fn check_size(self, bytes: u64) -> Result<usize, EditError> {
        usize::try_from(bytes).ok().filter(|bytes| *bytes <= self.most_value_bytes).ok_or(EditError::TooLong)
    }

    /// A new value. Flags and expiry stay; the marks go, as the value is new.
    pub(super) fn replace<'a>(self, made: Vec<u8>, outcome: Outcome) -> Result<Decision<'a>, EditError> {
        let flags = self.current.map_or(0, |item| item.flags);
        self.replace_with_flags(made, flags, outcome)
    }

    /// A new value that has these flags.
    pub(super) fn replace_with_flags<'a>(
        self,
        made: Vec<u8>,
        flags: u32,
        outcome: Outcome,
    ) -> Result<Decision<'a>, EditError> {
        self.check_size(made.len() as u64)?;
        let expiry = self.current.map_or(0, |item| item.expiry);
        let made = NewValue::Made(made);
        Ok(value(Version { value: made, flags, expiry, stale: false, won: false, client_cas: None }, outcome))
    }
}
