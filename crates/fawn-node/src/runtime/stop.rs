//! How far a loop is with stopping.

/// Milliseconds in which operations come to their end once no connection is left.
const SETTLING_MS: u64 = 1000;

/// The steps of a loop that stops: it begins, its connections close, operations end, or the loop gives them up.
#[derive(Debug)]
pub struct StopProgress {
    /// How long connections and operations may take, in milliseconds.
    timeout_ms: u64,
    /// When the node began to stop, in milliseconds.
    since_ms: Option<u64>,
    /// The loop has closed all its connections.
    is_drained: bool,
    /// When all loops were first seen to have drained, in milliseconds.
    all_drained_ms: Option<u64>,
    /// The node must stop although operations are under way that never end.
    gave_up: bool,
}

impl StopProgress {
    /// A loop that runs, and will have this long to stop.
    pub fn new(timeout_ms: u64) -> Self {
        Self { timeout_ms, since_ms: None, is_drained: false, all_drained_ms: None, gave_up: false }
    }

    /// Whether the loop has begun to stop.
    pub fn has_begun(&self) -> bool {
        self.since_ms.is_some()
    }

    /// Whether the loop has closed all its connections.
    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    /// Whether the loop has given up operations that never end.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// The loop begins to stop.
    pub fn begin(&mut self, now_ms: u64) {
        self.since_ms = Some(now_ms);
    }

    /// Whether stopping takes longer than it may.
    pub fn is_late(&self, now_ms: u64) -> bool {
        self.since_ms.is_some_and(|since| now_ms - since >= self.timeout_ms)
    }

    /// The loop has closed its last connection.
    pub fn note_drained(&mut self) {
        self.is_drained = true;
    }

    /// Whether operations are to be given up now, because they take too long: a device that does not answer would keep the node
    /// for ever. `all_drained`: all loops have closed their connections.
    pub fn give_up(&mut self, all_drained: bool, is_idle: bool, now_ms: u64) -> bool {
        // Only when the last connection of all loops is gone is every operation on its way to its end.
        if all_drained {
            self.all_drained_ms.get_or_insert(now_ms);
        }
        let is_settled = self.all_drained_ms.is_some_and(|since| now_ms >= since + SETTLING_MS);
        if self.gave_up || is_idle || !is_settled || !self.is_late(now_ms) {
            return false;
        }
        self.gave_up = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_a_second_after_the_last_connection_of_all_loops_and_the_time_out() {
        let mut stop = StopProgress::new(5000);
        stop.begin(1000);
        stop.note_drained();
        assert!(!stop.give_up(false, false, 20_000), "another loop has connections");
        assert!(!stop.give_up(true, false, 20_500));
        assert!(!stop.give_up(true, false, 20_500 + SETTLING_MS - 1));
        assert!(!stop.give_up(true, true, 20_500 + SETTLING_MS), "nothing is under way");
        assert!(stop.give_up(true, false, 20_500 + SETTLING_MS) && stop.gave_up());
        assert!(!stop.give_up(true, false, 30_000), "once");
    }

    #[test]
    fn nothing_is_given_up_before_the_time_out() {
        let mut stop = StopProgress::new(5000);
        stop.begin(1000);
        stop.note_drained();
        assert!(!stop.give_up(true, false, 1000) && !stop.give_up(true, false, 5999));
        assert!(!stop.is_late(5999) && stop.is_late(6000));
        assert!(stop.give_up(true, false, 6000));
    }
}
