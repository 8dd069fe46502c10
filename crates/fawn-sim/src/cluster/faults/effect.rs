//! What a fault action does in the state that a cluster is in.

use fawn_kv::manager::Standing;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::processes::Processes;

/// What an action counts as, and what is to be said of it where it does less than its name says.
pub fn effect_of(action: &FaultAction, now_us: u64, processes: &Processes) -> (Option<usize>, String) {
    let (nodes, managers) = (&processes.nodes, &processes.managers);
    let is_down = |node: usize| nodes[node].node().is_none();
    let idle = match action {
        FaultAction::Crash { node, .. }
        | FaultAction::LoseDisk { node, .. }
        | FaultAction::OtherDisk { node, .. }
        | FaultAction::FailDisk { node, .. }
            if is_down(*node) =>
        {
            format!("n{node} is down")
        }
        FaultAction::CrashFront { front, .. } if processes.fronts[*front].front().is_none() => {
            format!("f{front} is down")
        }
        FaultAction::Join { node } if !is_down(*node) => format!("n{node} is there"),
        FaultAction::Clock { node, .. } | FaultAction::ClockJump { node, .. } if nodes[*node].clock().is_lost() => {
            format!("n{node} has lost its clock")
        }
        FaultAction::ClockJump { node, .. } if nodes[*node].clock().is_behind(now_us) => {
            format!("the clock of n{node} is behind already")
        }
        FaultAction::Drain { node } => managers.may_stand(*node, Standing::Draining).err().unwrap_or_default(),
        FaultAction::Stay { node } => managers.may_stand(*node, Standing::Member).err().unwrap_or_default(),
        FaultAction::LoseDisk { node, for_us, dice } if !processes.may_lose_disk(*node) => {
            let crash = FaultAction::Crash { node: *node, for_us: *for_us, dice: *dice };
            return (crash.kind(), "its disk stays: others have not all that is on it".into());
        }
        _ => return (action.kind(), String::new()),
    };
    if idle.is_empty() { (action.kind(), idle) } else { (None, format!("nothing happens: {idle}")) }
}
