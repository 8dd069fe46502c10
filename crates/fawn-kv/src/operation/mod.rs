//! The operations of the key-value service as pure data, and their evaluation.
//!
//! An operation names what a client asks of one key. [`evaluate()`] looks at the key's current item and decides what the
//! head of the chain appends to its log ([`Append`]) and what the client is told ([`Outcome`]). What travels down the
//! chain is the decision's record, never the operation: a replica repeats no condition.
//!
//! Views and edits show and change parts of values. What they do is what Redis 7.0.15 does on x86-64, byte for byte:
//!
//! | kinds | Redis's commands |
//! |---|---|
//! | [`ViewKind`], strings | `TYPE` `EXPIRETIME` `STRLEN` `GETRANGE` `GETBIT` `BITCOUNT` `BITPOS` `BITFIELD_RO` |
//! | [`ViewKind`], hashes | `HGET` `HMGET` `HGETALL` `HKEYS` `HVALS` `HSCAN` `HLEN` `HEXISTS` `HSTRLEN` `HRANDFIELD` |
//! | [`EditKind`], strings | `SET` `GETSET` `GETDEL` `APPEND` `SETRANGE` `SETBIT` `BITFIELD` `INCRBY` `INCRBYFLOAT` |
//! | [`EditKind`], expiries | `EXPIREAT` `PERSIST` `GETEX` |
//! | [`EditKind`], hashes | `HSET` `HSETNX` `HDEL` `HINCRBY` `HINCRBYFLOAT` |
//!
//! They deviate in this:
//!
//! * Expiries are whole seconds.
//! * A new value, or a list of fields, of more bytes than a value may have is refused.
//! * An edit that changes nothing appends nothing.
//! * Fields that are chosen at random follow from a seed.
//!
//! An edit that makes a new value takes memcached's marks off; one that only sets the expiry leaves them.
//!
//! The semantics of all other operations are memcached 1.6.45's (classic and meta commands), with these deviations:
//!
//! * An item that a command gives an expiry in the past is deleted at once.
//! * A touch that changes nothing appends nothing.
//! * A counter's value is read as a number at any length (memcached gives up above half a MiB).
//!
//! ```
//! use fawn_kv::operation::{Append, Mode, NewValue, Operation, Outcome, Store, evaluate};
//!
//! let add = Operation::Store(Store { mode: Mode::Add, ..Store::set(b"value") });
//! let decision = evaluate(&add, None, 1_800_000_000, usize::MAX);
//! let Append::Value(version) = decision.append else { panic!("an add of a missing key appends") };
//! assert_eq!(version.value, NewValue::Given(b"value"));
//! assert!(matches!(decision.outcome, Outcome::Stored { size: 5, .. }));
//! ```
//!
//! An edit adds to a number, and its outcome is the sum:
//!
//! ```
//! use fawn_kv::operation::{Append, Edit, EditKind, Item, NewValue, Operation, Outcome, evaluate};
//!
//! let item = Item { value: b"41", flags: 0, expiry: 0, cas: 9, stale: false, won: false };
//! let add = Operation::Edit(Edit { kind: EditKind::Add { delta: 1 }, argument: b"" });
//! let decision = evaluate(&add, Some(item), 1_800_000_000, usize::MAX);
//! let Append::Value(version) = decision.append else { panic!("an edit that changes something appends") };
//! assert_eq!(version.value, NewValue::Made(b"42".to_vec()));
//! assert_eq!(decision.outcome, Outcome::Integer(42));
//! ```

mod arithmetic;
pub mod bit_field;
mod bits;
mod decision;
mod edit;
mod editor;
mod evaluate;
mod evaluate_edit;
mod evaluate_view;
mod fields;
pub mod float;
pub mod glob;
pub mod hash;
mod integer;
pub mod items;
mod parts;
mod random;
mod string;
#[cfg(test)]
mod tests;
mod view;

pub use edit::{Edit, EditError, EditKind, ExpiryCondition, PutCondition};
pub use evaluate::evaluate;
pub(crate) use parts::is_of_part;
pub use view::{BitRange, View, ViewKind};

