//! Making room: when both lines of a slot are full, others move to their second line.

use super::geometry::{MAX_LINES, Place};
use super::memory::Memory;
use super::piece::Piece;
use super::slot::{LINE_SLOTS, Slot};

/// Lines looked at before giving up.
const REACH: usize = 40;

/// A line in the breadth-first search.
#[derive(Clone, Copy, Default)]
struct Step {
    line: u32,
    /// The step whose slot `slot` would move here.
    parent: u8,
    slot: u8,
}

/// Frees a slot in one of the two full lines of `place` by the shortest chain of moves, each to the moved slot's other
/// line, and puts `slot` (made for the home line) there. False, and nothing changed, when 40 lines offer no room.
pub(super) fn displace(piece: &Piece, memory: &mut Memory, place: Place, slot: Slot) -> bool {
    let mut steps = [Step::default(); REACH];
    let mut seen = [0u64; MAX_LINES as usize / 64];
    let mut len = 0;
    for line in [place.home, place.alternate] {
        steps[len].line = line;
        seen[line as usize / 64] |= 1 << (line % 64);
        len += 1;
    }
    let mut at = 0;
    while at < len {
        let line = steps[at].line;
        let slots = piece.line(memory, line).slots();
        for (index, moving) in slots.into_iter().enumerate() {
            let other = piece.geometry.other(line, moving);
            let (word, bit) = (other as usize / 64, 1 << (other % 64));
            if seen[word] & bit != 0 {
                continue;
            }
            seen[word] |= bit;
            if let Some(vacant) = piece.line(memory, other).first_vacant() {
                let (at, index) = shift(piece, memory, &steps, (at, index), (other, vacant));
                let slot = if at == 0 { slot } else { slot.moved() };
                piece.line_mut(memory, steps[at].line).put(index, slot);
                return true;
            }
            if len < REACH {
                steps[len] = Step { line: other, parent: at as u8, slot: index as u8 };
                len += 1;
            }
        }
        at += 1;
    }
    false
}

/// Moves the slot `from` (step, index) to the vacant slot `to` (line, index), then its parent's slot to where it was,
/// and so on; returns the vacated slot of one of the first two steps.
fn shift(
    piece: &Piece,
    memory: &mut Memory,
    steps: &[Step; REACH],
    mut from: (usize, usize),
    mut to: (u32, usize),
) -> (usize, usize) {
    loop {
        let step = steps[from.0];
        debug_assert!(from.1 < LINE_SLOTS, "a line has 16 slots");
        let moved = piece.line(memory, step.line).slot(from.1).moved();
        piece.line_mut(memory, to.0).put(to.1, moved);
        if from.0 < 2 {
            return from;
        }
        to = (step.line, from.1);
        from = (usize::from(step.parent), usize::from(step.slot));
    }
}
