//! Runs a script.

use std::panic::AssertUnwindSafe;

use crate::cluster::script::Script;
use crate::cluster::summary::{Summary, Violation};
use crate::cluster::world::World;
use crate::quiet;

impl Script {
    /// Runs it.
    ///
    /// # Errors
    /// The first [`Violation`].
    ///
    /// # Panics
    /// An assertion of the protocol is broken.
    pub fn run(&self) -> Result<Summary, Violation> {
        let mut world = World::new(self);
        let result = world.run().map_err(|what| Violation { seed: self.seed, at_us: world.now_us(), what });
        result.map(|()| world.summary)
    }

    /// Runs it, and returns what [`Script::show`] asks for as well. A broken assertion is a violation too: what was printed
    /// before it is returned.
    pub fn tell(&self) -> (Result<Summary, Violation>, String) {
        let mut world = World::new(self);
        let outcome = quiet::catch(AssertUnwindSafe(|| world.run()));
        let result = outcome.unwrap_or_else(|panic| Err(format!("asserted: {panic}")));
        let result = result.map_err(|what| Violation { seed: self.seed, at_us: world.now_us(), what });
        (result.map(|()| world.summary), world.trace.into_text())
    }
}
