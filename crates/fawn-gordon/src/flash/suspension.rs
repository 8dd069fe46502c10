//! Programs and erases that reads interrupt.

use serde::{Deserialize, Serialize};

use crate::time::SimTime;

/// How reads of the host interrupt what the cells of a die do.
///
/// A read that finds its die programming or erasing stops it, unless the rest takes no longer than stopping does. What was stopped
/// goes on where it was once no read waits. Reads also go ahead of programs and erases of these kinds that wait for the die.
///
/// Cleaning interrupts nothing, and copy-backs are never interrupted. A read does not go ahead of a program with its page number:
/// that may be the program of what it reads. The die needs a latch more than without: data for the next program stays in the
/// cache register, so that reads go out from the page register meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// Programs are interrupted.
    pub programs: bool,
    /// Erases are interrupted.
    pub erases: bool,
    /// How long a program takes to stop. It gets no further meanwhile.
    pub program_stop: SimTime,
    /// How long an erase takes to stop.
    pub erase_stop: SimTime,
    /// How much longer either takes each time that it goes on.
    pub resume: SimTime,
    /// Reads that may go ahead of one program or erase, at least 1. Then it runs to its end, so that writes are not starved.
    pub reads_ahead: u32,
}

impl Suspension {
    /// The default of `MQSim` (`CMU-SAFARI/MQSim`, `ssdconfig.xml`): erases alone, which take 700 us to stop; 100 us for a program.
    /// It has no time to go on, and no limit of reads; 16 are ours.
    pub const MQSIM: Self = Self {
        programs: false,
        erases: true,
        program_stop: SimTime::from_us(100),
        erase_stop: SimTime::from_us(700),
        resume: SimTime::ZERO,
        reads_ahead: 16,
    };
}
