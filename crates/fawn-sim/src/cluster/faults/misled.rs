//! Clients and front-ends that do not hear for a while which nodes are to be asked.

use fawn_check::random::Random;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::network::party::Party;
use crate::cluster::script::plan::Plan;

/// Some of those who ask do not hear for a while who is to be asked.
pub(super) fn mislead(random: &mut Random, plan: &Plan, for_us: u64) -> FaultAction {
    let clients = (0..plan.clients as usize).map(Party::Client);
    let asking = clients.chain((0..plan.fronts as usize).map(Party::Front));
    let misled: Vec<Party> = asking.filter(|_| random.chance(1, 2)).collect();
    let links = misled.into_iter().flat_map(|party| (0..plan.managers).map(move |at| (Party::Manager(at), party)));
    FaultAction::Cut { links: links.collect(), for_us: random.within(for_us + 1, for_us + 500_000) }
}
