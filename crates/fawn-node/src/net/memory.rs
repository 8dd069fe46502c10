//! The memory that the connections of one loop hold, against the loop's share of the node's limits.

/// Bytes that one connection holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldBytes {
    /// Input that is not parsed yet, and the request that is tried again.
    pub input: usize,
    /// Replies that wait, and output that the socket has not taken.
    pub output: usize,
    /// Of the output, bytes that the socket has not taken.
    pub unsent: usize,
}

/// A loop's share of the node's limits.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// Replies and operations: as much again is for clients that take their replies.
    pub output: usize,
    /// Input.
    pub input: usize,
    /// The largest item.
    pub item: usize,
}

/// What all connections of a loop hold together.
#[derive(Debug)]
pub struct MemoryAccount {
    limits: MemoryLimits,
    held: HeldBytes,
    /// Bytes of large replies that were reserved and have yet to come.
    reserved: usize,
}

impl MemoryAccount {
    /// An account without connections.
    pub fn new(limits: MemoryLimits) -> Self {
        Self { limits, held: HeldBytes::default(), reserved: 0 }
    }

    /// A connection holds `now` in the place of `before`.
    #[inline]
    pub fn charge(&mut self, before: HeldBytes, now: HeldBytes) {
        self.held.input = self.held.input + now.input - before.input;
        self.held.output = self.held.output + now.output - before.output;
        self.held.unsent = self.held.unsent + now.unsent - before.unsent;
    }

    /// Reserves memory for a large reply.
    pub fn reserve(&mut self, bytes: usize) {
        self.reserved += bytes;
    }

    /// A reply has come that `bytes` were reserved for.
    #[inline]
    pub fn arrived(&mut self, bytes: usize) {
        self.reserved -= bytes;
    }

    /// Bytes of input and of output.
    pub fn buffered(&self) -> usize {
        self.held.input + self.held.output
    }

    /// Whether replies, and the `operations` bytes of operations, hold less than they may.
    #[inline]
    pub fn has_room(&self, operations: usize) -> bool {
        self.held.output + operations < self.limits.output
    }

    /// Whether there is memory left for a client that takes its replies, although others hold all the memory there is.
    #[inline]
    pub fn has_room_for_prompt(&self, operations: usize) -> bool {
        self.held.output + operations < 2 * self.limits.output + self.limits.item
    }

    /// Whether connections hold less input than they may.
    pub fn has_room_for_input(&self) -> bool {
        self.held.input < self.limits.input
    }

    /// Whether replies hold half of what they may, so that incomplete ones have to leave early.
    pub fn is_pressed(&self) -> bool {
        self.held.output >= self.limits.output / 2
    }

    /// Whether memory may be reserved for any large reply.
    pub fn may_reserve_any(&self) -> bool {
        self.held.output + self.reserved < self.limits.output / 2
    }

    /// Whether memory may be reserved for the next reply of a connection that takes its replies. What waits behind large
    /// replies does not count, because it leaves after them.
    pub fn may_reserve_next(&self) -> bool {
        self.held.unsent + self.reserved < 2 * self.limits.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(output: usize, unsent: usize) -> HeldBytes {
        HeldBytes { input: 0, output, unsent }
    }

    #[test]
    fn what_one_connection_holds_leaves_less_for_all() {
        let mut account = MemoryAccount::new(MemoryLimits { output: 100, input: 50, item: 10 });
        account.charge(HeldBytes::default(), HeldBytes { input: 50, ..holds(40, 0) });
        assert!(account.has_room(59) && !account.has_room(60) && !account.has_room_for_input());
        assert!(account.has_room_for_prompt(169) && !account.has_room_for_prompt(170));
        assert_eq!((account.buffered(), account.is_pressed()), (90, false));
        account.charge(HeldBytes { input: 50, ..holds(40, 0) }, holds(50, 0));
        assert!(account.has_room_for_input() && account.is_pressed());
    }

    #[test]
    fn reserved_memory_counts_until_its_reply_comes() {
        let mut account = MemoryAccount::new(MemoryLimits { output: 100, input: 50, item: 10 });
        account.reserve(50);
        assert!(!account.may_reserve_any() && account.may_reserve_next());
        account.charge(HeldBytes::default(), holds(300, 150));
        assert!(!account.may_reserve_next(), "200 are on their way to clients");
        account.arrived(50);
        assert!(account.may_reserve_next() && !account.may_reserve_any());
        account.charge(holds(300, 150), holds(49, 49));
        assert!(account.may_reserve_any());
    }
}
