//! Clusters that begin with what a plain directory holds. `cargo xtask sim` runs more of them, one seed in twenty.

use fawn_sim::cluster::{Plan, Summary, run};

/// The plan of a seed, but that its first nodes find one or two plain stores.
fn beginning_with(stores: u32, seed: u64) -> Plan {
    let plan = Plan::of(seed);
    let shared = stores > 1;
    let nodes = if shared { 2 * (plan.replicas + 1) } else { plan.replicas + 1 };
    Plan { adopts: stores, shared, nodes, keys: plan.keys.max(20), on_flash: seed.is_multiple_of(2), ..plan }
}

#[test]
fn a_cluster_begins_with_what_a_plain_directory_holds() {
    let mut sum = Summary::default();
    for seed in 0..16 {
        let plan = beginning_with(1 + seed as u32 % 2, seed / 2);
        sum.add(&run(seed, &plan).unwrap_or_else(|violation| panic!("{plan:?}\n{violation}")));
    }
    let taken = |name: &str| sum.coverage.counts().find(|(path, _)| path.contains(name)).map(|(_, count)| count);
    assert!(taken("are made of what a plain directory holds") >= Some(16), "{sum:?}");
}

#[test]
fn a_weak_cluster_begins_with_what_a_plain_directory_holds() {
    for seed in 0..6 {
        let plan = beginning_with(1 + seed as u32 % 2, seed / 2);
        let rules = Plan::weak(seed).rules;
        run(seed, &Plan { rules, ..plan }).unwrap_or_else(|violation| panic!("{violation}"));
    }
}
