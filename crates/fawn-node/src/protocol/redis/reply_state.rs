//! What has to be known of a command to write its reply.

use crate::request::ReplyState;
use fawn_resp::reply::RespVersion;

/// How the reply to a command is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyHead {
    /// What the reply looks like.
    pub kind: ReplyKind,
    /// The version of the protocol.
    pub version: RespVersion,
    /// The client hears nothing.
    pub is_muted: bool,
}

/// What a reply looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// A string, or nothing.
    Value,
    /// One of the strings of an array, which begins with the first one and has so many.
    ArrayValue {
        /// The first one's array has so many; 0 for the others.
        begins: u32,
    },
    /// `OK`; nothing, if a condition did not hold.
    Status,
    /// A number: what was counted, or whether something was done.
    Integer,
    /// 1 if there is such a key, else 0: the expiry is known.
    Presence,
    /// A time to live or an expiry.
    Expiry {
        /// In milliseconds.
        millis: bool,
        /// The time, not how long until then.
        absolute: bool,
    },
    /// The name of a type.
    Type,
    /// Strings.
    List,
    /// Numbers.
    Numbers,
    /// Names and values.
    Map,
    /// Pairs of name and value.
    Pairs,
    /// The first string of a list.
    First,
    /// A whole scan of a hash.
    Scan,
    /// The name of how Redis would store the value.
    Encoding,
    /// How often a value is referred to.
    RefCount,
    /// Seconds since the last use.
    IdleTime,
    /// That uses are not counted.
    Frequency,
    /// Bytes of the item, about.
    MemoryUsage,
    /// An error, unless there is no key or one of another type.
    Late(Late),
    /// The greeting to a client that asks for a version of the protocol.
    Hello {
        /// The client's number.
        id: u64,
    },
    /// A report on the server with these sections.
    Info {
        /// A bit for each section.
        sections: u32,
    },
    /// A page of a scan: a cursor and keys.
    Page,
    /// Keys.
    Keys,
    /// A key, or nothing.
    OneKey,
    /// `OK`, or the error that there is no source.
    Renamed,
    /// 1, or 0 if there was something in the way, or the error that there is no source.
    RenamedIfAbsent,
    /// Whether a value was copied.
    Copied,
}

/// An error that comes after those of a missing key and of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The error.
    pub error: LateError,
    /// The reply if there is no key.
    pub missing: Missing,
}

/// An error of arguments that Redis looks at late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LateError {
    Syntax,
    NotInteger,
    /// An invalid time in `GETEX`.
    ExpireTime,
    /// The same for a hash.
    HashSyntax,
    HashNotInteger,
}

/// The reply if there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Missing {
    Null,
    Zero,
    MinusOne,
    EmptyScan,
}

impl ReplyHead {
    /// A reply of this kind that a client of this version hears.
    pub fn new(kind: ReplyKind, version: RespVersion, is_muted: bool) -> Self {
        Self { kind, version, is_muted }
    }

    /// The head as bytes.
    pub fn encode(self) -> ReplyState {
        let (code, first, second, number) = match self.kind {
            ReplyKind::Value => (0, 0, 0, 0),
            ReplyKind::ArrayValue { begins } => (1, 0, 0, begins.into()),
            ReplyKind::Status => (2, 0, 0, 0),
            ReplyKind::Integer => (3, 0, 0, 0),
            ReplyKind::Presence => (4, 0, 0, 0),
            ReplyKind::Expiry { millis, absolute } => (5, millis.into(), absolute.into(), 0),
            ReplyKind::Type => (6, 0, 0, 0),
            ReplyKind::List => (7, 0, 0, 0),
            ReplyKind::Numbers => (8, 0, 0, 0),
            ReplyKind::Map => (9, 0, 0, 0),
            ReplyKind::Pairs => (10, 0, 0, 0),
            ReplyKind::First => (11, 0, 0, 0),
            ReplyKind::Scan => (12, 0, 0, 0),
            ReplyKind::Encoding => (13, 0, 0, 0),
            ReplyKind::RefCount => (14, 0, 0, 0),
            ReplyKind::IdleTime => (15, 0, 0, 0),
            ReplyKind::Frequency => (16, 0, 0, 0),
            ReplyKind::MemoryUsage => (17, 0, 0, 0),
            ReplyKind::Late(Late { error, missing }) => (18, error as u8, missing as u8, 0),
            ReplyKind::Hello { id } => (19, 0, 0, id),
            ReplyKind::Info { sections } => (20, 0, 0, sections.into()),
            ReplyKind::Page => (21, 0, 0, 0),
            ReplyKind::Keys => (22, 0, 0, 0),
            ReplyKind::OneKey => (23, 0, 0, 0),
            ReplyKind::Renamed => (24, 0, 0, 0),
            ReplyKind::RenamedIfAbsent => (25, 0, 0, 0),
            ReplyKind::Copied => (26, 0, 0, 0),
        };
        let mut state = [0; 48];
        state[0] = code;
        state[1] = first;
        state[2] = second;
        state[3] = u8::from(self.version == RespVersion::Three) | u8::from(self.is_muted) << 1;
        state[8..16].copy_from_slice(&number.to_le_bytes());
        state
    }

