//! The summary of a load or a dump, as a sentence or as JSON.

use std::io::Write;

use fawn_transfer::TransferSummary;
use fawn_transfer::redis::{LeftOut, LeftOutKeys};
use indicatif::HumanCount;

use crate::outcome::CommandStatus;
use crate::values::Size;

/// What the command comes to.
pub fn outcome(summary: &TransferSummary) -> CommandStatus {
    if summary.is_complete() { CommandStatus::Done } else { CommandStatus::Missing }
}

/// Prints the summary, as a sentence that starts with `verb` or as JSON.
///
/// # Errors
/// Writing failed.
pub fn print(summary: &TransferSummary, verb: &str, json: bool, out: &mut dyn Write) -> std::io::Result<()> {
    if json {
        serde_json::to_writer(&mut *out, summary)?;
        return writeln!(out);
    }
    let rate = (summary.records as f64 / summary.seconds.max(1e-3)) as u64;
    let (records, size) = (HumanCount(summary.records), Size { bytes: summary.bytes });
    let what = if summary.records == 1 { "record" } else { "records" };
    write!(out, "{verb} {records} {what} ({size}) in {:.1} s, {} per second", summary.seconds, HumanCount(rate))?;
    let clock = if summary.expired_by_server { "the server's" } else { "this machine's" };
    let expired = format!("of those {verb} had expired by {clock} clock");
    // For one, and for any other number.
    let details = [
        (summary.loaded_before, ["loaded before"; 2]),
        (summary.bad_lines, ["bad line skipped", "bad lines skipped"]),
        (summary.too_large, ["too large and skipped"; 2]),
        (summary.expired, [expired.as_str(); 2]),
        (summary.vanished, ["gone since it was listed", "gone since they were listed"]),
        (summary.unreadable, ["cannot be read and is left out", "cannot be read and are left out"]),
        (
            summary.unfetched,
            [
                "has a key that memcached's protocol cannot carry and is left out",
                "have keys that memcached's protocol cannot carry and are left out",
            ],
        ),
        (summary.cut, ["lost flags or expiry, which tsv cannot carry"; 2]),
        (
            summary.long_keys,
            [
                "with a key that no server accepts, only `fawn load --bulk`",
                "with keys that no server accepts, only `fawn load --bulk`",
            ],
        ),
    ];
    for (count, [one, many]) in details.into_iter().filter(|(count, _)| *count > 0) {
        write!(out, "; {} {}", HumanCount(count), if count == 1 { one } else { many })?;
    }
    writeln!(out)?;
    summary.left_out.as_ref().map_or(Ok(()), |left_out| print_left_out(left_out, out))
}

/// Prints what a load from Redis has left out, a line for each reason.
fn print_left_out(left_out: &LeftOut, out: &mut dyn Write) -> std::io::Result<()> {
    let many = |keys: u64| format!("{} {}", HumanCount(keys), if keys == 1 { "key" } else { "keys" });
    let example = |keys: &LeftOutKeys| keys.example.as_ref().map(|key| format!(", e.g. {key}")).unwrap_or_default();
    for (name, keys) in &left_out.other_types {
        writeln!(out, "left out: {} of type {name}{}", many(keys.keys), example(keys))?;
    }
    let unloadable = &left_out.unloadable_keys;
    if unloadable.keys > 0 {
        let why = if unloadable.keys == 1 { "which is empty or too long" } else { "which are empty or too long" };
        writeln!(out, "left out: {}, {why}{}", many(unloadable.keys), example(unloadable))?;
    }
    if left_out.expired_before > 0 {
        writeln!(out, "left out: {} that had expired", many(left_out.expired_before))?;
    }
    for (database, keys) in &left_out.other_databases {
        writeln!(out, "left out: {} of database {database}: load them with --from-database {database}", many(*keys))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_counts_in_words_that_fit_the_number() {
        let summary = |count: fn(&mut TransferSummary)| {
            let mut summary = TransferSummary::start();
            count(&mut summary);
            summary
        };
        let told = |summary: &TransferSummary| {
            let mut out = Vec::new();
            print(summary, "loaded", false, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let one = told(&summary(|it| {
            it.records = 1;
            it.bad_lines = 1;
            it.expired = 1;
            it.vanished = 1;
        }));
        assert!(one.starts_with("loaded 1 record ("), "{one}");
        let rest =
            "; 1 bad line skipped; 1 of those loaded had expired by this machine's clock; 1 gone since it was listed\n";
        assert!(one.ends_with(rest), "{one}");
        let more = told(&summary(|it| {
            it.records = 30_002;
            it.bad_lines = 2;
            it.expired = 30;
        }));
        assert!(more.starts_with("loaded 30,002 records ("), "{more}");
        assert!(
            more.ends_with("; 2 bad lines skipped; 30 of those loaded had expired by this machine's clock\n"),
            "{more}"
        );
    }
}
