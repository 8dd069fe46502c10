//! Cryptography: digests of blocks, and signatures (e-Energy'10 §3.5, Table 4).
//!
//! * [`digest`], [`signature`]: what is measured, by which library. [`openssl`]: the paper's program beside it.
//! * [`output`]: the figures as tables and as a page.

pub mod digest;
pub mod openssl;
pub mod output;
pub mod signature;

use std::hint::black_box;
use std::time::{Duration, Instant};

use fawn_meter::{Energy, Meter, MeterError, provenance_without_idle, start, stop, write_row};
use fawn_report::{BenchReport, Watch};
use serde_json::{Map, Value, json};

use crate::threads::work_for;
use digest::{DIGESTS, DigestEntry, Instructions, hash_instructions};
use openssl::Openssl;
use signature::{SIGNATURES, SignatureEntry};

/// The block sizes of `openssl speed`, bytes.
pub const BLOCKS: &[u64] = &[16, 64, 256, 1024, 8192];
/// A thread looks at the clock after so many bytes at least.
const BYTES_A_LOOK: u64 = 32 << 10;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct CryptoPlan {
    /// Numbers of threads.
    pub threads: Vec<usize>,
    /// For so long each.
    pub time: Duration,
    /// Sizes of blocks, bytes.
    pub blocks: Vec<u64>,
    /// `openssl`, or why there are no figures of it.
    pub openssl: Result<Openssl, String>,
}

/// Measures, and gives a row for each digest, size of blocks and number of threads, and for each signature and number of threads.
///
/// # Errors
/// The meter cannot be read.
pub fn run(plan: &CryptoPlan, meter: Option<&Meter>, watch: &dyn Watch) -> Result<BenchReport, MeterError> {
    if let Some(meter) = meter {
        meter.rest()?;
    }
    let mut bench = CryptoBench { plan, meter, report: BenchReport::new("crypto"), energies: Vec::new() };
    bench.describe();
    let digests = DIGESTS.len() * plan.blocks.len();
    let peers = plan.openssl.iter().map(|_| OPENSSL_DIGESTS.len() * plan.blocks.len() + OPENSSL_SIGNATURES.len());
    let points = plan.threads.len() * (digests + SIGNATURES.len() + peers.sum::<usize>());
    let mut done = 0;
    let mut step = |what: &str| {
        watch.progress(done, points as u64, what);
        done += 1;
    };
    for threads in &plan.threads {
        for entry in DIGESTS {
            for block in &plan.blocks {
                step(entry.name);
                bench.digest(entry, *block, *threads)?;
            }
        }
        for entry in SIGNATURES {
            step(entry.name);
            bench.signature(entry, *threads)?;
        }
        let Ok(openssl) = &plan.openssl else { continue };
        for (ours, theirs) in OPENSSL_DIGESTS {
            for block in &plan.blocks {
                step(theirs);
                bench.openssl_digest(openssl, (ours, theirs), *block, *threads)?;
            }
        }
        for (ours, theirs) in OPENSSL_SIGNATURES {
            step(theirs);
            bench.openssl_signatures(openssl, (ours, theirs), *threads);
        }
    }
    Ok(bench.finish())
}

/// Our names, and those of `openssl speed`.
const OPENSSL_DIGESTS: &[(&str, &str)] = &[("SHA-1", "sha1"), ("SHA-256", "sha256")];
const OPENSSL_SIGNATURES: &[(&str, &str)] = &[("RSA-1024", "rsa1024"), ("RSA-2048", "rsa2048"), ("Ed25519", "ed25519")];

/// A measurement under way.
struct CryptoBench<'a> {
    plan: &'a CryptoPlan,
    meter: Option<&'a Meter>,
    report: BenchReport,
    energies: Vec<Option<Energy>>,
}

