use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fawn_store::flash::Flash as _;
use fawn_store::page::PageBuf;
use rustix::event::epoll;

use super::*;
use crate::Caching;

const PAGES: u64 = 64;

/// The first bytes of a page, as [`filled`] writes them.
fn mark(file: u64, page: u64) -> [u8; 16] {
    let mut mark = [0; 16];
    mark[..8].copy_from_slice(&file.to_le_bytes());
    mark[8..].copy_from_slice(&page.to_le_bytes());
    mark
}

/// `count` segments, 0 .. count, of [`PAGES`] pages that name themselves.
fn filled(count: u64, caching: Caching) -> (tempfile::TempDir, Arc<Files>) {
    let directory = tempfile::tempdir().unwrap();
    let files = Files::open(directory.path(), caching).unwrap();
    for number in 0..count {
        fill(&files, number);
    }
    (directory, Arc::new(files))
}

fn fill(files: &Files, number: u64) {
    let mut pages = PageBuf::zeroed(PAGES as usize);
    for (page, bytes) in pages.pages_mut().iter_mut().enumerate() {
        bytes.0[..16].copy_from_slice(&mark(number, page as u64));
        bytes.0[4080..].copy_from_slice(&mark(number, page as u64));
    }
    files.create(FileId::Segment(number), PAGES).unwrap();
    files.write(FileId::Segment(number), 0, pages.pages()).unwrap();
}

/// Runs `test` with a reader of every kind.
fn every_path(options: ReaderOptions, files: &Arc<Files>, test: impl Fn(&mut Reader)) {
    for (path, issuer) in
        [(ReadPath::Auto, Issuer::OneThread), (ReadPath::Auto, Issuer::AnyThread), (ReadPath::Pread, Issuer::OneThread)]
    {
        test(&mut Reader::new(Arc::clone(files), ReaderOptions { path, issuer, ..options }).unwrap());
    }
}

fn finish(reader: &mut Reader, mut done: impl FnMut(u64, Result<&mut [Page], FlashError>)) {
    while reader.in_flight() > 0 {
        if !reader.has_completions() {
            reader.wait(1).unwrap();
        }
        if reader.in_flight().is_multiple_of(3) {
            reader.complete(&mut done).unwrap();
        } else {
            reader.take(1, &mut done).unwrap();
        }
    }
}

/// A stream of numbers that looks random.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn random_reads_of_all_lengths_come_back_with_their_pages() {
    for caching in [Caching::Auto, Caching::Buffered] {
        let (_directory, files) = filled(5, caching);
        every_path(ReaderOptions { depth: 8, threads: 3, ..ReaderOptions::default() }, &files, |reader| {
            let mut state = 88_172_645_463_325_252;
            for _ in 0..30 {
                let mut asked = HashMap::new();
                for _ in 0..next(&mut state) % 40 {
                    let first = next(&mut state) % (PAGES - 9);
                    let request = (next(&mut state) % 5, first, next(&mut state) % 9 + 1);
                    let token = next(&mut state);
                    reader.push(token, FileId::Segment(request.0), request.1, request.2 as u32);
                    asked.insert(token, request);
                    if next(&mut state).is_multiple_of(4) {
                        reader.submit().unwrap();
                    }
                }
                assert_eq!(reader.in_flight(), asked.len());
                finish(reader, |token, pages| {
                    let (file, first, count) = asked.remove(&token).expect("every token comes back once");
                    let pages = pages.unwrap();
                    assert_eq!(pages.len() as u64, count);
                    for (page, number) in pages.iter().zip(first..) {
                        assert_eq!(page.0[..16], mark(file, number));
                        assert_eq!(page.0[4080..], mark(file, number));
                    }
                });
                assert!(asked.is_empty());
            }
        });
    }
}

#[test]
fn reads_that_cannot_be_done_come_back_as_errors() {
    let (_directory, files) = filled(1, Caching::Auto);
    every_path(ReaderOptions { depth: 2, threads: 2, ..ReaderOptions::default() }, &files, |reader| {
        for round in 0..3 {
            // More than the depth, so that failures are met while others wait.
            for token in 0..12 {
                let (file, first) = match token % 3 {
                    0 => (FileId::Segment(0), 3),
                    1 => (FileId::Segment(0), PAGES - 1),
                    _ => (FileId::Segment(99), 0),
                };
                reader.push(token, file, first, 2);
            }
            let mut seen = 0;
            finish(reader, |token, pages| {
                seen += 1;
                match token % 3 {
                    0 => assert_eq!(pages.unwrap()[1].0[..16], mark(0, 4)),
                    1 => assert_eq!(pages.err(), Some(FlashError::Short(FileId::Segment(0)))),
                    _ => assert_eq!(pages.err(), Some(FlashError::NotFound(FileId::Segment(99)))),
                }
            });
            assert_eq!(seen, 12, "round {round}");
        }
    });
}

