//! What a run of a script may be expected to keep, as all that happens in it is known before.

use crate::cluster::faults::action::FaultAction;
use crate::cluster::faults::scenarios::LATE_US;
use crate::cluster::network::party::Party;
use crate::cluster::script::Script;

impl Script {
    /// Whether it has such an action.
    pub fn has(&self, is_such: impl Fn(&FaultAction) -> bool) -> bool {
        self.actions.iter().any(|(_, action)| is_such(action))
    }

    /// Whether nothing happens by which a node could seem to have failed.
    pub fn spares_members(&self) -> bool {
        self.actions.iter().all(|(_, action)| action.spares_members())
    }

    /// Whether the first of two nodes, which are to have all ranges, is spared by all that happens: only the second fails,
    /// and links to it come up again sooner than managers take them for broken.
    pub fn keeps_first(&self) -> bool {
        let second = Party::Node(1);
        let spares = |action: &FaultAction| match action {
            FaultAction::LoseDisk { node, .. } | FaultAction::Crash { node, .. } => *node == 1,
            FaultAction::Cut { links, .. } => links.iter().all(|(from, to)| {
                let is_member = |party: &Party| !matches!(party, Party::Manager(_) | Party::Client(_));
                (*from == second || *to == second) && is_member(from) && is_member(to)
            }),
            FaultAction::Lead { manager } => manager.is_some(),
            FaultAction::Ask { .. } | FaultAction::Nothing => true,
            _ => false,
        };
        let is_soon = |(at_us, action): &(u64, FaultAction)| {
            let FaultAction::Cut { for_us: cut_us, .. } = action else { return true };
            self.actions.iter().any(|(other_us, other)| {
                matches!(other, FaultAction::LoseDisk { for_us, .. } if other_us == at_us && *cut_us <= for_us + LATE_US)
            })
        };
        let (plan, wipes) = (self.plan, self.has(|action| matches!(action, FaultAction::LoseDisk { .. })));
        let fits = plan.nodes == 2 && plan.replicas == 2 && plan.late == 0 && wipes;
        fits && self.actions.iter().all(|action| spares(&action.1) && is_soon(action))
    }

    /// Whether nothing goes wrong but that links are severed.
    pub fn severs_alone(&self) -> bool {
        let severs = |action: &FaultAction| {
            matches!(action, FaultAction::Sever { .. } | FaultAction::Ask { .. } | FaultAction::Nothing)
        };
        self.has(|action| matches!(action, FaultAction::Sever { .. })) && !self.has(|action| !severs(action))
    }
}
