//! Rebuilds an FTL from what is on flash.
//!
//! Every block's summary page is read. Where there is none, the spare areas of its pages are, up to the first that reads as
//! erased. Of several copies of a logical page the last one in the block with the highest sequence number counts, or the one with
//! the highest number of its own where Gordon's sequence rule is switched off; the record of a trim counts like a copy. Reading
//! changes nothing, so a power cut during recovery does no harm.
//!
//! A set without an erased block was being cleaned into its last one. That one is dropped, as it holds copies alone, and erased
//! before anything else happens: later it would be taken for data.
//!
//! What was open is closed without a summary: its next page may have been programmed in part. What reads as erased may be a block
//! whose first page was, so it is erased again before it is used. Of an erased block nothing says how often it was erased; it
//! counts as the mean of the others.

use serde::{Deserialize, Serialize};

use super::error::FtlError;
use super::injected_bugs::{FtlBug, planted};
use super::medium::{Medium, Spare};
use super::settings::FtlSettings;
use super::striping::Layout;
use super::table::{Location, NOBODY, PageRange, RECORD, TrimRecord};
use super::translation::Translation;
use crate::flash::{Command, CommandKind, FlashArray, FlashDesign};
use crate::time::SimTime;

/// What a recovery read, and how long that took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryReport {
    /// Blocks with a summary.
    pub summaries: u32,
    /// Pages whose spare areas were read in blocks without one.
    pub spare_pages: u32,
    /// Records of trims that were read.
    pub records: u32,
    /// Blocks whose erase was cut.
    pub torn_blocks: u32,
    /// Blocks of copies that were dropped because their set had no erased block.
    pub rolled_back: u32,
    /// Logical pages that were found.
    pub found: u32,
    /// Time on the array, with all dies reading at once.
    pub time: SimTime,
}

/// An FTL that was rebuilt.
#[derive(Debug)]
pub struct RebuiltFtl {
    /// The FTL as it can go on.
    pub translation: Translation,
    /// What was read.
    pub report: RecoveryReport,
    /// Blocks that must be erased before it goes on.
    pub erase_first: Vec<u32>,
}

#[derive(Default)]
struct FoundBlock {
    block: u32,
    sequence: u64,
    owners: Vec<(u32, u32)>,
    next: u32,
    has_summary: bool,
    /// All that can be read was copied by cleaning.
    copies_only: bool,
}

/// Reads one block. None if it is erased, or must be erased.
fn read_block(medium: &Medium, block: u32, report: &mut RecoveryReport) -> Option<FoundBlock> {
    let layout = medium.layout();
    if medium.is_torn(block) {
        report.torn_blocks += 1;
        return None;
    }
    let first = layout.first_page(block);
    let sequence = medium.sequence(block);
    let is_damaged = medium.spare(layout.summary_page(block)) == Spare::Damaged;
    if is_damaged && planted(FtlBug::TornSummaryIsErased) {
        return None;
    }
    if let Some(owners) = medium.summary(block) {
        report.summaries += 1;
        let owners = (first..).zip(owners.iter().copied()).filter(|(_, owner)| *owner != NOBODY).collect();
        return Some(FoundBlock {
            block,
            sequence,
            owners,
            next: layout.data_pages(),
            has_summary: true,
            copies_only: false,
        });
    }
    let mut found = FoundBlock { block, sequence, copies_only: true, ..FoundBlock::default() };
    for page in first..layout.summary_page(block) {
        report.spare_pages += 1;
        let spare = medium.spare(page);
        if matches!(spare, Spare::Data { .. } | Spare::Record) {
            found.copies_only &= medium.is_copied(page);
        }
        match spare {
            Spare::Erased => break,
            Spare::Data { logical, .. } => found.owners.push((page, logical)),
            Spare::Record => found.owners.push((page, RECORD)),
            Spare::Damaged if planted(FtlBug::TornPageCounts) => {
                found.owners.extend(medium.damaged(page).map(|(logical, _)| (page, logical)));
            }
            Spare::Damaged | Spare::Summary => {}
        }
        found.next += 1;
    }
    if planted(FtlBug::SealedBlocksOnly) {
        found.owners.clear();
    }
    (found.next > 0 || is_damaged).then_some(found)
}

