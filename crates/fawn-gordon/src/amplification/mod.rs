//! Write amplification without time: pages programmed per page that the host writes, at steady state.
//!
//! * [`theory`]: closed forms and fixed points for uniform and for hot and cold writes.
//! * [`simulator`]: the same measured, at tens of millions of programs a second. [`victims`]: which block is cleaned.
//!
//! The spare factor `S = 1 − U/T` counts logical pages `U` and physical pages `T` without the open block. Blocks that an FTL
//! holds free for other reasons are no spare.

pub mod simulator;
pub mod theory;
pub mod victims;

pub use simulator::{Amplification, BlockDevice, WritePattern, simulate};
pub use victims::VictimChoice;
