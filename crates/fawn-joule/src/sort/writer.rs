//! Bytes on their way to a file: threads that each fill a range of it, and others that write.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::direct::DirectFile;
use super::error::SortError;
use super::monitor::ByteMonitor;
use super::pages::{PAGE_BYTES, Pages, PagesPool};

/// Buffers of a range: one is filled while the others are written.
pub const BUFFERS_A_RANGE: usize = 3;

const PAGE: u64 = PAGE_BYTES as u64;

/// A stretch of a file that ranges fill together. It begins with a page.
#[derive(Debug)]
pub struct WriteTarget<'f> {
    file: &'f DirectFile,
    end: u64,
    /// Pages that two ranges share, or that end the stretch, until all of their bytes are there, which are counted.
    shared: Mutex<HashMap<u64, (Pages, usize)>>,
}

impl<'f> WriteTarget<'f> {
    /// The stretch of a file that ends at `end`.
    pub fn new(file: &'f DirectFile, end: u64) -> Self {
        Self { file, end, shared: Mutex::default() }
    }

    /// Writes bytes that lie in a buffer as they will in the file's pages: the first of the buffer is that of a page, and those
    /// before `from` are no part of them.
    fn write(&self, buffer: &[u8], offset: u64, from: usize, to: usize) -> Result<(), SortError> {
        let (first, last) = (from.next_multiple_of(PAGE_BYTES), to / PAGE_BYTES * PAGE_BYTES);
        if first > last {
            return self.share(offset + from as u64, &buffer[from..to]);
        }
        self.share(offset + from as u64, &buffer[from..first])?;
        self.file.write_pages(&buffer[first..last], offset + first as u64)?;
        self.share(offset + last as u64, &buffer[last..to])
    }

    /// Keeps part of a page until all of it is there.
    fn share(&self, offset: u64, bytes: &[u8]) -> Result<(), SortError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (page, at) = (offset / PAGE * PAGE, (offset % PAGE) as usize);
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut pages, known) = match shared.remove(&page) {
            Some(pages) => pages,
            None => (Pages::with_bytes(PAGE_BYTES)?, 0),
        };
        pages.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        let known = known + bytes.len();
        if known as u64 == PAGE.min(self.end - page) {
            drop(shared);
            return self.file.write_pages(pages.bytes(), page);
        }
        shared.insert(page, (pages, known));
        Ok(())
    }
}

/// A buffer to be written.
pub struct WriteJob<'f> {
    target: &'f WriteTarget<'f>,
    buffer: Pages,
    offset: u64,
    from: usize,
    to: usize,
    /// Where the buffer goes afterwards.
    home: Sender<Result<Pages, SortError>>,
}

/// Writes what comes until nobody sends any more.
pub fn write_jobs(jobs: &Mutex<Receiver<WriteJob<'_>>>, monitor: &ByteMonitor<'_>, what: &str) {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(WriteJob { target, buffer, offset, from, to, home }) = job else { return };
        let written = target.write(buffer.bytes(), offset, from, to);
        monitor.add((to - from) as u64, what);
        // Whoever has failed meanwhile does not wait for it.
        let _ = home.send(written.map(|()| buffer));
    }
}

/// Fills a range of a file, from its beginning to its end.
pub struct RangeWriter<'f> {
    target: &'f WriteTarget<'f>,
    pool: &'f PagesPool,
    jobs: Sender<WriteJob<'f>>,
    buffer: Pages,
    /// The page of the file that the buffer's first byte is in.
    offset: u64,
    /// Where the range's bytes begin in the buffer, and where the next goes.
    from: usize,
    at: usize,
    home: Sender<Result<Pages, SortError>>,
    returned: Receiver<Result<Pages, SortError>>,
}

impl<'f> RangeWriter<'f> {
    /// Begins at `offset` of the file, with buffers of a pool.
    ///
    /// # Errors
    /// [`SortError::NoMemory`].
    pub fn new(
        target: &'f WriteTarget<'f>,
        offset: u64,
        pool: &'f PagesPool,
        jobs: Sender<WriteJob<'f>>,
    ) -> Result<Self, SortError> {
        let (home, returned) = channel();
        for _ in 1..BUFFERS_A_RANGE {
            let _ = home.send(pool.take());
        }
        let from = (offset % PAGE) as usize;
        let buffer = pool.take()?;
        Ok(Self { target, pool, jobs, buffer, offset: offset - from as u64, from, at: from, home, returned })
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Bytes before cannot be written.
    #[inline]
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SortError> {
        match self.buffer.bytes_mut()[self.at..].get_mut(..bytes.len()) {
            Some(target) => {
                target.copy_from_slice(bytes);
                self.at += bytes.len();
                Ok(())
            }
            None => self.append_across(bytes),
        }
    }

    #[cold]
    fn append_across(&mut self, mut bytes: &[u8]) -> Result<(), SortError> {
        while !bytes.is_empty() {
            if self.at == self.buffer.size() {
                self.pass_on()?;
            }
            let room = self.buffer.size() - self.at;
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.bytes_mut()[self.at..self.at + now.len()].copy_from_slice(now);
            self.at += now.len();
            bytes = later;
        }
        Ok(())
    }

    /// Has the buffer written, and goes on with another.
    fn pass_on(&mut self) -> Result<(), SortError> {
        let next = self.returned.recv().map_err(|_| SortError::Stopped)??;
        let buffer = std::mem::replace(&mut self.buffer, next);
        let size = buffer.size();
        self.send(buffer)?;
        (self.offset, self.from, self.at) = (self.offset + size as u64, 0, 0);
        Ok(())
    }

    fn send(&self, buffer: Pages) -> Result<(), SortError> {
        let Self { target, offset, from, at, .. } = self;
        let job = WriteJob { target, buffer, offset: *offset, from: *from, to: *at, home: self.home.clone() };
        self.jobs.send(job).map_err(|_| SortError::Stopped)
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<(), SortError> {
        self.pass_on()?;
        for _ in 1..BUFFERS_A_RANGE {
            self.pool.put(self.returned.recv().map_err(|_| SortError::Stopped)??);
        }
        self.pool.put(self.buffer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::output::{Leftovers, OutputFile};
    use fawn_report::Nobody;

    #[test]
    fn ranges_that_meet_within_pages_fill_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes: Vec<u8> = (0..50_001u32).map(|at| (at * 13 / 5) as u8).collect();
        let output = OutputFile::create(&path, bytes.len() as u64, &Leftovers::default()).unwrap();
        let (target, monitor) = (WriteTarget::new(output.file(), bytes.len() as u64), ByteMonitor::new(&Nobody, 0));
        let pool = PagesPool::new(8192);
        let (jobs, received) = channel();
        let received = Mutex::new(received);
        std::thread::scope(|scope| {
            scope.spawn(|| write_jobs(&received, &monitor, "bytes"));
            let jobs = jobs;
            // The last but one lies within a page, and the first ends with one.
            for (from, to) in [(9_000, 50_000), (0, 4096), (4096, 9_000), (50_000, 50_000), (50_000, 50_001)] {
                let mut writer = RangeWriter::new(&target, from as u64, &pool, jobs.clone()).unwrap();
                bytes[from..to].chunks(777).for_each(|part| writer.append(part).unwrap());
                writer.finish().unwrap();
            }
        });
        assert!(target.shared.lock().unwrap().is_empty());
        drop(received);
        output.finish().unwrap();
        assert!(std::fs::read(&path).unwrap() == bytes);
    }
}
