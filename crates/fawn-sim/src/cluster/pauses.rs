//! Measures for how long planned changes stop the writes of a range.

use fawn_kv::ids::{Incarnation, NodeId, Rules};
use fawn_kv::manager::{Command, Standing};

use crate::cluster::checkers::pauses::{Pause, PauseMeter};
use crate::cluster::script::Script;
use crate::cluster::script::plan::Plan;
use crate::cluster::summary::Violation;
use crate::cluster::world::World;

/// A run without faults in which a node joins and another leaves: all pauses, and how many attempts that had stopped writes
/// had to be begun again.
///
/// # Errors
/// What did not hold.
pub fn measure(seed: u64) -> Result<(Vec<Pause>, u64), Violation> {
    let plan = Plan {
        nodes: 4 + (seed % 4) as u32,
        late: 1,
        shared: false,
        replicas: 3,
        rules: Rules::default(),
        lost_clock: false,
        on_flash: false,
        fronts: 0,
        hasty: false,
        faults: false,
        faults_us: 4_000_000,
        ..Plan::of(seed)
    };
    let mut world = World::new(&Script::of(seed, &plan));
    world.pauses = Some(PauseMeter::default());
    let node = NodeId(0);
    let command = Command::Stand { node, incarnation: Incarnation(1), standing: Standing::Draining };
    world.propose_after(3_000_000, command);
    match world.run() {
        Ok(()) => Ok(world.pauses.as_ref().expect("they were measured").pauses()),
        Err(what) => Err(Violation { seed, at_us: world.now_us(), what }),
    }
}
