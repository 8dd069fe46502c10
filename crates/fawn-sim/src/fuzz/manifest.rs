//! The manifest over arbitrary pages, and so the states and edits in it.

use fawn_check::random::Random;
use fawn_store::flash::FileId;
use fawn_store::manifest::Manifest;
use fawn_store::page::PAGE_BYTES;

use super::pages::{OneFile, whole};
use super::target::{Input, Target};
use crate::edits;

const NUMBER: u64 = 1;
const FILE: FileId = FileId::Manifest(NUMBER);
const MAGIC: &[u8] = b"fwnM";
const HEADER_BYTES: usize = 32;
const SNAPSHOT: u8 = 1;

/// [`Manifest::open`].
pub(super) struct ManifestFile;

impl Target for ManifestFile {
    fn name(&self) -> &'static str {
        "manifest"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let flash = OneFile::new(FILE, &[]);
        let mut manifest = Manifest::create(&flash, edits::state()).expect("memory takes a manifest");
        for _ in 0..random.below(4) {
            let (edits, _) = edits::commit(manifest.state(), random);
            manifest.commit(&flash, &edits).expect("memory takes a commit");
        }
        let mut pages = flash.parts();
        // Some of the many free pages are enough.
        let used = pages.iter().rposition(|page| !page.is_empty()).map_or(0, |last| last + 1);
        pages.truncate(used + random.below(3) as usize);
        self.mend(&mut Random::new(1), &mut pages);
        pages
    }

    fn mend(&self, random: &mut Random, input: &mut Input) {
        if random.chance(1, 8) {
            return;
        }
        let (mut chain, chains) = (Vec::new(), random.chance(1, 2));
        let length = input.len();
        for at in 0..length {
            if input[at].len() < HEADER_BYTES + 8 || &input[at][..4] != MAGIC {
                continue;
            }
            if input[at][10] == SNAPSHOT {
                // The pages that the file was made with.
                input[at][HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&(length as u64).to_le_bytes());
            }
            let place = input[at][16];
            if chains && let Some((_, previous)) = chain.iter().rev().find(|(other, _)| *other < place) {
                input[at][12..16].copy_from_slice(&u32::to_le_bytes(*previous));
            }
            let bytes = u32::from_le_bytes([input[at][24], input[at][25], input[at][26], input[at][27]]) as usize;
            let pages = (HEADER_BYTES + bytes).div_ceil(PAGE_BYTES);
            if at + pages > length {
                continue;
            }
            input[at..at + pages].iter_mut().for_each(whole);
            let frame = input[at..at + pages].concat();
            let checksum = crc32c::crc32c_append(crc32c::crc32c(&NUMBER.to_le_bytes()), &frame[8..]);
            input[at][4..8].copy_from_slice(&checksum.to_le_bytes());
            chain.push((place, checksum));
        }
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        // The flash, what is read of it, and the state: a slice of 44 bytes is 64 in memory, kept twice.
        4 * (input.len() * PAGE_BYTES) as u64 + 4096
    }

    fn execute(&self, input: &Input) -> bool {
        let flash = OneFile::new(FILE, input);
        let Ok((manifest, state)) = Manifest::open(&flash) else { return false };
        assert_eq!(state.check(), Ok(()), "a state that is opened is sound");
        assert_eq!(&state, manifest.state(), "a manifest has the state that it tells");
        true
    }
}
