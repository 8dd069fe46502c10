//! Traces on a disk: at their own times, or as fast as the disk replies.

use super::device::DiskDevice;
use super::request::{DiskCompletion, DiskRefusal, DiskRequest};

/// Issues each command at its time: an iterator over completions, by their times. Commands whose time is before the time
/// of the one in front of them are issued together with it.
#[derive(Debug)]
pub struct OpenReplay<'d, I> {
    disk: &'d mut DiskDevice,
    requests: I,
    next: Option<DiskRequest>,
    last_ns: u64,
}

impl<'d, I: Iterator<Item = DiskRequest>> OpenReplay<'d, I> {
    /// Replays `requests` on `disk`.
    pub fn new(disk: &'d mut DiskDevice, mut requests: I) -> Self {
        let (next, last_ns) = (requests.next(), disk.now_ns());
        Self { disk, requests, next, last_ns }
    }
}

impl<I: Iterator<Item = DiskRequest>> Iterator for OpenReplay<'_, I> {
    type Item = Result<DiskCompletion, DiskRefusal>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(mut request) = self.next else { return self.disk.next_completion(u64::MAX).map(Ok) };
            request.arrival_ns = request.arrival_ns.max(self.last_ns);
            if let Some(completion) = self.disk.next_completion(request.arrival_ns) {
                return Some(Ok(completion));
            }
            self.last_ns = request.arrival_ns;
            self.next = self.requests.next();
            if let Err(refusal) = self.disk.submit(request) {
                return Some(Err(refusal));
            }
        }
    }
}

/// Keeps so many commands at the disk, whatever their times: an iterator over completions, by their times. A command is
/// issued when another one is done.
#[derive(Debug)]
pub struct ClosedReplay<'d, I> {
    disk: &'d mut DiskDevice,
    requests: I,
    outstanding: usize,
    issue_ns: u64,
}

impl<'d, I: Iterator<Item = DiskRequest>> ClosedReplay<'d, I> {
    /// Replays `requests` on `disk`, `outstanding` at a time.
    pub fn new(disk: &'d mut DiskDevice, requests: I, outstanding: usize) -> Self {
        let issue_ns = disk.now_ns();
        Self { disk, requests, outstanding, issue_ns }
    }
}

impl<I: Iterator<Item = DiskRequest>> Iterator for ClosedReplay<'_, I> {
    type Item = Result<DiskCompletion, DiskRefusal>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.disk.pending() < self.outstanding
            && let Some(request) = self.requests.next()
        {
            if let Err(refusal) = self.disk.submit(DiskRequest { arrival_ns: self.issue_ns, ..request }) {
                return Some(Err(refusal));
            }
        }
        let completion = self.disk.next_completion(u64::MAX)?;
        self.issue_ns = completion.finish_ns;
        Some(Ok(completion))
    }
}
