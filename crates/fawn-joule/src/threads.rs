//! Work that threads do over and over for a fixed time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fawn_meter::{Meter, MeterError};

use crate::cost::{Cost, CostMeter};

/// Has each of `threads` threads do its work over and over for `time`: `prepare` makes the work of a thread by its number, and each
/// call of that does some and returns how much. Threads do not wait for each other meanwhile, and each ends a piece that it has
/// begun.
///
/// Gives all that was done, and what it cost. Each thread's first piece is not counted: it warms caches.
///
/// # Errors
/// The meter cannot be read.
pub fn work_for<W: FnMut() -> u64>(
    threads: usize,
    time: Duration,
    meter: Option<&Meter>,
    prepare: impl Fn(usize) -> W + Sync,
) -> Result<(u64, Cost), MeterError> {
    assert!(threads > 0, "somebody works");
    let (ready, begin, is_off) = (Barrier::new(threads + 1), Barrier::new(threads + 1), AtomicBool::new(false));
    let worker = |thread: usize| {
        let mut work = prepare(thread);
        work();
        ready.wait();
        begin.wait();
        if is_off.load(Ordering::Relaxed) {
            return 0;
        }
        let (began, mut done) = (Instant::now(), 0);
        while began.elapsed() < time {
            done += work();
        }
        done
    };
    thread::scope(|scope| {
        let worker = &worker;
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || worker(thread))).collect();
        ready.wait();
        let cost_meter = CostMeter::start(meter);
        is_off.store(cost_meter.is_err(), Ordering::Relaxed);
        begin.wait();
        let done = workers.into_iter().map(|worker| worker.join().expect("no work panics")).sum();
        Ok((done, cost_meter?.stop()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_works_for_the_time_and_what_it_did_is_added_up() {
        let time = Duration::from_millis(20);
        let (done, cost) = work_for(3, time, None, |thread| {
            move || {
                thread::sleep(Duration::from_millis(1));
                10u64.pow(thread as u32 * 3)
            }
        })
        .unwrap();
        let each = [done % 1000, done / 1000 % 1000, done / 1_000_000];
        assert!(each.iter().all(|calls| (1..=20).contains(calls)), "{each:?}");
        assert!(cost.seconds >= 0.02, "{cost:?}");
    }
}
