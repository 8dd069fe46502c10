//! When a member that was not elected stands again.
//!
//! The library draws the election timeout of a member once, when the member starts. Two members whose timeouts end in the same tick
//! would split the votes of each election, for as long as both run. Raft asks for a new random timeout for each election (Ongaro
//! and Ousterhout, "In search of an understandable consensus algorithm", §5.2). So a member that was not elected pauses for a
//! random time.

use super::types::Group;
use crate::clock;
use openraft::{BasicNode, RaftMetrics, ServerState};
use std::ops::Range;
use std::time::Duration;

/// The shortest and the longest pause, in milliseconds. The library looks at its timers every 150 ms, so that most pairs of pauses
/// end in different ticks.
const PAUSE_MS: Range<u64> = 300..1200;

/// The term in which a member stands, if it does.
fn candidacy(metrics: &RaftMetrics<u64, BasicNode>) -> Option<u64> {
    (metrics.state == ServerState::Candidate).then_some(metrics.current_term)
}

/// A pause within [`PAUSE_MS`].
fn random_pause() -> Duration {
    // Without random numbers the library's own timeouts have to do.
    let drawn = clock::random().map_or(0, u64::from_le_bytes);
    Duration::from_millis(PAUSE_MS.start + drawn % (PAUSE_MS.end - PAUSE_MS.start))
}

/// Pauses after each election in which this member stood, until the group stops.
pub async fn spread(group: Group) {
    let mut metrics = group.metrics();
    let mut paused_after = None;
    loop {
        let stood_in = candidacy(&metrics.borrow_and_update());
        if stood_in.is_some() && stood_in != paused_after {
            paused_after = stood_in;
            group.runtime_config().elect(false);
            // The pause is over as soon as somebody is elected, or another term begins.
            let decided = tokio::time::timeout(random_pause(), metrics.wait_for(|now| candidacy(now) != stood_in));
            let is_closed = matches!(decided.await, Ok(Err(_)));
            group.runtime_config().elect(true);
            if is_closed {
                return;
            }
            continue;
        }
        if metrics.changed().await.is_err() {
            return;
        }
    }
}
