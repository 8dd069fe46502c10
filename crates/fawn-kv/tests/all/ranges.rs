//! The ranges that the manager decides on, and what everybody makes of the news of them: whatever is split, merged and
//! given other members, and in whatever order that is heard.

use fawn_kv::ids::{Attempt, Chain, ClusterId, Epoch, Incarnation, Member, NodeId, Position, RangeId, Rules, Seq};
use fawn_kv::manager::{Command, Into, Leases, MOST_REPLICAS, MOST_VIRTUAL_IDS, Range, Settings, State};
use fawn_kv::range::chain_map::Map;
use fawn_ring::{Interval, Key, MachineId};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, subsequence};

fn at(prefix: u64) -> Key {
    Key::lowest_with_prefix(prefix)
}

fn members(numbers: &[u64]) -> Vec<Member> {
    numbers.iter().map(|number| Member { node: NodeId(*number), incarnation: Incarnation(1) }).collect()
}

/// A position, often one next to others or at an end.
fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        4 => any::<u64>().prop_map(at),
        4 => (0..40u64).prop_map(at),
        2 => (0..40u64).prop_map(Key::highest_with_prefix),
        1 => Just(Key::MIN),
        1 => Just(Key::MAX),
    ]
}

/// What the manager may do next, to the range of a key.
#[derive(Clone, Debug)]
enum Step {
    /// Cuts it there.
    Split(Key),
    /// Makes it one with the next.
    Merge(Key),
    /// Gives it other members.
    Replace(Key, Vec<Member>),
    /// Begins to cut it there, and never comes to the end of that.
    Stick(Key),
}

fn step() -> impl Strategy<Value = Step> {
    let some = subsequence((0..8).collect::<Vec<u64>>(), 1..=4).prop_shuffle();
    prop_oneof![
        3 => key().prop_map(Step::Split),
        3 => key().prop_map(Step::Merge),
        2 => (key(), some).prop_map(|(key, numbers)| Step::Replace(key, members(&numbers))),
        1 => key().prop_map(Step::Stick),
    ]
}

/// What was decided, and all chains that have become active, in the order in which they have.
struct History {
    state: State,
    news: Vec<(RangeId, Chain)>,
}

impl History {
    /// The key space cut at places of some nodes, each range with its first chain.
    fn new(nodes: u64) -> Self {
        let settings = Settings { replicas: 3, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let mut history = Self { state: State::new(settings), news: Vec::new() };
        for node in 0..nodes {
            let (node, machine) = (NodeId(node), MachineId(node));
            history.apply(&Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 2 });
        }
        history.apply(&Command::Form);
        for range in history.state.ranges.keys().copied().collect::<Vec<_>>() {
            history.change(range, members(&[1, 2, 3]), Into::Itself);
        }
        history
    }

    /// Applies a command that fits.
    fn apply(&mut self, command: &Command) -> Vec<RangeId> {
        self.state.apply(command).unwrap_or_else(|| panic!("{command:?} fits")).active
    }

    fn range(&self, key: &Key) -> RangeId {
        *self.state.by_last.range(key..).next().unwrap().1
    }

    fn chain(&self, key: &Key) -> &Chain {
        &self.state.ranges[&self.range(key)].chain
    }

    fn begin(&mut self, range: RangeId, target: Vec<Member>, into: Into) -> Attempt {
        let attempt_of = |range: &RangeId| self.state.ranges[range].attempt;
        let other = if let Into::Merge { upper } = into { attempt_of(&upper) } else { Attempt(0) };
        let attempt = attempt_of(&range).max(other).next();
        let source = self.state.ranges[&range].chain.members.first().copied();
        self.apply(&Command::Begin { range, attempt, target, source, into });
        attempt
    }

    /// An attempt from its beginning to its end.
    fn change(&mut self, range: RangeId, target: Vec<Member>, into: Into) {
        let attempt = self.begin(range, target, into);
        let (after, first) = (Position::default(), Seq(1));
        for id in self.apply(&Command::Activate { range, attempt, into, after, first }) {
            self.news.push((id, self.state.ranges[&id].chain.clone()));
        }
    }