use crate::wire::encoding::append;
use serde::{Deserialize, Serialize};

/// What a client asks of one key. Expiries are absolute Unix seconds, 0 for never; one at or before now deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation<'a> {
    /// The value.
    Get,
    /// The value, and a new expiry.
    GetAndTouch {
        /// The new expiry.
        expiry: u32,
    },
    /// The value with the meta commands' conditions.
    MetaGet(MetaGet),
    /// A new value.
    #[serde(borrow)]
    Store(Store<'a>),
    /// A delete or invalidation.
    Delete(Delete),
    /// A step of a counter.
    Arithmetic(Arithmetic),
    /// A new expiry.
    Touch {
        /// The new expiry.
        expiry: u32,
    },
    /// A part of the value.
    View(#[serde(borrow)] View<'a>),
    /// A change of a part of the value.
    Edit(#[serde(borrow)] Edit<'a>),
}

/// What an operation is encoded in without a value, about, in bytes.
const FIXED_BYTES: usize = 32;

impl Operation<'_> {
    /// The operation's bytes, as messages carry them.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.payload().len() + FIXED_BYTES);
        append(&mut bytes, self);
        bytes
    }

    /// The bytes that it carries: a new value, or an argument.
    pub fn payload(&self) -> &[u8] {
        match self {
            Self::Store(store) => store.value,
            Self::View(view) => view.argument,
            Self::Edit(edit) => edit.argument,
            _ => b"",
        }
    }

    /// The expiries that it may set, those of 0 included.
    pub fn expiries(&self) -> impl Iterator<Item = u32> + use<> {
        let (first, second) = match self {
            Self::GetAndTouch { expiry } | Self::Touch { expiry } => (Some(*expiry), None),
            Self::Store(Store { mode: Mode::Append { vivify } | Mode::Prepend { vivify }, .. }) => (*vivify, None),
            Self::Store(store) => (Some(store.expiry), None),
            Self::MetaGet(get) => (get.vivify, get.touch),
            Self::Delete(delete) => (delete.expiry, None),
            Self::Arithmetic(step) => (step.vivify, step.touch),
            Self::Edit(edit) => match edit.kind {
                EditKind::Put { expiry, .. } => (expiry, None),
                EditKind::Expire { expiry, .. } | EditKind::ShowAndExpire { expiry } => (Some(expiry), None),
                _ => (None, None),
            },
            Self::Get | Self::View(_) => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Whether the operation reads and (but for one case) appends nothing, so that a replica may evaluate it. The
    /// case: a meta get of a stale item that nobody has won marks it won; when [`evaluate()`] returns an append for a
    /// read, drop the outcome and run the operation at the head.
    #[inline]
    pub fn is_read(&self) -> bool {
        match self {
            Self::Get | Self::View(_) => true,
            Self::MetaGet(get) => get.vivify.is_none() && get.recache.is_none() && get.touch.is_none(),
            _ => false,
        }
    }

    /// Whether [`evaluate()`] looks at the current item. A blind write (a plain set) does not: evaluate it with `None`.
    #[inline]
    pub fn needs_current(&self) -> bool {
        !matches!(self, Self::Store(Store { mode: Mode::Set, .. }))
    }

    /// Whether what it stores, or whether it stores or deletes, depends on what is there. Members of a chain that have
    /// different versions of the key would come to differ further by it. A plain set, delete, get or touch does not.
    pub fn is_conditional(&self) -> bool {
        match self {
            Self::Get | Self::View(_) | Self::Touch { .. } | Self::GetAndTouch { .. } => false,
            Self::Edit(_) | Self::Arithmetic(_) => true,
            Self::Store(store) => store.mode != Mode::Set,
            Self::Delete(delete) => delete.compare.is_some() || delete.invalidate,
            Self::MetaGet(get) => get.vivify.is_some() || get.recache.is_some(),
        }
    }

    /// Whether [`evaluate()`] looks at the current item's *value*, or the answer shows it; else any slice of the same
    /// length will do. Whatever the operation, a decision to append [`NewValue::Unchanged`] needs the value.
    pub fn needs_value(&self) -> bool {
        match self {
            Self::Store(store) => matches!(store.mode, Mode::Append { .. } | Mode::Prepend { .. }),
            Self::Delete(_)
            | Self::Touch { .. }
            | Self::View(View { kind: ViewKind::Expiry, .. })
            | Self::Edit(Edit { kind: EditKind::Expire { .. } | EditKind::Put { show: false, .. }, .. }) => false,
            Self::Get
            | Self::GetAndTouch { .. }
            | Self::MetaGet(_)
            | Self::Arithmetic(_)
            | Self::View(_)
            | Self::Edit(_) => true,
        }
    }
}

/// How a store treats what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Store always. The only blind write.
    Set,
    /// Store only where nothing is.
    Add,
    /// Store only over something.
    Replace,
    /// Store only over the version that [`Store::compare`] names.
    Cas,
    /// Add after the value; flags and expiry stay.
    Append {
        /// Make a missing item, with this expiry.
        vivify: Option<u32>,
    },
    /// Add before the value; flags and expiry stay.
    Prepend {
        /// Make a missing item, with this expiry.
        vivify: Option<u32>,
    },
}

/// A new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Store<'a> {
    /// What it does with an existing item.
    pub mode: Mode,
    /// The value.
    #[serde(with = "serde_bytes")]
    pub value: &'a [u8],
    /// The client's opaque flags.
    pub flags: u32,
    /// The expiry.
    pub expiry: u32,
    /// The cas to compare with. With `Cas`, `None` and 0 match nothing; with append and prepend 0 compares nothing;
    /// other modes ignore it.
    pub compare: Option<u64>,
    /// The cas that the client gives the new version.
    pub new_cas: Option<u64>,
    /// With `Cas`: a cas below the item's stores too, but as a stale item that keeps its expiry.
    pub invalidate: bool,
}

