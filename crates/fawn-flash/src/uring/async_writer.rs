//! Writes that go on while their writer prepares the next: what seals, merges and bulk loads write.
//!
//! By an `io_uring` of its own, made when first needed. Where it is refused, writes are made at once. An error of a write
//! is returned by the next write to the same file, or when the file is finished, whichever comes first.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use fawn_store::flash::FileId;
use fawn_store::page::{PAGE_BYTES, Page, PageBuf};
use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;

use crate::os::open_file::OpenFile;
use crate::os::page_io;
use crate::os::retry::{is_transient, is_transient_in_ring};
use crate::uring::setup;

/// Writes that are under way at most: the device has one more to do as it finishes one.
const DEPTH: usize = 2;
/// How often writes under way are looked at when the kernel refuses to wait for them.
const LOOK: Duration = Duration::from_millis(1);

/// Makes room on a device that has none for a file; whether there may be some now.
type MakeRoom<'a> = &'a dyn Fn(FileId) -> bool;

/// Writes under way, of any files.
#[derive(Default)]
pub struct AsyncWriter {
    ring: WriterRing,
    under_way: [Option<WriteJob>; DEPTH],
    /// Buffers whose writes are done.
    spare: Vec<PageBuf>,
    /// Errors of writes that no call has returned yet.
    failed: Vec<(FileId, Errno)>,
}

#[derive(Default)]
enum WriterRing {
    #[default]
    Untried,
    Refused,
    Made(Box<IoUring>),
}

/// A write that the kernel has, or had.
struct WriteJob {
    file: FileId,
    open: Arc<OpenFile>,
    first: u64,
    pages: PageBuf,
    count: usize,
}

impl std::fmt::Debug for AsyncWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ring = match self.ring {
            WriterRing::Untried => "untried",
            WriterRing::Refused => "refused",
            WriterRing::Made(_) => "made",
        };
        let under_way = self.under_way.iter().flatten().map(|job| job.file).collect::<Vec<_>>();
        write!(f, "AsyncWriter(ring {ring}, under way {under_way:?}, failed {:?})", self.failed)
    }
}

impl AsyncWriter {
    /// Begins to write the first `count` of `pages`, for which the writer gets another buffer of as many pages. A write of any
    /// file that finds no space is tried again if `make_room` has made some.
    ///
    /// # Errors
    /// Those of an earlier write to the same file, or, where writes are made at once, of this one.
    pub fn write(
        &mut self,
        file: FileId,
        open: &Arc<OpenFile>,
        first: u64,
        pages: &mut PageBuf,
        count: usize,
        make_room: MakeRoom<'_>,
    ) -> Result<(), Errno> {
        self.collect(make_room);
        while self.under_way.iter().all(Option::is_some) {
            self.wait(make_room);
        }
        self.take_failed(file)?;
        if matches!(self.ring, WriterRing::Untried) {
            self.ring = setup::build(DEPTH, opcode::Write::CODE).map_or_else(
                |error| {
                    tracing::debug!(%error, "io_uring is not available: file writes run without parallel work");
                    WriterRing::Refused
                },
                |ring| WriterRing::Made(Box::new(ring)),
            );
        }
        let WriterRing::Made(ring) = &mut self.ring else {
            return write_now((file, open), first, &pages.pages()[..count], make_room);
        };
        let slot = self.under_way.iter().position(Option::is_none).expect("one was waited for");
        let bytes = &pages.bytes()[..count * PAGE_BYTES];
        let length = u32::try_from(bytes.len()).map_err(|_| Errno::INVAL)?;
        let entry = opcode::Write::new(types::Fd(open.as_fd().as_raw_fd()), bytes.as_ptr(), length)
            .offset(first * PAGE_BYTES as u64)
            .build()
            .user_data(slot as u64);
        let next = self.spare.iter().position(|spare| spare.len() == pages.len());
        let next = next.map_or_else(|| PageBuf::zeroed(pages.len()), |place| self.spare.swap_remove(place));
        let pages = std::mem::replace(pages, next);
        self.under_way[slot] = Some(WriteJob { file, open: Arc::clone(open), first, pages, count });
        // SAFETY: the buffer and the descriptor are the job's, which is kept until the entry has completed, or until it is
        // certain that the kernel is never handed it. Moving the job moves neither.
        let pushed = unsafe { ring.submission().push(&entry) };
        let submitted = pushed.map_err(io::Error::other).and_then(|()| submit(ring));
        if let Err(error) = submitted {
            tracing::warn!(%error, "io_uring accepts no more writes: file writes run without parallel work");
            return self.refuse(slot, make_room);
        }
        Ok(())
    }

