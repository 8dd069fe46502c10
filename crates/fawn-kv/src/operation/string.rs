//! Views and edits of whole strings, and of expiries.

use super::edit::Editor;
use super::evaluate::{nothing, unchanged, value, with_expiry};
use super::{
    Append, Cas, Decision, EditError, ExpiryCondition, Item, NewValue, Outcome, PutCondition, Version, float, hash,
    integer,
};

/// The bytes of a string; a hash is none.
pub(super) fn read<'i>(item: Option<&Item<'i>>) -> Result<Option<&'i [u8]>, EditError> {
    match item {
        Some(item) if hash::is_hash(item.flags, item.value) => Err(EditError::WrongType),
        item => Ok(item.map(|item| item.value)),
    }
}

/// The bytes from `first` to `last`.
pub(super) fn part(value: &[u8], first: i64, last: i64) -> &[u8] {
    if is_backwards(first, last) {
        return b"";
    }
    resolve(first, last, value.len()).map_or(b"", |(first, last)| &value[first..=last])
}

/// Whether both places count from the end and the last comes first. Such a range is empty, even where both of its ends are
/// before the string's start.
pub(super) fn is_backwards(first: i64, last: i64) -> bool {
    first < 0 && last < 0 && first > last
}

/// First and last place among `len`, of which negative ones count from the end; `None` if the range is empty.
pub(super) fn resolve(first: i64, last: i64, len: usize) -> Option<(usize, usize)> {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let from_start = |place: i64| if place < 0 { (len + place).max(0) } else { place };
    let (first, last) = (from_start(first), from_start(last).min(len - 1));
    (first <= last).then_some((first as usize, last as usize))
}

impl Editor<'_> {
    /// Shows the string.
    fn show<'a>(self) -> Result<Decision<'a>, EditError> {
        Ok(match read(self.current.as_ref())? {
            Some(shown) => Decision { shown: shown.to_vec(), ..nothing(Outcome::Computed) },
            None => nothing(Outcome::Miss),
        })
    }

    pub(super) fn put<'a>(
        self,
        argument: &'a [u8],
        condition: PutCondition,
        expiry: Option<u32>,
        show: bool,
    ) -> Result<Decision<'a>, EditError> {
        let shown = if show { Some(self.show()?) } else { None };
        let is_met = match condition {
            PutCondition::Always => true,
            PutCondition::Absent => self.current.is_none(),
            PutCondition::Present => self.current.is_some(),
        };
        if !is_met {
            return Ok(shown.unwrap_or_else(|| nothing(Outcome::NotStored)));
        }
        let size = self.check_size(argument.len() as u64)?;
        let version = Version {
            value: NewValue::Given(argument),
            flags: 0,
            expiry: expiry.or(self.current.map(|item| item.expiry)).unwrap_or(0),
            stale: false,
            won: false,
            client_cas: None,
        };
        Ok(match shown {
            Some(shown) => Decision { append: Append::Value(version), ..shown },
            None => value(version, Outcome::Stored { cas: Cas::Appended, size }),
        })
    }

    pub(super) fn take<'a>(self) -> Result<Decision<'a>, EditError> {
        let shown = self.show()?;
        Ok(if self.current.is_some() { Decision { append: Append::Delete, ..shown } } else { shown })
    }

    pub(super) fn append<'a>(self, argument: &[u8]) -> Result<Decision<'a>, EditError> {
        let old = read(self.current.as_ref())?;
        let len = self.check_size(old.map_or(0, <[u8]>::len) as u64 + argument.len() as u64)?;
        let outcome = Outcome::Integer(len as i64);
        match old {
            Some(_) if argument.is_empty() => Ok(nothing(outcome)),
            old => self.replace([old.unwrap_or_default(), argument].concat(), outcome),
        }
    }

    pub(super) fn overwrite<'a>(self, argument: &[u8], place: u64) -> Result<Decision<'a>, EditError> {
        let old = read(self.current.as_ref())?.unwrap_or_default();
        if argument.is_empty() {
            return Ok(nothing(Outcome::Integer(old.len() as i64)));
        }
        let end = self.check_size(place.saturating_add(argument.len() as u64))?;
        let start = end - argument.len();
        let mut made = Vec::with_capacity(end.max(old.len()));
        made.extend_from_slice(&old[..start.min(old.len())]);
        made.resize(start, 0);
        made.extend_from_slice(argument);
        made.extend_from_slice(old.get(end..).unwrap_or_default());
        let len = made.len() as i64;
        self.replace(made, Outcome::Integer(len))
    }

    pub(super) fn add<'a>(self, delta: i64) -> Result<Decision<'a>, EditError> {
        let old = match read(self.current.as_ref())? {
            Some(text) => integer::parse(text).ok_or(EditError::NotInteger)?,
            None => 0,
        };
        let sum = old.checked_add(delta).ok_or(EditError::Overflow)?;
        self.replace(integer::print(sum), Outcome::Integer(sum))
    }

    pub(super) fn add_float<'a>(self, argument: &[u8]) -> Result<Decision<'a>, EditError> {
        let old = read(self.current.as_ref())?.unwrap_or(b"0");
        let old = float::parse(old).ok_or(EditError::NotFloat)?;
        let delta = float::parse(argument).ok_or(EditError::NotFloat)?;
        let sum = float::add(old, delta).ok_or(EditError::NotFinite)?;
        let shown = float::print(sum);
        Ok(Decision { shown: shown.clone(), ..self.replace(shown, Outcome::Computed)? })
    }

    pub(super) fn expire<'a>(self, expiry: u32, condition: ExpiryCondition) -> Decision<'a> {
        let Some(item) = self.current else { return nothing(Outcome::Integer(0)) };
        // Never, which is 0, becomes the last of all times.
        let order = |expiry: u32| expiry.wrapping_sub(1);
        let is_earlier = order(expiry) < order(item.expiry);
        let is_met = match condition {
            ExpiryCondition::Always => true,
            ExpiryCondition::Without => item.expiry == 0,
            ExpiryCondition::With => item.expiry != 0,
            ExpiryCondition::Later => order(expiry) > order(item.expiry),
            ExpiryCondition::Earlier => is_earlier,
            ExpiryCondition::WithEarlier => is_earlier && item.expiry != 0,
        };
        if is_met { with_expiry(&item, expiry, Outcome::Integer(1)) } else { nothing(Outcome::Integer(0)) }
    }

    pub(super) fn show_and_expire<'a>(self, expiry: u32) -> Result<Decision<'a>, EditError> {
        let shown = self.show()?;
        Ok(match self.current {
            Some(item) if item.expiry != expiry => {
                Decision { append: Append::Value(Version { expiry, ..unchanged(&item) }), ..shown }
            }
            _ => shown,
        })
    }
}