impl CryptoBench<'_> {
    fn describe(&mut self) {
        let plan = self.plan;
        let instructions = hash_instructions();
        self.report.parameter("threads", json!(plan.threads));
        self.report.parameter("seconds_a_point", plan.time.as_secs_f64());
        self.report.parameter("block_bytes", json!(plan.blocks));
        self.report.parameter("hash_instructions", json!(instructions));
        self.report.parameter("openssl", json!(plan.openssl.as_ref().ok().map(|openssl| &openssl.version)));
        let notes = &mut self.report.notes;
        match instructions {
            Some(name) => notes.push(format!("this processor's own instructions for SHA are {name}")),
            None => {
                notes.push("this processor has no instructions for SHA, so both kinds of it do the same".to_owned());
            }
        }
        match &plan.openssl {
            Ok(openssl) => notes.push(format!(
                "{} counts its own CPU time with one process, and wall time with several; it signs and verifies in one \
                 call, so it has no joules of each",
                openssl.version
            )),
            Err(why) => notes.push(why.clone()),
        }
    }

    fn digest(&mut self, entry: &DigestEntry, block: u64, threads: usize) -> Result<(), MeterError> {
        let blocks = (BYTES_A_LOOK / block.max(1)).max(1);
        let (bytes, cost) = work_for(threads, self.plan.time, self.meter, |thread| {
            let data = vec![thread as u8; block as usize];
            move || {
                for _ in 0..blocks {
                    black_box((entry.run)(black_box(&data)));
                }
                blocks * block
            }
        })?;
        let mut row = head(entry.name, entry.library, "digest", threads);
        row.insert("instructions".to_owned(), json!(entry.instructions.name()));
        row.insert("block_bytes".to_owned(), json!(block));
        cost.write(&mut row, bytes as f64);
        self.push(row, cost.energy);
        Ok(())
    }

    fn signature(&mut self, entry: &SignatureEntry, threads: usize) -> Result<(), MeterError> {
        let (signatures, cost) = work_for(threads, self.plan.time, self.meter, |_| {
            let mut work = (entry.prepare)();
            move || {
                work();
                1
            }
        })?;
        let mut row = head(entry.name, entry.library, entry.what, threads);
        cost.write(&mut row, signatures as f64);
        self.push(row, cost.energy);
        Ok(())
    }

    fn openssl_digest(
        &mut self,
        openssl: &Openssl,
        (ours, theirs): (&str, &str),
        block: u64,
        threads: usize,
    ) -> Result<(), MeterError> {
        let (metering, began) = (start(self.meter)?, Instant::now());
        let speed = openssl.speed(theirs, Some(block), self.seconds(), threads);
        let (seconds, energy) = (began.elapsed().as_secs_f64(), stop(metering)?);
        let speed = match speed {
            Ok(speed) => speed,
            Err(why) => {
                self.note(why);
                return Ok(());
            }
        };
        let mut row = head(ours, "openssl", "digest", threads);
        row.insert("instructions".to_owned(), json!(Instructions::Hash.name()));
        row.insert("block_bytes".to_owned(), json!(block));
        let rate = (speed.blocks * block) as f64 / seconds.max(1e-9);
        row.insert("seconds".to_owned(), json!(seconds));
        row.insert("work_a_second".to_owned(), json!(rate));
        let a_cpu_second = speed.bytes_a_second.filter(|_| threads == 1);
        write_row(&mut row, energy.as_ref(), rate, cpu_us(a_cpu_second));
        self.push(row, energy);
        Ok(())
    }

    fn openssl_signatures(&mut self, openssl: &Openssl, (ours, theirs): (&str, &str), threads: usize) {
        let speed = match openssl.speed(theirs, None, self.seconds(), threads) {
            Ok(speed) => speed,
            Err(why) => return self.note(why),
        };
        let Some((sign, verify)) = speed.signatures else { return };
        for (what, each) in [("sign", sign), ("verify", verify)] {
            let mut row = head(ours, "openssl", what, threads);
            if threads == 1 {
                write_row(&mut row, None, 0.0, cpu_us(Some(each)));
            } else {
                row.insert("work_a_second".to_owned(), json!(each));
            }
            self.report.rows.push(row);
        }
    }

    /// `openssl speed` counts whole seconds.
    fn seconds(&self) -> u64 {
        self.plan.time.as_secs().max(1)
    }

    fn note(&mut self, why: String) {
        if !self.report.notes.contains(&why) {
            self.report.notes.push(why);
        }
    }

    fn push(&mut self, row: Map<String, Value>, energy: Option<Energy>) {
        self.report.rows.push(row);
        self.energies.push(energy);
    }

    fn finish(mut self) -> BenchReport {
        let energy = fawn_meter::sum(self.energies.iter().map(Option::as_ref));
        self.report.metered(provenance_without_idle(&self.report.rows, energy.as_ref()));
        self.report.notes.extend(self.meter.and_then(Meter::loss));
        self.report.notes.extend(crate::build_note());
        self.report
    }
}

