//! A file with times and watts that a meter of any kind writes meanwhile: laid over the measurement by wall-clock time.
//!
//! ```text
//! # scope: wall
//! # meter: WattsUp Pro
//! time,watts
//! 1794000000.0,3.1
//! 2026-11-06T20:00:01Z,3.2
//! ```
//!
//! Lines that begin with `#` come first; the one with the scope (`package`, `board` or `wall`) must be there, as the file alone
//! knows what was metered. The line with the names of columns may be left out where the first two are time and watts. Times are
//! Unix seconds, Unix milliseconds, or RFC 3339; they never fall. A last line without its end is not complete, and not read.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use fawn_files::lines::{self, LineLimit, LineOutcome};
use fawn_files::text;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::MeterError;
use crate::instrument::InstrumentSample;
use crate::integral::{GAP, Integral, decimals};
use crate::reading::Scope;

/// From here on a number of Unix time is in milliseconds.
const LEAST_MS: f64 = 1e11;

/// No meter writes a longer line, in bytes.
const LONGEST_LINE: usize = 64 << 10;

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What was metered.
    pub scope: Scope,
    /// By what, if the file says so.
    pub meter: Option<String>,
    /// Unix seconds and watts, at least two, in the order of time.
    rows: Vec<(f64, f64)>,
    /// The usual time between two.
    usual_seconds: f64,
}

/// What is under a measurement.
#[derive(Clone, Debug)]
pub struct SeriesCoverage {
    /// Its readings.
    pub integral: Integral,
    /// The step of its watts.
    pub step_watts: f64,
    /// What was made up, if anything.
    pub note: Option<String>,
}

/// Why a file is not read.
fn unread(error: &io::Error) -> String {
    format!("cannot be read ({error}): let the meter write it before you begin")
}

impl Series {
    /// Reads a file.
    ///
    /// # Errors
    /// [`MeterError::Csv`].
    pub fn read(path: &Path) -> Result<Self, MeterError> {
        let wrong = |reason: String| MeterError::Csv { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|error| wrong(unread(&error)))?;
        Self::parse(BufReader::new(file)).map_err(wrong)
    }

