//! Reports as tables: one alone, or several beside each other.

use fawn_report::TextTable;
use fawn_report::amount::{bytes, count, digits, grouped, number, percent};

use super::device_report::DeviceReport;
use super::disk::DiskReport;
use super::flash::{AmplificationReport, FlashReport};
use super::power_cut::PowerCutReport;
use super::report::{EnergyReport, LatencySummary, PartShare, ResourceShare, Throughput};
use super::workload::Pacing;
use crate::disk::presets::DiskPreset;
use crate::flash::FlashModel;
use crate::time::SimTime;

/// A column of a table: a title, and values by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sheet {
    title: String,
    rows: Vec<(String, String)>,
}

impl Sheet {
    fn new(title: &str) -> Self {
        Self { title: title.to_owned(), rows: Vec::new() }
    }

    fn add(&mut self, label: &str, value: String) {
        self.rows.push((label.to_owned(), value));
    }

    /// What the recorded machine took, to stand beside simulated devices.
    pub fn of_recorded(latency: &LatencySummary) -> Self {
        let mut sheet = Self::new("recorded");
        sheet.latency("latency", Some(latency));
        sheet
    }

    /// Of any device.
    pub fn of(report: &DeviceReport) -> Self {
        match report {
            DeviceReport::Flash(report) => Self::of_flash(report),
            DeviceReport::Disk(report) => Self::of_disk(report),
        }
    }

    /// Of a flash array.
    pub fn of_flash(report: &FlashReport) -> Self {
        let mut sheet = Self::new(&report.name);
        sheet.head(report.capacity_bytes, report.pacing, &report.throughput, report.bytes_per_s, report.requests_per_s);
        sheet.latencies(report.latency.as_ref(), report.read_latency.as_ref(), report.write_latency.as_ref());
        sheet.parts(&report.latency_parts);
        sheet.resources(&report.resources);
        if let Some(amplification) = &report.write_amplification {
            sheet.amplification(amplification);
        }
        let wear = &report.wear;
        let spread = &wear.spread;
        sheet.add("super-blocks erased", grouped(wear.erased));
        sheet.add(
            "erases a super-block",
            format!(
                "{} to {}, mean {}",
                grouped(spread.least.into()),
                grouped(spread.most.into()),
                digits(spread.mean)
            ),
        );
        if spread.retired > 0 {
            sheet.add("super-blocks worn out", grouped(spread.retired.into()));
        }
        if let (Some(rated), Some(years)) = (wear.rated_erases, wear.years_at_this_rate) {
            sheet.add(&format!("years at this rate ({} erases)", grouped(rated.into())), digits(years));
        }
        let has = report.dram.has_bytes.map_or_else(|| "any".to_owned(), |has| bytes(has as f64));
        sheet.add("DRAM: needed, there is", format!("{}, {has}", bytes(report.dram.total_bytes as f64)));
        sheet.energy(report.energy.as_ref());
        sheet
    }

    /// Of a disk.
    pub fn of_disk(report: &DiskReport) -> Self {
        let mut sheet = Self::new(&report.name);
        sheet.head(report.capacity_bytes, report.pacing, &report.throughput, report.bytes_per_s, report.requests_per_s);
        sheet.latencies(report.latency.as_ref(), report.read_latency.as_ref(), report.write_latency.as_ref());
        sheet.parts(&report.latency_parts);
        sheet.resources(&report.resources);
        let services = &report.services;
        let of_all = |hits: u64, misses: u64| {
            if hits + misses == 0 { "none".to_owned() } else { percent(hits as f64 / (hits + misses) as f64) }
        };
        sheet.add("reads from the buffer", of_all(services.read_hits, services.read_misses));
        sheet.add("writes into the buffer", of_all(services.write_hits, services.write_misses));
        sheet.energy(report.energy.as_ref());
        sheet
    }

