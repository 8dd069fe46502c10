//! Writes one segment: records in key order go in, a complete and synced file comes out.

use fawn_ring::Key;

use super::footer::Footer;
use super::prefix_packing::Fragments;
use crate::flash::{FileId, Flash, FlashError};
use crate::format::page::{PAGE_PAYLOAD_BYTES, PageBuf, Place};
use crate::format::record::{Kind, Record};
use crate::sealed::directory::PageDirectory;

/// Pages that are gathered before they are written: 512 KiB.
const CHUNK_PAGES: usize = 128;

/// A segment under construction.
pub struct Writer {
    file: u64,
    /// Number of pages already written.
    flushed: u64,
    chunk: PageBuf,
    /// Complete pages in `chunk`.
    filled: usize,
    /// Payload bytes used in the page under construction, `chunk[filled]`.
    used: usize,
    first_record: Option<usize>,
    /// For each data page the prefix of its first byte's owner.
    directory: Vec<u64>,
    /// The prefix of every record, in order.
    prefixes: Vec<u64>,
    last_key: Option<Key>,
    /// Checksum of the checksums of all complete pages.
    content: u32,
    footer: Footer,
}

/// A segment that is complete on flash.
pub struct CompleteSegment {
    /// What the footer says.
    pub footer: Footer,
    /// For each data page the prefix of its first byte's owner.
    pub directory: Vec<u64>,
    /// The prefix of every record, in order.
    pub prefixes: Vec<u64>,
}

impl Writer {
    /// Starts segment `file`, reserving `reserve_pages` pages (it may grow beyond, and is cut to its length).
    ///
    /// # Errors
    /// Those of [`Flash::create`]; then nothing is left behind.
    pub fn create(flash: &dyn Flash, file: u64, reserve_pages: u64) -> Result<Self, FlashError> {
        flash.create(FileId::Segment(file), reserve_pages)?;
        Ok(Self {
            file,
            flushed: 0,
            chunk: PageBuf::zeroed(CHUNK_PAGES),
            filled: 0,
            used: 0,
            first_record: None,
            directory: Vec::new(),
            prefixes: Vec::new(),
            last_key: None,
            content: 0,
            footer: Footer::empty(file),
        })
    }

    /// Number of records written so far.
    pub fn records(&self) -> u64 {
        self.footer.records
    }

    /// Record bytes so far.
    pub fn bytes(&self) -> u64 {
        self.footer.bytes
    }

    /// Appends one record, whose key position is above or (two keys, one position) equal to the last one's.
    ///
    /// # Errors
    /// Those of [`Flash::write`].
    pub fn push(&mut self, flash: &dyn Flash, key: &Key, record: &[u8]) -> Result<(), FlashError> {
        assert!(self.last_key.is_none_or(|last| last <= *key), "a segment's records are in key order");
        let header = Record::decode_trusted(record).expect("only whole records are pushed");
        let prefix = key.prefix();
        self.footer.count(key, &header, record.len());
        if self.used == 0 {
            // A page that begins with a record may be named by any prefix down to the one before it.
            let owner = self.last_key.map_or(prefix, |last| PageDirectory::boundary(last.prefix(), prefix));
            self.directory.push(owner);
        }
        self.last_key = Some(*key);
        self.prefixes.push(prefix);
        if self.first_record.is_none() {
            self.first_record = Some(self.used);
        }
        self.copy(flash, record, Some(prefix))
    }