    fn parse(mut file: impl BufRead) -> Result<Self, String> {
        let is_foreign = text::foreign(file.fill_buf().map_err(|error| unread(&error))?);
        if let Some(other) = is_foreign {
            return Err(format!("it is {} text: save it as UTF-8", other.name()));
        }
        let (mut scope, mut meter) = (None, None);
        let mut columns = Columns { time: 0, watts: 1 };
        let mut rows: Vec<(f64, f64)> = Vec::new();
        let mut is_first = true;
        let mut bytes = Vec::new();
        for number in 1.. {
            let found = lines::read(&mut file, &mut bytes, LineLimit::unescaped(LONGEST_LINE));
            match found.map_err(|error| unread(&error))? {
                LineOutcome::Line if bytes.ends_with(b"\n") => {}
                LineOutcome::Line | LineOutcome::End => break,
                LineOutcome::TooLong => return Err(format!("line {number} has more than {LONGEST_LINE} bytes")),
            }
            let line = str::from_utf8(&bytes).map_err(|_| format!("line {number} is not UTF-8 text"))?;
            let line = if number == 1 { line.trim_start_matches('\u{feff}').trim() } else { line.trim() };
            // A spreadsheet gives every line as many fields as the longest, and may quote any.
            let padding = [',', '"', ' '];
            if let Some(comment) = line.trim_matches(padding).strip_prefix('#') {
                match comment.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
                    Some(("scope", word)) => {
                        let known = Scope::parse(word);
                        scope =
                            Some(known.ok_or_else(|| {
                                format!("line {number}: write `# scope:` with package, board or wall")
                            })?);
                    }
                    Some(("meter", name)) => meter = Some(name.to_owned()),
                    _ => {}
                }
            } else if !line.trim_matches(padding).is_empty() {
                let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
                if is_first && fields[0].chars().all(|c| c.is_alphabetic() || " _()".contains(c)) {
                    columns = Columns::named(&fields).ok_or("the columns must be called `time` and `watts`")?;
                } else {
                    rows.push(columns.row(&fields).ok_or_else(|| {
                        format!("line {number} is not a time and watts: write Unix seconds or RFC 3339, and a number")
                    })?);
                }
                is_first = false;
            }
        }
        let scope = scope.ok_or(
            "it does not name the scope of the meter: begin it with a line `# scope: wall`, or board, or package",
        )?;
        if let Some(pair) = rows.windows(2).find(|pair| pair[1].0 < pair[0].0) {
            return Err(format!("its times decrease, from {} to {}: sort it", pair[0].0, pair[1].0));
        }
        let mut between: Vec<f64> = rows.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        between.sort_by(f64::total_cmp);
        match between.get(between.len() / 2) {
            Some(usual) if *usual > 0.0 => Ok(Self { scope, meter, rows, usual_seconds: *usual }),
            _ => {
                Err("it does not have two readings at different times yet: start the meter before you begin".to_owned())
            }
        }
    }

    /// The usual time between two readings.
    pub fn usual_seconds(&self) -> f64 {
        self.usual_seconds
    }

    /// When its last reading was.
    pub fn last_seconds(&self) -> f64 {
        self.rows.last().map_or(0.0, |row| row.0)
    }

    /// What its last reading shows.
    pub fn last_watts(&self) -> f64 {
        self.rows.last().map_or(0.0, |row| row.1)
    }

    /// What it says of the time from `began` to `ended`, Unix seconds; power at the ends is drawn straight between readings.
    ///
    /// # Errors
    /// What it does not cover, for people.
    pub fn cover(&self, began: f64, ended: f64) -> Result<SeriesCoverage, String> {
        let (first, last) = (self.rows[0], *self.rows.last().expect("a series has readings"));
        let (late, early) = (first.0 - began, ended - last.0);
        let mut note = None;
        for (missing, what) in [(late, "begins"), (early, "ends")] {
            let side = if what == "begins" { "after the measurement began" } else { "before the measurement ended" };
            if missing > self.usual_seconds {
                return Err(format!(
                    "it {what} {missing:.1} s {side}: start the meter before and stop it after the measurement, \
                    with its clock set"
                ));
            }
            if missing > 0.0 {
                note = Some(format!("the file {what} {missing:.2} s {side}; the report assumes constant power there"));
            }
        }
        let inside = self.rows.iter().copied().filter(|row| (began..=ended).contains(&row.0));
        let mut integral = Integral::default();
        let points = std::iter::once((began, self.at(began))).chain(inside).chain([(ended, self.at(ended))]);
        for (at, watts) in points {
            integral.add(at, InstrumentSample { watts: Some(watts), ..InstrumentSample::default() });
        }
        // Between the readings themselves, not the ends that were drawn.
        let around = self.rows.windows(2).filter(|pair| pair[1].0 > began && pair[0].0 < ended);
        if let Some(pair) = around.clone().find(|pair| pair[1].0 - pair[0].0 > GAP * self.usual_seconds) {
            let (gap, usual) = (pair[1].0 - pair[0].0, self.usual_seconds);
            return Err(format!(
                "it has no readings for {gap:.1} s from {:.1} on, but usually one every {usual:.1} s: measure again",
                pair[0].0
            ));
        }
        let used = around.flat_map(|pair| [pair[0].1, pair[1].1]).map(decimals).max().unwrap_or(0);
        Ok(SeriesCoverage { integral, step_watts: 10f64.powi(-used), note })
    }

    /// Watts at a time, on a straight line between readings; before the first and after the last as these.
    fn at(&self, seconds: f64) -> f64 {
        let after = self.rows.partition_point(|row| row.0 <= seconds);
        match (after.checked_sub(1).map(|before| self.rows[before]), self.rows.get(after)) {
            (Some(before), Some(after)) => {
                let share = (seconds - before.0) / (after.0 - before.0);
                before.1 + (after.1 - before.1) * share
            }
            (Some(only), None) => only.1,
            (None, Some(only)) => only.1,
            (None, None) => unreachable!("a series has readings"),
        }
    }
}

/// Where time and watts are in a line.
struct Columns {
    time: usize,
    watts: usize,
}

impl Columns {
    fn named(fields: &[&str]) -> Option<Self> {
        let of = |name: &str| fields.iter().position(|field| field.eq_ignore_ascii_case(name));
        Some(Self { time: of("time")?, watts: of("watts")? })
    }

    fn row(&self, fields: &[&str]) -> Option<(f64, f64)> {
        let time = unix_seconds(fields.get(self.time)?)?;
        let watts: f64 = fields.get(self.watts)?.parse().ok()?;
        (time.is_finite() && watts.is_finite()).then_some((time, watts))
    }
}

