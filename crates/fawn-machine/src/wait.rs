//! Waiting for events no longer than was asked for, to less than a millisecond.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, Event};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits for events of an epoll set, for `most` at most, and adds them to `events`, as many as it has room for.
///
/// `epoll_wait` knows whole milliseconds alone, and they are rounded up: what is due earlier would be late. `ppoll` waits for the
/// set to the nanosecond; it is asked only where that makes a difference.
///
/// # Errors
/// The system's; [`Errno::INTR`] where a signal came first.
pub fn wait(set: impl AsFd, events: &mut Vec<Event>, most: Duration) -> Result<(), Errno> {
    let mut left = most;
    if !most.subsec_nanos().is_multiple_of(1_000_000) {
        if poll(&mut [PollFd::new(&set, PollFlags::IN)], Some(&timespec(most)))? == 0 {
            return Ok(());
        }
        left = Duration::ZERO;
    }
    epoll::wait(&set, spare_capacity(events), Some(&timespec(left))).map(|_| ())
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use rustix::event::epoll::{CreateFlags, EventData, EventFlags};
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    #[test]
    fn less_than_a_millisecond_is_not_rounded_up() {
        let set = epoll::create(CreateFlags::CLOEXEC).unwrap();
        let mut events = Vec::with_capacity(4);
        let waited = |most: Duration, events: &mut Vec<Event>| {
            let began = Instant::now();
            wait(&set, events, most).unwrap();
            began.elapsed()
        };
        // The quickest of many: others may have the processor.
        let quickest = (0..50).map(|_| waited(Duration::from_micros(50), &mut events)).min().unwrap();
        assert!(quickest >= Duration::from_micros(50) && quickest < Duration::from_micros(900), "{quickest:?}");
        assert!(waited(Duration::from_millis(2), &mut events) >= Duration::from_millis(2) && events.is_empty());
        let bell = eventfd(1, EventfdFlags::CLOEXEC).unwrap();
        epoll::add(&set, &bell, EventData::new_u64(7), EventFlags::IN).unwrap();
        for most in [Duration::ZERO, Duration::from_micros(1500), Duration::from_mins(1)] {
            events.clear();
            waited(most, &mut events);
            assert_eq!(events.iter().map(|event| { event.data }.u64()).collect::<Vec<_>>(), [7], "{most:?}");
        }
    }
}
