//! What goes wrong, and when.

use fawn_store::flash::FileId;

/// One thing that goes wrong once. Occasions are counted from when the fault is set; 0 is the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The `nth` read fails with EIO.
    Read {
        /// Which read.
        nth: u64,
    },
    /// The `nth` write fails with EIO; any part of it may be written.
    Write {
        /// Which write.
        nth: u64,
    },
    /// The `nth` sync of a file fails: what it covered is in an undefined state for good.
    Sync {
        /// Which sync.
        nth: u64,
    },
    /// The `nth` sync of names fails.
    SyncNames {
        /// Which sync of names.
        nth: u64,
    },
    /// The `nth` write lands, without an error, at another page of another (or the same) file. Nothing is written where
    /// it belonged; a destination that does not exist swallows it.
    Misdirect {
        /// Which write.
        nth: u64,
        /// Where it lands.
        file: FileId,
        /// First page that it overwrites.
        page: u64,
    },
}

/// The kinds of occasions that faults count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    Read,
    Write,
    Sync,
    SyncNames,
}

impl Fault {
    fn countdown(&mut self) -> (Occasion, &mut u64) {
        match self {
            Self::Read { nth } => (Occasion::Read, nth),
            Self::Write { nth } | Self::Misdirect { nth, .. } => (Occasion::Write, nth),
            Self::Sync { nth } => (Occasion::Sync, nth),
            Self::SyncNames { nth } => (Occasion::SyncNames, nth),
        }
    }
}

/// Counts `occasion` and gives the fault that falls on it.
pub(super) fn due(faults: &mut Vec<Fault>, occasion: Occasion) -> Option<Fault> {
    let mut due = None;
    faults.retain_mut(|fault| {
        let whole = *fault;
        let (kind, left) = fault.countdown();
        if kind != occasion {
            return true;
        }
        if *left > 0 {
            *left -= 1;
            return true;
        }
        let taken = due.is_none();
        due = due.or(Some(whole));
        !taken
    });
    due
}
