//! Which keys operations are about.
//!
//! The names of keys are hashes of their indexes, so that the popular keys, which are those with the lowest indexes, lie
//! anywhere on the servers.

use std::str::FromStr;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution as _, Zipf};

use crate::mix::{Mix, RequestPurpose};
use crate::newest::Newest;

/// The exponent of Zipf's law when none is given, as in YCSB.
pub const EXPONENT: f64 = 0.99;

/// How popular keys are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// All alike.
    Uniform,
    /// By Zipf's law with this exponent, above 0.
    Zipf(f64),
    /// Gets by Zipf's law of how lately a key was set; sets go through all keys in turn. Where keys are inserted, gets by
    /// Zipf's law of how lately a key was inserted, among all that are there.
    Latest,
    /// Few keys get most operations, each of them alike, and the other keys the rest.
    ///
    /// "To model a power-law type distribution, the probability of selecting the popular key set is proportional to the
    /// number of popular keys, e.g. at 99% bias, 1% of the keys are selected 99% of the time" (FAWN technical report, §5,
    /// figure 10): a bias of `b` is `(1-b)` of the keys with a share of `b`.
    Hot {
        /// The popular ones.
        keys: HotKeys,
        /// Their share of the operations, 0 to 1.
        share: f64,
    },
}

/// How many keys are popular.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HotKeys {
    /// So many.
    Count(u64),
    /// This share of all, at least one.
    Share(f64),
}

/// Why a distribution was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a distribution; write uniform, zipf, zipf:0.99, latest, hot, hot:1000:90% or hot:1%:99%")]
pub struct DistributionError(String);

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Self, DistributionError> {
        let refused = || DistributionError(text.to_owned());
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            ["uniform"] => Ok(Self::Uniform),
            ["latest"] => Ok(Self::Latest),
            ["zipf"] => Ok(Self::Zipf(EXPONENT)),
            ["zipf", exponent] => match exponent.parse::<f64>() {
                Ok(exponent) if exponent > 0.0 && exponent.is_finite() => Ok(Self::Zipf(exponent)),
                _ => Err(refused()),
            },
            ["hot"] => Ok(Self::Hot { keys: HotKeys::Share(0.01), share: 0.99 }),
            ["hot", keys, share] => {
                let share = parse_share(share).ok_or_else(refused)?;
                let keys = if keys.ends_with('%') {
                    HotKeys::Share(parse_share(keys).filter(|share| *share > 0.0).ok_or_else(refused)?)
                } else {
                    HotKeys::Count(keys.parse().ok().filter(|keys| *keys > 0).ok_or_else(refused)?)
                };
                Ok(Self::Hot { keys, share })
            }
            _ => Err(refused()),
        }
    }
}

/// `0.99` or `99%`.
fn parse_share(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&share).then_some(share)
}

impl std::fmt::Display for Distribution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uniform => write!(f, "uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            Self::Latest => write!(f, "latest"),
            Self::Hot { keys: HotKeys::Count(keys), share } => write!(f, "hot:{keys}:{}%", share * 100.0),
            Self::Hot { keys: HotKeys::Share(keys), share } => write!(f, "hot:{}%:{}%", keys * 100.0, share * 100.0),
        }
    }
}

/// Draws operations of one loop.
pub struct Chooser<'a> {
    random: SmallRng,
    keys: u64,
    /// By a random number: below the first it is a set, else below the second an insert, else below the third a modify.
    below: [u64; 3],
    law: Law,
    /// What all loops have written; for [`Distribution::Latest`], and inserts.
    newest: &'a Newest,
}

enum Law {
    Uniform,
    Zipf(Zipf<f64>),
    Latest(Zipf<f64>),
    /// Over so many keys, as many as there were.
    Inserted(Zipf<f64>, u64),
    Hot {
        keys: u64,
        below: u64,
    },
}

fn zipf(keys: u64, exponent: f64) -> Zipf<f64> {
    Zipf::new(keys as f64, exponent).expect("a positive exponent and a key make a law")
}

