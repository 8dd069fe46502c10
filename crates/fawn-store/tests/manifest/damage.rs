//! Damage: the other copy answers, or it is reported.

use fawn_check::random::Random;
use fawn_sim::flash::SimFlash;
use fawn_store::flash::{FileId, Flash};
use fawn_store::log::LogPosition;
use fawn_store::manifest::{BadCopy, Edit, Manifest, ManifestError, State, VERSION};
use fawn_store::page::{PAGE_BYTES, Page};

use fawn_sim::edits::{self, state};

const FILE: FileId = FileId::Manifest(1);
const PAGE: u64 = PAGE_BYTES as u64;

/// A manifest of a snapshot (pages 0 and 1) and three commits (pages 2 to 7), beside a commit log; the states after
/// each.
fn small() -> (SimFlash, Vec<State>) {
    let flash = SimFlash::new(1);
    let mut manifest = Manifest::create(&flash, state()).unwrap();
    flash.create(FileId::CommitLog, 8).unwrap();
    let mut states = vec![state()];
    for seed in 0..3 {
        let (edits, next) = edits::commit(manifest.state(), &mut Random::new(seed));
        manifest.commit(&flash, &edits).unwrap();
        states.push(next);
    }
    assert_eq!(flash.occupied_pages(FILE), (0..8).collect::<Vec<_>>());
    (flash, states)
}

fn flip(flash: &SimFlash, page: u64) {
    flash.flip_bit(FILE, page * PAGE + 40, 5);
}

#[test]
fn no_bit_flip_loses_anything() {
    let (flash, states) = small();
    for byte in 0..8 * PAGE {
        let bit = (byte % 8) as u8;
        flash.flip_bit(FILE, byte, bit);
        let (manifest, found) = Manifest::open(&flash).unwrap();
        let page = byte / PAGE;
        let bad = BadCopy { offset: page * PAGE, is_last: page >= 6 };
        assert_eq!((&found, manifest.bad_copies()), (&states[3], &[bad][..]), "byte {byte}");
        flash.flip_bit(FILE, byte, bit);
    }
}

#[test]
fn no_bit_flip_of_a_header_loses_anything() {
    let (flash, states) = small();
    for page in 0..8 {
        for bit in 0..64 * 8 {
            flash.flip_bit(FILE, page * PAGE + bit / 8, (bit % 8) as u8);
            assert_eq!(Manifest::open(&flash).unwrap().1, states[3]);
            flash.flip_bit(FILE, page * PAGE + bit / 8, (bit % 8) as u8);
        }
    }
}

#[test]
fn a_commit_replaces_a_damaged_file() {
    for page in 0..8 {
        let (flash, states) = small();
        flip(&flash, page);
        let (mut manifest, _) = Manifest::open(&flash).unwrap();
        let (edits, next) = edits::commit(&states[3], &mut Random::new(9));
        manifest.commit(&flash, &edits).unwrap();
        let (manifest, found) = Manifest::open(&flash).unwrap();
        assert_eq!((found, manifest.bad_copies()), (next, &[][..]));
    }
}

#[test]
fn damage_to_two_pages_is_answered_or_reported() {
    for first in 0..8 {
        for second in 0..first {
            let (flash, states) = small();
            flip(&flash, first);
            flip(&flash, second);
            let result = Manifest::open(&flash).map(|(_, state)| state);
            if first / 2 != second / 2 {
                assert_eq!(result.unwrap(), states[3], "pages {second} and {first}");
            } else if first == 7 {
                assert_eq!(result.unwrap(), states[2], "both copies of the last commit look like a torn one");
            } else {
                let at = second * PAGE;
                assert!(matches!(result, Err(ManifestError::Damage { number: 1, offset, .. }) if offset == at));
            }
        }
    }
}

#[test]
fn every_page_that_is_lost_or_swapped_is_answered_by_the_other_copy() {
    let (flash, states) = small();
    for page in 0..8 {
        for with in (0..10).filter(|with| with / 2 != page / 2) {
            let other = flash.clone();
            other.overwrite(FILE, page, Some((FILE, with)));
            assert_eq!(Manifest::open(&other).unwrap().1, states[3], "page {with} at {page}");
        }
    }
}

#[test]
fn every_truncation_of_the_file_is_damage() {
    let (flash, _) = small();
    let length = flash.list().unwrap().into_iter().find(|(file, _)| *file == FILE).unwrap().1;
    for pages in (0..length).rev() {
        flash.cut(FILE, pages);
        let result = Manifest::open(&flash).map(|(_, state)| state);
        assert!(matches!(result, Err(ManifestError::Damage { number: 1, .. })), "{pages} pages: {result:?}");
    }
}

#[test]
fn a_store_without_its_manifest_is_never_made_anew() {
    let (flash, _) = small();
    for page in 0..8 {
        flash.overwrite(FILE, page, None);
    }
    assert!(matches!(Manifest::open(&flash), Err(ManifestError::Damage { number: 1, offset: 0, .. })));
    assert!(matches!(Manifest::create(&flash, state()), Err(ManifestError::Damage { .. })));
}

#[test]
fn a_store_is_made_once() {
    let flash = SimFlash::new(1);
    assert!(matches!(Manifest::open(&flash), Err(ManifestError::NotFound)));
    Manifest::create(&flash, state()).unwrap();
    assert!(matches!(Manifest::create(&flash, state()), Err(ManifestError::Exists)));
}

