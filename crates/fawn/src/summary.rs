//! The summary of a load or a dump, as a sentence or as JSON.

use std::io::Write;

use fawn_transfer::TransferSummary;
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
    writeln!(out)
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
