//! All entries, in random order.

use std::time::Instant;

use fawn_machine::host::free_bytes;
use fawn_meter::Energy;
use fawn_report::BenchReport;
use fawn_report::amount::bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::overwrite::{LOOK, segments};
use crate::closed::generator_us_a_put;
use crate::error::{Error, FlagBytes};
use crate::session::BenchSession;
use crate::setup::Setup;
use crate::usage::WorkUsage;

/// How far a load has come.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SoFar {
    /// Puts made, those included that a crash has undone.
    puts: u64,
    usage: WorkUsage,
    /// Most bytes that segments took.
    #[serde(default)]
    most_space: u64,
}

/// Refuses what does not fit the device: the entries alone take more than is free.
fn check_space(setup: &Setup, entries: u64) -> Result<(), Error> {
    let (least, free) =
        (entries.saturating_mul(setup.user_bytes(1)), free_bytes(&setup.dir).map_err(Error::io(&setup.dir))?);
    if least > free {
        return Err(Error::Unfit(format!(
            "the entries still to be loaded take {} at least, and {} are free where --dir is: give fewer --entries, \
            or another --dir",
            bytes(least as f64),
            bytes(free as f64)
        )));
    }
    Ok(())
}

/// Loads what is not loaded yet.
///
/// # Errors
/// [`Error::OutOfMemory`] and others; what was loaded stays.
pub fn run(session: &mut BenchSession<'_>, name: &str) -> Result<BenchReport, Error> {
    let entries = session.setup.entries;
    if session.is_loaded() {
        return Err(other_load(session));
    }
    let there = session.history.last().map_or(0, |phase| phase.certain);
    check_space(&session.setup, entries - there)?;
    let before: SoFar = session.unfinished(name).unwrap_or(SoFar { puts: 0, usage: WorkUsage::none(), most_space: 0 });
    let metering = session.metering()?;
    let meter = session.driver.meter();
    let (mut looked, mut most_space) = (Instant::now(), before.most_space);
    let so_far = |session: &BenchSession<'_>, made: u64, most_space: u64| {
        let mut so_far = SoFar { most_space, ..before };
        so_far.puts += made;
        so_far.usage.add(&session.driver.usage(&meter));
        so_far
    };
    let made = session.put_many(entries - there, |session, made| {
        session.watch.progress(there + made, entries, "loading");
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            most_space = most_space.max(segments(session)?);
        }
        if session.is_note_due() {
            session.note_data(false)?;
            let so_far = so_far(session, made, most_space);
            session.note(name, &so_far)?;
        }
        Ok(true)
    });
    let made = match made {
        Ok(made) => made,
        Err(error) => {
            session.note_data(false)?;
            return Err(error);
        }
    };
    let until_loaded = session.driver.usage(&meter);
    let mut loaded = SoFar { puts: before.puts + made, ..before };
    loaded.usage.add(&until_loaded);
    session.watch.progress(entries, entries, "waiting until maintenance is done");
    let settled = session.settle_since(&meter)?.after(&until_loaded);
    let energy = fawn_meter::stop(metering)?;
    loaded.most_space = most_space.max(segments(session)?);
    session.changed();
    session.note_data(true)?;
    // Of a load that was interrupted only the end was metered.
    let energy = energy.filter(|_| before.puts == 0);
    let report = tell(session, &loaded, &settled, before.puts > 0, energy.as_ref());
    session.finish(name, report)
}

/// The data are loaded, but not as is asked for: with which other flags.
fn other_load(session: &BenchSession<'_>) -> Error {
    let setup = &session.setup;
    let filter = |has: bool| if has { "--miss-filter" } else { "no --miss-filter" }.to_owned();
    let memory = |bytes: u64| format!("--memory {}", FlagBytes(bytes));
    let mut flags = vec![(memory(session.loaded_with()), memory(setup.memory))];
    let kept = session.journal.load().map(|kept| &kept.parameters);
    let parameter = |name| kept.and_then(|parameters| parameters.get(name));
    if let Some(ack) = parameter("ack").and_then(Value::as_str) {
        flags.push((format!("--ack {ack}"), format!("--ack {}", setup.ack_name())));
    }
    if let Some(has) = parameter("miss_filter").and_then(Value::as_bool) {
        flags.push((filter(has), filter(setup.miss_filter)));
    }
    flags.retain(|(loaded, asked)| loaded != asked);
    if flags.is_empty() {
        // What energy a load took is known of those alone that were metered; a load that a crash ended last of all was not kept.
        let loaded = if kept.is_some() { "flags that were not recorded" } else { "flags that were not noted" };
        flags.push((loaded.to_owned(), "these".to_owned()));
    }
    let (loaded, asked): (Vec<String>, Vec<String>) = flags.into_iter().unzip();
    Error::OtherLoad { path: setup.dir.clone(), loaded: loaded.join(" "), asked: asked.join(" ") }
}

fn tell(
    session: &BenchSession<'_>,
    loaded: &SoFar,
    settled: &WorkUsage,
    was_interrupted: bool,
    energy: Option<&Energy>,
) -> BenchReport {
    let setup = &session.setup;
    let (usage, puts) = (loaded.usage, loaded.puts.max(1) as f64);
    let user = setup.user_bytes(loaded.puts) as f64;
    let system = usage.write_bytes.zip(settled.write_bytes).map(|(one, other)| (one + other) as f64 / user);
    let by_store = (usage.counts.written_bytes + settled.counts.written_bytes) as f64 / user;
    let mut report = session.report("load");
    report.parameter("puts_in_flight", setup.puts_in_flight);
    let mut row = json!({
        "ack": setup.ack_name(),
        "puts": loaded.puts,
        "user_bytes": user,
        "seconds": usage.seconds,
        "puts_a_second": puts / usage.seconds,
        "user_mb_a_second": user / usage.seconds / 1e6,
        "settled_mb_a_second": user / (usage.seconds + settled.seconds) / 1e6,
        "cpu_us_a_put": usage.cpu_us / puts,
        "generator_cpu_us": generator_us_a_put(setup.entries, setup.value_bytes),
        "written_over_user": system,
        "store_written_over_user": by_store,
        "batches": usage.counts.batches,
        "seals": usage.counts.seals + settled.counts.seals,
        "merges": usage.counts.merges + settled.counts.merges,
        "settle_seconds": settled.seconds,
        "settle_cpu_seconds": settled.cpu_us / 1e6,
        "most_space_over_live": loaded.most_space as f64 / setup.user_bytes(setup.entries) as f64,
    });
    // Puts are not over before what they leave to be done is.
    let (rate, cpu_us) = (puts / (usage.seconds + settled.seconds), (usage.cpu_us + settled.cpu_us) / puts);
    fawn_meter::write_row(row.as_object_mut().expect("a row is an object"), energy, rate, Some(cpu_us));
    report.row(row);
    report.metered(fawn_meter::provenance(&report.rows, energy));
    if session.setup.meter.is_some() && was_interrupted {
        report.notes.push("the load was interrupted, so its energy is unknown".to_owned());
    }
    if was_interrupted {
        report.notes.push("the load was interrupted: entries that were lost were put twice and count twice".to_owned());
    }
    report
}