impl<'a> Store<'a> {
    /// A plain set: no flags, no expiry.
    pub fn set(value: &'a [u8]) -> Self {
        Self { mode: Mode::Set, value, flags: 0, expiry: 0, compare: None, new_cas: None, invalidate: false }
    }
}

/// A delete or invalidation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delete {
    /// Only the version with this cas.
    pub compare: Option<u64>,
    /// The cas that the client gives a version that remains.
    pub new_cas: Option<u64>,
    /// Keep the item, mark it stale and free to be won.
    pub invalidate: bool,
    /// New expiry of an item that remains.
    pub expiry: Option<u32>,
    /// Keep an empty item.
    pub drop_value: bool,
    /// The empty item's flags.
    pub flags: u32,
}

/// A step of a counter: an unsigned 64-bit decimal number. Counting up wraps, counting down stops at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arithmetic {
    /// Count down.
    pub decrement: bool,
    /// By how much.
    pub delta: u64,
    /// A missing counter starts with this value …
    pub initial: u64,
    /// … and this expiry; `None` leaves it missing.
    pub vivify: Option<u32>,
    /// New expiry of an existing counter.
    pub touch: Option<u32>,
    /// Only the version with this cas; 0 compares nothing.
    pub compare: Option<u64>,
    /// The cas that the client gives the new version.
    pub new_cas: Option<u64>,
}

/// A get with conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetaGet {
    /// A miss makes an empty item with this expiry, won by this client.
    pub vivify: Option<u32>,
    /// Win the item when it expires before the threshold.
    pub recache: Option<Recache>,
    /// New expiry.
    pub touch: Option<u32>,
    /// The client has the version with this cas: [`Hit::same_version`].
    pub compare: Option<u64>,
    /// The cas that the client gives a version that `vivify` makes.
    pub new_cas: Option<u64>,
}

/// When a meta get wins an item that is about to expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recache {
    /// Absolute Unix second: an item that expires before it is won; 0 wins none.
    pub before: u32,
    /// The threshold meets the expiry that the same command sets, not the one before it.
    pub after_touch: bool,
}

/// A key's newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    /// The value.
    pub value: &'a [u8],
    /// The client's opaque flags.
    pub flags: u32,
    /// Unix second from which the item is absent; 0 for never.
    pub expiry: u32,
    /// The cas that clients see.
    pub cas: u64,
    /// Invalidated, still readable.
    pub stale: bool,
    /// A client holds the right to refresh it.
    pub won: bool,
}

