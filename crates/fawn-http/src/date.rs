//! Dates of replies.

use time::OffsetDateTime;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Appends a `Date` field for a Unix second; nothing for 0, the time of a clock that was never set.
pub fn append(out: &mut Vec<u8>, unix: u32) {
    let Some(date) = OffsetDateTime::from_unix_timestamp(i64::from(unix)).ok().filter(|_| unix != 0) else { return };
    let (hour, minute, second) = date.to_hms();
    let day = DAYS[usize::from(date.weekday().number_days_from_monday())];
    let month = MONTHS[usize::from(u8::from(date.month())) - 1];
    let (number, year) = (date.day(), date.year());
    let line = format!("Date: {day}, {number:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT\r\n");
    out.extend_from_slice(line.as_bytes());
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_those_of_rfc_9110_and_a_clock_that_was_never_set_has_none() {
        for (unix, line) in [
            (784_111_777, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
            (951_782_400, "Date: Tue, 29 Feb 2000 00:00:00 GMT\r\n"),
            (u32::MAX, "Date: Sun, 07 Feb 2106 06:28:15 GMT\r\n"),
            (0, ""),
        ] {
            let mut out = Vec::new();
            super::append(&mut out, unix);
            assert_eq!(String::from_utf8(out).unwrap(), line);
        }
    }
}
