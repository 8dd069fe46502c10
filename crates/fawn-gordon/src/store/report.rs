//! Results of several trials beside each other, as rows of text and as JSON.

use fawn_report::TextTable;
use fawn_report::amount::{counted, digits, percent, several};
use serde::Serialize;

use super::result::{DriveYears, StoreResult};
use super::settings::{DriveSettings, StoreDesign, StoreTrialError, StoreWorkload, StuckTrial};
use super::trial::{operations, run};

const NOT_KNOWN: &str = "not known";

/// What is tried: each store on each drive.
#[derive(Clone, Debug)]
pub struct StoreComparison {
    /// The workload.
    pub workload: StoreWorkload,
    /// The drives.
    pub drives: Vec<DriveSettings>,
    /// The stores.
    pub designs: Vec<StoreDesign>,
    /// Puts a second for which years are reckoned.
    pub puts_per_s: f64,
    /// Bytes that a drive may be written, by its maker.
    pub tbw_bytes: Option<f64>,
}

/// A trial with its years.
#[derive(Clone, Debug, Serialize)]
pub struct StoreRow {
    /// What it came to.
    #[serde(flatten)]
    pub result: StoreResult,
    /// How long a drive lasts.
    pub years: DriveYears,
}

/// All of them.
#[derive(Clone, Debug, Serialize)]
pub struct StoreReport {
    /// The workload.
    pub workload: StoreWorkload,
    /// The drive's preset.
    pub drive: &'static str,
    /// Where its values are from.
    pub drive_source: &'static str,
    /// Bytes of the whole flash of the preset's full size, for which years are reckoned.
    pub full_drive_bytes: u64,
    /// Erases that each block is rated for, if that is known.
    pub rated_erases: Option<u32>,
    /// Bytes that a drive may be written by its maker, if that is given.
    pub tbw_bytes: Option<f64>,
    /// Puts a second for which years are reckoned.
    pub puts_per_s: f64,
    /// A row a trial.
    pub rows: Vec<StoreRow>,
    /// Trials without a row.
    #[serde(skip)]
    pub stuck: Vec<StuckTrial>,
    /// What is to be known beside the figures.
    pub notes: Vec<String>,
}

impl StoreComparison {
    /// Operations of all trials.
    pub fn operations(&self) -> u64 {
        operations(&self.workload) * (self.drives.len() * self.designs.len()) as u64
    }

    /// Tries each store on each drive. `progress` is told how many operations are done, and of which store.
    ///
    /// # Errors
    /// Of the first trial that fails. A store that takes no more puts has no row; if none has, there is no report.
    ///
    /// # Panics
    /// There is no drive.
    pub fn run(&self, mut progress: impl FnMut(u64, &str)) -> Result<StoreReport, StoreTrialError> {
        let (mut rows, mut stuck) = (Vec::new(), Vec::new());
        for drive in &self.drives {
            for design in &self.designs {
                let before = operations(&self.workload) * (rows.len() + stuck.len()) as u64;
                let tried = run(&self.workload, drive, *design, &mut |done| progress(before + done, design.name()));
                let result = match tried {
                    Err(StoreTrialError::Stuck(why)) => {
                        stuck.push(StuckTrial {
                            design: *design,
                            memory_per_record: memory_per_record(*design, &self.workload),
                            spare_factor: drive.spare_factor,
                            why,
                        });
                        continue;
                    }
                    tried => tried?,
                };
                let years = result.years(&self.workload, drive, self.puts_per_s, self.tbw_bytes);
                rows.push(StoreRow { result, years });
            }
        }
        if rows.is_empty() {
            return Err(StoreTrialError::NoRow(stuck));
        }
        let drive = self.drives.first().expect("there is a drive");
        let mut report = StoreReport {
            workload: self.workload,
            drive: drive.preset.name,
            drive_source: drive.preset.source,
            full_drive_bytes: drive.preset.design.geometry.bytes(),
            rated_erases: drive.rated_erases,
            tbw_bytes: self.tbw_bytes,
            puts_per_s: self.puts_per_s,
            rows,
            stuck,
            notes: Vec::new(),
        };
        report.notes = report.all_notes();
        Ok(report)
    }
}

impl StoreReport {
    /// What was tried, in a line.
    pub fn heading(&self) -> String {
        let StoreWorkload { records, value_bytes, get_share, zipf, warm_up, measured, .. } = self.workload;
        let law = zipf.map_or_else(|| "uniform".to_owned(), |exponent| format!("Zipf {exponent}"));
        format!(
            "{records} records with values of {value_bytes} bytes on {}, {law}; {} per record first, then {} with \
             {} gets",
            self.drive,
            several(warm_up, "put", "puts"),
            digits(measured),
            percent(get_share),
        )
    }

