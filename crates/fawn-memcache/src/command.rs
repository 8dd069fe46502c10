//! What a client asks: one [`CommandRequest`] a command (a `get` line gives one a key).

use crate::Responder;

/// One command, its key, and how to answer it. Borrows from the input and from the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRequest<'a> {
    /// The key, decoded when it came in base64: 1 to 250 bytes; empty for commands that have none.
    pub key: &'a [u8],
    /// What the client asks for.
    pub command: Command<'a>,
    /// Turns the [`CommandOutcome`](crate::CommandOutcome) into bytes; small, copy it where the answer is made.
    pub responder: Responder,
}

/// What a client asks for, without the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// One key of a `get` or `gets` line.
    Get,
    /// One key of a `gat` or `gats` line: give the value, set the expiry.
    GetAndTouch(Exptime),
    /// `mg`: a get with conditions.
    MetaGet(MetaGet),
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`, `ms`.
    Store(StoreRequest<'a>),
    /// A value above the item limit; its bytes are skipped. Answer [`CommandOutcome::TooLarge`](crate::CommandOutcome::TooLarge).
    ValueTooLarge(ValueTooLarge),
    /// `touch`: set the expiry.
    Touch(Exptime),
    /// `delete` and `md`: delete the item, or mark it stale.
    Delete(Delete),
    /// `incr`, `decr` and `ma`: add to a number, or subtract from it.
    Arithmetic(Arithmetic),
    /// `me`: answer [`CommandOutcome::Debug`](crate::CommandOutcome::Debug) or
    /// [`CommandOutcome::Miss`](crate::CommandOutcome::Miss).
    MetaDebug,
    /// `mn`: answer [`CommandOutcome::Noop`](crate::CommandOutcome::Noop); all earlier answers leave first.
    Noop,
    /// `flush_all`: everything stored before the given time disappears. Answer `Ok`.
    FlushAll(Exptime),
    /// `version`: answer [`CommandOutcome::Version`](crate::CommandOutcome::Version).
    Version,
    /// `verbosity`: answer `Ok`.
    Verbosity {
        /// The level asked for.
        level: u32,
    },
    /// `stats`: [`report::stat`](crate::report::stat) lines, then `END`.
    Stats(Stats<'a>),
    /// `lru_crawler metadump` and `mgdump`: lines of [`report`](crate::report), then its end line.
    Dump(Dump),
    /// `cache_memlimit`: answer `Ok` or [`lines::MEMLIMIT_ADJUST_FAILED`](crate::lines::MEMLIMIT_ADJUST_FAILED).
    MemoryLimit {
        /// The limit asked for, in MiB.
        megabytes: u32,
    },
    /// `refresh_certs`: read the TLS certificates again. Answer `Ok` or an error.
    RefreshCertificates,
    /// A user name and password (only from a session made by
    /// [`Session::with_authentication`](crate::Session::with_authentication)). Answer
    /// [`CommandOutcome::Authenticated`](crate::CommandOutcome::Authenticated) after calling
    /// [`Session::authenticated`](crate::Session::authenticated), or
    /// [`CommandOutcome::AuthenticationFailed`](crate::CommandOutcome::AuthenticationFailed).
    Authenticate {
        /// Everything before the first blank.
        user: &'a [u8],
        /// Everything after the first blank.
        password: &'a [u8],
    },
}

/// An expiry as the client wrote it: 0 never; up to 2,592,000 seconds from now; above that Unix seconds, up to
/// [`LATEST`](Self::LATEST); negative in the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exptime(pub i64);

impl Exptime {
    /// 30 days, the longest relative expiry, in seconds.
    pub const LONGEST_RELATIVE: i64 = 2_592_000;

    /// The latest second that a record can hold: 2106-02-07.
    pub const LATEST: i64 = u32::MAX as i64;

    /// An expiry as commands read it, a minus or none and digits; `None`: it is none, or later than
    /// [`LATEST`](Self::LATEST).
    #[inline]
    pub fn read(text: &[u8]) -> Option<Self> {
        if text.first() == Some(&b'+') { None } else { Self::read_lenient(text) }
    }

    /// The same as the classic store commands read it: a plus may stand before the digits.
    #[inline]
    pub fn read_lenient(text: &[u8]) -> Option<Self> {
        crate::number::i64_lenient(text).filter(|seconds| *seconds <= Self::LATEST).map(Self)
    }

    /// The Unix second from which the item is absent; 0 for never. A negative expiry gives 1, long past. `expiry_in` says which
    /// second it will be in so many.
    #[inline]
    pub fn absolute(self, expiry_in: impl FnOnce(u32) -> u32) -> u32 {
        match self.0 {
            0 => 0,
            ..0 => 1,
            1..=Self::LONGEST_RELATIVE => expiry_in(self.0 as u32),
            _ => u32::try_from(self.0).unwrap_or(u32::MAX),
        }
    }

    /// Whether it is a time to come, which only a clock can say.
    #[inline]
    pub fn needs_clock(self) -> bool {
        self.0 > 0
    }

    /// For `flush_all`: the Unix second from which older items are gone, 0 for at once.
    pub fn flush_at(self, expiry_in: impl FnOnce(u32) -> u32) -> u32 {
        if self.0 <= 0 { 0 } else { self.absolute(expiry_in) }
    }
}

/// How a store treats what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Store whatever is there.
    Set,
    /// Store only where nothing is.
    Add,
    /// Store only over something.
    Replace,
    /// Store only over the version that [`StoreRequest::compare`] names.
    Cas,
    /// Add after the value; flags and expiry stay. With `vivify`, a missing item is made with that expiry.
    Append {
        /// Make a missing item, with this expiry (`ms` with `MA` and `N`).
        vivify: Option<Exptime>,
    },
    /// Add before the value; else as `Append`.
    Prepend {
        /// Make a missing item, with this expiry.
        vivify: Option<Exptime>,
    },
}

/// A command that stores a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRequest<'a> {
    /// What the store does with an existing item.
    pub mode: Mode,
    /// The value's bytes.
    pub value: &'a [u8],
    /// The client's opaque flags.
    pub flags: u32,
    /// When the item expires.
    pub exptime: Exptime,
    /// The cas to compare with: always given with [`Mode::Cas`], where 0 matches nothing; with append and prepend 0
    /// means no comparison; other modes ignore it.
    pub compare: Option<u64>,
    /// The cas that the new version shall have (`E`); never 0.
    pub new_cas: Option<u64>,
    /// With `Cas`: a cas older than the item's stores too, but marks the item stale (`I`).
    pub invalidate: bool,
}

/// A store whose value is above the item limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueTooLarge {
    /// The old value must go, so that no client reads what it tried to replace (`set` and every `ms`).
    pub delete: bool,
}

/// A command that deletes an item or marks it stale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delete {
    /// Only the version with this cas (`C`).
    pub compare: Option<u64>,
    /// The cas of the version that remains (`E`), never 0.
    pub new_cas: Option<u64>,
    /// Keep the item, mark it stale (`I`).
    pub invalidate: bool,
    /// New expiry of an item that remains (`T`).
    pub exptime: Option<Exptime>,
    /// Drop the value, keep an empty item (`x`).
    pub drop_value: bool,
    /// Flags of the empty item (`F` with `x`).
    pub flags: u32,
}

/// An increment or decrement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Subtract the delta instead of adding it.
    pub decrement: bool,
    /// The number to add or subtract.
    pub delta: u64,
    /// A missing item is made with this value (`N` with `J`) …
    pub initial: u64,
    /// … and this expiry; `None` leaves it missing.
    pub vivify: Option<Exptime>,
    /// New expiry of an existing item (`T`).
    pub touch: Option<Exptime>,
    /// Only the version with this cas (`C`); never 0.
    pub compare: Option<u64>,
    /// The cas of the new version (`E`), never 0.
    pub new_cas: Option<u64>,
}

/// The flags of `mg` that decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaGet {
    /// A miss makes an empty item with this expiry and wins it (`N`).
    pub vivify: Option<Exptime>,
    /// Win a refresh when the item has less than this left (`R`).
    pub recache: Option<MetaRecache>,
    /// New expiry of the item (`T`).
    pub touch: Option<Exptime>,
    /// A version with this cas is not sent again (`C`): set [`Hit::hide_value`](crate::Hit::hide_value).
    pub compare: Option<u64>,
    /// The cas of a version that `vivify` makes (`E`), never 0.
    pub new_cas: Option<u64>,
    /// The value is asked for (`v`).
    pub wants_value: bool,
    /// The get leaves no trace in what `h` and `l` tell (`u`).
    pub untraced: bool,
}

/// The `R` flag of `mg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaRecache {
    /// The threshold: an item that expires before it is won.
    pub threshold: Exptime,
    /// `T` came before `R`, so that the threshold meets the new expiry.
    pub after_touch: bool,
}

