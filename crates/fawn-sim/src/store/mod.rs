//! The real store on a simulated device.
//!
//! # Layout
//!
//! * [`machine`]: the store and the program around it, in one thread and by one seed. `changes`, `gets`, `operations`,
//!   `restart`: what it can be asked for.
//! * [`oracle`]: what the store must answer.

mod bulk;
mod changes;
mod gets;
pub mod machine;
mod operations;
pub mod oracle;
mod restart;

pub use bulk::{Loaded, bulk_load};
pub use machine::{Extras, Failure, Machine, Named, Pace};
pub use oracle::{Item, Oracle};
