//! Memory of large values on their way from and to flash.

use crate::request::TaskTicket;
use std::collections::VecDeque;

/// Large values that are read and written, within a bound.
#[derive(Debug)]
pub struct LargeValues {
    /// Bytes of values that are being read and written.
    bytes: usize,
    /// Bytes that may be read at a time, unless it is one value.
    limit: usize,
    /// Tasks that wait until their value may be read.
    queue: VecDeque<TaskTicket>,
}

impl LargeValues {
    /// No values, of which `limit` bytes may be read at a time.
    pub fn new(limit: usize) -> Self {
        Self { bytes: 0, limit, queue: VecDeque::new() }
    }

    /// Bytes of values that are being read and written.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A value of so many bytes is written.
    pub fn begin_write(&mut self, bytes: usize) {
        self.bytes += bytes;
    }

    /// A value of so many bytes was read or written.
    pub fn end(&mut self, bytes: usize) {
        self.bytes -= bytes;
    }

    /// A task waits until its value may be read.
    pub fn queue(&mut self, ticket: TaskTicket) {
        self.queue.push_back(ticket);
    }

    /// The next task whose value may be read; `bytes_of` says how large the value of a task is.
    pub fn next(&mut self, bytes_of: impl Fn(TaskTicket) -> usize) -> Option<TaskTicket> {
        let ticket = *self.queue.front()?;
        let bytes = bytes_of(ticket);
        if self.bytes > 0 && self.bytes + bytes > self.limit {
            return None;
        }
        self.bytes += bytes;
        self.queue.pop_front()
    }

    /// All values count as being read: no read will come back any more, and each task is told so.
    pub fn begin_all(&mut self, bytes_of: impl Fn(TaskTicket) -> usize) {
        self.bytes += self.queue.drain(..).map(bytes_of).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_order_as_far_as_there_is_memory_and_one_always() {
        let mut values = LargeValues::new(100);
        let bytes_of = |ticket| [150, 60, 40, 1][ticket as usize];
        (0..4).for_each(|ticket| values.queue(ticket));
        assert_eq!((values.next(bytes_of), values.next(bytes_of)), (Some(0), None));
        values.end(150);
        assert_eq!((values.next(bytes_of), values.next(bytes_of), values.next(bytes_of)), (Some(1), Some(2), None));
        values.end(60);
        values.begin_write(30);
        assert_eq!((values.bytes(), values.next(bytes_of), values.next(bytes_of)), (70, Some(3), None));
    }
}
