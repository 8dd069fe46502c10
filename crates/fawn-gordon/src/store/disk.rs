//! A drive with a volume on it: files that are read and written in simulated time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fawn_store::flash::FileId;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use serde::Serialize;

use super::scaled::{scaled, stripe};
use super::settings::{DriveSettings, PAGE_BYTES, StoreTrialError};
use super::versions::Versions;
use super::volume::{JOURNAL_PAGES, PageExtent, Volume, runs};
use crate::flash::FlashDesign;
use crate::ftl::table::Location;
use crate::ftl::warm_up::{WarmUp, settle};
use crate::ftl::{Device, FtlError, FtlSettings, HostKind, HostRequest, TornPage};
use crate::time::SimTime;

/// Something that is asked of the drive, in one or several requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What the host has asked of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriveTraffic {
    /// Bytes written, the journal's included.
    pub written_bytes: u64,
    /// Of these, the journal's.
    pub journal_bytes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes trimmed.
    pub trimmed_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    ticket: u64,
    offset: u64,
    bytes: u64,
    stamp: u32,
}

/// A drive with a volume.
#[derive(Debug)]
pub struct SimulatedDisk {
    device: Device,
    design: FlashDesign,
    /// Names and places of files.
    pub volume: Volume,
    /// What reads see; none where only requests matter.
    bytes: Option<Vec<u8>>,
    /// None where power is never cut.
    versions: Option<Versions>,
    stamp: u32,
    trims: bool,
    parts: BTreeMap<u64, Part>,
    left: BTreeMap<u64, u32>,
    commits: BTreeMap<u64, u64>,
    /// Nobody waits for these.
    trims_under_way: BTreeSet<u64>,
    done: VecDeque<Ticket>,
    next_ticket: u64,
    journal_at: u32,
    traffic: DriveTraffic,
}

impl SimulatedDisk {
    /// An empty volume on a drive. It keeps bytes if they are read back, and every version of them if power is to be cut.
    ///
    /// # Errors
    /// The FTL's.
    pub fn new(drive: &DriveSettings, keeps_bytes: bool, cuts_power: bool) -> Result<Self, StoreTrialError> {
        let design = scaled(&drive.preset.design, drive.bytes, drive.spare_factor);
        let settings = FtlSettings::plain(stripe(&design), drive.spare_factor);
        let mut device = Device::new(&design, settings, cuts_power)?;
        if !drive.trim {
            settle(&mut device, WarmUp::Sequential, 0)?;
        }
        let pages = device.bytes() / PAGE_BYTES;
        let pages = u32::try_from(pages).ok().filter(|pages| *pages < 1 << 30 && *pages > 4 * JOURNAL_PAGES);
        let Some(pages) = pages else {
            return Err(StoreTrialError::Drive { bytes: drive.bytes, low: 4_000_000, high: 4_000_000_000_000 });
        };
        let bytes = keeps_bytes.then(|| vec![0; device.bytes() as usize]);
        let versions = cuts_power.then(Versions::default);
        Ok(Self { bytes, versions, trims: drive.trim, ..Self::on(device, design, Volume::new(pages)) })
    }

    /// A drive with nothing under way. It keeps no bytes, and trims what is freed.
    fn on(device: Device, design: FlashDesign, volume: Volume) -> Self {
        Self {
            device,
            design,
            volume,
            bytes: None,
            versions: None,
            stamp: 0,
            trims: true,
            parts: BTreeMap::new(),
            left: BTreeMap::new(),
            commits: BTreeMap::new(),
            trims_under_way: BTreeSet::new(),
            done: VecDeque::new(),
            next_ticket: 0,
            journal_at: 0,
            traffic: DriveTraffic::default(),
        }
    }

