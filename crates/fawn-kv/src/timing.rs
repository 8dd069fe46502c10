//! Clocks, and how long things may take.

use crate::range::sessions::Bounds;
use crate::wire::version::NEWEST;

/// What the clocks of a node say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Microseconds by a clock that is never set and counts while the machine is suspended.
    pub us: u64,
    /// Unix second, as far as the node knows; [`UNKNOWN`](Self::UNKNOWN): it does not.
    pub unix: u32,
    /// The latest Unix second that the node has gone by, or that its clock shows and may be right about. What has been seen to
    /// expire up to then does not come back.
    pub latest: u32,
}

impl Now {
    /// The second of a node whose clock was never set. It is later than none, so that what was used then is not forgotten.
    pub const UNKNOWN: u32 = 1;

    /// By clocks that were never wrong.
    pub const fn at(us: u64, unix: u32) -> Self {
        Self { us, unix, latest: unix }
    }
}

/// How long answers take, and so for how long one is waited for before the question is sent again.
///
/// A link can be so slow, or so full, that answers are merely late. To send everything again then makes them later still.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerTime {
    /// The mean of those that came last; 0: none has come.
    usual_us: u64,
    /// How far from it they are, likewise.
    spread_us: u64,
}

impl AnswerTime {
    /// An answer has come, so long after its question was sent first.
    pub fn took(&mut self, us: u64) {
        if self.usual_us == 0 {
            self.usual_us = us;
        } else {
            self.spread_us = (3 * self.spread_us + self.usual_us.abs_diff(us)) / 4;
            self.usual_us = (7 * self.usual_us + us) / 8;
        }
    }

    /// How long it usually takes, in microseconds; 0: none has come.
    pub fn mean_us(&self) -> u64 {
        self.usual_us
    }

    /// For how long an answer is waited for, after so many times in vain: as TCP has it, four spreads longer than usual, but twice
    /// as long as usual at least, and each time twice as long as before. A question that was lost, and not merely late, is not kept
    /// waiting for more than ten times `least_us`.
    pub fn wait_us(&self, least_us: u64, in_vain: u32) -> u64 {
        let most_us = self.usual_us.saturating_add((4 * self.spread_us).max(self.usual_us));
        most_us.min(10 * least_us).max(least_us << in_vain.min(MOST_DOUBLINGS))
    }
}

/// Without late answers the wait grows to four times the least.
const MOST_DOUBLINGS: u32 = 2;

/// How long things may take, in microseconds, and how much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// What was sent and not answered is sent again after this.
    pub resend_us: u64,
    /// Between two heartbeats of a node.
    pub heartbeat_us: u64,
    /// A node that was not heard of for so long counts as dead.
    pub dead_us: u64,
    /// An attempt that has not come to its end after this is superseded.
    pub attempt_us: u64,
    /// Committed records of a range kept in memory while somebody follows it, at most …
    pub history: usize,
    /// … and bytes of them. While nobody does, a sixteenth: memory that is used again at once stays in the processor's cache.
    pub history_bytes: usize,
    /// Records in one message, at most …
    pub batch: usize,
    /// … and bytes of them, but for one record that is larger.
    pub batch_bytes: usize,
    /// Records of a range that are not committed yet, with the requests that wait for their key to be read, at most; a
    /// head takes no more before. So many gets wait for flash or a barrier, at most.
    pub pending: usize,
    /// Bytes of records that are not committed yet, and of what waits; and of records that are not durable yet. A head that
    /// has so many takes no more before, nor does a member of the latter.
    pub pending_bytes: usize,
    /// Bytes a second that a node copies, at most, in all its ranges.
    pub copy_bytes_per_s: u64,
    /// Seconds of the range's time after which a session that is not used is forgotten.
    pub session_idle_s: u32,
    /// A range's time that no clock can be right about is set back after so long.
    pub heal_us: u64,
    /// What a range remembers of sessions.
    pub sessions: Bounds,
    /// A node that was not heard of for so long loses its places on the ring.
    pub gone_us: u64,
    /// For so long after it was last heard that two nodes do not hear each other they are kept out of one chain.
    pub broken_us: u64,
    /// A neighbour that has not answered for so long is said to be silent.
    pub silent_us: u64,
    /// An archive acknowledges what its store has yet to sync, while nodes that are no archives have synced it.
    pub rests: bool,
    /// It did so in an earlier life: what its store has at the start may lack what it acknowledged.
    pub rested: bool,
    /// The version that everybody in the cluster speaks. Before that is told, it is the newest.
    pub version: u8,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            resend_us: 50_000,
            heartbeat_us: 200_000,
            dead_us: 1_000_000,
            attempt_us: 3_000_000,
            history: 4096,
            history_bytes: 2 << 20,
            batch: 64,
            batch_bytes: 256 << 10,
            pending: 4096,
            pending_bytes: 16 << 20,
            copy_bytes_per_s: 128 << 20,
            session_idle_s: 3600,
            heal_us: 600_000_000,
            sessions: Bounds::default(),
            gone_us: 30_000_000,
            broken_us: 60_000_000,
            silent_us: 700_000,
            rests: false,
            rested: false,
            version: NEWEST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_with_what_answers_take_and_with_each_time_in_vain() {
        let mut time = AnswerTime::default();
        let waits = |time: &AnswerTime| [0, 1, 2, 3, 90].map(|in_vain| time.wait_us(50, in_vain));
        assert_eq!(waits(&time), [50, 100, 200, 200, 200]);
        time.took(60);
        assert_eq!(waits(&time), [120, 120, 200, 200, 200]);
        time.took(100);
        assert_eq!(waits(&time), [130, 130, 200, 200, 200]);
        time.took(150);
        assert_eq!(waits(&time), [187, 187, 200, 200, 200], "answers come at very different times");
        (0..100).for_each(|_| time.took(1000));
        assert_eq!(waits(&time), [500; 5], "a lost question does not wait for ever");
        (0..100).for_each(|_| time.took(1));
        assert_eq!(waits(&time), [50, 100, 200, 200, 200]);
    }
}
