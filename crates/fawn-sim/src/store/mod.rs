//! The real store on a simulated device.

pub mod oracle;