    /// Takes a step, if there is something to cut or to merge.
    fn take(&mut self, step: &Step) {
        let (Step::Split(key) | Step::Merge(key) | Step::Replace(key, _) | Step::Stick(key)) = step;
        let (range, chain) = (self.range(key), self.chain(key).clone());
        let can_cut = chain.keys.cut(key).is_some();
        match step {
            Step::Split(at) if can_cut => self.change(range, chain.members, Into::Split { at: *at }),
            Step::Stick(at) if can_cut => drop(self.begin(range, chain.members, Into::Split { at: *at })),
            Step::Split(_) | Step::Stick(_) => {}
            Step::Replace(_, members) => self.change(range, members.clone(), Into::Itself),
            Step::Merge(_) => {
                let Some(upper) = self.state.next_to(range) else { return };
                for one in [range, upper] {
                    self.change(one, chain.members.clone(), Into::Itself);
                }
                self.change(range, chain.members, Into::Merge { upper });
            }
        }
    }

    /// The chains of all keys, in their order.
    fn newest(&self) -> impl Iterator<Item = (RangeId, &Chain)> {
        self.state.by_last.values().map(|id| (*id, &self.state.ranges[id].chain))
    }

    /// What whoever knows of the changes up to a number is answered: since when, as of when, and the chains.
    fn answer(&self, known: u64) -> ((u64, u64), Vec<(RangeId, Chain)>) {
        let newer = self.state.ranges.iter().filter(|(_, range)| range.changed > known);
        ((known, self.state.changes), newer.map(|(id, range)| (*id, range.chain.clone())).collect())
    }
}

fn all(map: &Map) -> Vec<(RangeId, Chain)> {
    map.overlapping(Interval::ALL).map(|(id, chain)| (id, chain.clone())).collect()
}

/// Everything in some order, each more than once, as far from the right order as said.
fn shuffled(news: &[(RangeId, Chain)], disorder: usize, random: &[Index]) -> Vec<(RangeId, Chain)> {
    assert!(random.len() > 2 * news.len(), "all is told twice at least");
    let told = random.iter().zip(news.iter().enumerate().cycle());
    let mut told: Vec<_> = told.map(|(late, (at, news))| (at + late.index(disorder), news)).collect();
    told.sort_by_key(|(place, _)| *place);
    told.into_iter().map(|(_, news)| news.clone()).collect()
}

/// What learning a chain does to a map, by the letter: it is old where any of its keys is known to be in a later epoch, and
/// takes the place of everything else that it overlaps.
fn learnt(known: &[(RangeId, Chain)], news: &(RangeId, Chain)) -> Vec<(RangeId, Chain)> {
    let (over, mut rest): (Vec<_>, Vec<_>) =
        known.iter().cloned().partition(|(_, chain)| chain.keys.overlaps(&news.1.keys));
    if over.iter().any(|(_, chain)| chain.epoch > news.1.epoch) {
        return known.to_vec();
    }
    rest.push(news.clone());
    rest.sort_by_key(|(_, chain)| chain.keys);
    rest
}

