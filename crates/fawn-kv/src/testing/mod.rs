//! What the simulator needs of the protocol: [bugs](injected_bugs) that it injects and has to find, and
//! [marks](coverage) by which it shows that it was on each path. Builds for production have neither.

pub mod coverage;
pub mod injected_bugs;
