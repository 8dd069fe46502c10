//! Where nothing goes wrong but that links are severed, every request has its answer within [`ANSWER_US`], whoever was asked.
//! Only for [`SETTLE_US`] after the break it may take longer.

use crate::cluster::clients::operation::{Asking, Conclusion};

/// Within this it is found out that a link is broken, and chains are changed that went over it.
const SETTLE_US: u64 = 5_000_000;

/// From then on a request is answered within this: a chain may try once more whether its members hear each other.
const ANSWER_US: u64 = 4_000_000;

/// What was given up later than this was not answered in time.
const GIVEN_UP_US: u64 = 2_000_000;

/// Until when requests must be answered.
pub struct Deadlines {
    /// Nothing goes wrong but that links are severed.
    severs_alone: bool,
    /// Since when they are.
    severed_us: Option<u64>,
}

impl Deadlines {
    /// No deadline holds before links are severed.
    pub fn new(severs_alone: bool) -> Self {
        Self { severs_alone, severed_us: None }
    }

    /// Links are severed from now on.
    pub fn sever(&mut self, now_us: u64) {
        if self.severs_alone {
            self.severed_us.get_or_insert(now_us);
        }
    }

    /// Whether requests must be answered in time.
    pub fn is_on(&self) -> bool {
        self.severed_us.is_some()
    }

    /// No request of a client waits for too long.
    ///
    /// # Errors
    /// It does.
    pub fn look_at_wait(&self, now_us: u64, client: usize, asking: Option<&Asking>) -> Result<(), String> {
        let (Some(severed_us), Some(asking)) = (self.severed_us, asking) else { return Ok(()) };
        let due_us = asking.began_us.max(severed_us + SETTLE_US) + ANSWER_US;
        if now_us < due_us {
            return Ok(());
        }
        Err(format!("client {client} has no answer for {} ms: {asking:?}", (now_us - asking.began_us) / 1000))
    }

    /// No request of a client is given up because nobody answers.
    ///
    /// # Errors
    /// It is.
    pub fn look_at_given_up(&self, now_us: u64, client: usize, conclusion: &Conclusion) -> Result<(), String> {
        let (Some(severed_us), Conclusion::GivenUp(asking)) = (self.severed_us, conclusion) else { return Ok(()) };
        let waited_us = now_us - asking.began_us;
        if asking.began_us < severed_us + SETTLE_US || waited_us < GIVEN_UP_US {
            return Ok(());
        }
        Err(format!("client {client} had no answer for {} ms: {asking:?}", waited_us / 1000))
    }
}