/// Drops the newest block of each set that has no erased one.
///
/// Only cleaning opens the last erased block, and nothing but copies goes there until the victim is erased. Thus every original is
/// still there, and the block can be erased. Otherwise cleaning could not go on, as what was open is not programmed further.
fn roll_back(layout: &Layout, blocks: &mut Vec<FoundBlock>) -> Vec<u32> {
    let mut dropped = Vec::new();
    let mut used = vec![0; layout.sets as usize];
    for found in blocks.iter() {
        used[layout.set_of(found.block) as usize] += 1;
    }
    for set in (0..layout.sets).filter(|set| used[*set as usize] == layout.blocks_per_set) {
        let of_set = |found: &&FoundBlock| layout.set_of(found.block) == set;
        let newest = blocks.iter().filter(of_set).max_by_key(|found| found.sequence);
        if let Some(&FoundBlock { block, copies_only: true, .. }) = newest {
            blocks.retain(|found| found.block != block);
            dropped.push(block);
        }
    }
    dropped
}

/// Where every logical page is, by the blocks in ascending order.
fn locate(
    medium: &Medium,
    blocks: &[FoundBlock],
    settings: &FtlSettings,
    logical: u32,
    report: &mut RecoveryReport,
) -> Vec<Location> {
    let layout = medium.layout();
    let mut locations = vec![Location::Never; logical as usize];
    let mut copies: Vec<(u32, u32)> = blocks.iter().flat_map(|found| found.owners.iter().copied()).collect();
    if !settings.sequence_rule && !planted(FtlBug::PageNumbersIgnored) {
        copies.sort_by_key(|(page, _)| medium.ticket(*page));
    }
    for (page, owner) in copies {
        if owner != RECORD {
            let entry = &mut locations[owner as usize];
            let known = matches!(*entry, Location::At(other) if layout.block_of(other) == layout.block_of(page));
            if !(known && planted(FtlBug::FirstCopyOfBlock)) {
                *entry = Location::At(page);
            }
            continue;
        }
        report.records += 1;
        let ranges: &[PageRange] = match medium.record(page) {
            Some(ranges) if !planted(FtlBug::RecordsUnread) => ranges,
            _ => &[],
        };
        for range in ranges {
            for entry in &mut locations[range.start as usize..(range.start + range.count) as usize] {
                // What was never written needs no record.
                if *entry != Location::Never {
                    *entry = Location::Trimmed(page);
                }
            }
        }
    }
    locations
}

/// The FTL as it can go on, and what was read. The time is left out; [`recover_timed`] has it.
///
/// # Errors
///
/// The settings contradict the array, or each other.
///
/// # Panics
///
/// The medium has another layout than the settings.
pub fn recover(design: &FlashDesign, settings: FtlSettings, medium: &Medium) -> Result<RebuiltFtl, FtlError> {
    Ok(rebuild(design, settings, medium)?.0)
}

/// The same, with the time that it takes on the array.
///
/// # Errors
///
/// The settings contradict the array, or each other.
///
/// # Panics
///
/// The medium has another layout than the settings.
pub fn recover_timed(design: &FlashDesign, settings: FtlSettings, medium: &Medium) -> Result<RebuiltFtl, FtlError> {
    let (mut recovered, blocks) = rebuild(design, settings, medium)?;
    let layout = *recovered.translation.layout();
    recovered.report.time = time_of(design, &layout, &blocks, &recovered.erase_first)?;
    Ok(recovered)
}

fn rebuild(
    design: &FlashDesign,
    settings: FtlSettings,
    medium: &Medium,
) -> Result<(RebuiltFtl, Vec<FoundBlock>), FtlError> {
    let mut translation = Translation::without_blocks(design.geometry, settings, true)?;
    let layout = *translation.layout();
    assert!(layout == *medium.layout(), "the settings are not those that the array was written with");
    let mut report = RecoveryReport::default();
    let mut blocks: Vec<FoundBlock> =
        (0..layout.blocks()).filter_map(|block| read_block(medium, block, &mut report)).collect();
    let erase_first = roll_back(&layout, &mut blocks);
    report.rolled_back = erase_first.len() as u32;
    if planted(FtlBug::BlockOrder) {
        blocks.sort_by_key(|found| found.block);
    } else {
        blocks.sort_by_key(|found| found.sequence);
    }
    let locations = locate(medium, &blocks, &settings, translation.logical_pages(), &mut report);
    report.found = locations.iter().filter(|entry| matches!(entry, Location::At(_))).count() as u32;
    let valid = fill_table(&mut translation, &locations, medium);
    adopt_blocks(&mut translation, &blocks, &valid, &erase_first, medium);
    Ok((RebuiltFtl { translation, report, erase_first }, blocks))
}

