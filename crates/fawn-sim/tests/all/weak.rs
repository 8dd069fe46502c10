//! Weak clusters, a seed each, whose members are chains of their own. `cargo xtask sim --weak` runs more of them.

use fawn_kv::ids::{Consistency, Rules};
use fawn_kv::manager::{Command, Leases, Settings, State};
use fawn_sim::cluster::{FAULTS, Plan, Script, Summary, run};

/// The keys of all these clusters.
fn keys(plans: impl Iterator<Item = Plan>) -> u64 {
    plans.map(|plan| plan.keys).sum()
}

#[test]
fn weak_clusters_invent_nothing_and_come_to_have_all_that_is_put() {
    let seeds = 0..90;
    let mut sum = Summary::default();
    for seed in seeds.clone() {
        sum.add(&run(seed, &Plan::weak(seed)).unwrap_or_else(|violation| panic!("{violation}")));
    }
    for (kind, count) in FAULTS.iter().zip(sum.faults) {
        assert!(count > 10, "{kind}: {count} times");
    }
    assert!(sum.operations > 30_000 && sum.chains > 1200, "{sum:?}");
    // Of some keys the owners went on with each other's logs all the time, of some they did not.
    let keys = keys(seeds.map(Plan::weak));
    assert!(sum.weakened > keys / 10 && sum.weakened < keys, "{} of {keys}", sum.weakened);
}

#[test]
fn as_long_as_no_chain_changes_a_weak_cluster_is_linearizable() {
    for seed in 0..20 {
        let plan =
            Plan { faults: false, adopts: 0, late: 0, lost_clock: false, faults_us: 3_000_000, ..Plan::weak(seed) };
        let summary = run(seed, &plan).unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!((summary.weakened, summary.undecided), (0, 0), "{summary:?} of {plan:?}");
        // Of many keys some are asked for so seldom that their ranges forget a session meanwhile.
        assert!(summary.given_up * 100 < summary.operations, "{summary:?} of {plan:?}");
        assert!(summary.operations > 20 * u64::from(plan.clients), "{summary:?} of {plan:?}");
        assert_eq!(summary.chains, u64::from(plan.nodes * plan.virtual_ids + 1), "{summary:?} of {plan:?}");
    }
}

/// Where nodes have one place each, an owner hands over to a newcomer, never to another member.
#[test]
fn joins_before_the_owner_leave_a_weak_cluster_linearizable() {
    let mut chains = 0;
    for seed in 0..25 {
        let plan = Plan { faults: false, adopts: 0, late: 2, virtual_ids: 1, faults_us: 3_000_000, ..Plan::weak(seed) };
        let summary = run(seed, &plan).unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!(summary.weakened, 0, "{summary:?} of {plan:?}");
        chains += summary.chains - u64::from(plan.nodes * plan.virtual_ids + 1);
    }
    assert!(chains > 60, "{chains} changes of chains");
}

#[test]
fn a_bad_network_and_failing_front_ends_do_not_weaken_a_key_whose_owner_stays() {
    let mut sum = Summary::default();
    let shape = |seed| Plan { late: 0, hasty: false, ..Plan::weak(seed) };
    for seed in 0..20 {
        let text = Script::of(seed, &shape(seed)).to_string();
        let spares_nodes = |line: &&str| {
            let mut words = line.split(' ');
            let kind = words.nth(2).filter(|_| line.starts_with("at "));
            kind.is_none_or(|kind| ["network", "crash-front", "pause-front"].contains(&kind))
        };
        let lines: Vec<&str> = text.lines().filter(spares_nodes).collect();
        let script: Script = (lines.join("\n") + "\n").parse().unwrap();
        sum.add(&script.run().unwrap_or_else(|violation| panic!("{violation}")));
    }
    let (keys, faults) = (keys((0..20).map(shape)), sum.faults.iter().sum::<u64>());
    // A node whose heartbeats are lost one after the other counts as dead.
    assert!(sum.weakened * 10 < keys && faults > 30, "{} of {keys} after {faults} faults", sum.weakened);
}

#[test]
fn a_weak_seed_is_the_same_run_every_time() {
    for seed in 0..4 {
        let plan = Plan::weak(seed);
        assert_eq!(run(seed, &plan), run(seed, &plan), "seed {seed}");
        let script = Script::of(seed, &plan);
        let again: Script = script.to_string().parse().unwrap();
        assert_eq!(again.run(), script.run(), "seed {seed}");
    }
}

#[test]
fn a_cluster_keeps_for_life_what_its_members_are_to_each_other() {
    let settings = |consistency| Settings {
        replicas: 1,
        first_nodes: 1,
        rules: Rules { consistency, ..Rules::default() },
        leases: Leases::default(),
    };
    let mut state = State::new(settings(Consistency::Chain));
    assert!(state.apply(&Command::Set(settings(Consistency::Weak))).is_some(), "nothing is there yet");
    let machine = fawn_ring::MachineId(1);
    let node = fawn_ring::NodeId(1);
    state.apply(&Command::Register { node, nonce: 1, machine, domain: None, virtual_ids: 1 }).unwrap();
    state.apply(&Command::Form).unwrap();
    assert!(state.apply(&Command::Set(settings(Consistency::Chain))).is_none(), "logs have nothing in common");
    assert_eq!(state.settings, settings(Consistency::Weak));
    assert!(state.apply(&Command::Set(Settings { replicas: 3, ..settings(Consistency::Weak) })).is_some());
}
