//! Stopping: on request, or because a store has stopped.

use super::EventLoop;
use crate::net::reply_queue::FillOutcome;
use crate::request::STOPPED;
use crate::shard::backend::Backend;
use rustix::event::epoll::EventFlags;

impl<B: Backend> EventLoop<B> {
    /// A store has stopped: what waits for it is answered with an error, and the node stops.
    pub(super) fn fail_gates(&mut self, store: usize, why: &str) {
        let durable = self.worker.backend().durable(store);
        self.mark_gated();
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
        if self.stop.is_drained() {
            return self.give_up_late();
        }
        if !self.stop.has_begun() {
            self.begin_stop();
            self.stop.begin(self.now.ms);
        }
        let late = self.stop.is_late(self.now.ms);
        for at in 0..self.connections.slots() {
            let Some(token) = self.connections.at(at) else { continue };
            if late {
                self.close(token);
            } else {
                self.settle(token);
            }
        }
        if self.connections.len() == 0 && !self.shared.has_accepted(self.number) {
            self.stop.note_drained();
            self.shared.note_drained();
        }
    }

    /// All connections are closed. What they asked for is finished if it can be.
    fn give_up_late(&mut self) {
        let (all_drained, is_idle) = (self.shared.is_drained(), self.worker.backend().is_idle());
        if !self.stop.give_up(all_drained, is_idle, self.now.ms) {
            return;
        }
        let why = format!(
            "operations were still in flight {} s after the node began to stop, and it gives them up (none was acknowledged): the device does not respond, see the kernel's log",
            self.shared.limits.stop_timeout.as_secs_f32()
        );
        tracing::error!("{why}");
        self.shared.fail(why);
    }

    fn begin_stop(&mut self) {
        self.acceptor.close(self.worker.epoll());
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
