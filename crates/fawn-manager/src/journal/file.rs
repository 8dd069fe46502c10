//! A journal's file: it is opened once, appended to, and written anew when most of it is out of date.

use super::disk::{Disk, is_passing};
use super::format::{self, Damage, Id, MARKS};
use super::{Change, JournalImage};
use crate::clock::random;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A file that is smaller is not written anew.
const SMALL: u64 = 4 << 20;

/// A file is written anew when it is so many times as large as it was after the last time.
const GROWTH: u64 = 3;

/// So much room is taken beyond the end, so that what is small can be written while the device is full.
const ROOM: u64 = 128 << 10;

/// What a file is called until it is whole.
const UNFINISHED: &str = "log.new";

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// What is in it.
    #[error(transparent)]
    Damage(#[from] Damage),
}

/// The file, open.
#[derive(Debug)]
pub struct Writer {
    disk: Box<dyn Disk>,
    path: PathBuf,
    file: File,
    id: Id,
    /// Where the next frame goes.
    end: u64,
    next_mark: usize,
    /// Where the frames end that the newest mark knows of.
    marked: u64,
    /// Up to here there is room on the device, whatever others write.
    room: u64,
    /// It is written anew once it is as large.
    rewrite_at: u64,
    /// A sync has failed, or another file may have taken its name: what is in it counts no longer.
    is_suspect: bool,
}

impl Writer {
    /// Makes a file that holds just this, in place of the one that may be there.
    ///
    /// # Errors
    /// As the system says; the file that was there is there still, or its place is taken.
    pub fn create(disk: Box<dyn Disk>, path: &Path, image: &JournalImage) -> io::Result<Self> {
        let (file, id, end) = make(&*disk, path, image)?;
        Ok(Self::new(disk, path, file, (id, end, 0)))
    }

    fn new(disk: Box<dyn Disk>, path: &Path, file: File, (id, end, next_mark): (Id, u64, usize)) -> Self {
        let (path, rewrite_at) = (path.to_owned(), rewrite_at(end));
        let mut writer =
            Self { disk, path, file, id, end, next_mark, marked: 0, room: end, rewrite_at, is_suspect: false };
        writer.take_room();
        writer
    }