#[test]
fn reads_for_which_there_is_no_descriptor_are_tried_again_and_refused_in_the_end() {
    let (directory, _) = filled(2, Caching::Auto);
    for path in [ReadPath::Auto, ReadPath::Pread] {
        // None of its files is open yet.
        let files = Arc::new(Files::open(directory.path(), Caching::Auto).unwrap());
        let options = ReaderOptions { path, depth: 16, threads: 2, ..ReaderOptions::default() };
        let mut reader = Reader::new(Arc::clone(&files), options).unwrap();
        let mut read = |file| {
            for token in 0..6 {
                reader.push(token, FileId::Segment(file), token, 1);
            }
            reader.submit().unwrap();
            let mut results = Vec::new();
            finish(&mut reader, |token, pages| results.push(pages.map(|pages| pages[0].0[..16] == mark(file, token))));
            results
        };
        files.refusals.store(u32::MAX, Ordering::Relaxed);
        let refused = read(0);
        assert_eq!(refused.len(), 6);
        assert!(refused.iter().all(|result| matches!(result, Err(FlashError::Transient(_)))), "{refused:?}");
        // Each try asks twice.
        files.refusals.store(7, Ordering::Relaxed);
        assert_eq!(read(0), vec![Ok(true); 6], "a shortage that passes");
        files.refusals.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(read(0), vec![Ok(true); 6], "a file that is open");
    }
}

#[test]
fn a_waiting_epoll_is_told_of_every_batch() {
    let (_directory, files) = filled(1, Caching::Auto);
    every_path(ReaderOptions::default(), &files, |reader| {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, &*reader, epoll::EventData::new_u64(7), flags).unwrap();
        for round in 0..200 {
            // Failures before the kernel is asked are announced too.
            let missing = round % 10 == 9;
            reader.push(round, FileId::Segment(if missing { 50 } else { 0 }), round % PAGES, 1);
            reader.submit().unwrap();
            let mut back = 0;
            while back == 0 {
                let mut events = Vec::with_capacity(4);
                let wait = rustix::time::Timespec { tv_sec: 10, tv_nsec: 0 };
                match epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
                    Ok(_) => {}
                    // A ring that any thread may use interrupts the waiting one.
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(errno) => panic!("{errno}"),
                }
                assert!(!events.is_empty(), "round {round}: nothing was announced within ten seconds");
                back = reader
                    .complete(|token, pages| {
                        assert_eq!(token, round);
                        assert_eq!(pages.is_err(), missing);
                    })
                    .unwrap();
            }
            assert_eq!(reader.in_flight(), 0);
        }
    });
}

/// Waits in `poll` until something is announced, ten seconds at the most.
fn announced(poll: &std::os::fd::OwnedFd) -> bool {
    let wait = rustix::time::Timespec { tv_sec: 10, tv_nsec: 0 };
    loop {
        let mut events = Vec::with_capacity(4);
        match epoll::wait(poll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
            Ok(_) => return !events.is_empty(),
            // A ring that any thread may use interrupts the waiting one.
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => panic!("{errno}"),
        }
    }
}

#[test]
fn a_large_batch_is_begun_before_it_is_submitted() {
    let (_directory, files) = filled(1, Caching::Auto);
    every_path(ReaderOptions::default(), &files, |reader| {
        if reader.name() != "io_uring" {
            return;
        }
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, &*reader, epoll::EventData::new_u64(7), flags).unwrap();
        for token in 0..PAGES {
            reader.push(token, FileId::Segment(0), token, 1);
        }
        assert!(announced(&poll), "nothing came back of what was not submitted");
        let mut seen = 0;
        finish(reader, |token, pages| {
            assert_eq!(pages.unwrap()[0].0[..16], mark(0, token));
            seen += 1;
        });
        assert_eq!(seen, PAGES);
    });
}

#[test]
fn a_reader_that_was_waited_for_announces_again() {
    let (_directory, files) = filled(1, Caching::Auto);
    every_path(ReaderOptions::default(), &files, |reader| {
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poll, &*reader, epoll::EventData::new_u64(7), flags).unwrap();
        for round in 0..100 {
            for token in 0..5 {
                reader.push(token, FileId::Segment(0), token, 1);
            }
            finish(reader, |_, pages| assert!(pages.is_ok()));
            // For nothing.
            reader.wait(1).unwrap();
            assert_eq!(reader.complete(|_, _| {}).unwrap(), 0);
            // What was announced of these is none of what follows.
            let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut events = Vec::with_capacity(4);
            let _ = epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), Some(&now));
            reader.push(9, FileId::Segment(0), 9, 1);
            reader.submit().unwrap();
            let mut back = 0;
            while back == 0 {
                assert!(announced(&poll), "round {round}: nothing was announced within ten seconds");
                back = reader.complete(|_, pages| assert!(pages.is_ok())).unwrap();
            }
        }
    });
}

