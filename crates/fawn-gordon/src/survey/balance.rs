//! Amdahl's balance of a node, as Szalay et al. apply it to data-intensive machines ("Low-power Amdahl-balanced blades
//! for data intensive computing", 2009).

use serde::Serialize;

use crate::node::NodeDesign;

/// Bytes of an access by which storage's accesses per second are counted.
const ACCESS_BYTES: f64 = 4096.0;

/// Instructions for each access of a balanced node.
const INSTRUCTIONS_PER_ACCESS: f64 = 50_000.0;

/// How a node's storage, memory and network match its processors. A balanced node has 1 of each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AmdahlBalance {
    /// Bits of sequential reads per second for each instruction per second.
    pub io_bits_per_instruction: f64,
    /// Bytes of memory for each instruction per second; `None` if the size is unknown.
    pub memory_bytes_per_instruction: Option<f64>,
    /// Accesses of 4 KiB per second for each 50,000 instructions per second.
    pub accesses_per_50k_instructions: f64,
    /// Bits of network per second for each instruction per second. Amdahl had none; it reads like the first.
    pub network_bits_per_instruction: f64,
}

impl AmdahlBalance {
    /// The balance of a design.
    pub fn of(design: &NodeDesign) -> Self {
        let instructions = design.instructions_per_second();
        let (read, devices) = (design.storage.read, f64::from(design.storage.devices));
        Self {
            io_bits_per_instruction: 8.0 * read.bytes_per_second * devices / instructions,
            memory_bytes_per_instruction: design.memory.bytes.map(|bytes| bytes / instructions),
            accesses_per_50k_instructions: devices / read.seconds(ACCESS_BYTES, 1.0) * INSTRUCTIONS_PER_ACCESS
                / instructions,
            network_bits_per_instruction: 8.0 * design.network_bytes_per_second / instructions,
        }
    }
}