impl<'a> Chooser<'a> {
    /// Draws operations of `mix` on `0..keys`, and on what is inserted.
    pub fn new(distribution: Distribution, keys: u64, mix: Mix, newest: &'a Newest, seed: u64) -> Self {
        assert!(keys > 0, "there is a key to choose");
        let law = match distribution {
            Distribution::Uniform => Law::Uniform,
            Distribution::Zipf(exponent) => Law::Zipf(zipf(keys, exponent)),
            Distribution::Latest if mix.inserts > 0.0 => {
                assert!(!mix.replaces(), "what is inserted is not set again");
                Law::Inserted(zipf(keys, EXPONENT), keys)
            }
            Distribution::Latest => Law::Latest(zipf(keys, EXPONENT)),
            Distribution::Hot { keys: hot, share } => {
                let hot = match hot {
                    HotKeys::Count(hot) => hot,
                    HotKeys::Share(share) => (keys as f64 * share).round() as u64,
                };
                Law::Hot { keys: hot.clamp(1, keys), below: threshold(share) }
            }
        };
        let below = [mix.sets, mix.sets + mix.inserts, mix.sets + mix.inserts + mix.modifies].map(threshold);
        Self { random: SmallRng::seed_from_u64(seed), keys, below, law, newest }
    }

    /// The next operation, or its first half, and its key.
    #[inline]
    pub fn operation(&mut self) -> (RequestPurpose, u64) {
        let kind = self.kind();
        let index = match kind {
            RequestPurpose::Get | RequestPurpose::ModifyGet | RequestPurpose::ModifySet => self.get(),
            RequestPurpose::Set => self.set(),
            RequestPurpose::Insert => self.newest.begin_insert(),
        };
        (kind, index)
    }

    #[inline]
    fn kind(&mut self) -> RequestPurpose {
        let [sets, inserts, modifies] = self.below;
        // Gets alone, the most usual load, need no number.
        if modifies == 0 {
            return RequestPurpose::Get;
        }
        let number = self.random.next_u64();
        let is_below = |below| below == u64::MAX || number < below;
        if is_below(sets) {
            RequestPurpose::Set
        } else if is_below(inserts) {
            RequestPurpose::Insert
        } else if is_below(modifies) {
            RequestPurpose::ModifyGet
        } else {
            RequestPurpose::Get
        }
    }

    /// The key of the next get.
    #[inline]
    fn get(&mut self) -> u64 {
        match &mut self.law {
            Law::Latest(zipf) => {
                let age = (zipf.sample(&mut self.random) as u64).clamp(1, self.keys);
                let newest = self.newest.sets() % self.keys;
                (newest + self.keys - age) % self.keys
            }
            Law::Inserted(law, keys) => {
                let end = self.newest.end();
                if *keys != end {
                    (*law, *keys) = (zipf(end, EXPONENT), end);
                }
                end - (law.sample(&mut self.random) as u64).clamp(1, end)
            }
            _ => self.draw(),
        }
    }

    /// The key of the next set.
    #[inline]
    fn set(&mut self) -> u64 {
        if let Law::Latest(_) = self.law {
            return self.newest.begin_set() % self.keys;
        }
        self.draw()
    }

    #[inline]
    fn draw(&mut self) -> u64 {
        match &self.law {
            Law::Uniform => self.below(self.keys),
            Law::Zipf(zipf) | Law::Latest(zipf) | Law::Inserted(zipf, _) => {
                (zipf.sample(&mut self.random) as u64).clamp(1, self.keys) - 1
            }
            Law::Hot { keys, below } => {
                let (hot, below) = (*keys, *below);
                if hot == self.keys || self.happens(below) {
                    self.below(hot)
                } else {
                    hot + self.below(self.keys - hot)
                }
            }
        }
    }

    #[inline]
    fn happens(&mut self, below: u64) -> bool {
        below == u64::MAX || self.random.next_u64() < below
    }