    /// What a put costs the flash.
    pub fn writes(&self) -> TextTable {
        let head = [
            "store",
            "DRAM/record",
            "mode",
            "TRIM",
            "spare",
            "full",
            "store ×",
            "FTL ×",
            "flash ×",
            "log",
            "sealed",
            "merged",
            "years",
        ];
        let rows = self.rows.iter().map(|StoreRow { result, years }| {
            let part = |part: fn(&super::result::WrittenShares) -> f64| {
                result.written.as_ref().map_or_else(String::new, |written| two(part(written)))
            };
            vec![
                result.store.to_owned(),
                self.dram(result.design),
                result.mode.unwrap_or_default().to_owned(),
                if result.trim { "on" } else { "off" }.to_owned(),
                percent(result.spare_factor),
                percent(result.fill),
                two(result.store_amplification),
                two(result.ftl_amplification),
                two(result.amplification),
                part(|written| written.log),
                part(|written| written.sealed),
                part(|written| written.merged),
                self.years(years),
            ]
        });
        TextTable::of(&head, &[2, 3], rows)
    }

    /// DRAM for each record.
    fn dram(&self, design: StoreDesign) -> String {
        memory_per_record(design, &self.workload).map_or_else(String::new, |bytes| format!("{} B", digits(bytes)))
    }

    /// Whether the drive has a rating, without which its years are not known.
    pub fn is_rated(&self) -> bool {
        self.tbw_bytes.is_some() || self.rated_erases.is_some()
    }

    fn years(&self, years: &DriveYears) -> String {
        let known = if self.tbw_bytes.is_some() { years.by_tbw } else { years.by_erases };
        known.map_or_else(|| NOT_KNOWN.to_owned(), digits)
    }

    /// What operations take.
    pub fn operations_table(&self) -> TextTable {
        let head = [
            "store",
            "DRAM/record",
            "TRIM",
            "spare",
            "ops/s",
            "put p50",
            "p99",
            "p99.9 us",
            "get p50",
            "p99",
            "p99.9 us",
            "pages/get",
            "uJ/put",
            "uJ/get",
        ];
        let rows = self.rows.iter().map(|StoreRow { result, .. }| {
            let mut row = vec![
                result.store.to_owned(),
                self.dram(result.design),
                if result.trim { "on" } else { "off" }.to_owned(),
                percent(result.spare_factor),
                digits(result.operations_per_s),
            ];
            for latency in [&result.puts, &result.gets] {
                let figure = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |us| format!("{us:.0}"));
                row.extend([
                    figure(latency.map(|it| it.p50_us)),
                    figure(latency.map(|it| it.p99_us)),
                    figure(latency.map(|it| it.p999_us)),
                ]);
            }
            let figure = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), two);
            row.extend([
                figure(result.pages_per_get),
                figure(result.put_j.map(|joules| joules * 1e6)),
                figure(result.get_j.map(|joules| joules * 1e6)),
            ]);
            row
        });
        TextTable::of(&head, &[2], rows)
    }

    fn all_notes(&self) -> Vec<String> {
        let of = format!("{} per second", several(self.puts_per_s, "put", "puts"));
        let years = match (self.tbw_bytes, self.rated_erases) {
            (Some(tbw), _) => Some(format!(
                "Years are at {of} until {} TB are written, the drive's rating. All amplification is charged against \
                 it, so a drive lasts at least as long.",
                digits(tbw / 1e12)
            )),
            (None, Some(erases)) => Some(format!(
                "Years are at {of}, of a drive with {} GB of flash as full as this one, until each block was erased \
                 {}.",
                digits(self.full_drive_bytes as f64 / 1e9),
                counted(erases.into(), "time", "times")
            )),
            (None, None) => None,
        };
        let idle = self.rows.first().map_or(0.0, |row| row.result.idle_w);
        let mut notes = vec![format!("{}: {}.", self.drive, self.drive_source)];
        notes.extend(years);
        notes.push(format!(
            "Joules are modelled: cells at work, with the 40 mW of an SLC die (Gordon, Table 3). The dies at rest add \
             {} W. Bus, controller and host are left out.",
            digits(idle)
        ));
        notes.push("Latencies are those of the simulated drive, made small, without a write cache.".to_owned());
        notes.push(
            "FAWN is the store's real code, and each get is checked. The other two are patterns of requests: pages \
             written in place without a journal, and leveled compaction with perfect filters."
                .to_owned(),
        );
        notes
    }
}

/// Bytes of DRAM for each record, if the design has a share of memory.
fn memory_per_record(design: StoreDesign, workload: &StoreWorkload) -> Option<f64> {
    match design {
        StoreDesign::Fawn { memory_bytes } => Some(memory_bytes as f64 / workload.records as f64),
        StoreDesign::PageStore | StoreDesign::Lsm { .. } => None,
    }
}

fn two(value: f64) -> String {
    format!("{value:.2}")
}