    /// The head of a reply that [`encode`](Self::encode) made.
    #[inline]
    pub fn decode(state: &ReplyState) -> Self {
        let [code, first, second, flags, ..] = *state;
        let mut number = [0; 8];
        number.copy_from_slice(&state[8..16]);
        let number = u64::from_le_bytes(number);
        let kind = match code {
            0 => ReplyKind::Value,
            1 => ReplyKind::ArrayValue { begins: number as u32 },
            2 => ReplyKind::Status,
            3 => ReplyKind::Integer,
            4 => ReplyKind::Presence,
            5 => ReplyKind::Expiry { millis: first != 0, absolute: second != 0 },
            6 => ReplyKind::Type,
            7 => ReplyKind::List,
            8 => ReplyKind::Numbers,
            9 => ReplyKind::Map,
            10 => ReplyKind::Pairs,
            11 => ReplyKind::First,
            12 => ReplyKind::Scan,
            13 => ReplyKind::Encoding,
            14 => ReplyKind::RefCount,
            15 => ReplyKind::IdleTime,
            16 => ReplyKind::Frequency,
            17 => ReplyKind::MemoryUsage,
            18 => ReplyKind::Late(Late { error: LateError::of(first), missing: Missing::of(second) }),
            19 => ReplyKind::Hello { id: number },
            20 => ReplyKind::Info { sections: number as u32 },
            21 => ReplyKind::Page,
            22 => ReplyKind::Keys,
            23 => ReplyKind::OneKey,
            24 => ReplyKind::Renamed,
            25 => ReplyKind::RenamedIfAbsent,
            _ => ReplyKind::Copied,
        };
        let version = if flags & 1 == 0 { RespVersion::Two } else { RespVersion::Three };
        Self { kind, version, is_muted: flags & 2 != 0 }
    }
}

impl LateError {
    fn of(code: u8) -> Self {
        match code {
            0 => Self::Syntax,
            1 => Self::NotInteger,
            2 => Self::ExpireTime,
            3 => Self::HashSyntax,
            _ => Self::HashNotInteger,
        }
    }

    /// The type that the key must have for the error to be told.
    pub fn of_type(self) -> &'static [u8] {
        match self {
            Self::Syntax | Self::NotInteger | Self::ExpireTime => b"string",
            Self::HashSyntax | Self::HashNotInteger => b"hash",
        }
    }
}

impl Missing {
    fn of(code: u8) -> Self {
        match code {
            0 => Self::Null,
            1 => Self::Zero,
            2 => Self::MinusOne,
            _ => Self::EmptyScan,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_what_it_was() {
        let mut kinds = vec![
            ReplyKind::ArrayValue { begins: 70_000 },
            ReplyKind::Expiry { millis: true, absolute: false },
            ReplyKind::Expiry { millis: false, absolute: true },
            ReplyKind::Hello { id: u64::MAX },
        ];
        for error in [
            LateError::Syntax,
            LateError::NotInteger,
            LateError::ExpireTime,
            LateError::HashSyntax,
            LateError::HashNotInteger,
        ] {
            for missing in [Missing::Null, Missing::Zero, Missing::MinusOne, Missing::EmptyScan] {
                kinds.push(ReplyKind::Late(Late { error, missing }));
            }
        }
        kinds.extend([
            ReplyKind::Value,
            ReplyKind::Status,
            ReplyKind::Integer,
            ReplyKind::Presence,
            ReplyKind::Type,
            ReplyKind::List,
            ReplyKind::Numbers,
            ReplyKind::Map,
            ReplyKind::Pairs,
            ReplyKind::First,
            ReplyKind::Scan,
            ReplyKind::Encoding,
            ReplyKind::RefCount,
            ReplyKind::IdleTime,
            ReplyKind::Frequency,
            ReplyKind::MemoryUsage,
            ReplyKind::Info { sections: 5 },
            ReplyKind::Page,
            ReplyKind::Keys,
            ReplyKind::OneKey,
            ReplyKind::Renamed,
            ReplyKind::RenamedIfAbsent,
            ReplyKind::Copied,
        ]);
        for kind in kinds {
            for (version, is_muted) in [(RespVersion::Two, true), (RespVersion::Three, false)] {
                let head = ReplyHead { kind, version, is_muted };
                assert_eq!(ReplyHead::decode(&head.encode()), head);
            }
        }
    }
}
