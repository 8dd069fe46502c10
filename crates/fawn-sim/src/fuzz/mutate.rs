//! Damage to inputs: what flash, networks and attackers do to bytes, and splices of two inputs.

use fawn_check::random::Random;

use super::target::Input;

/// Longest part, but for those that were longer before.
const LONGEST: usize = 1 << 14;

/// Bytes that formats give a meaning to.
const TELLING: &[u8] = &[0, 1, 2, 4, 0x0f, 0x10, 0x7f, 0x80, 0xff, b' ', b'\r', b'\n', b'0'];

/// Changes `input` in one to eight places, with pieces of `others`.
pub fn mutate(random: &mut Random, input: &mut Input, others: &[Input]) {
    for _ in 0..1 << random.below(4) {
        if random.chance(1, 12) {
            rearrange(random, input, others);
            continue;
        }
        if input.is_empty() {
            continue;
        }
        let at = random.below(input.len() as u64) as usize;
        damage(random, &mut input[at], others);
    }
}

/// Drops, repeats, swaps, divides or takes whole parts.
fn rearrange(random: &mut Random, input: &mut Input, others: &[Input]) {
    let at = random.below(input.len() as u64 + 1) as usize;
    match random.below(5) {
        0 if at < input.len() => drop(input.remove(at)),
        1 if at < input.len() => input.insert(at, input[at].clone()),
        2 if at < input.len() => {
            let with = random.below(input.len() as u64) as usize;
            input.swap(at, with);
        }
        3 if at < input.len() => {
            let cut = random.below(input[at].len() as u64 + 1) as usize;
            let rest = input[at].split_off(cut);
            input.insert(at + 1, rest);
        }
        _ => {
            let other = random.pick(others);
            if !other.is_empty() {
                input.insert(at, random.pick(other).clone());
            }
        }
    }
}

/// Changes one place of `part`.
fn damage(random: &mut Random, part: &mut Vec<u8>, others: &[Input]) {
    let at = random.below(part.len() as u64 + 1) as usize;
    let length = length(random, part.len() - at);
    let end = at + length;
    match random.below(10) {
        0 | 1 if at < part.len() => part[at] ^= 1 << random.below(8),
        2 if at < part.len() => part[at] = random.word() as u8,
        3 if at < part.len() => part[at] = *random.pick(TELLING),
        // Neighbours of a number, as sizes and counts are wrong by one.
        4 if at < part.len() => part[at] = part[at].wrapping_add(random.below(5) as u8).wrapping_sub(2),
        5 => part[at..end].fill(*random.pick(TELLING)),
        6 if part.len() < LONGEST => {
            let bytes: Vec<u8> = (0..length.max(1)).map(|_| random.word() as u8).collect();
            part.splice(at..at, bytes);
        }
        7 => drop(part.drain(at..end)),
        8 if part.len() < LONGEST => {
            let again = part[at..end].to_vec();
            part.splice(at..at, again);
        }
        _ => splice(random, part, at..end, others),
    }
}

/// A length up to `most`, mostly short.
fn length(random: &mut Random, most: usize) -> usize {
    let scale = 1 << random.below(10);
    random.below(scale + 1).min(most as u64) as usize
}

/// Replaces `range`, or everything from its start on, by a piece of another input.
fn splice(random: &mut Random, part: &mut Vec<u8>, range: std::ops::Range<usize>, others: &[Input]) {
    let other = random.pick(others);
    if other.is_empty() {
        return;
    }
    let other = random.pick(other);
    let from = random.below(other.len() as u64 + 1) as usize;
    if random.chance(1, 3) {
        part.truncate(range.start);
        part.extend_from_slice(&other[from..]);
        return;
    }
    let piece = &other[from..from + length(random, other.len() - from)];
    if random.chance(1, 2) {
        // In place: nothing behind it moves.
        let end = (range.start + piece.len()).min(part.len());
        part[range.start..end].copy_from_slice(&piece[..end - range.start]);
    } else {
        part.splice(range, piece.iter().copied());
    }
}