proptest! {
    #[test]
    fn ranges_tile_the_key_space_and_epochs_only_rise(
        nodes in 0..4u64,
        steps in vec(step(), 1..40),
        keys in vec(key(), 8),
    ) {
        let mut history = History::new(nodes);
        for step in &steps {
            let before: Vec<(RangeId, Chain)> =
                keys.iter().map(|key| (history.range(key), history.chain(key).clone())).collect();
            history.take(step);
            let chains: Vec<&Chain> = history.newest().map(|(_, chain)| chain).collect();
            prop_assert_eq!((chains[0].keys.low, chains[chains.len() - 1].keys.high), (Key::MIN, Key::MAX));
            prop_assert!(chains.windows(2).all(|pair| pair[0].keys.high.successor() == Some(pair[1].keys.low)));
            prop_assert_eq!(chains.len(), history.state.ranges.len());
            for (key, (id, old)) in keys.iter().zip(&before) {
                let new = history.chain(key);
                prop_assert!(new.keys.contains(key));
                let same = (history.range(key), new) == (*id, old);
                prop_assert!(same || new.epoch > old.epoch, "{:?} then {:?}", old, new);
            }
        }
    }

    #[test]
    fn whatever_the_order_of_news_a_map_ends_with_the_newest_chain_of_every_key(
        nodes in 0..4u64,
        steps in vec(step(), 1..40),
        keys in vec(key(), 8),
        disorder in prop_oneof![Just(1), 2..20usize, Just(1000)],
        random in vec(any::<Index>(), 300),
    ) {
        let mut history = History::new(nodes);
        for step in &steps {
            history.take(step);
        }
        let newest: Vec<(RangeId, Chain)> = history.newest().map(|(id, chain)| (id, chain.clone())).collect();
        let mut map = Map::default();
        let mut known = Vec::new();
        for news in shuffled(&history.news, disorder, &random) {
            let before = map.clone();
            map.learn(news.0, news.1.clone());
            known = learnt(&known, &news);
            prop_assert_eq!(all(&map), &known[..]);
            prop_assert!(known.windows(2).all(|pair| pair[0].1.keys.high < pair[1].1.keys.low), "{:?}", known);
            prop_assert!(!newest.contains(&news) || known.contains(&news), "what is newest is always learnt");
            let ends = [news.1.keys.low, news.1.keys.high];
            for key in keys.iter().chain(&ends) {
                let has: Vec<_> = known.iter().filter(|(_, chain)| chain.keys.contains(key)).collect();
                let found = map.lookup(key);
                prop_assert_eq!(found, has.first().map(|(id, chain)| (*id, chain)), "{:?}", key);
                prop_assert_eq!(map.overlapping(Interval::new(*key, *key)).count(), has.len());
                if let (Some((_, old)), Some((_, new))) = (before.lookup(key), found) {
                    prop_assert!(old == new || old.epoch < new.epoch, "{:?} then {:?}", old, new);
                }
            }
        }
        prop_assert_eq!(all(&map), newest);
        for key in keys.iter().chain([&Key::MIN, &Key::MAX]) {
            prop_assert_eq!(map.lookup(key), Some((history.range(key), history.chain(key))));
        }
    }

    #[test]
    fn a_map_that_asks_once_more_knows_all_whatever_answers_it_had(
        steps in vec((step(), any::<Index>()), 1..40),
        random in vec(any::<Index>(), 100),
        lost in vec(any::<bool>(), 100),
    ) {
        // The answers are to whoever: some knew nothing, some had just asked.
        let mut history = History::new(2);
        let mut answers = Vec::new();
        for (step, known) in &steps {
            history.take(step);
            answers.push(history.answer(known.index(history.state.changes as usize + 1) as u64));
        }
        let mut told: Vec<_> = random.iter().zip(&lost).zip(answers.iter().cycle()).collect();
        told.retain(|((_, lost), _)| !**lost);
        told.sort_by_key(|((late, _), _)| late.index(1000));
        let mut map = Map::default();
        for (_, (numbers, chains)) in told {
            map.learn_changes(*numbers, chains.clone());
        }
        let (numbers, chains) = history.answer(map.number());
        map.learn_changes(numbers, chains);
        prop_assert_eq!(map.number(), history.state.changes);
        prop_assert!(history.newest().eq(map.overlapping(Interval::ALL)));
    }
}

#[test]
fn parts_inherit_the_members_and_a_merged_range_is_above_both() {
    let mut history = History::new(0);
    history.take(&Step::Split(at(40)));
    let parts = [at(40), at(41)].map(|key| history.chain(&key).clone());
    assert_eq!(parts.each_ref().map(|part| part.epoch), [Epoch(2), Epoch(2)]);
    assert!(parts.iter().all(|part| part.members == members(&[1, 2, 3])));
    assert_eq!(parts[0].keys, Interval::new(Key::MIN, at(40)));
    // The upper one goes through more, and has the higher epoch when both have the same members again.
    for numbers in [[4, 5], [5, 6], [6, 7]] {
        history.take(&Step::Replace(Key::MAX, members(&numbers)));
    }
    let epochs = |history: &History| [Key::MIN, Key::MAX].map(|key| history.chain(&key).epoch);
    assert_eq!(epochs(&history), [Epoch(2), Epoch(5)]);
    history.take(&Step::Merge(Key::MIN));
    assert_eq!(epochs(&history), [Epoch(7); 2], "both were given the same members, and merged then");
    assert_eq!(history.chain(&at(7)).keys, Interval::ALL);
    assert_eq!(history.chain(&at(7)).members, members(&[1, 2, 3]));
}