    /// Waits until all writes to `file` are done; `make_room` as for [`write`](Self::write).
    ///
    /// # Errors
    /// That of the first of them that failed.
    pub fn finish(&mut self, file: FileId, make_room: MakeRoom<'_>) -> Result<(), Errno> {
        while self.under_way.iter().flatten().any(|job| job.file == file) {
            self.wait(make_room);
        }
        self.take_failed(file)
    }

    /// Without the ring from now on: what it has is waited for, and what it did not take, the job of `slot`, is made at once.
    fn refuse(&mut self, slot: usize, make_room: MakeRoom<'_>) -> Result<(), Errno> {
        let job = self.under_way[slot].take().expect("it was put there just now");
        // Not by a call that would hand it over after all: its memory goes with the end of this.
        while self.under_way.iter().any(Option::is_some) {
            if !self.collect(make_room) {
                std::thread::sleep(LOOK);
            }
        }
        self.ring = WriterRing::Refused;
        write_now((job.file, &job.open), job.first, &job.pages.pages()[..job.count], make_room)
    }

    /// Waits until something of what is under way is done.
    fn wait(&mut self, make_room: MakeRoom<'_>) {
        while !self.collect(make_room) {
            let WriterRing::Made(ring) = &self.ring else { return };
            match ring.submitter().submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INTR) => {}
                // They complete all the same.
                Err(_) => std::thread::sleep(LOOK),
            }
        }
    }

    /// Takes back what is done; whether anything was.
    fn collect(&mut self, make_room: MakeRoom<'_>) -> bool {
        let WriterRing::Made(ring) = &mut self.ring else { return false };
        let mut any = false;
        for entry in ring.completion() {
            let Some(job) = self.under_way[entry.user_data() as usize].take() else { continue };
            let result = entry.result();
            let written = usize::try_from(result).map_err(|_| Errno::from_raw_os_error(-result));
            if let Err(errno) = complete(&job, written, make_room) {
                self.failed.push((job.file, errno));
            }
            // The newest: writers of one kind follow each other, and their buffers are of one length.
            if self.spare.len() == DEPTH {
                self.spare.remove(0);
            }
            self.spare.push(job.pages);
            any = true;
        }
        any
    }

    /// As if a write to `file` had failed.
    #[cfg(test)]
    pub fn fail(&mut self, file: FileId, errno: Errno) {
        self.failed.push((file, errno));
    }

    fn take_failed(&mut self, file: FileId) -> Result<(), Errno> {
        let first = self.failed.iter().find(|(failed, _)| *failed == file).map(|(_, errno)| *errno);
        self.failed.retain(|(failed, _)| *failed != file);
        first.map_or(Ok(()), Err)
    }
}

impl Drop for AsyncWriter {
    fn drop(&mut self) {
        // The kernel reads their memory until then.
        while self.under_way.iter().any(Option::is_some) {
            self.wait(&|_| false);
        }
    }
}

/// Makes what is left of a write.
fn complete(job: &WriteJob, written: Result<usize, Errno>, make_room: MakeRoom<'_>) -> Result<(), Errno> {
    let whole = match written {
        Ok(bytes) => bytes / PAGE_BYTES,
        // What is left is written at once, which waits until it is possible.
        Err(errno) if is_transient(errno) || lacks_space(errno) => 0,
        Err(errno) => return Err(errno),
    };
    if whole == job.count {
        return Ok(());
    }
    let pages = &job.pages.pages()[whole..job.count];
    write_now((job.file, &job.open), job.first + whole as u64, pages, make_room)
}

