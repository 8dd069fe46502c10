//! Counters of the processors, where there are any.

/// A counter on each processor.
#[cfg(target_os = "linux")]
pub struct ProcessorCounters {
    counters: Vec<perf_event::Counter>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedEvent {
    Instructions,
    CacheMisses,
}

impl CountedEvent {
    /// Where its figures are from.
    pub fn source(self) -> &'static str {
        match self {
            Self::Instructions => "perf_event_open, hardware instructions of all processors, kernel included",
            Self::CacheMisses => "perf_event_open, hardware cache misses of all processors, kernel included",
        }
    }
}

#[cfg(target_os = "linux")]
impl ProcessorCounters {
    /// Counts from now on.
    ///
    /// # Errors
    /// Why there are no such counters.
    pub fn start(event: CountedEvent) -> Result<Self, String> {
        use perf_event::Builder;
        use perf_event::events::Hardware;

        let hardware = match event {
            CountedEvent::Instructions => Hardware::INSTRUCTIONS,
            CountedEvent::CacheMisses => Hardware::CACHE_MISSES,
        };
        let mut counters = Vec::new();
        for cpu in fawn_machine::cpus::online().ok_or("nothing says which processors there are")? {
            let mut builder = Builder::new(hardware);
            builder.any_pid().one_cpu(cpu).include_kernel();
            let started = builder.build().and_then(|mut counter| counter.enable().map(|()| counter));
            counters.push(started.map_err(|error| why(&error))?);
        }
        Ok(Self { counters })
    }

    /// The running total. `None` if a counter cannot be read.
    pub fn read(&mut self) -> Option<f64> {
        let mut sum = 0.0;
        for counter in &mut self.counters {
            sum += counter.read().ok()? as f64;
        }
        Some(sum)
    }
}

/// Why `perf_event_open` gave no counter.
#[cfg(target_os = "linux")]
fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::Unsupported => {
            "no hardware counters here, as on most virtual machines".to_owned()
        }
        std::io::ErrorKind::PermissionDenied => {
            "hardware counters of all processors are for root, or need a lower kernel.perf_event_paranoid".to_owned()
        }
        _ => format!("perf_event_open: {error}"),
    }
}

/// Elsewhere there is no `perf_event_open`.
#[cfg(not(target_os = "linux"))]
pub struct ProcessorCounters;

#[cfg(not(target_os = "linux"))]
impl ProcessorCounters {
    /// None.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: CountedEvent) -> Result<Self, String> {
        Err("hardware counters are read on Linux only".to_owned())
    }

    /// Never.
    pub fn read(&mut self) -> Option<f64> {
        None
    }
}