#[test]
fn commands_that_do_not_fit_change_nothing() {
    let mut history = History::new(0);
    history.take(&Step::Split(at(20)));
    history.take(&Step::Split(at(40)));
    history.take(&Step::Replace(at(50), members(&[3, 4])));
    let [low, mid, high] = [at(10), at(30), at(50)].map(|key| history.range(&key));
    let refuse = |state: &State, command: Command| {
        let mut after = state.clone();
        assert_eq!(after.apply(&command), None, "{command:?}");
        assert_eq!(after, *state, "{command:?}");
    };
    let begin = |range, attempt, target: &[u64], source: u64, into| {
        let (target, source) = (members(target), members(&[source]).pop());
        Command::Begin { range, attempt, target, source, into }
    };
    let Range { attempt, .. } = history.state.ranges[&mid];
    let (old, next) = (attempt, attempt.next().next());
    let split = |key| Into::Split { at: key };
    for (range, attempt, target, source, into, why) in [
        (mid, old, &[1, 2][..], 1, Into::Itself, "an attempt that is no higher"),
        (mid, next, &[], 1, Into::Itself, "nobody is left"),
        (mid, next, &[1, 1], 1, Into::Itself, "one node twice"),
        (mid, next, &[1, 7], 7, Into::Itself, "a source that is no member"),
        (mid, next, &[1, 2, 3], 1, split(at(41)), "not of the range"),
        (mid, next, &[1, 2, 3], 1, split(at(40)), "an empty part"),
        (mid, next, &[1, 2, 3], 1, Into::Merge { upper: low }, "it is not the next"),
        (low, next, &[1, 2, 3], 1, Into::Merge { upper: high }, "nor is this"),
        (mid, next, &[1, 2, 3], 1, Into::Merge { upper: high }, "other members"),
        (mid, next, &[1, 2, 3], 1, Into::MergedBy { lower: low }, "the lower one's attempt is both's"),
        (RangeId(99), next, &[1], 1, Into::Itself, "no range"),
    ] {
        println!("{why}");
        refuse(&history.state, begin(range, attempt, target, source, into));
    }
    let settings = history.state.settings;
    for replicas in [0, MOST_REPLICAS + 1] {
        refuse(&history.state, Command::Set(Settings { replicas, ..settings }));
    }
    let rules = Rules { min_write_replicas: 4, ..settings.rules };
    refuse(&history.state, Command::Set(Settings { replicas: 3, rules, ..settings }));
    let leases = Leases { lease_us: 1_000_000, ..settings.leases };
    refuse(&history.state, Command::Set(Settings { leases, ..settings }));
    let cluster = |byte| Command::Found(ClusterId([byte; 16]));
    assert!(history.state.apply(&cluster(1)).is_some());
    refuse(&history.state, cluster(2));
    for virtual_ids in [0, MOST_VIRTUAL_IDS + 1] {
        let (node, machine) = (NodeId(50), MachineId(50));
        refuse(&history.state, Command::Register { node, nonce: 1, machine, domain: None, virtual_ids });
    }
    // Of a merge, both must be quiet; what is activated is what has begun.
    let attempt = history.begin(mid, members(&[1, 2, 3]), Into::Itself);
    refuse(&history.state, begin(low, attempt.next(), &[1, 2, 3], 1, Into::Merge { upper: mid }));
    let activate = |attempt, into, after, first| {
        let after = Position { epoch: Epoch(2), seq: Seq(after) };
        Command::Activate { range: mid, attempt, into, after, first: Seq(first) }
    };
    refuse(&history.state, activate(attempt.before(), Into::Itself, 5, 6));
    refuse(&history.state, activate(attempt.next(), Into::Itself, 5, 6));
    refuse(&history.state, activate(attempt, split(at(30)), 5, 6));
    refuse(&history.state, activate(attempt, Into::Itself, 6, 6));
    assert_eq!(history.apply(&activate(attempt, Into::Itself, 5, 6)), [mid]);
}