/// Replaces the frame (of one page) at `page` by one that `change` changed and whose checksum is right, in both copies.
fn forge(flash: &SimFlash, page: u64, change: impl FnOnce(&mut [u8])) {
    let mut pages = [Page::zeroed()];
    flash.read(FILE, page, &mut pages).unwrap();
    let bytes = &mut pages[0].0;
    change(bytes);
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&1u64.to_le_bytes()), &bytes[8..]);
    bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
    flash.write(FILE, page, &pages).unwrap();
    flash.write(FILE, page + 1, &pages).unwrap();
}

#[test]
fn edits_that_do_not_chain_are_not_applied() {
    let (flash, states) = small();
    forge(&flash, 6, |bytes| bytes[12] ^= 1);
    assert_eq!(Manifest::open(&flash).unwrap().1, states[2]);
    forge(&flash, 4, |bytes| bytes[12] ^= 1);
    assert!(matches!(Manifest::open(&flash), Err(ManifestError::Damage { number: 1, .. })));
}

#[test]
fn what_a_newer_version_wrote_is_refused_by_name() {
    for page in [0, 6] {
        let (flash, _) = small();
        forge(&flash, page, |bytes| bytes[8..10].copy_from_slice(&(VERSION + 1).to_le_bytes()));
        let Err(error) = Manifest::open(&flash) else { panic!("a newer version is refused") };
        assert!(matches!(error, ManifestError::Newer { number: 1, .. }));
        assert!(error.to_string().contains("open the store with that version"), "{error}");
    }
    let (flash, _) = small();
    forge(&flash, 6, |bytes| bytes[36] = 200);
    assert!(matches!(Manifest::open(&flash), Err(ManifestError::Newer { number: 1, .. })));
}

/// A place in the log, and a map of nothing.
const BONDS_BYTES: usize = 8 + 4 + 4;

#[test]
fn what_versions_2_and_3_wrote_is_read() {
    for version in [2u16, 3] {
        let flash = SimFlash::new(1);
        let written = Manifest::create(&flash, state()).unwrap().state().clone();
        forge(&flash, 0, |bytes| {
            bytes[8..10].copy_from_slice(&version.to_le_bytes());
            let length = u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]) as usize - BONDS_BYTES;
            bytes[32 + length..].fill(0);
            bytes[24..28].copy_from_slice(&(length as u32).to_le_bytes());
        });
        let (mut manifest, found) = Manifest::open(&flash).unwrap();
        assert_eq!(found, written);
        let at = LogPosition { page: 5, previous: 6 };
        manifest.commit(&flash, &[Edit::LogReached { at }]).unwrap();
        assert_eq!(Manifest::open(&flash).unwrap().1.bonds.reached, at, "from here on in the newest version");
    }
}

#[test]
fn what_version_1_wrote_is_read() {
    let flash = SimFlash::new(1);
    let written = Manifest::create(&flash, state()).unwrap().state().clone();
    forge(&flash, 0, |bytes| {
        bytes[8..10].copy_from_slice(&1u16.to_le_bytes());
        // The slices follow the numbers, the secret, the log and one range; each had an interval and no parts, but no
        // horizon. Nothing was emptied, and there were no bonds.
        let slices = 32 + 125 + 4 + 88;
        let count = usize::from(bytes[slices]);
        let mut at = slices + 4;
        let mut kept = bytes[..at].to_vec();
        for _ in 0..count {
            kept.extend_from_slice(&bytes[at..at + 44]);
            at += 52;
        }
        let end = 32 + u32::from_le_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]) as usize;
        kept.extend_from_slice(&bytes[at..end - 4 - BONDS_BYTES]);
        let length = kept.len();
        bytes[..length].copy_from_slice(&kept);
        bytes[length..].fill(0);
        bytes[24..28].copy_from_slice(&(length as u32 - 32).to_le_bytes());
    });
    let (mut manifest, found) = Manifest::open(&flash).unwrap();
    assert_eq!(found, written);
    manifest.commit(&flash, &[Edit::ValueAdded { file: 1 << 40, bytes: 1 }]).unwrap();
    assert_eq!(Manifest::open(&flash).unwrap().1.slices, written.slices, "from here on in the newest version");
}

#[test]
fn bytes_that_make_no_sense_are_damage_and_never_a_panic() {
    for seed in 0..2000 {
        let (flash, _) = small();
        let random = &mut Random::new(seed);
        forge(&flash, *random.pick(&[0, 6]), |bytes| {
            for _ in 0..random.within(1, 4) {
                bytes[32 + random.below(400) as usize] = random.word() as u8;
            }
        });
        if let Err(error) = Manifest::open(&flash) {
            assert!(matches!(error, ManifestError::Damage { .. } | ManifestError::Newer { .. }), "{error}");
        }
    }
}

#[test]
fn an_unfinished_takeover_is_passed_over() {
    let (flash, states) = small();
    flash.create(FileId::Manifest(2), 300).unwrap();
    let (mut manifest, found) = Manifest::open(&flash).unwrap();
    assert_eq!(found, states[3]);
    manifest.commit(&flash, &[Edit::ValueAdded { file: 1 << 40, bytes: 1 }]).unwrap();
    let files = flash.list().unwrap();
    assert_eq!(files.len(), 2, "one manifest and the commit log are left: {files:?}");
    assert_eq!(Manifest::open(&flash).unwrap().1.next_file, (1 << 40) + 1);
}
