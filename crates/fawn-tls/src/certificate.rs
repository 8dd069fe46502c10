//! What a certificate says, for people and for issuing it again. Trust is decided by `rustls`, never here.

use crate::error::TlsError;
use crate::identity::Role;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// Days before the end of a certificate from when on it is warned of and renewed.
pub const RENEW_DAYS: i64 = 30;

const DAY: i64 = 86_400;

/// Where a host is reached: by a name or an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// A DNS name.
    Name(String),
    /// An IP address.
    Ip(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Ip(address) => address.fmt(f),
        }
    }
}

/// The first Unix second at which a clock counts as set: 2020-01-01.
const EARLIEST: i64 = 1_577_836_800;

/// From when until when a certificate is good, in Unix seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub from: i64,
    /// The last.
    pub until: i64,
}

impl Validity {
    /// From a day before `now` (clocks differ) for so many days.
    ///
    /// # Errors
    /// [`TlsError::Clock`]: `now` is before 2020, as on a board whose clock nobody has set.
    pub fn days(now: i64, days: u32) -> Result<Self, TlsError> {
        if now < EARLIEST {
            return Err(TlsError::Clock(date(now)));
        }
        Ok(Self { from: now - DAY, until: now + i64::from(days) * DAY })
    }

    /// Whole days that are left; negative when it is over.
    pub fn days_left(self, now: i64) -> i64 {
        (self.until - now).div_euclid(DAY)
    }

    /// Whether it is time for another.
    pub fn ends_soon(self, now: i64) -> bool {
        self.days_left(now) < RENEW_DAYS
    }
}

/// Unix seconds now.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs().cast_signed())
}

/// The day of a Unix time: 2027-01-31.
pub fn date(unix: i64) -> String {
    time::OffsetDateTime::from_unix_timestamp(unix).map_or_else(|_| "never".to_owned(), |time| time.date().to_string())
}

/// A Unix time to the second: 2027-01-31 17:05:09 UTC.
pub fn moment(unix: i64) -> String {
    time::OffsetDateTime::from_unix_timestamp(unix).map_or_else(
        |_| "never".to_owned(),
        |time| format!("{} {:02}:{:02}:{:02} UTC", time.date(), time.hour(), time.minute(), time.second()),
    )
}

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The common name of its subject.
    pub subject: String,
    /// Names of the cluster's domain: roles, and names of managers.
    pub names: Vec<String>,
    /// Hosts that it may serve clients as.
    pub hosts: Vec<Host>,
    /// When it is good.
    pub validity: Validity,
    /// It signs others.
    pub is_authority: bool,
}

impl Facts {
    /// Reads them.
    ///
    /// # Errors
    /// [`TlsError::Certificate`].
    pub fn of(der: &[u8]) -> Result<Self, TlsError> {
        let unreadable = |error: &dyn fmt::Display| TlsError::Certificate(error.to_string());
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| unreadable(&error))?;
        let subject = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok());
        let mut facts = Self {
            subject: subject.unwrap_or_default().to_owned(),
            names: Vec::new(),
            hosts: Vec::new(),
            validity: Validity {
                from: certificate.validity().not_before.timestamp(),
                until: certificate.validity().not_after.timestamp(),
            },
            is_authority: certificate.is_ca(),
        };
        let names = certificate.subject_alternative_name().map_err(|error| unreadable(&error))?;
        for name in names.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::DNSName(name) if name.ends_with(crate::identity::DOMAIN) => {
                    facts.names.push((*name).into());
                }
                GeneralName::DNSName(name) => facts.hosts.push(Host::Name((*name).to_owned())),
                GeneralName::IPAddress(bytes) => facts.hosts.extend(address(bytes).map(Host::Ip)),
                _ => {}
            }
        }
        Ok(facts)
    }

    /// The roles that its names stand for.
    pub fn roles(&self) -> BTreeSet<Role> {
        self.names.iter().filter_map(|name| Role::of_dns_name(name)).collect()
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(bytes).map(IpAddr::from).or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// When a file's certificates end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The file.
    pub path: PathBuf,
    /// When its certificate is good.
    pub validity: Validity,
}

impl Expiry {
    /// What is to be said about it now, if anything.
    pub fn warning(&self, now: i64) -> Option<String> {
        let Self { path, validity } = self;
        let (path, day) = (path.display(), date(validity.until));
        match validity.days_left(now) {
            days if days < 0 => Some(format!("{path} expired on {day}: renew it with `fawn certs renew`")),
            days if validity.ends_soon(now) => {
                Some(format!("{path} expires in {days} days, on {day}: renew it with `fawn certs renew`"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_to_the_second() {
        assert_eq!(moment(1_801_415_109), "2027-01-31 17:05:09 UTC");
    }

    #[test]
    fn what_ends_within_thirty_days_is_warned_of() {
        let now = 1_800_000_000;
        let of = |days: i64| Expiry { path: "a.pem".into(), validity: Validity { from: 0, until: now + days * DAY } };
        assert_eq!(of(30).warning(now), None);
        assert_eq!(
            of(29).warning(now).unwrap(),
            "a.pem expires in 29 days, on 2027-02-13: renew it with `fawn certs renew`"
        );
        assert_eq!(of(-1).warning(now).unwrap(), "a.pem expired on 2027-01-14: renew it with `fawn certs renew`");
    }

    #[test]
    fn bytes_that_are_no_certificate_are_refused() {
        assert!(matches!(Facts::of(b"rubbish"), Err(TlsError::Certificate(_))));
        assert!(matches!(Facts::of(&[]), Err(TlsError::Certificate(_))));
    }
}
