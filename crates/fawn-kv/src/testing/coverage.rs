//! Paths through the protocol that are seldom taken, counted so that a simulation can show that it has been on each.
//!
//! They are counted only in builds with the feature `paths`; without it [`took`] is nothing. The counts are of the thread:
//! a simulation runs in one.

macro_rules! paths {
    ($($name:ident: $what:literal,)*) => {
        /// A path.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Path {
            $(#[doc = $what] $name,)*
        }

        impl Path {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// What happens on it.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)*
                }
            }
        }
    };
}

paths! {
    RetryAnswered: "a retry is answered from the session table",
    ShownAgain: "a retry is shown again what its get found",
    RetryWaits: "a retry finds its record on the way",
    RetryRefused: "a late try of an answered request is refused",
    SessionExpired: "a request of a forgotten session is refused",
    SessionsForgotten: "idle sessions are forgotten",
    SessionSpent: "of an idle session that is named after a time to come only the name is kept",
    SessionsMadeRoom: "sessions that were used least recently are forgotten to make room",
    NamesMadeRoom: "a range whose sessions are named after a time to come moves its horizon there to make room",
    TimeAhead: "what would expire at once is refused as the range's time is ahead",
    TimeSetBack: "a range's time that was ahead is set back",
    NoRoomForSession: "a range that remembers too many sessions takes no other",
    TooManyUnanswered: "a session of which too many requests are remembered has to wait",
    RefusedAtDeadline: "a request that was refused at every try is refused at its deadline",
    TooFew: "a chain is too short to take a write",
    FedAgain: "records are sent down a chain again",
    CommitsLess: "what waits for room in a member's log is not committed there",
    FeedHasNoRoom: "records come down a chain for which a member has no room",
    FollowerHasNoRoom: "records come for which a learner, or a member that is made level, has no room",
    FeedWithGap: "records are refused for a gap before them",
    BarrierRead: "a get is answered behind a barrier",
    LeaseRunOut: "a lease runs out while a value is read",
    SpreadClean: "a member that is not the reader answers a get",
    CommitAwaited: "a get waits at the reader for a record that the tail may have committed",
    ArchiveSpared: "an archive passes a get on",
    SpreadDirty: "a member that is not the reader passes a get on",
    FlushedByWedges: "all is flushed, through the owners of all wedges",
    FlushFollowsOwner: "a flush of a wedge goes on through its next owner",
    FlushFollowsSplit: "a flush of a range goes on in a part of it",
    FlushFollowsMerge: "a flush of a range goes on in a range that it became part of",
    FlushedRest: "of keys that are to be flushed only those are that the flush has not reached yet",
    LevelAtSeal: "members that were prepared are level as they seal, without an order",
    LevelsAtOnce: "a member follows the source as soon as it has sealed",
    SealSuperseded: "a seal of a lower attempt is refused",
    SealedWhileLevelling: "another attempt seals a log that is being made level",
    Truncated: "a log is cut off",
    LeftOut: "a member hears that it is in its chain no more",
    CopiedWhole: "a range is copied whole",
    ScanPart: "a part of a range is shown to one who is no member",
    ScanSince: "of a range only what was written since is shown to one who is no member",
    ScanAnew: "a dump of a range begins anew",
    ScanGoesOn: "a dump of a range goes on at another member",
    ScanCut: "a dump goes on in parts of a range that was split",
    ScanEnded: "a dump of a range ends with its records",
    CopiedSince: "of a range only what is new is copied",
    CopyGoesOn: "a copy goes on from another member",
    CopyRestarted: "a copy starts anew because deletions were forgotten",
    OtherPart: "a part of a copy comes late, or twice, and is refused",
    SplitInherited: "a level member inherits the parts of a range",
    SplitInheritedLate: "a member that came back inherits the parts of a range",
    MergeInherited: "a level member inherits a merged range",
    MergeNotInherited: "what a member has of a range that was merged goes",
    Dropped: "a range that others hold is dropped",
    KeptAgainstOrder: "a range is kept although a manager that lags wants it dropped",
    Adopted: "the first ranges are made of what a plain directory holds",
    AdoptedLate: "a store has no room to say that it is adopted, and is told again",
    OtherCluster: "a node that has something of another cluster is refused",
    Anew: "a node learns that another life of it began, and begins anew",
    FailedInSeal: "an attempt is superseded while members seal",
    FailedInEqualise: "an attempt is superseded while logs are made level",
    SupersedeWaits: "a new leader waits for a member before it supersedes an attempt",
    RulesTakeHold: "a chain begins anew with the same members, and other rules",
    NewLeaderSupersedes: "a new leader supersedes the attempt of the one before",
    MergeSuperseded: "a merge is superseded, by every manager that hears of it",
    SplitSuperseded: "a split is superseded, by every manager that hears of it",
    LeaseWaited: "a chain is changed without the seal of a member whose lease ran out",
    Mended: "a chain goes on without members that are gone",
    Revived: "a range is revived by those that were its members",
    Relayed: "a message goes by way of another seat, since the link is broken",
    FrontCutOff: "a front-end says that no other member answers it",
    NodeCutOff: "a node says that no other member answers it",
    CutOffAwaited: "a manager waits before it decides which of two nodes is cut off",
    LinkAvoided: "a member is left out because it does not reach another",
    LearnerGone: "another learner takes the place of one that is gone",
    Full: "a value is refused since a member has no room",
    LearnerPaced: "a copy waits, so as to be no faster than it may",
    LearnerWaits: "a learner waits for its disk",
    Unreadable: "what was asked for cannot be read from flash",
    DamagedLeft: "a chain goes on without a member whose copy is damaged",
    LeaseRefused: "a lease is refused to a node that has yet to seal",
    LeaseRefusedBehind: "a lease is refused to a node that believes in a chain that is over",
    LifeEnded: "a node that stops says so",
}

/// How many there are.
pub const COUNT: usize = Path::ALL.len();

#[cfg(feature = "paths")]
mod counts {
    use super::{COUNT, Path};
    use std::cell::Cell;

    thread_local! {
        static TAKEN: Cell<[u64; COUNT]> = const { Cell::new([0; COUNT]) };
    }

    /// Counts a path.
    pub fn took(path: Path) {
        TAKEN.with(|taken| {
            let mut counts = taken.get();
            counts[path as usize] += 1;
            taken.set(counts);
        });
    }

    /// How often each was taken since this was asked last.
    pub fn take() -> [u64; COUNT] {
        TAKEN.with(|taken| taken.replace([0; COUNT]))
    }
}

#[cfg(feature = "paths")]
pub use counts::{take, took};

/// Counts a path.
#[cfg(not(feature = "paths"))]
#[inline]
pub const fn took(_: Path) {}
