//! Placing many slots in an empty piece.

use super::displace::displace;
use super::geometry::MAX_LINES;
use super::memory::Memory;
use super::piece::{Loose, Piece};
use super::slot::{LINE_SLOTS, Slot};

/// Places `loose` entries in a piece that is empty and has its memory, and hands those that find no room to `left`.
///
/// First every home line is filled, then second lines take what did not fit: placing in one pass would let the slots of
/// early lines fill the home lines of later ones.
pub(super) fn fill(piece: &mut Piece, memory: &mut Memory, loose: &[Loose], mut left: impl FnMut(Loose)) {
    assert_eq!(piece.used, 0, "only an empty piece is filled");
    let mut counts = [0u8; MAX_LINES as usize];
    let mut second = Vec::with_capacity(loose.len() / 8);
    for &(x, segment) in loose {
        let place = piece.geometry.place(x);
        let count = &mut counts[place.home as usize];
        if usize::from(*count) == LINE_SLOTS {
            second.push((x, segment));
            continue;
        }
        piece.line_mut(memory, place.home).put(usize::from(*count), Slot::new(place.tag, segment));
        *count += 1;
    }
    piece.used = (loose.len() - second.len()) as u32;
    for (x, segment) in second {
        let place = piece.geometry.place(x);
        let slot = Slot::new(place.tag, segment);
        let count = &mut counts[place.alternate as usize];
        if usize::from(*count) < LINE_SLOTS {
            // A displacement below may have filled the slot that the count names; then it filled a later one too.
            let line = piece.line_mut(memory, place.alternate);
            if let Some(index) = line.first_vacant() {
                line.put(index, slot.moved());
                *count += 1;
                piece.used += 1;
                continue;
            }
            *count = LINE_SLOTS as u8;
        }
        if displace(piece, memory, place, slot) {
            piece.used += 1;
        } else {
            left((x, segment));
        }
    }
}
