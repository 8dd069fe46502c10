//! Stopping: on request, or because a store has stopped.

use super::{EventLoop, mark};
use crate::net::reply_queue::FillOutcome;
use crate::request::STOPPED;
use crate::shard::backend::Backend;
use rustix::event::epoll::EventFlags;

/// Milliseconds in which operations come to their end once no connection is left.
const SETTLING_MS: u64 = 1000;

impl<B: Backend> EventLoop<B> {
    /// A store has stopped: what waits for it is answered with an error, and the node stops.
    pub(super) fn fail_gates(&mut self, store: usize, why: &str) {
        let durable = self.worker.backend().durable(store);
        for token in self.worker.take_gated() {
            if let Some(conn) = self.connections.get_mut(token) {
                conn.gated = false;
                mark(&mut self.dirty, conn);
            }
        }
        for at in 0..self.connections.slots() {
            if let Some(conn) = self.connections.at(at).and_then(|token| self.connections.get_mut(token)) {
                let mut error = Vec::new();
                conn.flow.writer.write_error(&mut error, &STOPPED);
                conn.flow.broken |= conn.flow.answers.fail_gates(store as u16, durable, &error) == FillOutcome::Broken;
            }
        }
        self.shared.fail(why.to_owned());
    }

    /// A step of stopping: no new connections, what has been received is finished, then connections close.
    pub(super) fn stop_step(&mut self) {
        if !self.shared.is_stopping() {
            return;
        }
        if self.drained {
            return self.give_up_late();
        }
        let now = self.now.ms;
        let since = if let Some(since) = self.stopping_since {
            since
        } else {
            self.begin_stop();
            *self.stopping_since.insert(now)
        };
        let late = self.is_late(since);
        for at in 0..self.connections.slots() {
            let Some(token) = self.connections.at(at) else { continue };
            if late {
                self.close(token);
            } else {
                self.settle(token);
            }
        }
        if self.connections.len() == 0 && !self.shared.has_accepted(self.number) {
            self.drained = true;
            self.shared.note_drained();
        }
    }

    fn is_late(&self, since: u64) -> bool {
        self.now.ms - since >= self.shared.limits.stop_timeout.as_millis() as u64
    }

    /// All connections are closed. What they asked for is finished if it can be; a device that does not answer would
    /// keep the node for ever.
    fn give_up_late(&mut self) {
        // Only when the last connection of all loops is gone is every operation on its way to its end.
        if self.shared.is_drained() && self.all_drained_since.is_none() {
            self.all_drained_since = Some(self.now.ms);
        }
        let settled = self.all_drained_since.is_some_and(|since| self.now.ms >= since + SETTLING_MS);
        let late = settled && self.stopping_since.is_some_and(|since| self.is_late(since));
        if self.gave_up || self.worker.backend().is_idle() || !late {
            return;
        }
        self.gave_up = true;
        let why = format!(
            "operations were still in flight {} s after the node began to stop, and it gives them up (none was acknowledged): the device does not respond, see the kernel's log",
            self.shared.limits.stop_timeout.as_secs_f32()
        );
        tracing::error!("{why}");
        self.shared.fail(why);
    }

    pub(super) fn begin_stop(&mut self) {
        self.stop_accepting(u64::MAX);
        self.listeners.clear();
        self.reserved.clear();
        self.take_accepted();
        for at in 0..self.connections.slots() {
            let Some(token) = self.connections.at(at) else { continue };
            // What the kernel has received was sent before the node began to stop.
            if self.gather(token, EventFlags::IN) {
                self.work_group();
            } else {
                self.on_socket(token, EventFlags::IN);
            }
            let Some(conn) = self.connections.get_mut(token) else { continue };
            self.worker.hang_up(conn);
            self.settle(token);
        }
    }
}
