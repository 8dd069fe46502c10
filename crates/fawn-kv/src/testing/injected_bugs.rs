//! Bugs that can be planted, each the absence of a rule of the protocol, so that the simulator can be shown to find them.
//! They exist only in builds with the feature `planted`; without it [`planted`] is always false.

macro_rules! bugs {
    ($($name:ident: $what:literal,)*) => {
        /// A rule that is left out.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $what] $name,)*
        }

        impl Bug {
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
    LevelAnyEnd: "a prepared member counts as level wherever its log ends",
    DamagedStays: "a member stays whose copy cannot be read",
    AcceptAfterSeal: "a sealed member goes on",
    SealedTailReads: "a sealed tail answers reads",
    RestartKeepsIncarnation: "a restart keeps the incarnation",
    RulesLinger: "rules that are set wait until a chain changes for another reason",
    AdoptedNumbersAgain: "the numbers of a range that was a plain store go on from that one's, below what it told as cas",
    AdoptedCasLost: "what a plain store told as cas is another once a node has adopted it",
    AdoptForgetsFlush: "a node that adopts a plain store forgets what that was flushed of",
    AdoptsWhatIsThere: "some stores of a plain directory are adopted before all were heard of",
    AnyCluster: "a node takes part in any cluster, whichever what it has belongs to",
    NoAttemptCheck: "lower attempts are not refused",
    NoTruncation: "a longer log counts as level",
    EqualiseUnsynced: "a log counts as level before it is synced",
    ActivateBeforeLevel: "a chain is active before all its members are level",
    ActBeforeCommit: "a chain is told before it is decided",
    NoLeaseWait: "a change does not wait for old leases",
    NoLeaseCheck: "the reader reads without a lease",
    LeaseCheckedBefore: "the lease is checked before the value is read only",
    LeaseFromReceipt: "a lease is counted from when it comes",
    DeposedLeaderGrants: "a leader grants without confirming that it leads",
    NewLeaderDoesNotWait: "a new leader counts leases that it did not grant as run out",
    GrantToThoseBehind: "a member that does not know that its chain is over is granted leases",
    LeaseCoversAll: "a lease covers chains that the node was not active in when it asked",
    GrantWhileSealing: "a member that has yet to seal is granted leases",
    RetryBeforeCommit: "a retry is answered before its record is committed",
    CommitWithoutOwnSync: "the tail commits what it has not synced",
    CommitWithoutMark: "the tail commits what others have not synced",
    FeedOfAnyEpoch: "records and marks of other epochs are taken",
    AnyLife: "messages for another life of the node are taken",
    NoSequenceCheck: "records are taken with gaps before them",
    NoDedupe: "a retry is carried out again",
    RetryShowsNewest: "the answer to a retry of a get that touches shows what is there by now",
    AnsweredExecutes: "a request below the watermark is carried out",
    CopyLosesSessions: "a copy comes without the session table",
    LearnerAsSource: "a learner's log is the one that all get",
    ReviveFromAnyone: "whoever has something of a range revives it",
    RestartForgets: "a restarted member discards what it has",
    SourceChosenAgain: "the source is whoever has the longest log",
    FailedConditionAtOnce: "a failed condition is answered by the head alone",
    HeadReadsCommitted: "the head judges conditions by what is committed",
    BarrierBefore: "a get is answered by a barrier that began before it",
    NoFence: "a fence keeps nobody off",
    FenceNotRemembered: "a restart, and a copy, lose the fences",
    FenceIgnoresGets: "a fence keeps off puts only",
    FenceFromCommit: "a fence is in force only once it is committed",
    TakeOverWithoutLeaseWait: "a wedge is given away before the lease of its owner is over",
    HitWithoutLeaseCheck: "a front-end without a lease answers from its cache",
    JoinOfOldMiss: "a get joins a miss that was sent before a newer version was seen",
    NoVersionFloor: "an answer older than what was seen meanwhile fills the cache",
    RetryFills: "the answer to a retry, from memory, fills the cache",
    LateReplyFills: "an answer to a try that was given up fills the cache",
    CacheKeptAcrossEpochs: "a cache outlives the ownership of its wedge",
    ServeBeforeFences: "a front-end serves a wedge before its fences are committed",
    CopyNotFollowed: "a learner lacks what is committed while it copies",
    ExpiredExecutes: "a request of a forgotten session is carried out",
    ForgottenWithoutHorizon: "sessions are forgotten without a horizon",
    RefusedThoughSent: "a request counts as refused although a try was not answered",
    OnlyTheHighest: "of each session only the highest request is remembered",
    SplitLosesSessions: "a split loses the session table",
    MergeLosesSessions: "a merge loses the session tables",
    SplitLosesFlush: "a split loses the flush watermark",
    MergeLosesFlush: "a merge loses the flush watermarks",
    SpreadWithoutLease: "a member that is not the reader reads without a lease",
    RestForgotten: "an archive that rested does not say that it may lack what it acknowledged",
    ChildOfBehindIsSure: "what comes of a range that may lack records does not say that it may",
    RestsAlone: "an archive acknowledges before it syncs though no other member has synced",
    ReaderDoesNotWait: "a reader before archives shows what is there of keys that are being written",
    SpreadDirty: "a member that is not the reader reads keys that are being written",
    TimeGoesBack: "records are stamped with the head's clock, even where the range's time is later",
    ExpiryByClock: "expiry is judged by a member's own clock",
    ClockGoesBack: "a range's time is set back to whatever the head's clock is set back to",
    NamesStay: "sessions that are named after a time to come make no room",
    TooShort: "a chain that is too short takes writes",
    CopyLosesForgotten: "a copy does not say which deletions it lacks",
    OldTooOld: "what is too old to be brought up to date is, and keeps what was deleted",
    LostIsKept: "a member keeps what the others have lost",
    NumbersAgain: "a chain whose members lost what they had not synced gives numbers out again",
    RevivesEarly: "a chain revives before all are back that may have synced more",
    DropUnknown: "a manager that lags has ranges dropped that it has not heard of",
    FlushLeavesCache: "the owner of a wedge that was flushed keeps what it has cached",
    FlushForgetsFlights: "what was asked before a flush fills the cache after it",
    CacheOutlivesFlush: "what is cached is shown after a flush with a delay has come due",
    FlushPastOwner: "a flush goes past the owner of its keys' wedge",
    FlushDoneInPart: "a flush counts as done in a range that it has reached some keys of",
    SealedBlank: "a range that was sealed before it was inherited stays empty",
    ScanNotFollowed: "a dump lacks what is committed while it is made",
    ScanKeepsDeleted: "what is deleted while a dump is made comes back in it",
    ScanOfAnyMember: "a dump is of whatever a member knows that has no lease",
    CutOffKeepsWedges: "a front-end that no other member answers keeps its wedges",
    CutOffStaysInChain: "a node that no other member answers stays in its chains, and another leaves them",
    NewcomerIsHeardLong: "a node that was alone is cut off as soon as another comes to which no link is up yet",
    NotRelayed: "what a broken link does not carry goes by way of nobody else",
    WeakPutsToOwnerOnly: "of a weak chain only the owner is sent puts",
    WeakCopyNotWhole: "a copy of a weak chain goes on from another member, or from a log of its own",
    WeakAnyEpoch: "a member of a weak chain takes what was not sent to all its members",
    WeakAnyoneAnswers: "every member of a weak chain answers",
    WeakForgetsSilently: "a member of a weak chain carries out nothing of sessions that it alone has forgotten",
    WeakNumbersFromOwner: "a weak chain goes on from its owner's number, whatever the others' are",
}

impl Bug {
    /// Whether only a weak cluster shows it.
    pub fn is_weak(self) -> bool {
        matches!(
            self,
            Self::WeakAnyEpoch
                | Self::WeakAnyoneAnswers
                | Self::WeakCopyNotWhole
                | Self::WeakForgetsSilently
                | Self::WeakNumbersFromOwner
                | Self::WeakPutsToOwnerOnly
        )
    }
}

#[cfg(feature = "planted")]
mod switch {
    use super::Bug;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static PLANTED: AtomicUsize = AtomicUsize::new(usize::MAX);

    /// Plants a bug, or none, in everything that runs.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(usize::MAX, |bug| bug as usize), Ordering::SeqCst);
    }

    /// Whether the bug is planted.
    #[inline]
    pub fn planted(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as usize
    }
}

#[cfg(feature = "planted")]
pub use switch::{plant, planted};

/// Whether the bug is planted.
#[cfg(not(feature = "planted"))]
#[inline]
pub const fn planted(_: Bug) -> bool {
    false
}
