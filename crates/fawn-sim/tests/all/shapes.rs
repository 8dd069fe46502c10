//! Whole clusters of every shape: each number of members of a chain with each number of places of a node on the ring.
//!
//! What seeds draw has few of the large ones. `FAWN_SHAPE_SEEDS` says how many seeds each shape gets.

use fawn_sim::cluster::{Plan, Script, Summary};

use super::ranges::number;

const REPLICAS: [u32; 4] = [1, 2, 3, 5];
const VIRTUAL_IDS: [u32; 3] = [1, 4, 8];

#[test]
fn nothing_is_lost_with_any_number_of_replicas_and_of_virtual_ids() {
    let seeds = number("FAWN_SHAPE_SEEDS", 3);
    for replicas in REPLICAS {
        for virtual_ids in VIRTUAL_IDS {
            let mut sum = Summary::default();
            for seed in 0..seeds {
                let plan = Plan::shaped(seed, Some(replicas), Some(virtual_ids));
                assert_eq!((plan.replicas, plan.virtual_ids), (replicas, virtual_ids));
                assert!(plan.nodes >= replicas, "a chain can have all its members");
                let script = Script::of(seed, &plan);
                sum.add(&script.run().unwrap_or_else(|violation| panic!("{violation} of\n{script}")));
            }
            println!("R = {replicas}, V = {virtual_ids}: {} operations, {} chains", sum.operations, sum.chains);
            let chains = seeds * u64::from(replicas * virtual_ids);
            assert!(sum.chains >= chains && sum.operations > 100 * seeds && sum.faults.iter().any(|count| *count > 0));
        }
    }
}
