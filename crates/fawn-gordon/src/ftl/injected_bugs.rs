//! Bugs that can be planted, each the absence of a rule, so that the tests of power cuts can be shown to find them.
//! They exist only in builds with the feature `planted`; without it [`planted`] is always false.

macro_rules! bugs {
    ($($name:ident: $what:literal,)*) => {
        /// A rule that is left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FtlBug {
            $(#[doc = $what] $name,)*
        }

        impl FtlBug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What is wrong.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }
        }
    };
}

bugs! {
    NoSequenceRule: "a page that was written at a write point goes to one with a smaller number",
    CopyIgnoresSequence: "cleaning copies a page to a write point with a smaller number",
    SummaryBeforePages: "a summary page is programmed before the last page that it lists",
    TrimForgotten: "a trim leaves no record on flash",
    TrimAcknowledgedEarly: "a trim is acknowledged before its record is programmed",
    TrimTrustsUnfinished: "a trim counts on the record of another one that is still being programmed",
    RecordDroppedEarly: "cleaning drops the record of a trim although older copies may be left",
    EraseBeforeCopies: "a block is erased while its pages are still being copied",
    EraseBeforeOverwrites: "a block is erased before the programs that replaced its pages are finished",
    CopyOvertakesWrite: "a page is copied although it was overwritten since it was read",
    AcknowledgedEarly: "a write is acknowledged when it is issued",
    AcknowledgedByFirstDie: "a write is acknowledged when the first die of its super-page is finished",
    SequenceRestarts: "sequence numbers start again after a recovery",
    OpenBlockContinued: "a write point continues a block that was open at the power cut",
    TornPageCounts: "recovery takes a page that was programmed in part for a whole one",
    TornSummaryIsErased: "recovery takes a block whose summary was programmed in part for an erased one",
    TornEraseIsErased: "a block whose erase was cut is used without another erase",
    ErasedIsTrusted: "a block that reads as erased after a power cut is used without another erase",
    SealedBlocksOnly: "recovery reads summaries alone, not the spare areas of open blocks",
    FirstCopyOfBlock: "of several copies in a block, recovery takes the first",
    BlockOrder: "recovery takes the copy in the block with the highest address",
    PageNumbersIgnored: "without the sequence rule, recovery still orders copies by their blocks",
    PageNumbersRestart: "without the sequence rule, the numbers of pages start again after a recovery",
    RecordDroppedByBlock: "without the sequence rule, records are dropped by the numbers of blocks",
    RecordsUnread: "recovery does not read the records of trims",
}

#[cfg(feature = "planted")]
mod switch {
    use super::FtlBug;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<FtlBug>> = const { Cell::new(None) };
    }

    /// Plants a bug, or none, in everything that runs on this thread.
    pub fn plant(bug: Option<FtlBug>) {
        PLANTED.set(bug);
    }

    /// Whether the bug is planted.
    #[inline]
    pub fn planted(bug: FtlBug) -> bool {
        PLANTED.get() == Some(bug)
    }
}

#[cfg(feature = "planted")]
pub use switch::{plant, planted};

/// Whether the bug is planted.
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn planted(_: FtlBug) -> bool {
    false
}