    #[inline]
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.random.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// What a random number of 64 bits is below with this probability; the greatest number stands for always.
fn threshold(share: f64) -> u64 {
    if share >= 1.0 { u64::MAX } else { (share * 2f64.powi(64)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 200_000;

    fn counts(distribution: &str, keys: u64) -> Vec<f64> {
        let newest = Newest::new(keys);
        let mut chooser = Chooser::new(distribution.parse().unwrap(), keys, Mix::default(), &newest, 7);
        let mut counts = vec![0.0; keys as usize];
        (0..DRAWS).for_each(|_| counts[chooser.get() as usize] += 1.0 / DRAWS as f64);
        counts
    }

    #[test]
    fn uniform_gives_every_key_its_share() {
        let counts = counts("uniform", 100);
        assert!(counts.iter().all(|share| (0.008..0.012).contains(share)), "{counts:?}");
    }

    #[test]
    fn zipf_follows_its_law() {
        let counts = counts("zipf:1.2", 1000);
        let whole: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-1.2)).sum();
        for rank in [1, 2, 3, 10, 30] {
            let expected = f64::from(rank).powf(-1.2) / whole;
            let seen = counts[rank as usize - 1];
            assert!((seen / expected - 1.0).abs() < 0.1, "rank {rank}: {seen}, not {expected}");
        }
    }

    #[test]
    fn at_99_percent_bias_1_percent_of_the_keys_are_selected_99_percent_of_the_time() {
        let counts = counts("hot:1%:99%", 1000);
        let hot: f64 = counts[..10].iter().sum();
        assert!((0.988..0.992).contains(&hot), "{hot}");
        assert!(counts[..10].iter().all(|share| (0.09..0.11).contains(share)), "{:?}", &counts[..10]);
        assert!(counts[10..].iter().all(|share| *share < 0.001), "the others share the rest alike");
        assert_eq!("hot".parse(), "hot:1%:99%".parse::<Distribution>());
        let all = self::counts("hot:100%:99%", 10);
        assert!(all.iter().all(|share| (0.09..0.11).contains(share)), "{all:?}");
    }

    #[test]
    fn latest_prefers_what_was_set_last() {
        let newest = Newest::new(100);
        let mut chooser = Chooser::new(Distribution::Latest, 100, Mix::of_sets(0.5), &newest, 3);
        let set: Vec<u64> = (0..150).map(|_| chooser.set()).collect();
        assert_eq!((set[0], set[99], set[100], set[149]), (0, 99, 0, 49), "sets go round");
        let mut counts = vec![0; 100];
        (0..DRAWS).for_each(|_| counts[chooser.get() as usize] += 1);
        assert!(counts[49] > counts[48] && counts[48] > counts[47] && counts[47] > counts[50], "{counts:?}");
        let most = counts.iter().copied().max();
        assert_eq!(most, Some(counts[49]));
    }

    #[test]
    fn where_keys_are_inserted_gets_prefer_the_last_that_is_there_and_reach_all() {
        let newest = Newest::new(1000);
        let mix = Mix { inserts: 0.05, ..Mix::default() };
        let mut chooser = Chooser::new(Distribution::Latest, 1000, mix, &newest, 3);
        assert!((0..1000).all(|_| chooser.get() < 1000), "nothing was inserted");
        let inserted: Vec<u64> = (0..100).map(|_| newest.begin_insert()).collect();
        assert!((0..1000).all(|_| chooser.get() < 1000), "nothing that was inserted is there yet");
        for index in inserted {
            newest.end_insert(index);
        }
        let mut counts = vec![0.0; 1100];
        (0..DRAWS).for_each(|_| counts[chooser.get() as usize] += 1.0 / DRAWS as f64);
        let whole: f64 = (1..=1100).map(|rank| f64::from(rank).powf(-EXPONENT)).sum();
        for age in [1, 2, 3, 10, 30] {
            let expected = f64::from(age).powf(-EXPONENT) / whole;
            let seen = counts[1100 - age as usize];
            assert!((seen / expected - 1.0).abs() < 0.1, "age {age}: {seen}, not {expected}");
        }
        assert!(counts[..10].iter().sum::<f64>() > 0.0, "the oldest are read, too");
    }

    #[test]
    fn operations_have_the_shares_that_are_asked_for() {
        let newest = Newest::new(10);
        for (sets, inserts, modifies) in [(0.0, 0.0, 0.0), (0.25, 0.0, 0.0), (1.0, 0.0, 0.0), (0.1, 0.2, 0.3)] {
            let mix = Mix { sets, inserts, modifies };
            let mut chooser = Chooser::new(Distribution::Uniform, 10, mix, &newest, 1);
            let mut seen = [0.0; RequestPurpose::COUNT];
            (0..DRAWS).for_each(|_| seen[chooser.operation().0 as usize] += 1.0 / DRAWS as f64);
            for (kind, share) in [
                (RequestPurpose::Get, mix.gets()),
                (RequestPurpose::Set, sets),
                (RequestPurpose::Insert, inserts),
                (RequestPurpose::ModifyGet, modifies),
                (RequestPurpose::ModifySet, 0.0),
            ] {
                let found = seen[kind as usize];
                // Five standard deviations.
                let far = 5.0 * (share * (1.0 - share) / DRAWS as f64).sqrt() + 1e-9;
                assert!((found - share).abs() <= far, "{mix:?}: {kind:?} {found}");
            }
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in [
            "",
            "normal",
            "zipf:",
            "zipf:0",
            "zipf:x",
            "hot:0:0.5",
            "hot:0%:99%",
            "hot:5",
            "hot:5:2",
            "hot:101%:1",
            "latest:1",
        ] {
            assert!(text.parse::<Distribution>().is_err(), "{text}");
        }
        for text in ["uniform", "zipf:0.99", "latest", "hot:1000:90%", "hot:1%:99%"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
    }
}