/// What a row is of. Its work is bytes of a digest, else signatures.
fn head(name: &str, library: &str, what: &str, threads: usize) -> Map<String, Value> {
    let cells =
        [("name", json!(name)), ("library", json!(library)), ("what", json!(what)), ("threads", json!(threads))];
    cells.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Microseconds of CPU time of an operation, of which a second of CPU time does so many.
fn cpu_us(a_cpu_second: Option<f64>) -> Option<f64> {
    a_cpu_second.filter(|rate| *rate > 0.0).map(|rate| 1e6 / rate)
}

#[cfg(test)]
mod tests {
    use fawn_report::Nobody;

    use super::*;

    #[test]
    fn a_run_has_a_row_for_each_digest_block_and_signature() {
        let plan = CryptoPlan {
            threads: vec![1, 2],
            time: Duration::from_millis(1),
            blocks: vec![16, 1024],
            openssl: Err("openssl was left out".to_owned()),
        };
        let report = run(&plan, None, &Nobody).unwrap();
        assert_eq!(report.rows.len(), 2 * (DIGESTS.len() * 2 + SIGNATURES.len()));
        for row in &report.rows {
            assert!(row["operations_a_cpu_second"].as_f64().unwrap() > 0.0, "{row:?}");
        }
        for what in ["openssl was left out", "no energy was metered"] {
            assert!(report.notes.iter().any(|note| note.contains(what)), "{what}: {:?}", report.notes);
        }
    }

    #[test]
    fn openssl_with_one_process_has_work_a_cpu_second_and_with_several_work_a_second() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("openssl");
        // As OpenSSL 3 writes it, whatever is measured.
        let text = "#!/bin/sh\n[ $1 = version ] && echo OpenSSL 3 && exit\nshift $(($# - 1))\ncase $1 in\n\
                    sha*) echo +F:4:$1:2000000.00; echo +R:1000:$1:1.0 >&2;;\n*) echo +F2:1:1024:100.0:900.0;;\nesac\n";
        std::fs::write(&script, text).unwrap();
        std::process::Command::new("chmod").arg("+x").arg(&script).status().unwrap();
        let plan = CryptoPlan {
            threads: vec![1, 2],
            time: Duration::from_millis(1),
            blocks: vec![64],
            openssl: Openssl::find(&script.into()),
        };
        let report = run(&plan, None, &Nobody).unwrap();
        let of = |name: &str, what: &str, threads: u64| {
            let is_it = |row: &&Map<String, Value>| {
                row["library"] == "openssl" && row["name"] == name && row["what"] == what && row["threads"] == threads
            };
            report.rows.iter().find(is_it).unwrap_or_else(|| panic!("no {name} {what} {threads}")).clone()
        };
        assert_eq!(of("SHA-1", "digest", 1)["operations_a_cpu_second"], 2e6);
        assert!(of("SHA-256", "digest", 2)["operations_a_cpu_second"].is_null());
        assert!(of("SHA-256", "digest", 2)["work_a_second"].as_f64().unwrap() > 0.0);
        let one = of("RSA-2048", "verify", 1)["operations_a_cpu_second"].as_f64().unwrap();
        assert!((one - 900.0).abs() < 1e-6, "{one}");
        assert_eq!(of("RSA-2048", "sign", 2)["work_a_second"], 100.0);
        assert_eq!(report.parameters["openssl"], "OpenSSL 3");
    }
}
