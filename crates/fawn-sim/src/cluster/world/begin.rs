//! What a run begins with.

use fawn_check::random::Random;
use fawn_kv::ids::Consistency;
use fawn_kv::range::sessions::Bounds;
use fawn_kv::store::Plain;
use fawn_kv::timing::Timing;
use fawn_ring::Interval;

use crate::cluster::checkers::Checkers;
use crate::cluster::event::{Event, Kernel};
use crate::cluster::faults::Faults;
use crate::cluster::processes::Processes;
use crate::cluster::processes::store::node_store::NodeStore;
use crate::cluster::processes::store::plain::{CLIENTS_BEGIN_US, draw_writes};
use crate::cluster::script::Script;
use crate::cluster::script::plan::Plan;

/// The times of a small cluster, in which what is bounded meets its bounds.
pub fn timing_of(script: &Script) -> Timing {
    let plan = &script.plan;
    let mut timing = Timing {
        history: 64,
        history_bytes: 16 << 10,
        batch: 16,
        batch_bytes: 4 << 10,
        pending: 64,
        pending_bytes: 16 << 10,
        copy_bytes_per_s: 32 << 10,
        session_idle_s: 4,
        heal_us: 2_500_000,
        gone_us: 3_000_000,
        broken_us: 3_000_000,
        ..Timing::default()
    };
    // Where the clock of the day is lost, all sessions are named after a time to come; at rest a weak cluster is asked for
    // each key in a session of its own; and where nothing goes wrong, or every request is to be answered, nothing is forgotten.
    let forgets = script.actions() > 0 && !script.severs_alone();
    if forgets && !plan.lost_clock && plan.rules.consistency == Consistency::Chain {
        timing.sessions = Bounds { sessions: 12, unanswered: 2, requests: 24, least_s: 1, early_s: 4 };
    }
    if plan.hasty {
        timing = Timing { heartbeat_us: 50_000, dead_us: 250_000, ..timing };
    }
    timing
}

/// Schedules when each process starts, when each client begins, and what happens.
pub fn schedule_starts(kernel: &mut Kernel, plan: &Plan, faults: &Faults) {
    for number in 0..plan.managers {
        kernel.after(0, Event::ManagerTick(number));
    }
    for number in 0..(plan.nodes + plan.late) as usize {
        let late = number >= plan.nodes as usize;
        if plan.fixed {
            // In their order; the others when the script says so.
            (0..u64::from(!late)).for_each(|_| kernel.after(number as u64 * 1000, Event::Restart(number)));
            continue;
        }
        let delay = kernel.random().below(if late { plan.faults_us } else { 50_000 });
        kernel.after(delay, Event::Restart(number));
    }
    for number in 0..plan.fronts as usize {
        kernel.after(0, Event::FrontRestart(number));
        kernel.after(0, Event::FrontTick(number));
    }
    for number in 0..plan.clients as usize {
        let begins_us = if plan.adopts > 0 { CLIENTS_BEGIN_US } else { 0 };
        kernel.after(begins_us, Event::ClientTick(number));
    }
    for (number, at_us) in faults.times_us().enumerate() {
        kernel.after(at_us, Event::Act(number));
    }
}

/// Puts a plain directory under the first nodes, and tells the checkers what it holds.
pub fn fill_plain_stores(script: &Script, kernel: &mut Kernel, processes: &mut Processes, checkers: &mut Checkers) {
    let stores = script.plan.adopts;
    if stores == 0 {
        return;
    }
    let mut random = Random::new(script.seed ^ 0x0070_6c61_696e);
    let mut at_us = 0;
    for (store, keys) in Interval::ALL.divide(stores).into_iter().enumerate() {
        let plain = Plain { store: store as u32, stores, keys };
        let (held, may_flush_later) = checkers.answers.keys_in(keys);
        let writes = draw_writes(&mut random, &held, may_flush_later);
        let (node_store, told) = NodeStore::of_plain(random.fork(), script.plan.on_flash, plain, &writes);
        processes.nodes[store].begin_with(node_store);
        for write in writes.into_iter().zip(told) {
            at_us += 1;
            checkers.answers.note_plain(kernel, at_us, write, keys);
        }
    }
    // Of few keys so few are written that clients come later.
    assert!(at_us < CLIENTS_BEGIN_US, "clients come after what there was before");
}