/// Enters all locations, and counts the valid pages of each block.
fn fill_table(translation: &mut Translation, locations: &[Location], medium: &Medium) -> Vec<u32> {
    let layout = *translation.layout();
    let mut valid = vec![0; layout.blocks() as usize];
    let table = &mut translation.table;
    let mut dependents = std::collections::BTreeMap::<u32, u32>::new();
    for (logical, location) in (0..).zip(locations) {
        match *location {
            Location::Never => {}
            Location::At(page) => {
                table.set_page(logical, page);
                valid[layout.block_of(page) as usize] += 1;
            }
            Location::Trimmed(page) => {
                table.set_trimmed(logical, page);
                *dependents.entry(page).or_default() += 1;
            }
        }
    }
    for (page, pages) in dependents {
        let ranges = medium.record(page).unwrap_or_default().to_vec();
        table.set_record(page, TrimRecord { pages, trimmed_by: medium.ticket(page), ranges });
        valid[layout.block_of(page) as usize] += 1;
    }
    valid
}

fn adopt_blocks(
    translation: &mut Translation,
    blocks: &[FoundBlock],
    valid: &[u32],
    erase_first: &[u32],
    medium: &Medium,
) {
    let layout = *translation.layout();
    let known: Vec<u64> = blocks.iter().filter_map(|found| medium.erases(found.block)).map(u64::from).collect();
    let mean = (known.iter().sum::<u64>() / (known.len() as u64).max(1)) as u32;
    let mut sequences = vec![0; layout.blocks() as usize];
    for found in blocks {
        sequences[found.block as usize] = found.sequence;
    }
    let allocation = &mut translation.allocation;
    for block in 0..layout.blocks() {
        let sequence = sequences[block as usize];
        allocation.adopt(block, medium.erases(block).unwrap_or(mean), sequence, valid[block as usize]);
        let trusts = planted(FtlBug::ErasedIsTrusted) && !medium.is_torn(block)
            || planted(FtlBug::TornEraseIsErased) && medium.is_torn(block);
        if sequence == 0 && !trusts && !erase_first.contains(&block) {
            allocation.distrust(block);
        }
    }
    for found in blocks {
        let tickets = || found.owners.iter().map(|(page, _)| medium.ticket(*page));
        let (first, last) = (tickets().min().unwrap_or(u64::MAX), tickets().max().unwrap_or(0));
        allocation.adopt_tickets(found.block, first, last);
    }
    if planted(FtlBug::OpenBlockContinued) {
        for found in blocks.iter().filter(|found| !found.has_summary && found.next < layout.data_pages()) {
            allocation.continue_block(found.block, found.next);
        }
    }
    allocation.open_all();
}

/// Lets the array read what was read: all summaries, then spare areas, then records. Then it erases what must be.
fn time_of(
    design: &FlashDesign,
    layout: &Layout,
    blocks: &[FoundBlock],
    erase_first: &[u32],
) -> Result<SimTime, FtlError> {
    let mut array = FlashArray::new(design)?;
    let geometry = &design.geometry;
    let page = geometry.page_bytes + geometry.spare_bytes;
    let command = |array: &mut FlashArray, kind: CommandKind, block: u32, part: u32, planes: u32, bytes: u32| {
        let die = layout.die(layout.set_of(block), part);
        let overhead = SimTime::ZERO;
        array.submit(Command { die, kind, page: 0, planes, bytes, overhead, cleaning: false, tag: 0 });
    };
    let read = |array: &mut FlashArray, block: u32, part: u32, planes: u32, bytes: u32| {
        command(array, CommandKind::Read, block, part, planes, bytes);
    };
    let finish = |array: &mut FlashArray| while array.step().is_some() {};
    for block in 0..layout.blocks() {
        read(&mut array, block, 0, 1, page);
    }
    finish(&mut array);
    let planes = layout.stripe.planes;
    let mut spare_pages = vec![1; layout.blocks() as usize];
    for found in blocks {
        let pages = if found.has_summary { 0 } else { (found.next + 1).min(layout.data_pages()) };
        spare_pages[found.block as usize] = pages;
    }
    for (block, pages) in (0..).zip(spare_pages) {
        for _ in 0..pages {
            for part in 0..layout.parts() {
                read(&mut array, block, part, planes, planes * geometry.spare_bytes);
            }
        }
    }
    finish(&mut array);
    for (record, _) in blocks.iter().flat_map(|found| &found.owners).filter(|(_, owner)| *owner == RECORD) {
        for part in 0..layout.parts() {
            read(&mut array, layout.block_of(*record), part, planes, planes * page);
        }
    }
    finish(&mut array);
    for block in erase_first {
        for part in 0..layout.parts() {
            command(&mut array, CommandKind::Erase, *block, part, planes, 0);
        }
    }
    finish(&mut array);
    Ok(array.now())
}