    /// Opens a file, and cuts off what was being written when it was used last.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(disk: Box<dyn Disk>, path: &Path) -> Result<(Self, JournalImage), OpenError> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let bytes = std::fs::read(path)?;
        let format::Journal { id, image, end, next_mark } = format::read(&bytes)?;
        if bytes.len() as u64 > end {
            file.set_len(end)?;
        }
        // What was read is acted on, so it must not go away.
        disk.sync(&file)?;
        let mut writer = Self::new(disk, path, file, (id, end, next_mark));
        writer.put_mark();
        Ok((writer, image))
    }

    /// Appends changes that happen together. `image`: what is kept then. With `is_synced` they outlive a power cut, as all before
    /// them.
    ///
    /// # Errors
    /// As the system says. The changes are not kept then; if the error [passes](is_passing), they can be appended again.
    pub fn append(
        &mut self,
        changes: &[Change],
        is_synced: bool,
        image: impl FnOnce() -> JournalImage,
    ) -> io::Result<()> {
        if self.is_suspect {
            return self.rewrite(&image());
        }
        let frame = format::frame(self.id, self.end, changes);
        self.disk.write(&self.file, &frame, self.end)?;
        if is_synced {
            // A page that could not be written may count as clean afterwards, so another file is written.
            self.disk.sync(&self.file).inspect_err(|_| self.is_suspect = true)?;
        }
        self.end += frame.len() as u64;
        if is_synced {
            self.put_mark();
            if self.end >= self.rewrite_at {
                self.shrink(&image())?;
            }
            self.take_room();
        }
        Ok(())
    }

    /// Takes room on the device for so many bytes.
    ///
    /// # Errors
    /// There is none.
    pub fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        if self.room < self.end + bytes {
            self.disk.reserve(&self.file, self.end, bytes)?;
            self.room = self.end + bytes;
        }
        Ok(())
    }

    /// Takes room again once half of it is used. If there is none, whoever writes will find out.
    fn take_room(&mut self) {
        if self.room < self.end + ROOM / 2 {
            let _ = self.reserve(ROOM);
        }
    }

    /// Everything so far was synced. A mark that cannot be written is missed by nobody: the one before it is good.
    fn put_mark(&mut self) {
        let mark = format::mark(self.id, self.next_mark, self.end);
        if self.disk.write(&self.file, &mark, MARKS[self.next_mark]).is_ok() {
            (self.next_mark, self.marked) = (1 - self.next_mark, self.end);
        }
    }

    /// Writes the file anew. If there is no room, it grows on, and this is tried again later.
    fn shrink(&mut self, image: &JournalImage) -> io::Result<()> {
        match self.rewrite(image) {
            Err(error) if is_passing(&error) => {
                self.rewrite_at = self.end + SMALL;
                Ok(())
            }
            done => done,
        }
    }

    fn rewrite(&mut self, image: &JournalImage) -> io::Result<()> {
        let (file, id, end) =
            make(&*self.disk, &self.path, image).inspect_err(|_| self.is_suspect |= self.is_replaced())?;
        (self.file, self.id, self.end, self.next_mark) = (file, id, end, 0);
        self.marked = end;
        (self.rewrite_at, self.is_suspect) = (rewrite_at(end), false);
        self.room = end;
        Ok(())
    }

    /// Whether another file has its name, as far as can be seen.
    fn is_replaced(&self) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let inode = |metadata: io::Result<std::fs::Metadata>| metadata.map(|metadata| metadata.ino()).ok();
        inode(self.file.metadata()) != inode(std::fs::metadata(&self.path))
    }
}

impl Drop for Writer {
    /// After a stop in good order all of it is known to be whole.
    fn drop(&mut self) {
        if !self.is_suspect && self.marked < self.end && self.disk.sync(&self.file).is_ok() {
            self.put_mark();
        }
    }
}

fn rewrite_at(end: u64) -> u64 {
    (GROWTH * end).max(SMALL)
}

