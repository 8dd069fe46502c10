//! Whether a front-end can carry out what it is asked, and what it lacks if not.
//!
//! Nothing that it knows says for certain that a chain answers: a view may name members that have stopped since. So whoever
//! runs it gets a key in each [part](Front::parts) of the key space before it lets clients in.

use super::machine::Front;
use fawn_ring::{Interval, Key};

/// What a front-end waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// A manager that takes it in.
    Manager,
    /// A front-end that owns the wedge.
    Owner,
    /// A chain.
    Chain,
}

/// Keys that are tried for each part, and beside. A part that is so small that none of them lies there is passed over.
const TRIES: (usize, usize) = (16, 1024);

/// What the key space consists of, as far as a front-end knows: parts of wedges that lie in one range each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The lowest place of a part, and a key that lies in it.
    pub keys: Vec<(Key, Vec<u8>)>,
    /// Every place is in one of the parts.
    pub is_whole: bool,
}

impl Front {
    /// What it lacks to carry out an operation on a key that lies here.
    pub fn lack_at(&self, place: &Key) -> Option<Lack> {
        if !self.life.has_begun() {
            return Some(Lack::Manager);
        }
        let owner = self.routes.wedge_at(place).and_then(|(_, wedge)| wedge.owner);
        match (self.routes.range_at(place), owner) {
            (None, _) => Some(Lack::Chain),
            (_, None) => Some(Lack::Owner),
            _ => None,
        }
    }

    /// The parts of the key space that it knows who has.
    ///
    /// # Errors
    /// It knows none.
    pub fn parts(&self) -> Result<Parts, Lack> {
        if !self.life.has_begun() {
            return Err(Lack::Manager);
        }
        let (mut all, mut next) = (Vec::new(), Some(Key::MIN));
        for (_, wedge) in self.routes.wedges() {
            for (.., keys) in self.routes.parts(&wedge.keys) {
                all.push(keys);
                if next == Some(keys.low) {
                    next = keys.high.successor();
                }
            }
        }
        if !all.is_empty() {
            return Ok(Parts { keys: keys_in(&all, |key| self.position(key)), is_whole: next.is_none() });
        }
        let has_chain = self.routes.parts(&Interval::ALL).next().is_some();
        Err(if has_chain { Lack::Owner } else { Lack::Chain })
    }
}

/// A key in each of some parts, which follow each other.
fn keys_in(parts: &[Interval], position: impl Fn(&[u8]) -> Key) -> Vec<(Key, Vec<u8>)> {
    let mut found = vec![None; parts.len()];
    let mut left = parts.len();
    for number in 0..TRIES.0 * parts.len() + TRIES.1 {
        let key = format!("fawn-ready-{number}").into_bytes();
        let place = position(&key);
        let at = parts.partition_point(|part| part.high < place);
        if parts.get(at).is_some_and(|part| part.contains(&place)) && found[at].is_none() {
            found[at] = Some((parts[at].low, key));
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::Limits;
    use crate::frontend::tests::{Bench, ME};
    use crate::ids::{Incarnation, WedgeEpoch};
    use crate::timing::Timing;
    use crate::wire::Message;
    use fawn_ring::Secret;

    #[test]
    fn a_front_end_says_what_it_lacks_and_what_it_knows() {
        let mut front = Front::new(ME, 1, Timing::default(), Limits::default(), Secret([3; 32]));
        assert_eq!((front.parts(), front.lack_at(&Key::MIN)), (Err(Lack::Manager), Some(Lack::Manager)));
        front.hear(0, Message::FrontWelcome { nonce: 1, incarnation: Incarnation(1) }, &mut Vec::new());
        assert_eq!((front.parts(), front.lack_at(&Key::MIN)), (Err(Lack::Chain), Some(Lack::Chain)));
        let mut bench = Bench::with(Limits::default());
        assert_eq!(bench.front.lack_at(&Key::MIN), Some(Lack::Owner));
        let parts = bench.front.parts().unwrap();
        assert!(parts.is_whole, "who owns a wedge is found out by asking");
        let halves = Interval::ALL.divide(2);
        let lies = |(low, key): &(Key, Vec<u8>), half: &Interval| {
            half.low == *low && half.contains(&bench.front.position(key))
        };
        assert!(parts.keys.len() == 2 && parts.keys.iter().zip(&halves).all(|(key, half)| lies(key, half)));
        bench.view(WedgeEpoch(1), Some(ME));
        assert_eq!(bench.front.lack_at(&Key::MIN), None);
    }
}
