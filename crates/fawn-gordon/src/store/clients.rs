//! Who asks: gets and puts of records, and how long each takes.

use fawn_report::latency::Latencies;
use fawn_workload::{Draw, Permutation};

use super::settings::StoreWorkload;
use crate::time::SimTime;

/// Requests under way while nothing is measured: many, so that each write of the log is full.
const FILLING_CLIENTS: u32 = 1_024;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOperation {
    /// A get of a record.
    Get,
    /// A put of its next version.
    Put,
}

/// An operation that is under way.
#[derive(Clone, Copy, Debug)]
pub struct RequestInFlight {
    /// What it is.
    pub operation: TrialOperation,
    /// Of which record.
    pub index: u64,
    /// When it was asked.
    pub arrived: SimTime,
    /// The version that it writes, or must find.
    pub version: u32,
}

/// A part of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialPhase {
    /// Each record is put once, in random order.
    Load,
    /// Records are overwritten.
    WarmUp,
    /// What is measured.
    Measure,
}

/// What the clients have been answered.
#[derive(Clone, Debug, Default)]
pub struct ClientAnswers {
    /// Latencies of gets.
    pub gets: Latencies,
    /// Latencies of puts.
    pub puts: Latencies,
}

/// The clients of a store, and the time of the event loop that serves them.
pub struct Clients {
    workload: StoreWorkload,
    draw: Draw,
    order: Permutation,
    phase: TrialPhase,
    /// Still to be asked in this phase.
    left: u64,
    loaded: u64,
    most: u32,
    outstanding: u32,
    answered: u64,
    loop_free_at: SimTime,
    next_arrival: Option<SimTime>,
    /// The last version of each record that a store took, and the last that it acknowledged.
    issued: Vec<u32>,
    acknowledged: Vec<u32>,
    answers: ClientAnswers,
}

impl Clients {
    /// Clients of an empty store.
    pub fn new(workload: StoreWorkload) -> Self {
        let draw = match workload.zipf {
            Some(exponent) => Draw::zipf(workload.records, exponent, workload.seed),
            None => Draw::uniform(workload.records, workload.seed),
        };
        Self {
            draw,
            order: Permutation::new(workload.records, workload.seed),
            phase: TrialPhase::Load,
            left: 0,
            loaded: 0,
            most: FILLING_CLIENTS,
            outstanding: 0,
            answered: 0,
            loop_free_at: SimTime::ZERO,
            next_arrival: None,
            issued: vec![0; workload.records as usize],
            acknowledged: vec![0; workload.records as usize],
            answers: ClientAnswers::default(),
            workload,
        }
    }

    /// What is asked for in all.
    pub fn workload(&self) -> &StoreWorkload {
        &self.workload
    }

    /// Operations of a phase.
    pub fn operations(workload: &StoreWorkload, phase: TrialPhase) -> u64 {
        let puts = |times: f64| (workload.records as f64 * times).ceil() as u64;
        match phase {
            TrialPhase::Load => workload.records,
            TrialPhase::WarmUp => puts(workload.warm_up),
            // As many as bring so many puts.
            TrialPhase::Measure if workload.get_share < 1.0 => {
                (puts(workload.measured) as f64 / (1.0 - workload.get_share).max(0.01)).ceil() as u64
            }
            TrialPhase::Measure => puts(workload.measured),
        }
    }

    /// Begins a phase at this time.
    pub fn begin(&mut self, phase: TrialPhase, now: SimTime) {
        self.phase = phase;
        self.left = Self::operations(&self.workload, phase);
        let is_measured = phase == TrialPhase::Measure;
        self.most = if is_measured { self.workload.clients } else { FILLING_CLIENTS };
        self.next_arrival = if is_measured { self.workload.rate_per_s.map(|_| now) } else { None };
        self.answers = ClientAnswers::default();
    }

    /// Whether everything of the phase was asked and answered.
    pub fn is_done(&self) -> bool {
        self.left == 0 && self.outstanding == 0
    }

    /// Operations answered, in all phases.
    pub fn answered(&self) -> u64 {
        self.answered
    }

    /// What was answered in this phase.
    pub fn answers(&self) -> &ClientAnswers {
        &self.answers
    }

    /// When the next operation can begin.
    pub fn next_at(&self, now: SimTime) -> Option<SimTime> {
        let can = self.left > 0 && self.outstanding < self.most;
        can.then(|| now.max(self.loop_free_at).max(self.next_arrival.unwrap_or(SimTime::ZERO)))
    }

    /// The operation that begins now, if one does. It takes the event loop's time.
    pub fn next(&mut self, now: SimTime) -> Option<RequestInFlight> {
        if self.next_at(now)? > now {
            return None;
        }
        let arrived = match self.next_arrival {
            None => now,
            Some(at) => {
                let interval = -self.draw.share().ln() / self.workload.rate_per_s.unwrap_or(1.0);
                self.next_arrival = Some(at + SimTime::from_seconds(interval));
                at
            }
        };
        self.left -= 1;
        self.outstanding += 1;
        self.loop_free_at = now + self.workload.cpu;
        let index = if self.phase == TrialPhase::Load {
            self.loaded += 1;
            self.order.at(self.loaded - 1)
        } else {
            self.draw.draw()
        };
        let is_get = self.phase == TrialPhase::Measure && self.draw.share() <= self.workload.get_share;
        let operation = if is_get { TrialOperation::Get } else { TrialOperation::Put };
        Some(RequestInFlight { operation, index, arrived, version: 0 })
    }

    /// The last version that a store took of a record.
    pub fn issued(&self, index: u64) -> u32 {
        self.issued[index as usize]
    }

    /// The last version that was acknowledged.
    pub fn acknowledged(&self, index: u64) -> u32 {
        self.acknowledged[index as usize]
    }

    /// A store took this version.
    pub fn took(&mut self, index: u64, version: u32) {
        self.issued[index as usize] = version;
    }

    /// An operation is answered.
    pub fn answer(&mut self, issued: &RequestInFlight, now: SimTime) {
        self.outstanding -= 1;
        self.answered += 1;
        let took = (now - issued.arrived).ns();
        match issued.operation {
            TrialOperation::Get => self.answers.gets.add_ns(took),
            TrialOperation::Put => {
                let acknowledged = &mut self.acknowledged[issued.index as usize];
                *acknowledged = (*acknowledged).max(issued.version);
                self.answers.puts.add_ns(took);
            }
        }
    }

    /// New clients that know what these do of each record. Nothing of theirs is under way.
    #[must_use]
    pub fn knowing(other: &Self) -> Self {
        let (issued, acknowledged) = (other.issued.clone(), other.acknowledged.clone());
        Self { issued, acknowledged, ..Self::new(other.workload) }
    }

    /// This version of a record was found after a power cut: all later ones are lost, and it is the truth from now on.
    pub fn found_after_power_cut(&mut self, index: u64, version: u32) {
        (self.issued[index as usize], self.acknowledged[index as usize]) = (version, version);
    }
}
