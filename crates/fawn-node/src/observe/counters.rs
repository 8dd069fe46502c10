//! A loop's counters: written by their loop alone, read by whichever loop answers `stats`.

use std::sync::atomic::{AtomicU64, Ordering};

/// One number, written by one thread and read by all. Counting takes no locked instruction.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`. Only the owning loop may call it.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Subtracts `count`. Only the owning loop may call it.
    #[inline]
    pub fn sub(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(count), Ordering::Relaxed);
    }

    /// Keeps the larger of the counter and `value`. Only the owning loop may call it.
    #[inline]
    pub fn max(&self, value: u64) {
        if value > self.get() {
            self.0.store(value, Ordering::Relaxed);
        }
    }

    /// The number now.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it to 0; a count made meanwhile may be lost.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

macro_rules! counters {
    (counts { $($count:ident: $count_doc:literal,)* } gauges { $($gauge:ident: $gauge_doc:literal,)* } peaks { $($peak:ident: $peak_doc:literal,)* }) => {
        /// The counters of one loop.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Counters {
            $(#[doc = $count_doc] pub $count: Counter,)*
            $(#[doc = $gauge_doc] pub $gauge: Counter,)*
            $(#[doc = $peak_doc] pub $peak: Counter,)*
        }

        impl Counters {
            /// Sets everything to 0 but what is a state and not a count.
            pub fn reset(&self) {
                $(self.$count.reset();)*
                $(self.$peak.reset();)*
            }
        }

        /// The counters of all loops together.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Totals {
            $(#[doc = $count_doc] pub $count: u64,)*
            $(#[doc = $gauge_doc] pub $gauge: u64,)*
            $(#[doc = $peak_doc] pub $peak: u64,)*
        }

        impl Totals {
            /// Sums of counts and states, largest of peaks.
            pub fn of<'a>(loops: impl IntoIterator<Item = &'a Counters>) -> Self {
                let mut totals = Self::default();
                for counters in loops {
                    $(totals.$count = totals.$count.wrapping_add(counters.$count.get());)*
                    $(totals.$gauge = totals.$gauge.wrapping_add(counters.$gauge.get());)*
                    $(totals.$peak = totals.$peak.max(counters.$peak.get());)*
                }
                totals
            }
        }
    };
}

counters! {
    counts {
        total_connections: "Connections accepted since the start.",
        rejected_connections: "Connections refused because there were too many.",
        accept_pauses: "Times that the server could not accept a connection because it had no file descriptor.",
        accept_paused_us: "Microseconds of these pauses.",
        idle_kicks: "Connections closed because they were idle.",
        stall_kicks: "Connections closed because they made no progress.",
        bytes_read: "Bytes received.",
        bytes_written: "Bytes sent.",
        cmd_get: "Keys requested.",
        get_hits: "Keys found.",
        get_misses: "Keys not found.",
        cmd_set: "Stores.",
        set_hits: "Stores except cas that stored.",
        set_misses: "Stores except cas whose condition did not hold.",
        cmd_touch: "Touches.",
        cmd_flush: "Flushes.",
        total_items: "Items stored.",
        touch_hits: "Touches of an existing key.",
        touch_misses: "Touches of an absent key.",
        delete_hits: "Deletes of an existing key.",
        delete_misses: "Deletes of an absent key.",
        incr_hits: "Increments of an existing key.",
        incr_misses: "Increments of an absent key.",
        decr_hits: "Decrements of an existing key.",
        decr_misses: "Decrements of an absent key.",
        cas_hits: "Cas that stored.",
        cas_misses: "Cas of an absent key.",
        cas_badval: "Cas of a key that has changed.",
        store_too_large: "Values above the item limit.",
        store_no_memory: "Stores refused because of a lack of memory.",
        store_no_space: "Stores refused because of a lack of space.",
        unreadable: "Operations refused because flash could not be read or written.",
        refused_busy: "Operations refused because too many were in flight.",
        timed_out: "Operations that timed out without a reply.",
        outcome_unknown: "Operations with an unknown outcome.",
        unavailable: "Operations refused because no server was available.",
        auth_cmds: "Authentications tried.",
        auth_errors: "Authentications refused.",
        tls_handshakes: "TLS handshakes completed.",
        tls_errors: "TLS connections that broke the protocol.",
        flash_reads: "Reads started for lookups.",
        flash_read_errors: "Reads that failed or found damage.",
        remote_requests: "Requests sent to another loop.",
        wake_ups: "Loops that had to be woken for a request or answer.",
        parked: "Operations that waited for a buffer or an index.",
        turns: "Turns of the loop.",
        turns_over_1ms: "Turns of more than a millisecond.",
        turns_over_10ms: "Turns of more than ten milliseconds.",
    }
    gauges {
        curr_connections: "Connections now.",
        buffered_bytes: "Bytes of requests and replies buffered now.",
        waiting: "Operations waiting for flash or a helper now.",
        paused: "Connections whose requests are not being read now.",
    }
    peaks {
        longest_turn_us: "Longest turn of the loop, in microseconds, without its waiting.",
    }
}

impl Counters {
    /// Operations of clients on one key each that were answered with what came of them.
    pub fn operations(&self) -> u64 {
        let counted = [
            &self.get_hits,
            &self.get_misses,
            &self.set_hits,
            &self.set_misses,
            &self.cas_hits,
            &self.cas_misses,
            &self.cas_badval,
            &self.delete_hits,
            &self.delete_misses,
            &self.incr_hits,
            &self.incr_misses,
            &self.decr_hits,
            &self.decr_misses,
            &self.touch_hits,
            &self.touch_misses,
        ];
        counted.into_iter().map(Counter::get).fold(0, u64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up_and_a_reset_keeps_states() {
        let loops = [Counters::default(), Counters::default()];
        loops[0].cmd_get.add(2);
        loops[1].cmd_get.add(3);
        loops[1].curr_connections.add(4);
        loops[0].longest_turn_us.max(9);
        loops[1].longest_turn_us.max(7);
        let totals = Totals::of(&loops);
        assert_eq!((totals.cmd_get, totals.curr_connections, totals.longest_turn_us), (5, 4, 9));
        loops.iter().for_each(Counters::reset);
        assert_eq!(Totals::of(&loops), Totals { curr_connections: 4, ..Totals::default() });
    }
}
