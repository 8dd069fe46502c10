//! How a member does, for its operator.

use super::copying::Copying;
use super::replica::{Active, Phase, Replica};
use super::stats::Tally;
use crate::status::{CopyFigures, RangeFigures, Role};
use fawn_ring::{Interval, Key};

impl Replica {
    /// What has happened to it.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// How it does.
    pub fn figures(&self) -> RangeFigures {
        let role = match &self.phase {
            Phase::Idle => Role::Idle,
            Phase::Learning(_) => Role::Learner,
            Phase::Active(active) => role(active),
            Phase::Sealed(_) | Phase::Levelling(_) => Role::Sealed,
        };
        RangeFigures {
            range: self.log.range(),
            keys: *self.log.keys(),
            epoch: self.epoch(),
            role,
            last: self.log.last(),
            committed: self.committed(),
            synced: self.log.synced(),
            copy: self.copying.as_ref().map(|copying| copy(copying, *self.log.keys())),
        }
    }
}

fn role(active: &Active) -> Role {
    match (active.place, active.is_tail()) {
        _ if active.chain.members.len() == 1 => Role::Alone,
        (0, _) => Role::Head,
        (_, true) => Role::Tail,
        (_, false) => Role::Mid,
    }
}

fn copy(copying: &Copying, keys: Interval) -> CopyFigures {
    let permille = copying.from.map_or(0, |from| share(from, keys));
    CopyFigures { permille, bytes: copying.bytes }
}

/// Of a thousand parts of `keys`, how many are before `at`.
fn share(at: Key, keys: Interval) -> u32 {
    let place = |key: Key| u128::from(u64::from_be_bytes(key.0[..8].try_into().expect("eight bytes")));
    let (low, high) = (place(keys.low), place(keys.high).max(place(keys.low) + 1));
    (place(at).saturating_sub(low) * 1000 / (high - low)).min(1000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_as_far_as_the_keys_before_it() {
        let half = Interval::ALL.divide(2)[1].low;
        assert_eq!([Key::MIN, half, Key::MAX].map(|at| share(at, Interval::ALL)), [0, 500, 1000]);
        let upper = Interval::new(half, Key::MAX);
        assert_eq!([half, Key::MAX].map(|at| share(at, upper)), [0, 1000]);
    }
}
