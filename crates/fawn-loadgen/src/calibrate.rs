//! What the generator itself can do: the same operations against a server that does nothing, on the loopback.
//!
//! The server is a thread of this process, and both have the same machine. So the rate is what the two together can do,
//! and the CPU time of an operation is the generator's alone: a generator with a core of its own can ask as often as that
//! goes into a second.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fawn_report::Watch;

use crate::dial::LoadTarget;
use crate::error::LoadgenError;
use crate::null::{NullServer, SHOWN};
use crate::phase::{LoadPhase, PhaseResult, carry_out};
use crate::plan::LoadPlan;
use crate::versions::KeyVersions;

/// It is not measured for longer than this.
const TIME: Duration = Duration::from_secs(5);
const WARM_UP: Duration = Duration::from_millis(300);

/// Runs the plan's operations, as fast as they go, against a server that does nothing.
///
/// # Errors
/// What the system does that ends it.
pub fn calibrate(plan: &LoadPlan, watch: &dyn Watch) -> Result<PhaseResult, LoadgenError> {
    let server = NullServer::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), plan.value_bytes)?;
    let target = LoadTarget::from(server.address()?);
    let time = if plan.time.is_zero() { TIME } else { plan.time.min(TIME) };
    let plan = LoadPlan { targets: vec![target], server_pids: Vec::new(), secret: None, meter: None, ..plan.clone() };
    let phase = LoadPhase {
        is_load: false,
        operations: None,
        warm_up: plan.warm_up.min(WARM_UP),
        time,
        pace: None,
        shown: Some(SHOWN),
        grace: None,
        follows_idle: false,
        what: "calibrating",
    };
    let versions = KeyVersions::new(plan.keys, 0, true, plan.mix.replaces());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| server.run(&stop));
        let measured = carry_out(&plan, phase, &versions, watch);
        stop.store(true, Ordering::Relaxed);
        match server.join() {
            Ok(ended) => ended.and(measured),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