#[test]
fn files_may_go_while_their_reads_are_under_way_or_wait() {
    for _ in 0..20 {
        let (_directory, files) = filled(1, Caching::Auto);
        every_path(ReaderOptions { depth: 8, threads: 2, ..ReaderOptions::default() }, &files, |reader| {
            for number in 1..5 {
                fill(&files, number);
            }
            // Far more than there are buffers.
            for token in 0..5 * PAGES {
                reader.push(
                    token,
                    FileId::Segment(token % 5),
                    token / 5,
                    1 + (token % 3).min(PAGES - 1 - token / 5) as u32,
                );
            }
            reader.submit().unwrap();
            for number in 1..5 {
                files.remove(FileId::Segment(number)).unwrap();
            }
            let mut seen = vec![false; 5 * PAGES as usize];
            let mut gone = 0;
            finish(reader, |token, pages| {
                assert!(!std::mem::replace(&mut seen[token as usize], true), "{token} came back twice");
                match pages {
                    Ok(pages) => {
                        for (page, number) in pages.iter().zip(token / 5..) {
                            assert_eq!(page.0[..16], mark(token % 5, number));
                        }
                    }
                    Err(error) => {
                        assert!(token % 5 > 0, "a file that stays cannot be read: {error}");
                        assert_eq!(error, FlashError::NotFound(FileId::Segment(token % 5)));
                        gone += 1;
                    }
                }
            });
            assert!(seen.iter().all(|seen| *seen));
            // Of the first eight, six were of files that went.
            let under_way = if reader.name() == "io_uring" { 6 } else { 0 };
            assert!(gone + under_way <= 4 * PAGES, "what was under way is read to its end");
            // All buffers are there for what follows, and nobody holds the removed files any more.
            for token in 0..PAGES {
                reader.push(token, FileId::Segment(0), token, 1);
            }
            finish(reader, |token, pages| assert_eq!(pages.unwrap()[0].0[..16], mark(0, token)));
            assert!(!files.close_removed() || !files.close_removed());
            assert_eq!(deleted_but_open(&files.path().to_string_lossy()), 0, "a removed file is still open");
        });
    }
}

#[test]
fn what_the_kernel_fails_to_read_comes_back_as_an_error_and_its_buffer_is_used_again() {
    let (directory, files) = filled(1, Caching::Buffered);
    // Nothing is mapped at the beginning of the address space: EIO.
    std::os::unix::fs::symlink("/proc/self/mem", directory.path().join(FileId::Segment(7).to_string())).unwrap();
    every_path(ReaderOptions { depth: 2, threads: 2, ..ReaderOptions::default() }, &files, |reader| {
        for _ in 0..3 {
            for token in 0..20 {
                reader.push(token, FileId::Segment(if token % 2 == 0 { 0 } else { 7 }), token, 1);
            }
            let mut failed = 0;
            finish(reader, |token, pages| match pages {
                Ok(pages) => assert_eq!(pages[0].0[..16], mark(0, token)),
                Err(FlashError::Io(text)) => {
                    assert!(token % 2 == 1 && text.contains("reading"), "{text}");
                    failed += 1;
                }
                Err(error) => panic!("{error:?}"),
            });
            assert_eq!(failed, 10);
        }
    });
}

#[test]
fn reads_by_io_uring_allocate_nothing() {
    let (_directory, files) = filled(3, Caching::Auto);
    every_path(ReaderOptions { depth: 16, ..ReaderOptions::default() }, &files, |reader| {
        if reader.name() != "io_uring" {
            return;
        }
        let mut round = || {
            for token in 0..PAGES {
                reader.push(token, FileId::Segment(token % 3), token % (PAGES - 4), 1 + (token % 4) as u32);
            }
            finish(reader, |_, pages| assert!(pages.is_ok()));
        };
        // Files are opened, queues grow.
        round();
        assert_eq!(allocation_counter::measure(|| (0..50).for_each(|_| round())).count_total, 0);
    });
}