    fn head(&mut self, capacity: u64, pacing: Pacing, throughput: &Throughput, bytes_per_s: f64, requests_per_s: f64) {
        self.add("capacity", bytes(capacity as f64));
        self.add(
            "requests issued",
            match pacing {
                Pacing::Timed => "at their times".to_owned(),
                Pacing::Saturated => "as replies come".to_owned(),
            },
        );
        self.add(
            "reads, writes, discards, flushes",
            [throughput.reads, throughput.writes, throughput.discards, throughput.flushes].map(grouped).join(", "),
        );
        self.add("simulated time", time(throughput.elapsed_s * 1e6));
        self.add("bandwidth", format!("{}/s", bytes(bytes_per_s)));
        self.add("requests/s", count(requests_per_s));
    }

    fn latencies(
        &mut self,
        all: Option<&LatencySummary>,
        reads: Option<&LatencySummary>,
        writes: Option<&LatencySummary>,
    ) {
        self.latency("latency", all);
        if reads.is_some() && writes.is_some() {
            self.latency("latency of reads", reads);
            self.latency("latency of writes", writes);
        }
    }

    fn latency(&mut self, what: &str, latency: Option<&LatencySummary>) {
        let Some(latency) = latency else { return };
        self.add(&format!("{what}: mean"), time(latency.mean_us));
        self.add(&format!("{what}: p50, p99, p99.9"), {
            format!("{}, {}, {}", time(latency.p50_us), time(latency.p99_us), time(latency.p999_us))
        });
        self.add(&format!("{what}: longest"), time(latency.longest_us));
    }

    fn parts(&mut self, parts: &[PartShare]) {
        for part in parts {
            self.add(&format!("of it {}", part.part), format!("{} ({})", time(part.mean_us), percent(part.share)));
        }
    }

    fn resources(&mut self, resources: &[ResourceShare]) {
        for (at, it) in resources.iter().enumerate() {
            let rank = if at == 0 { "busiest" } else { "then" };
            self.add(
                &format!("{rank} ({})", at + 1),
                format!("{}: {} %", it.resource, number(it.busy_share * 100.0, 1)),
            );
        }
    }

    fn amplification(&mut self, amplification: &AmplificationReport) {
        self.add("pages programmed a page written", number(amplification.pages_per_page, 3));
        self.add("by theory", amplification.theory.map_or_else(|| "none".to_owned(), |theory| number(theory, 3)));
        self.add("the same with summaries", number(amplification.pages_per_page_with_summaries, 3));
        if amplification.bytes_per_byte.is_finite() {
            self.add("bytes programmed a byte written", number(amplification.bytes_per_byte, 3));
        }
    }

    fn energy(&mut self, energy: Option<&EnergyReport>) {
        let Some(energy) = energy else {
            self.add("modelled energy", "power unknown".to_owned());
            return;
        };
        self.add("modelled energy", format!("{} J, {} W", digits(energy.modelled_j), digits(energy.modelled_w)));
        if let Some(j_per_gb) = energy.modelled_j_per_gb {
            self.add("modelled energy a GB", format!("{} J", digits(j_per_gb)));
        }
    }
}