    /// Completes the file and makes it durable, name included.
    ///
    /// # Errors
    /// Those of [`Flash::write`], [`Flash::truncate`] and [`Flash::sync`].
    pub fn finish(mut self, flash: &dyn Flash) -> Result<CompleteSegment, FlashError> {
        self.end_page(flash)?;
        self.footer.data_pages = self.position();
        let directory = std::mem::take(&mut self.directory);
        for prefix in &directory {
            self.copy(flash, &prefix.to_le_bytes(), None)?;
        }
        self.end_page(flash)?;
        self.footer.directory_pages = self.position() - self.footer.data_pages;
        let prefixes = std::mem::take(&mut self.prefixes);
        let fragments = Fragments::plan(&prefixes);
        self.footer.fragments = fragments;
        let mut bytes = Vec::with_capacity(64 << 10);
        fragments.encode(&prefixes, |piece| {
            bytes.extend_from_slice(piece);
            if bytes.len() >= 60 << 10 {
                self.copy(flash, &bytes, None)?;
                bytes.clear();
            }
            Ok::<(), FlashError>(())
        })?;
        self.copy(flash, &bytes, None)?;
        self.end_page(flash)?;
        self.footer.fragment_pages = self.position() - self.footer.data_pages - self.footer.directory_pages;
        self.footer.content = Some(self.content);
        let footer = self.footer.encode();
        self.copy(flash, &footer, None)?;
        self.end_page(flash)?;
        self.flush(flash)?;
        flash.truncate(FileId::Segment(self.file), self.flushed)?;
        flash.sync(FileId::Segment(self.file))?;
        flash.sync_names()?;
        assert!(self.footer.total_pages() == self.flushed, "a footer counts every page");
        Ok(CompleteSegment { footer: self.footer, directory, prefixes })
    }

    fn position(&self) -> u64 {
        self.flushed + self.filled as u64
    }

    /// Copies `bytes` into the payload stream; pages begun inside it are `owner`'s.
    fn copy(&mut self, flash: &dyn Flash, mut bytes: &[u8], owner: Option<u64>) -> Result<(), FlashError> {
        loop {
            let room = PAGE_PAYLOAD_BYTES - self.used;
            let now = bytes.len().min(room);
            let page = &mut self.chunk.pages_mut()[self.filled];
            page.payload_mut()[self.used..self.used + now].copy_from_slice(&bytes[..now]);
            self.used += now;
            bytes = &bytes[now..];
            if self.used == PAGE_PAYLOAD_BYTES {
                self.end_page(flash)?;
            }
            if bytes.is_empty() {
                return Ok(());
            }
            if let Some(prefix) = owner.filter(|_| self.used == 0) {
                self.directory.push(prefix);
            }
        }
    }

    /// Seals the page under construction, if it holds anything.
    fn end_page(&mut self, flash: &dyn Flash) -> Result<(), FlashError> {
        if self.used == 0 {
            return Ok(());
        }
        let place = Place { file: self.file, page: self.position() };
        let (used, first) = (self.used, self.first_record.take());
        let page = &mut self.chunk.pages_mut()[self.filled];
        page.payload_mut()[used..].fill(0);
        page.seal(place, used, first);
        self.content = crc32c::crc32c_append(self.content, &page.0[..4]);
        self.filled += 1;
        self.used = 0;
        if self.filled == CHUNK_PAGES { self.flush(flash) } else { Ok(()) }
    }

    fn flush(&mut self, flash: &dyn Flash) -> Result<(), FlashError> {
        if self.filled > 0 {
            flash.write_behind(FileId::Segment(self.file), self.flushed, &mut self.chunk, self.filled)?;
        }
        self.flushed += self.filled as u64;
        self.filled = 0;
        Ok(())
    }
}

impl Footer {
    fn count(&mut self, key: &Key, record: &Record<'_>, len: usize) {
        if self.records == 0 {
            self.low = *key;
            self.seq_low = record.seq;
            self.seq_high = record.seq;
        }
        self.high = *key;
        self.records += 1;
        self.bytes += len as u64;
        self.deletes += u64::from(record.kind == Kind::Delete);
        self.seq_low = self.seq_low.min(record.seq);
        self.seq_high = self.seq_high.max(record.seq);
        if record.expiry != 0 {
            self.expiring += 1;
            self.latest_expiry = self.latest_expiry.max(record.expiry);
        }
    }
}
