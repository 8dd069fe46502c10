use std::path::Path;

use fawn_store::flash::{FileId, Fill, Flash, FlashError, Space};
use fawn_store::page::{PAGE_BYTES, PageBuf};
use rustix::io::Errno;

use crate::os::retry::Backoff;
use crate::{Caching, Files};

const SEGMENT: FileId = FileId::Segment(3);

/// `count` pages, each filled with its number plus `salt`.
fn pages(count: usize, salt: u8) -> PageBuf {
    let mut buffer = PageBuf::zeroed(count);
    for (number, page) in buffer.pages_mut().iter_mut().enumerate() {
        page.0.fill((number as u8).wrapping_add(salt));
    }
    buffer
}

/// Runs `test` on the real disk, around and through the page cache, and on a memory file system where there is one.
fn everywhere(test: impl Fn(Files)) {
    for caching in [Caching::Auto, Caching::Buffered] {
        let directory = tempfile::tempdir().unwrap();
        test(Files::open(directory.path(), caching).unwrap());
    }
    if let Ok(directory) = tempfile::tempdir_in("/dev/shm") {
        test(Files::open(directory.path(), Caching::Auto).unwrap());
    }
}

#[test]
fn pages_read_back_as_written_and_new_pages_are_zeros() {
    everywhere(|files| {
        files.create(SEGMENT, 16).unwrap();
        files.write(SEGMENT, 4, pages(3, 1).pages()).unwrap();
        let mut read = PageBuf::zeroed(5);
        files.read(SEGMENT, 3, read.pages_mut()).unwrap();
        assert!(read.pages()[0].0.iter().all(|byte| *byte == 0));
        assert_eq!(read.bytes()[PAGE_BYTES..4 * PAGE_BYTES], *pages(3, 1).bytes());
        assert!(read.pages()[4].0.iter().all(|byte| *byte == 0));
    });
}

#[test]
fn a_write_past_the_end_extends_and_a_read_past_it_is_short() {
    everywhere(|files| {
        files.create(SEGMENT, 0).unwrap();
        files.write(SEGMENT, 0, pages(2, 9).pages()).unwrap();
        files.write(SEGMENT, 2, pages(2, 9).pages()).unwrap();
        assert_eq!(files.list().unwrap(), [(SEGMENT, 4)]);
        let mut read = PageBuf::zeroed(2);
        files.read(SEGMENT, 2, read.pages_mut()).unwrap();
        assert_eq!(files.read(SEGMENT, 3, read.pages_mut()), Err(FlashError::Short(SEGMENT)));
        assert_eq!(files.read(SEGMENT, 30, read.pages_mut()), Err(FlashError::Short(SEGMENT)));
    });
}

#[test]
fn a_missing_file_is_not_found() {
    everywhere(|files| {
        let mut read = PageBuf::zeroed(1);
        assert_eq!(files.read(SEGMENT, 0, read.pages_mut()), Err(FlashError::NotFound(SEGMENT)));
        assert_eq!(files.write(SEGMENT, 0, read.pages()), Err(FlashError::NotFound(SEGMENT)));
        assert_eq!(files.remove(SEGMENT), Err(FlashError::NotFound(SEGMENT)));
        assert_eq!(files.sync(SEGMENT), Err(FlashError::NotFound(SEGMENT)));
    });
}

#[test]
fn creation_replaces_nothing() {
    everywhere(|files| {
        files.create(SEGMENT, 1).unwrap();
        files.write(SEGMENT, 0, pages(1, 5).pages()).unwrap();
        let error = files.create(SEGMENT, 1).unwrap_err();
        assert!(matches!(&error, FlashError::Io(text) if text.contains("exists")), "{error}");
        let mut read = PageBuf::zeroed(1);
        files.read(SEGMENT, 0, read.pages_mut()).unwrap();
        assert_eq!(read.bytes(), pages(1, 5).bytes());
    });
}

#[test]
fn a_file_too_large_for_the_device_is_refused_and_leaves_nothing() {
    // Only on a memory file system, which knows at once: a disk's would take all there is before it gives up.
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return };
    let files = Files::open(directory.path(), Caching::Auto).unwrap();
    let Space { total, free } = files.space().unwrap();
    assert_eq!(files.create(SEGMENT, 2 * total / PAGE_BYTES as u64), Err(FlashError::NoSpace));
    assert_eq!(files.list().unwrap(), []);
    assert!(files.space().unwrap().free > free / 2);
}

