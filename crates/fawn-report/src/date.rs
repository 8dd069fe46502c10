//! Days and months, from which follows how old a value is. Today is an argument, as time always is in a pure crate.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A day, or a month of which the day is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "String")]
pub struct Date {
    year: u16,
    month: u8,
    /// 0 where only the month is known; such a month is older than its first day.
    day: u8,
}

/// A date as a file has it: as text; what is without quotes is of TOML's own kind, which looks like a table.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Quoted(String),
    Other(serde::de::IgnoredAny),
}

/// Why a date was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DateError {
    /// It has another form, or is a day that there is not.
    #[error("`{0}` is not a date; write YYYY-MM-DD or YYYY-MM, e.g. 2026-11-24")]
    Form(String),
    /// It is no text.
    #[error("a date is a string in a file: write it in quotes, e.g. \"2026-11-24\"")]
    Unquoted,
}

impl Date {
    /// The day that is `days` after 1 January 1970; nothing after the year 65535.
    pub fn of_unix_days(days: u64) -> Option<Self> {
        // Years begin on 1 March, so that the odd day is the last; eras have 400 years.
        let days = days.checked_add(719_468)?;
        let (era, of_era) = (days / 146_097, days % 146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        let year = u16::try_from(era * 400 + year + carry).ok()?;
        Some(Self { year, month: month as u8, day: day as u8 })
    }

    /// Whether more than a year has passed since, by `today`; of a month, since its end.
    pub fn is_stale(self, today: Self) -> bool {
        let day = if self.day == 0 { 31 } else { self.day };
        (self.year + 1, self.month, day) < (today.year, today.month, today.day)
    }
}

impl FromStr for Date {
    type Err = DateError;

    fn from_str(text: &str) -> Result<Self, DateError> {
        let refused = || DateError::Form(text.to_owned());
        let digits = |part: Option<&str>, count: usize| -> Option<u16> {
            part.filter(|part| part.len() == count && part.bytes().all(|c| c.is_ascii_digit()))?.parse().ok()
        };
        let mut parts = text.split('-');
        let year = digits(parts.next(), 4).ok_or_else(refused)?;
        let month = digits(parts.next(), 2).ok_or_else(refused)?;
        let day = match parts.next() {
            None => 0,
            Some(day) => digits(Some(day), 2).filter(|day| *day > 0).ok_or_else(refused)?,
        };
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let longest = match month {
            4 | 6 | 9 | 11 => 30,
            2 if is_leap => 29,
            2 => 28,
            _ => 31,
        };
        if parts.next().is_some() || !(1..=12).contains(&month) || day > longest {
            return Err(refused());
        }
        Ok(Self { year, month: month as u8, day: day as u8 })
    }
}

impl TryFrom<Text> for Date {
    type Error = DateError;

    fn try_from(text: Text) -> Result<Self, DateError> {
        match text {
            Text::Quoted(text) => text.parse(),
            Text::Other(_) => Err(DateError::Unquoted),
        }
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.to_string()
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)?;
        if self.day > 0 {
            write!(f, "-{:02}", self.day)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn days_since_1970_are_dates() {
        for (days, expected) in [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_781, "2026-11-24")]
        {
            assert_eq!(Date::of_unix_days(days).map(|date| date.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(Date::of_unix_days(u64::MAX), None);
    }

    #[test]
    fn a_value_is_stale_after_a_year() {
        let today = date("2026-11-24");
        for (text, is_stale) in
            [("2025-11-24", false), ("2025-11-23", true), ("2025-11", false), ("2025-10", true), ("2027-01", false)]
        {
            assert_eq!(date(text).is_stale(today), is_stale, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2026",
            "2026-13",
            "2026-00",
            "2026-02-29",
            "2026-11-00",
            "26-11",
            "2026-11-24-1",
            "2026-1-2",
            "+026-11",
        ] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
        assert_eq!(date("2024-02-29").to_string(), "2024-02-29");
        assert_eq!(date("2009-10").to_string(), "2009-10");
    }
}