/// What `stats` asks about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stats<'a> {
    /// `stats` without an argument.
    General,
    /// `stats settings`: the server's settings.
    Settings,
    /// `stats items`: items by slab class.
    Items,
    /// `stats slabs`: memory by slab class.
    Slabs,
    /// `stats sizes`: items by size.
    Sizes,
    /// `stats conns`: connections and listeners.
    Connections,
    /// `stats reset`: answer [`CommandOutcome::Reset`](crate::CommandOutcome::Reset).
    Reset,
    /// `stats detail on|off|dump`
    Detail(Detail),
    /// `stats cachedump <class> <limit>`
    Cachedump {
        /// Slab class, below 64.
        class: u32,
        /// Most items to list; 0 for all.
        limit: u32,
    },
    /// Any other word: the server's own reports; answer [`lines::ERROR`](crate::lines::ERROR) when there is none.
    Other(&'a [u8]),
}

/// What `stats detail` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Count by key prefix from now on.
    On,
    /// Stop counting by key prefix.
    Off,
    /// List the counts by key prefix.
    Dump,
}

/// The form of a key dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// `lru_crawler metadump`: [`report::metadump`](crate::report::metadump) lines, then `END`.
    Metadump,
    /// `lru_crawler mgdump`: [`report::mgdump`](crate::report::mgdump) lines, then `EN`.
    Mgdump,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiries_are_relative_up_to_thirty_days_and_unix_time_above() {
        let now = 1_800_000_000;
        for (written, absolute) in [
            (0, 0),
            (1, now + 1),
            (2_592_000, now + 2_592_000),
            (2_592_001, 2_592_001),
            (1_900_000_000, 1_900_000_000),
            (-1, 1),
            (i64::MIN, 1),
            (i64::MAX, u32::MAX),
        ] {
            assert_eq!(Exptime(written).absolute(|seconds| now + seconds), absolute, "{written}");
        }
        let flush_at = |written| Exptime(written).flush_at(|seconds| now + seconds);
        assert_eq!([-1, 0, 5].map(flush_at), [0, 0, now + 5]);
    }

    #[test]
    fn an_expiry_is_read_up_to_the_latest_that_a_record_holds() {
        for seconds in [0, 1, 2_147_483_648, 4_102_444_800, 4_294_967_295, -1, -2_147_483_649, i64::MIN] {
            assert_eq!(Exptime::read(seconds.to_string().as_bytes()), Some(Exptime(seconds)));
        }
        for text in [&b"4294967296"[..], b"9223372036854775807", b"99999999999999999999", b"", b"-", b"1x", b"+1"] {
            assert_eq!(Exptime::read(text), None, "{text:?}");
        }
    }
}