#[test]
fn a_file_too_large_for_the_file_system_is_refused_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), Caching::Auto).unwrap();
    let error = files.create(SEGMENT, (1 << 62) / PAGE_BYTES as u64).unwrap_err();
    assert!(matches!(error, FlashError::Io(_)), "{error}");
    assert_eq!(files.list().unwrap(), []);
}

#[test]
fn a_removed_file_can_still_be_read_by_who_has_it_open() {
    everywhere(|files| {
        files.create(SEGMENT, 2).unwrap();
        files.write(SEGMENT, 0, pages(2, 7).pages()).unwrap();
        let open = files.descriptor(SEGMENT).unwrap();
        let removals = files.removals();
        files.remove(SEGMENT).unwrap();
        assert_eq!(files.removals(), removals + 1);
        assert!(!files.exists(SEGMENT));
        let mut read = PageBuf::zeroed(2);
        assert_eq!(crate::os::page_io::read(&*open, 0, read.pages_mut(), &mut Backoff::default()), Ok(2 * PAGE_BYTES));
        assert_eq!(read.bytes(), pages(2, 7).bytes());
        assert_eq!(files.read(SEGMENT, 0, read.pages_mut()), Err(FlashError::NotFound(SEGMENT)));
    });
}

#[test]
fn punched_pages_read_as_zeros_and_keep_their_place() {
    everywhere(|files| {
        files.create(SEGMENT, 8).unwrap();
        files.write(SEGMENT, 0, pages(8, 1).pages()).unwrap();
        files.punch(SEGMENT, 1, 5).unwrap();
        let mut read = PageBuf::zeroed(8);
        files.read(SEGMENT, 0, read.pages_mut()).unwrap();
        for (number, page) in read.pages().iter().enumerate() {
            let expected = if (1..6).contains(&number) { 0 } else { number as u8 + 1 };
            assert!(page.0.iter().all(|byte| *byte == expected), "page {number}");
        }
        assert_eq!(files.list().unwrap(), [(SEGMENT, 8)]);
    });
}

#[test]
fn a_cut_file_is_shorter() {
    everywhere(|files| {
        files.create(SEGMENT, 8).unwrap();
        files.truncate(SEGMENT, 3).unwrap();
        assert_eq!(files.list().unwrap(), [(SEGMENT, 3)]);
    });
}

#[test]
fn durable_writes_and_syncs_are_taken() {
    everywhere(|files| {
        files.create(FileId::CommitLog, 600).unwrap();
        assert_eq!(files.list().unwrap(), [(FileId::CommitLog, 600)]);
        for (first, count) in [(0, 1), (599, 1), (300, 256)] {
            files.write_durably(FileId::CommitLog, first, pages(count, 3).pages()).unwrap();
            let mut read = PageBuf::zeroed(count);
            files.read(FileId::CommitLog, first, read.pages_mut()).unwrap();
            assert_eq!(read.bytes(), pages(count, 3).bytes());
        }
        files.sync(FileId::CommitLog).unwrap();
        files.sync_names().unwrap();
    });
}

#[test]
fn a_refused_synced_write_becomes_a_write_and_a_sync() {
    everywhere(|files| {
        files.synced_writes.store(false, std::sync::atomic::Ordering::Relaxed);
        files.create(FileId::CommitLog, 4).unwrap();
        files.write_durably(FileId::CommitLog, 1, pages(2, 3).pages()).unwrap();
        let mut read = PageBuf::zeroed(2);
        files.read(FileId::CommitLog, 1, read.pages_mut()).unwrap();
        assert_eq!(read.bytes(), pages(2, 3).bytes());
    });
}

#[test]
fn all_kinds_are_listed_and_foreign_files_are_not() {
    everywhere(|files| {
        let kinds = [FileId::Manifest(1), FileId::CommitLog, FileId::Segment(0xfeed), FileId::Value(2)];
        for (pages, file) in kinds.into_iter().enumerate() {
            files.create(file, pages as u64).unwrap();
        }
        std::fs::write(files.path().join("notes.txt"), "mine").unwrap();
        let mut listed = files.list().unwrap();
        listed.sort_unstable_by_key(|(_, pages)| *pages);
        assert_eq!(listed.into_iter().map(|(file, _)| file).collect::<Vec<_>>(), kinds);
    });
}