    /// What is left if the power fails now. The FTL recovers first, then the volume; the store is opened by the caller.
    ///
    /// # Errors
    /// The FTL's.
    ///
    /// # Panics
    /// The disk was not made for that, or the FTL lost what it had acknowledged.
    pub fn after_power_cut(&self, seed: u64) -> Result<Self, FtlError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let medium = self.device.cut_power(|program| TornPage::drawn(program, &mut random));
        let settings = *self.device.translation().settings();
        let (device, _) = Device::recovered(&self.design, settings, medium)?;
        let versions = self.versions.as_ref().expect("power is cut on a disk that was made for it");
        let page_bytes = device.translation().layout().page_bytes as usize;
        let mut bytes = vec![0; device.bytes() as usize];
        let mut kept = Versions::default();
        for page in 0..device.translation().logical_pages() {
            let Location::At(place) = device.translation().location(page) else { continue };
            let stamp = device.medium().and_then(|medium| medium.stamp(place)).unwrap_or(0);
            if stamp > 0 {
                let found =
                    versions.get(page, stamp).expect("a page holds its last acknowledged version or a later one");
                bytes[page as usize * page_bytes..][..page_bytes].copy_from_slice(found);
                kept.add(page, stamp, found);
            }
        }
        let volume = self.volume.after_power_cut(random.next_u64().is_multiple_of(2));
        Ok(Self {
            bytes: Some(bytes),
            versions: Some(kept),
            stamp: self.stamp,
            trims: self.trims,
            journal_at: self.journal_at,
            ..Self::on(device, self.design.clone(), volume)
        })
    }

    /// The drive.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Simulated time.
    pub fn now(&self) -> SimTime {
        self.device.array().now()
    }

    /// What the host has asked of the drive so far.
    pub fn traffic(&self) -> DriveTraffic {
        self.traffic
    }

    /// When the drive has something to do. Now, if something is done and was not taken.
    pub fn next_at(&self) -> Option<SimTime> {
        if self.done.is_empty() { self.device.array().next_at() } else { Some(self.now()) }
    }

    /// Whether anything is asked of the drive.
    pub fn is_busy(&self) -> bool {
        !self.left.is_empty() || !self.done.is_empty()
    }

    /// Lets idle time pass.
    pub fn pass(&mut self, until: SimTime) {
        self.device.pass(until);
    }

    /// Carries out the drive's next event.
    ///
    /// # Errors
    /// It is worn out.
    pub fn step(&mut self) -> Result<bool, FtlError> {
        let more = self.device.step()?;
        self.take_replies();
        Ok(more)
    }

    /// Whether something is done and was not taken.
    pub fn has_done(&self) -> bool {
        !self.done.is_empty()
    }

    /// Something that is done.
    pub fn take_done(&mut self) -> Option<Ticket> {
        self.done.pop_front()
    }

    fn take_replies(&mut self) {
        while let Some(reply) = self.device.take_reply() {
            let Some(part) = self.parts.remove(&reply.number) else { continue };
            if reply.kind == HostKind::Write
                && let Some(versions) = &mut self.versions
            {
                let page_bytes = u64::from(self.device.translation().layout().page_bytes);
                for page in part.offset / page_bytes..(part.offset + part.bytes).div_ceil(page_bytes) {
                    versions.acknowledge(page as u32, part.stamp);
                }
            }
            let left = self.left.get_mut(&part.ticket).expect("a part is of a ticket that is open");
            *left -= 1;
            if *left == 0 {
                self.left.remove(&part.ticket);
                self.finish(part.ticket);
            }
        }
    }

    fn finish(&mut self, ticket: u64) {
        if self.trims_under_way.remove(&ticket) {
            return;
        }
        if let Some(commit) = self.commits.remove(&ticket) {
            let freed = self.volume.finish_commit(commit);
            if self.trims && !freed.is_empty() {
                self.traffic.trimmed_bytes += bytes_of(&freed);
                self.ask(HostKind::Trim, &freed);
            }
        }
        self.done.push_back(Ticket(ticket));
    }

    fn ask(&mut self, kind: HostKind, runs: &[PageExtent]) -> Ticket {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        if runs.is_empty() {
            self.done.push_back(Ticket(ticket));
            return Ticket(ticket);
        }
        self.left.insert(ticket, runs.len() as u32);
        if kind == HostKind::Trim {
            self.trims_under_way.insert(ticket);
        }
        for &(first, count) in runs {
            let (offset, bytes) = (u64::from(first) * PAGE_BYTES, u64::from(count) * PAGE_BYTES);
            self.stamp += 1;
            let stamp = self.stamp;
            if kind == HostKind::Write {
                self.keep_versions(offset, bytes);
            }
            let request = HostRequest { at: self.now(), kind, offset, bytes, stamp };
            let number = self.device.admit(request);
            self.parts.insert(number, Part { ticket, offset, bytes, stamp });
        }
        self.take_replies();
        Ticket(ticket)
    }

    fn keep_versions(&mut self, offset: u64, bytes: u64) {
        let (Some(versions), Some(all)) = (&mut self.versions, &self.bytes) else { return };
        let page_bytes = u64::from(self.device.translation().layout().page_bytes);
        for page in offset / page_bytes..(offset + bytes).div_ceil(page_bytes) {
            versions.add(page as u32, self.stamp, &all[(page * page_bytes) as usize..][..page_bytes as usize]);
        }
    }

    /// Writes to these places; `data` has all of it, one run after the other.
    pub fn write_places(&mut self, places: &[PageExtent], data: Option<&[u8]>) -> Ticket {
        if let (Some(all), Some(mut data)) = (&mut self.bytes, data) {
            for &(first, count) in places {
                let (now, rest) = data.split_at(count as usize * PAGE_BYTES as usize);
                all[first as usize * PAGE_BYTES as usize..][..now.len()].copy_from_slice(now);
                data = rest;
            }
        }
        self.traffic.written_bytes += bytes_of(places);
        self.ask(HostKind::Write, places)
    }

    /// Reads these places.
    pub fn read_places(&mut self, places: &[PageExtent]) -> Ticket {
        self.traffic.read_bytes += bytes_of(places);
        self.ask(HostKind::Read, places)
    }

    /// Writes pages of a file. None if there is no room, or no such file.
    pub fn write_file(&mut self, file: FileId, first: u64, count: u64, data: Option<&[u8]>) -> Option<Ticket> {
        let places = self.volume.places_to_write(file, first, count)?;
        Some(self.write_places(&places, data))
    }

    /// Reads pages of a file. None if it is shorter, or there is no such file.
    pub fn read_file(&mut self, file: FileId, first: u64, count: u64) -> Option<Ticket> {
        let places = self.volume.places_to_read(file, first, count)?;
        Some(self.read_places(&runs(places.into_iter().flatten())))
    }

    /// What these pages of a file hold; what was never written holds zeros.
    pub fn copy_file(&self, file: FileId, first: u64, into: &mut [u8]) -> bool {
        let count = into.len() as u64 / PAGE_BYTES;
        let Some(places) = self.volume.places_to_read(file, first, count) else { return false };
        for (place, page) in places.into_iter().zip(into.chunks_mut(PAGE_BYTES as usize)) {
            match (place, &self.bytes) {
                (Some(place), Some(all)) => {
                    page.copy_from_slice(&all[place as usize * PAGE_BYTES as usize..][..PAGE_BYTES as usize]);
                }
                _ => page.fill(0),
            }
        }
        true
    }

    /// Makes places and length of a file durable, and all else with them. None if they are.
    pub fn sync_file(&mut self, file: FileId) -> Option<Ticket> {
        if self.volume.has_changed(file) { self.sync() } else { None }
    }

    /// Makes names, lengths and places durable. None if they are.
    pub fn sync(&mut self) -> Option<Ticket> {
        let commit = self.volume.begin_commit()?;
        let place = (self.journal_at, 1);
        self.journal_at = (self.journal_at + 1) % JOURNAL_PAGES;
        self.traffic.journal_bytes += PAGE_BYTES;
        let ticket = self.write_places(&[place], None);
        self.commits.insert(ticket.0, commit);
        Some(ticket)
    }
}

fn bytes_of(runs: &[PageExtent]) -> u64 {
    runs.iter().map(|(_, count)| u64::from(*count) * PAGE_BYTES).sum()
}