/// Sheets beside each other. Labels come in the order in which they appear.
pub fn beside(sheets: &[Sheet]) -> TextTable {
    let mut labels: Vec<&str> = Vec::new();
    for sheet in sheets {
        let mut at = 0;
        for (label, _) in &sheet.rows {
            // A label that is new comes after the one before it.
            if let Some(known) = labels.iter().position(|known| known == label) {
                at = known + 1;
            } else {
                labels.insert(at, label);
                at += 1;
            }
        }
    }
    let head: Vec<&str> = std::iter::once("").chain(sheets.iter().map(|sheet| sheet.title.as_str())).collect();
    let rows = labels.iter().map(|label| {
        let value = |sheet: &Sheet| {
            let found = sheet.rows.iter().find(|(known, _)| known == label);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        std::iter::once((*label).to_owned()).chain(sheets.iter().map(value)).collect()
    });
    TextTable::of(&head, &[], rows)
}

/// What a power cut left, and what recovery takes.
pub fn power_cut(report: &PowerCutReport) -> TextTable {
    let recovery = &report.recovery;
    let rows = [
        ("acknowledged requests", grouped(report.acknowledged)),
        ("requests under way", grouped(report.under_way)),
        ("power fails at", time(report.at_s * 1e6)),
        ("super-pages cut while programmed", grouped(report.torn_pages)),
        ("blocks cut while erased", grouped(recovery.torn_blocks.into())),
        ("summary pages read", grouped(recovery.summaries.into())),
        ("spare areas read", grouped(recovery.spare_pages.into())),
        ("records of trims read", grouped(recovery.records.into())),
        ("blocks of copies dropped", grouped(recovery.rolled_back.into())),
        ("super-pages found", format!("{} of {}", grouped(recovery.found.into()), grouped(report.pages))),
        ("acknowledged writes or trims lost", grouped(report.pages_lost)),
        ("recovery takes", time(report.recovery_s * 1e6)),
    ];
    TextTable::of(&["power cut", ""], &[], rows.map(|(label, value)| vec![label.to_owned(), value]).into_iter())
}

/// Presets of arrays.
pub fn flash_presets(models: &[FlashModel]) -> TextTable {
    let head = [
        "preset", "capacity", "buses", "dies", "planes", "page", "read", "program", "erase", "bus", "erases", "source",
    ];
    let rows = models.iter().map(|model| {
        let (geometry, cells, bus) = (&model.design.geometry, &model.design.cells, &model.design.bus);
        let all = |times: &[SimTime]| times.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        vec![
            model.name.clone(),
            bytes(geometry.bytes() as f64),
            geometry.buses.to_string(),
            geometry.dies().to_string(),
            geometry.planes_per_die.to_string(),
            format!("{} + {}", geometry.page_bytes, geometry.spare_bytes),
            all(&cells.reads),
            all(&cells.programs),
            cells.erase.to_string(),
            format!("{} bits, {} MT/s", bus.width_bits, digits(bus.mega_transfers)),
            model.rated_erases.map_or_else(|| "unknown".to_owned(), |erases| grouped(erases.into())),
            model.source.clone(),
        ]
    });
    TextTable::of(&head, &[6, 7, 9, 11], rows)
}

/// Presets of disks.
pub fn disk_presets(presets: &[DiskPreset]) -> TextTable {
    let rows = presets.iter().map(|preset| {
        let model = &preset.model;
        let sectors = model.layout().map(|layout| layout.sectors()).unwrap_or_default();
        let cylinders: u32 = model.zones.iter().map(|zone| zone.cylinders).sum();
        let power = preset.power.as_ref().map_or_else(
            || "unknown".to_owned(),
            |power| format!("{}/{}/{} W", power.watts.idle, power.watts.read, power.watts.write),
        );
        vec![
            preset.name.to_owned(),
            bytes(sectors as f64 * 512.0),
            grouped(model.rpm.into()),
            format!("{:.2} ms", model.seek.mean_random_ms(cylinders)),
            model.queue.depth.to_string(),
            power,
            model.source.to_string(),
        ]
    });
    TextTable::of(&["preset", "capacity", "rpm", "mean seek", "queue", "rest/read/write", "source"], &[5, 6], rows)
}

/// A time in the unit that fits.
pub fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{} us", digits(us)),
        us if us < 1e6 => format!("{} ms", digits(us / 1e3)),
        us => fawn_report::amount::seconds(us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(title: &str, rows: &[(&str, &str)]) -> Sheet {
        let mut sheet = Sheet::new(title);
        for (label, value) in rows {
            sheet.add(label, (*value).to_owned());
        }
        sheet
    }

    #[test]
    fn sheets_beside_each_other_have_every_label_once_and_in_order() {
        let a = sheet("a", &[("x", "1"), ("z", "2")]);
        let b = sheet("b", &[("x", "3"), ("y", "4"), ("z", "5")]);
        let table = beside(&[a, b]);
        assert_eq!(table.head, ["", "a", "b"]);
        assert_eq!(table.rows, [["x", "1", "3"], ["y", "", "4"], ["z", "2", "5"]].map(|row| row.map(str::to_owned)));
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        assert_eq!([5.0, 5_000.0, 5e6, 6e8].map(time), ["5 us", "5 ms", "5 s", "10 min"]);
    }
}