#[test]
fn removed_files_give_their_space_back_and_new_ones_are_read() {
    let (_directory, files) = filled(2, Caching::Auto);
    every_path(ReaderOptions::default(), &files, |reader| {
        let read = |reader: &mut Reader, number: u64| {
            let mut result = None;
            reader.push(1, FileId::Segment(number), 9, 1);
            finish(reader, |_, pages| result = Some(pages.map(|pages| pages[0].0[..16].to_vec())));
            result.unwrap()
        };
        for round in 10..30 {
            fill(&files, round);
            assert_eq!(read(reader, round).unwrap(), mark(round, 9));
            files.remove(FileId::Segment(round)).unwrap();
            let directory = files.path().to_string_lossy().into_owned();
            let registered = reader.name() == "io_uring";
            assert_eq!(files.close_removed(), registered);
            // Even when nothing is read. And it is not the reader's thread that waits for the space to be freed.
            assert_eq!(reader.holds_removed(), registered);
            if round % 2 == 0 {
                reader.submit().unwrap();
            } else {
                assert_eq!(reader.complete(|_, _| {}).unwrap(), 0);
            }
            assert!(!reader.holds_removed());
            assert_eq!(deleted_but_open(&directory), usize::from(registered), "the reader closed a removed file");
            assert!(!files.close_removed());
            assert_eq!(deleted_but_open(&directory), 0, "a removed file is still open");
            assert_eq!(read(reader, round), Err(FlashError::NotFound(FileId::Segment(round))));
        }
    });
}

/// Descriptors of this process that belong to removed files of `directory`.
pub(crate) fn deleted_but_open(directory: &str) -> usize {
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    links
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .map(|link| link.to_string_lossy().into_owned())
        .filter(|link| link.starts_with(directory) && link.ends_with("(deleted)"))
        .count()
}

#[test]
fn reads_and_removals_may_run_at_once() {
    let (_directory, files) = filled(1, Caching::Auto);
    every_path(ReaderOptions { depth: 16, threads: 4, ..ReaderOptions::default() }, &files, |reader| {
        let stop = AtomicBool::new(false);
        let newest = AtomicU64::new(files.removals() + 100);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let number = newest.load(Ordering::Relaxed);
                    fill(&files, number);
                    std::thread::sleep(Duration::from_micros(300));
                    files.remove(FileId::Segment(number)).unwrap();
                    newest.store(number + 1, Ordering::Relaxed);
                }
                let left: Vec<_> =
                    files.list().unwrap().into_iter().filter(|(file, _)| *file != FileId::Segment(0)).collect();
                assert!(left.is_empty());
            });
            let mut state = 42;
            for _ in 0..200 {
                for _ in 0..20 {
                    let number = if next(&mut state).is_multiple_of(2) { 0 } else { newest.load(Ordering::Relaxed) };
                    let page = next(&mut state) % PAGES;
                    reader.push(number << 32 | page, FileId::Segment(number), page, 1);
                }
                finish(reader, |token, pages| {
                    let (number, page) = (token >> 32, token & 0xffff_ffff);
                    match pages {
                        // A page of a file that was just created may still be zeros.
                        Ok(pages) if number >= 100 && pages[0].0[..16] == [0; 16] => {}
                        Ok(pages) => assert_eq!(pages[0].0[..16], mark(number, page)),
                        Err(error) => assert!(
                            number >= 100 && matches!(error, FlashError::NotFound(_) | FlashError::Short(_)),
                            "{error}"
                        ),
                    }
                });
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_reader_may_be_dropped_with_reads_in_flight() {
    let (_directory, files) = filled(2, Caching::Auto);
    for _ in 0..20 {
        every_path(ReaderOptions { depth: 4, threads: 2, ..ReaderOptions::default() }, &files, |reader| {
            for token in 0..20 {
                reader.push(token, FileId::Segment(token % 2), token, 6);
            }
            reader.submit().unwrap();
            reader.push(99, FileId::Segment(0), 0, 1);
        });
    }
}

#[test]
fn a_reader_made_on_one_thread_is_used_by_another() {
    let (_directory, files) = filled(1, Caching::Auto);
    let mut reader = Reader::new(files, ReaderOptions::default()).unwrap();
    let used = std::thread::spawn(move || {
        reader.push(5, FileId::Segment(0), 5, 1);
        let mut seen = 0;
        finish(&mut reader, |token, pages| {
            assert_eq!(pages.unwrap()[0].0[..16], mark(0, token));
            seen += 1;
        });
        seen
    });
    assert_eq!(used.join().unwrap(), 1);
}

#[test]
fn the_path_that_is_forced_is_taken() {
    let (_directory, files) = filled(0, Caching::Auto);
    let of = |path| Reader::new(Arc::clone(&files), ReaderOptions { path, ..ReaderOptions::default() });
    assert_eq!(of(ReadPath::Pread).unwrap().name(), "pread");
    // Where the system refuses, it says so.
    match of(ReadPath::IoUring) {
        Ok(reader) => assert_eq!(reader.name(), "io_uring"),
        Err(error) => assert!(error.to_string().contains("io_uring"), "{error}"),
    }
}