#[test]
fn errors_name_the_file_and_the_reason() {
    let missing = Files::open(Path::new("/no/such/place"), Caching::Auto).unwrap_err();
    assert!(missing.to_string().starts_with("/no/such/place: opening: No such file"), "{missing}");
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), Caching::Auto).unwrap();
    std::fs::create_dir(directory.path().join("segment-0000000000000003")).unwrap();
    let error = files.write(SEGMENT, 0, pages(1, 0).pages()).unwrap_err().to_string();
    assert!(error.contains("segment-0000000000000003: opening: Is a directory"), "{error}");
}

#[test]
fn thousands_of_files_stay_readable() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), Caching::Buffered).unwrap();
    for number in 0..1500 {
        files.create(FileId::Segment(number), 0).unwrap();
        files.write(FileId::Segment(number), 0, pages(1, number as u8).pages()).unwrap();
    }
    let mut read = PageBuf::zeroed(1);
    for number in 0..1500 {
        files.read(FileId::Segment(number), 0, read.pages_mut()).unwrap();
        assert_eq!(read.bytes()[17], number as u8);
    }
}

#[test]
fn a_descriptor_that_was_closed_to_save_space_is_opened_again() {
    everywhere(|files| {
        for number in 0..8 {
            files.create(FileId::Segment(number), 1).unwrap();
            files.write(FileId::Segment(number), 0, pages(1, number as u8).pages()).unwrap();
        }
        let in_use = files.descriptor(FileId::Segment(5)).unwrap();
        for _ in 0..8 {
            files.open.close_idle();
        }
        assert_eq!(files.open.len(), 1, "only the one in use stays");
        let mut read = PageBuf::zeroed(1);
        for number in 0..8 {
            files.read(FileId::Segment(number), 0, read.pages_mut()).unwrap();
            assert_eq!(read.bytes()[0], number as u8);
        }
        drop(in_use);
    });
}

#[test]
fn many_reads_at_once_bring_what_each_brings_alone() {
    everywhere(|files| {
        const FILES: u64 = 100;
        for number in 0..FILES {
            files.create(FileId::Segment(number), 0).unwrap();
            let mut all = pages(3, 0);
            for (n, page) in all.pages_mut().iter_mut().enumerate() {
                page.0.fill((number * 3 + n as u64) as u8);
            }
            files.write(FileId::Segment(number), 0, all.pages()).unwrap();
        }
        let mut read = PageBuf::zeroed(2 * FILES as usize);
        let fill = |(number, pages)| Fill { file: FileId::Segment(number), first: number % 2, pages };
        let mut fills: Vec<Fill<'_>> = (0..FILES).zip(read.pages_mut().chunks_mut(2)).map(fill).collect();
        files.read_many(&mut fills).unwrap();
        for fill in &fills {
            let FileId::Segment(number) = fill.file else { unreachable!() };
            for (n, page) in fill.pages.iter().enumerate() {
                assert_eq!(page.0, [(number * 3 + fill.first + n as u64) as u8; PAGE_BYTES], "file {number}");
            }
        }
        // One that reaches past the end, one that is not there.
        for (file, first) in [(FileId::Segment(7), 2), (FileId::Segment(FILES), 0)] {
            fills[40].file = file;
            fills[40].first = first;
            let (place, error) = files.read_many(&mut fills).unwrap_err();
            assert_eq!(place, 40);
            let expected = if first == 0 { FlashError::NotFound(file) } else { FlashError::Short(file) };
            assert_eq!(error, expected);
        }
    });
}

/// Pages of which each says its number.
fn numbered(pages: &mut PageBuf, first: u64) {
    for (place, page) in pages.pages_mut().iter_mut().enumerate() {
        page.payload_mut()[..8].copy_from_slice(&(first + place as u64).to_le_bytes());
    }
}

#[test]
fn what_was_written_behind_is_there_once_the_file_is_synced() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), Caching::Auto).unwrap();
    files.create(SEGMENT, 0).unwrap();
    let mut pages = PageBuf::zeroed(16);
    for first in (0..160).step_by(16) {
        numbered(&mut pages, first);
        files.write_behind(SEGMENT, first, &mut pages, 16).unwrap();
        assert_eq!(pages.len(), 16);
    }
    numbered(&mut pages, 160);
    files.write_behind(SEGMENT, 160, &mut pages, 3).unwrap();
    files.truncate(SEGMENT, 163).unwrap();
    files.sync(SEGMENT).unwrap();
    let mut read = PageBuf::zeroed(163);
    files.read(SEGMENT, 0, read.pages_mut()).unwrap();
    for (number, page) in read.pages().iter().enumerate() {
        assert_eq!(page.payload()[..8], (number as u64).to_le_bytes());
    }
    assert_eq!(files.traffic().written_bytes, 163 * PAGE_BYTES as u64);
    files.write_behind(SEGMENT, 163, &mut pages, 16).unwrap();
    files.remove(SEGMENT).unwrap();
    assert_eq!(files.list().unwrap(), []);
}