/// Makes a file that holds just this.
fn make(disk: &dyn Disk, path: &Path, image: &JournalImage) -> io::Result<(File, Id, u64)> {
    let id = random()?;
    let bytes = format::whole(id, image);
    let unfinished = path.with_extension(UNFINISHED);
    let made = disk.create(&unfinished).and_then(|file| {
        disk.write(&file, &bytes, 0)?;
        disk.sync(&file)?;
        disk.rename(&unfinished, path)?;
        Ok(file)
    });
    // What is left of it takes room that may be short.
    let file = made.inspect_err(|_| drop(std::fs::remove_file(&unfinished)))?;
    Ok((file, id, bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use std::sync::{Arc, Mutex};

    /// Refuses the calls of a kind, so many times.
    #[derive(Clone, Debug, Default)]
    struct Refusing {
        refused: Arc<Mutex<Option<(&'static str, Errno)>>>,
    }

    impl Refusing {
        fn set(&self, refused: Option<(&'static str, Errno)>) {
            *self.refused.lock().unwrap() = refused;
        }

        fn look(&self, call: &str) -> io::Result<()> {
            match *self.refused.lock().unwrap() {
                Some((refused, errno)) if refused == call => Err(errno.into()),
                _ => Ok(()),
            }
        }
    }

    impl Disk for Refusing {
        fn create(&self, path: &Path) -> io::Result<File> {
            self.look("create")?;
            super::super::disk::System.create(path)
        }

        fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
            // As much as there is room for.
            let refused = self.look("write");
            let written = if refused.is_err() { &bytes[..bytes.len() / 2] } else { bytes };
            super::super::disk::System.write(file, written, at)?;
            refused
        }

        fn sync(&self, file: &File) -> io::Result<()> {
            self.look("sync")?;
            super::super::disk::System.sync(file)
        }

        fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
            super::super::disk::System.rename(from, to)?;
            self.look("rename")
        }
    }

    fn entry(index: u64, length: usize) -> Vec<Change> {
        vec![Change::Entry { index, bytes: vec![index as u8; length] }]
    }

    fn after(image: &JournalImage, changes: &[Change]) -> JournalImage {
        let mut image = image.clone();
        image.apply(changes);
        image
    }

    #[test]
    fn what_was_refused_for_a_while_is_kept_once_it_is_not() {
        for call in ["write", "sync", "create"] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("manager.log");
            let disk = Refusing::default();
            let mut image = JournalImage::default();
            let mut writer = Writer::create(Box::new(disk.clone()), &path, &image).unwrap();
            for index in 1..20 {
                let changes = entry(index, 300);
                let next = after(&image, &changes);
                disk.set((index % 3 == 0).then_some((call, Errno::NOSPC)));
                if let Err(error) = writer.append(&changes, true, || next.clone()) {
                    assert!(is_passing(&error) && writer.append(&changes, true, || next.clone()).is_err());
                    disk.set(None);
                    writer.append(&changes, true, || next.clone()).unwrap();
                }
                image = next;
                assert_eq!(format::read(&std::fs::read(&path).unwrap()).unwrap().image, image, "{call} {index}");
            }
            drop(writer);
            assert_eq!(Writer::open(Box::new(disk), &path).unwrap().1, image);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind");
        }
    }

    #[test]
    fn a_file_is_written_anew_when_most_of_it_is_out_of_date() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manager.log");
        let disk = Refusing::default();
        let mut image = JournalImage::default();
        let mut writer = Writer::create(Box::new(disk.clone()), &path, &image).unwrap();
        let mut largest = 0;
        for index in 1..60 {
            let changes = [&entry(index, 400_000)[..], &[Change::CutTo(index - 1)]].concat();
            let next = after(&image, &changes);
            // What cannot be written anew for want of room grows on; what has taken the file's name counts.
            let refused = if index < 30 { ("create", Errno::NOSPC) } else { ("rename", Errno::NOMEM) };
            disk.set((20..40).contains(&index).then_some(refused));
            while let Err(error) = writer.append(&changes, true, || next.clone()) {
                assert!(index >= 30 && is_passing(&error), "{error}");
                disk.set(None);
            }
            image = next;
            assert_eq!(format::read(&std::fs::read(&path).unwrap()).unwrap().image, image, "{index}");
            largest = largest.max(std::fs::metadata(&path).unwrap().len());
        }
        assert!(largest > 2 * SMALL && std::fs::metadata(&path).unwrap().len() <= SMALL + 500_000, "{largest}");
    }

    #[test]
    fn what_is_not_synced_comes_with_what_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manager.log");
        let mut image = JournalImage::default();
        let mut writer = Writer::create(Box::new(super::super::disk::System), &path, &image).unwrap();
        for index in 1..10 {
            let changes = entry(index, 10);
            image.apply(&changes);
            writer.append(&changes, index % 2 == 0, || image.clone()).unwrap();
        }
        writer.reserve(1 << 16).unwrap();
        drop(writer);
        let whole = std::fs::read(&path).unwrap();
        assert!(format::read(&whole[..whole.len() - 1]).is_err(), "after a stop nothing is in doubt");
        let torn = [&whole[..], &[1, 2, 3]].concat();
        std::fs::write(&path, torn).unwrap();
        let (mut writer, read) = Writer::open(Box::new(super::super::disk::System), &path).unwrap();
        assert_eq!(read, image);
        let changes = entry(10, 1);
        image.apply(&changes);
        writer.append(&changes, true, || image.clone()).unwrap();
        assert_eq!(Writer::open(Box::new(super::super::disk::System), &path).unwrap().1, image);
    }
}
