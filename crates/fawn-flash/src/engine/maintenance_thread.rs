//! The maintenance thread of a store: it seals, merges, loads and scans.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use fawn_store::work::{MaintenanceEvent, MaintenanceWork};
use fawn_store::{Maintenance, Step};

use super::pace::{MaintenancePace, OwedRest};
use crate::files::Files;

/// How long work that waits for space on the device is left alone.
const STALL: Duration = Duration::from_millis(100);
/// How often removed files that are still being read are looked at.
const HELD: Duration = Duration::from_millis(50);

/// What a maintenance thread does: works until the other end of `inbox` is dropped, as fast as `pace` says, and gives away
/// events.
pub fn maintain(
    mut maintenance: Maintenance,
    files: &Arc<Files>,
    pace: &MaintenancePace,
    inbox: &Receiver<MaintenanceWork>,
    mut deliver: impl FnMut(MaintenanceEvent),
) {
    let mut rest = OwedRest::default();
    loop {
        loop {
            match inbox.try_recv() {
                Ok(work) => maintenance.submit(work),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        let began = Instant::now();
        let step = maintenance.step(&**files);
        if maintenance.may_rest() {
            rest.owe(pace, began.elapsed());
        } else {
            rest.forget();
        }
        let held = files.close_removed();
        let wait = match step {
            Step::Event(event) => {
                deliver(event);
                rest.take()
            }
            Step::More => rest.take(),
            Step::Idle if held => HELD,
            Step::Idle => Duration::MAX,
            Step::Stalled => STALL,
        };
        if wait.is_zero() {
            continue;
        }
        match inbox.recv_timeout(wait) {
            Ok(work) => maintenance.submit(work),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
