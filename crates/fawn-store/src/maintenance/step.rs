//! What a step of the maintenance half comes to.

use crate::work::MaintenanceEvent;

/// What a step came to.
#[allow(clippy::large_enum_variant, reason = "one exists at a time, and events are rare")]
pub enum Step {
    /// No work is left.
    Idle,
    /// The work at hand goes on with the next call.
    More,
    /// What there is to do waits for space on the device: step again a little later.
    Stalled,
    /// Something for the event-loop half; there may be more to do.
    Event(MaintenanceEvent),
}