fn lacks_space(errno: Errno) -> bool {
    matches!(errno, Errno::NOSPC | Errno::DQUOT)
}

/// Writes at once, and once more where there was no space and room was made.
fn write_now(
    (file, open): (FileId, &OpenFile),
    first: u64,
    pages: &[Page],
    make_room: MakeRoom<'_>,
) -> Result<(), Errno> {
    match page_io::write(open, first, pages) {
        Err(errno) if lacks_space(errno) && make_room(file) => page_io::write(open, first, pages),
        result => result,
    }
}

fn submit(ring: &IoUring) -> io::Result<()> {
    loop {
        match ring.submit() {
            Ok(_) => return Ok(()),
            Err(error) if is_transient_in_ring(&error) => std::thread::sleep(LOOK),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId::Segment(1);
    const NO_ROOM: MakeRoom<'static> = &|_| false;

    #[test]
    fn an_error_of_a_write_is_returned_once_and_for_its_own_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("read-only");
        std::fs::write(&path, b"").unwrap();
        // Opened for reading: the kernel refuses to write.
        let open = Arc::new(OpenFile::new(std::fs::File::open(&path).unwrap().into()));
        let good = Arc::new(OpenFile::new(std::fs::File::create(directory.path().join("good")).unwrap().into()));
        let (mut writer, mut pages) = (AsyncWriter::default(), PageBuf::zeroed(2));
        let begun = writer.write(FILE, &open, 0, &mut pages, 2, NO_ROOM);
        writer.write(FileId::Segment(3), &good, 0, &mut pages, 1, NO_ROOM).unwrap();
        writer.finish(FileId::Segment(3), NO_ROOM).unwrap();
        let result = begun.and_then(|()| writer.finish(FILE, NO_ROOM));
        assert_eq!(result, Err(Errno::BADF));
        assert_eq!(writer.finish(FILE, NO_ROOM), Ok(()));
        assert_eq!(std::fs::metadata(directory.path().join("good")).unwrap().len(), PAGE_BYTES as u64);
    }

    #[test]
    fn writes_go_on_without_a_ring() {
        let directory = tempfile::tempdir().unwrap();
        let good = Arc::new(OpenFile::new(std::fs::File::create(directory.path().join("good")).unwrap().into()));
        let (mut writer, mut pages) = (AsyncWriter::default(), PageBuf::zeroed(2));
        writer.write(FILE, &good, 0, &mut pages, 2, NO_ROOM).unwrap();
        writer.under_way.iter().position(Option::is_some).map(|slot| {
            // As if the kernel had completed it and taken no other.
            writer.finish(FILE, NO_ROOM).unwrap();
            writer.under_way[slot] =
                Some(WriteJob { file: FILE, open: Arc::clone(&good), first: 2, pages: PageBuf::zeroed(2), count: 2 });
            writer.refuse(slot, NO_ROOM)
        });
        writer.write(FILE, &good, 4, &mut pages, 1, NO_ROOM).unwrap();
        writer.finish(FILE, NO_ROOM).unwrap();
        assert_eq!(std::fs::metadata(directory.path().join("good")).unwrap().len(), 5 * PAGE_BYTES as u64);
    }

    #[test]
    fn a_write_that_finds_no_space_has_room_made_for_it_and_is_tried_again() {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let full = Arc::new(OpenFile::new(full.into()));
        let asked = std::cell::Cell::new(0);
        let make_room = |file| {
            assert_eq!(file, FILE);
            asked.set(asked.get() + 1);
            true
        };
        for without_ring in [false, true] {
            let (mut writer, mut pages) = (AsyncWriter::default(), PageBuf::zeroed(2));
            if without_ring {
                writer.ring = WriterRing::Refused;
            }
            asked.set(0);
            let begun = writer.write(FILE, &full, 0, &mut pages, 2, &make_room);
            let result = begun.and_then(|()| writer.finish(FILE, &make_room));
            assert_eq!((result, asked.get()), (Err(Errno::NOSPC), 1));
        }
    }
}