impl Item<'_> {
    /// Whether the item is absent at `now_unix`.
    #[inline]
    pub fn is_expired(&self, now_unix: u32) -> bool {
        is_past(self.expiry, now_unix)
    }
}

/// Whether an expiry has come.
#[inline]
pub(crate) fn is_past(expiry: u32, now_unix: u32) -> bool {
    expiry != 0 && expiry <= now_unix
}

/// What to append and what to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The record to append.
    pub append: Append<'a>,
    /// The answer, to be given once the append is durable.
    pub outcome: Outcome,
    /// What the answer shows where the outcome is [`Outcome::Computed`]; else empty.
    pub shown: Vec<u8>,
}

/// The record to append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Append<'a> {
    /// None.
    Nothing,
    /// A delete record.
    Delete,
    /// A version.
    Value(Version<'a>),
}

/// A version to append; the store numbers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version<'a> {
    /// Its value.
    pub value: NewValue<'a>,
    /// The client's opaque flags.
    pub flags: u32,
    /// Unix second of expiry, never past; 0 for never.
    pub expiry: u32,
    /// Invalidated.
    pub stale: bool,
    /// Won.
    pub won: bool,
    /// The cas, when it is not to be the record's number: chosen by the client, or kept from the version before (a
    /// touch changes no cas).
    pub client_cas: Option<u64>,
}

/// A version's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewValue<'a> {
    /// The operation's.
    Given(&'a [u8]),
    /// Made from the current one.
    Made(Vec<u8>),
    /// The current item's.
    Unchanged,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Stored.
    Stored {
        /// The new version's cas.
        cas: Cas,
        /// Bytes of the value that is there now.
        size: usize,
    },
    /// The condition of the store's mode did not hold, or the value would become larger than allowed.
    NotStored,
    /// The cas did not match.
    Exists,
    /// No such key.
    NotFound,
    /// Deleted or marked stale.
    Deleted,
    /// The expiry is set.
    Touched,
    /// The counter's new value.
    Number(Number),
    /// The counter's value is no number.
    NonNumeric,
    /// The item, as it was before the operation (empty when [`Hit::created`]).
    Hit(Hit),
    /// A get found nothing.
    Miss,
    /// An edit or a view came to this number.
    Integer(i64),
    /// An edit or a view has computed bytes: what the answer shows.
    Computed,
    /// An edit or a view was refused.
    Refused(EditError),
}

impl Outcome {
    /// Whether the item's value and flags belong to the answer.
    pub fn shows_item(&self) -> bool {
        matches!(self, Self::Hit(hit) if !hit.same_version)
    }
}

/// A cas in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cas {
    /// This one.
    Known(u64),
    /// The sequence number of the record that the decision appends.
    Appended,
}

impl Cas {
    /// The number, given the appended record's.
    #[inline]
    pub fn resolve(self, appended_seq: u64) -> u64 {
        match self {
            Self::Known(cas) => cas,
            Self::Appended => appended_seq,
        }
    }
}

/// A counter's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    /// The new value.
    pub value: u64,
    /// The new version's cas.
    pub cas: Cas,
    /// Expiry before the operation; 0 for never or none.
    pub expiry_before: u32,
    /// Expiry now.
    pub expiry: u32,
    /// The operation made the counter.
    pub created: bool,
}

/// A get's find. The value and flags are the current item's; a created one has an empty value and flags 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // independent facts of the protocol
pub struct Hit {
    /// The item's cas.
    pub cas: Cas,
    /// Expiry before the operation; 0 for never or none.
    pub expiry_before: u32,
    /// Expiry now.
    pub expiry: u32,
    /// The operation made the item.
    pub created: bool,
    /// This client has won the right to refresh the item.
    pub won: bool,
    /// The item is stale.
    pub stale: bool,
    /// Another client has won it.
    pub already_won: bool,
    /// The item's cas is the one that the client named: it needs no value.
    pub same_version: bool,
}
