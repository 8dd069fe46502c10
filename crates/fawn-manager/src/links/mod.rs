//! Links to whoever calls, and to the other managers.
//!
//! # Layout
//!
//! * [`stream`]: connections, encrypted or not, and frames over them. [`dial`]: calling another.
//! * [`listen`]: taking calls. [`unauthenticated_peers`]: callers that have yet to say who they are. [`table`]: who is
//!   connected, and what waits to be sent. [`proxy`]: connecting others with the leader. [`rate_limited_log`]: what
//!   callers do wrong, in the log.

pub mod dial;
pub mod listen;
pub mod proxy;
pub mod rate_limited_log;
pub mod stream;
pub mod table;
pub mod unauthenticated_peers;
