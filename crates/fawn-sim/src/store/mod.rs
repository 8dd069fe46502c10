//! The real store on a simulated device.
//!
//! # Layout
//!
//! * [`machine`]: the store and the program around it, in one thread and by one seed. `changes`, `gets`, `operations`: what
//!   it can be asked for. `restart`: power cuts, stops and loads.
//! * `program`: store and device, and what is on its way between them. `history`: what was issued and acknowledged.
//! * [`oracle`]: what the store must answer.

mod bulk;
mod changes;
mod gets;
mod history;
pub mod machine;
mod operations;
pub mod oracle;
mod program;
mod restart;

pub use bulk::{LoadedRecord, bulk_load};
pub use machine::{Extras, Machine, OracleItems, Pace};
pub use oracle::{Oracle, OracleItem};
pub use program::Failure;
pub use restart::Restart;