fn unix_seconds(text: &str) -> Option<f64> {
    if let Ok(number) = text.parse::<f64>() {
        return Some(if number >= LEAST_MS { number / 1e3 } else { number });
    }
    let time = OffsetDateTime::parse(&text.replacen(' ', "T", 1), &Rfc3339).ok()?;
    Some(time.unix_timestamp_nanos() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# scope: wall\n# meter: WattsUp\n";

    fn series(rows: &str) -> Series {
        Series::parse(format!("{HEAD}{rows}").as_bytes()).unwrap()
    }

    fn joules(series: &Series, began: f64, ended: f64) -> f64 {
        let covered = series.cover(began, ended).unwrap();
        assert!((covered.integral.seconds() - (ended - began)).abs() < 1e-9);
        covered.integral.watts().map(|_| ()).unwrap();
        let info = crate::meter::csv_info(series, Path::new("x"), covered.step_watts);
        covered.integral.sum(&info).unwrap().joules
    }

    #[test]
    fn a_measurement_between_readings_takes_its_part_of_them() {
        let series = series("1000,10\n1001,20\n1002,20\n1003,0\n");
        assert_eq!((series.scope, series.meter.as_deref()), (Scope::Wall, Some("WattsUp")));
        // From 15 W to 20 W for half a second, 20 W for one, 20 W to 10 W for half a second.
        assert!((joules(&series, 1000.5, 1002.5) - (8.75 + 20.0 + 7.5)).abs() < 1e-9);
        assert!((joules(&series, 1000.0, 1003.0) - (15.0 + 20.0 + 10.0)).abs() < 1e-9);
        // All of it within one second of the meter's.
        assert!((joules(&series, 1000.2, 1000.4) - 0.2 * 13.0).abs() < 1e-9);
    }

    #[test]
    fn times_are_read_as_meters_write_them() {
        let rfc = series("2026-11-06T20:00:00Z,1\n2026-11-06 21:00:01.5+01:00,1\n");
        assert_eq!(rfc.rows, [(1_793_995_200.0, 1.0), (1_793_995_201.5, 1.0)]);
        assert_eq!(series("1793995200000,1\n1793995201500,1\n").rows, rfc.rows);
        let named = series("Watts,\"Volts\",Time\n1,230,1793995200\n1,231,1793995201.5\n12");
        assert_eq!(named.rows, rfc.rows, "columns by name, and no last line without its end");
    }

    #[test]
    fn what_the_file_does_not_cover_is_an_error_or_told() {
        let series = series("1000,10\n1001,10\n1002,10\n1003,10\n1007,10\n1008,10\n");
        let error = |began, ended| series.cover(began, ended).unwrap_err();
        assert!(error(998.5, 1001.0).starts_with("it begins 1.5 s after the measurement began"));
        assert!(error(1007.5, 1010.0).starts_with("it ends 2.0 s before the measurement ended"));
        assert!(error(1001.0, 1005.0).starts_with("it has no readings for 4.0 s from 1003.0 on"));
        assert!(series.cover(1000.0, 1003.0).unwrap().note.is_none(), "the gap is not in it");
        let covered = series.cover(1007.0, 1008.5).unwrap();
        assert!(covered.note.unwrap().starts_with("the file ends 0.50 s before"));
    }

    #[test]
    fn a_file_is_read_as_editors_and_spreadsheets_save_it() {
        let expected = series("1000,10\n1001,20\n");
        let saved = "\u{feff}# scope: wall,,\r\n\"# meter: WattsUp\",,\r\n,,\r\n1000,10, \r\n1001,20,\r\n";
        assert_eq!(Series::parse(saved.as_bytes()), Ok(expected));
        let utf16: Vec<u8> = saved.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(Series::parse(&utf16[..]).unwrap_err(), "it is UTF-16 text: save it as UTF-8");
        let long = [HEAD.as_bytes(), &vec![b'1'; LONGEST_LINE + 1]].concat();
        assert_eq!(Series::parse(&long[..]).unwrap_err(), "line 3 has more than 65536 bytes");
    }

    #[test]
    fn files_that_cannot_be_used_say_why() {
        for (text, says) in [
            ("1,2\n3,4\n", "begin it with a line `# scope: wall`"),
            ("# scope: socket\n1,2\n3,4\n", "line 1: write `# scope:`"),
            ("# scope: wall\n1,2\n", "does not have two readings"),
            ("# scope: wall\n5,2\n5,3\n", "does not have two readings"),
            ("# scope: wall\n1,2\n3,x\n", "line 3 is not a time and watts"),
            ("# scope: wall\n1,2\n2026-11-06T20:00:00,3\n", "line 3 is not a time and watts"),
            ("# scope: wall\n3,2\n1,2\n", "its times decrease, from 3 to 1"),
            ("# scope: wall\nwhen,power\n1,2\n3,4\n", "called `time` and `watts`"),
        ] {
            let error = Series::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