#[test]
fn a_file_that_is_synced_tells_what_failed_before() {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), Caching::Auto).unwrap();
    files.create(SEGMENT, 0).unwrap();
    files.async_writer.lock().unwrap().fail(SEGMENT, Errno::IO);
    assert!(matches!(files.sync(SEGMENT), Err(FlashError::Io(_))));
    files.async_writer.lock().unwrap().fail(SEGMENT, Errno::NOSPC);
    assert_eq!(files.truncate(SEGMENT, 0), Err(FlashError::NoSpace));
    files.async_writer.lock().unwrap().fail(SEGMENT, Errno::NOSPC);
    assert_eq!(files.write_behind(SEGMENT, 0, &mut PageBuf::zeroed(1), 1), Err(FlashError::NoSpace));
    files.sync(SEGMENT).unwrap();
}

/// A file system in memory of so many bytes, which a process in a mount namespace of its own holds; `None` where nothing may
/// be mounted.
struct SmallDisk {
    holder: std::process::Child,
    path: std::path::PathBuf,
    _mounted_on: tempfile::TempDir,
}

impl SmallDisk {
    fn new(bytes: u64) -> Option<Self> {
        use std::io::BufRead as _;
        let mounted_on = tempfile::tempdir().unwrap();
        let at = mounted_on.path().display();
        let script =
            format!("mount -t tmpfs -o size={bytes} tmpfs '{at}' && mkdir '{at}/store' && echo ready; read line");
        let mut unshare = std::process::Command::new("unshare");
        if !rustix::process::geteuid().is_root() {
            unshare.args(["--user", "--map-root-user"]);
        }
        let piped = std::process::Stdio::piped;
        let mut holder = unshare.args(["--mount", "sh", "-c", &script]).stdin(piped()).stdout(piped()).spawn().ok()?;
        let mut line = String::new();
        std::io::BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let path = std::path::PathBuf::from(format!("/proc/{}/root{at}", holder.id()));
        let disk = Self { holder, path, _mounted_on: mounted_on };
        (line == "ready\n").then_some(disk)
    }

    /// Another program writes until nothing is left.
    fn fill(&self) {
        use std::io::Write as _;
        let mut file = std::fs::File::create(self.path.join("other")).unwrap();
        while file.write_all(&[0; PAGE_BYTES]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

#[test]
fn what_is_written_behind_takes_the_space_that_is_kept_and_what_is_left_of_it_is_kept_again() {
    const KEPT: u64 = 2 << 20;
    let Some(disk) = SmallDisk::new(8 << 20) else {
        eprintln!("skipped: no file system may be mounted here");
        return;
    };
    let files = Files::open(&disk.path.join("store"), Caching::Auto).unwrap();
    assert_eq!(files.keep_spare(KEPT), KEPT);
    disk.fill();
    // As a merge does, which does not know how much it will write.
    files.create(SEGMENT, 0).unwrap();
    let count = 64;
    for first in [0, count] {
        files.write_behind(SEGMENT, first, &mut pages(count as usize, 7), count as usize).unwrap();
    }
    files.sync(SEGMENT).unwrap();
    let mut read = PageBuf::zeroed(count as usize);
    files.read(SEGMENT, count, read.pages_mut()).unwrap();
    assert!(read.bytes() == pages(count as usize, 7).bytes());
    let rest = KEPT - 2 * count * PAGE_BYTES as u64;
    assert_eq!(files.space().unwrap().free, rest);
    assert_eq!(files.keep_spare(KEPT), rest / 2, "half of what is left at a time");
    drop(files);
    let files = Files::open(&disk.path.join("store"), Caching::Auto).unwrap();
    assert_eq!(files.keep_spare(0), rest / 2);
    let kept = (0..10).map(|_| files.keep_spare(KEPT)).last().unwrap();
    assert!(kept < rest && kept > rest - (256 << 10), "{kept} of {rest}");
    // Files give it back as often as they need it.
    files.create(FileId::Segment(5), count).unwrap();
    files.remove(SEGMENT).unwrap();
    files.close_removed();
    let kept = (0..10).map(|_| files.keep_spare(KEPT)).last().unwrap();
    assert!(kept < KEPT && kept > KEPT - count * PAGE_BYTES as u64 - (256 << 10), "{kept}");
}
