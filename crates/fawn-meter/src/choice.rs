//! What `--meter` says.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Which meter is to be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MeterChoice {
    /// The one of this machine that covers most; none if there is none.
    Auto,
    /// None.
    #[default]
    None,
    /// The processor's counters.
    Rapl,
    /// A power sensor, by its name where there are several.
    Hwmon(Option<String>),
    /// The battery's gauge.
    Battery,
    /// A Shelly plug, by its address.
    Shelly(String),
    /// A plug with Tasmota, by its address.
    Tasmota(String),
    /// A file that another meter writes.
    Csv(PathBuf),
    /// A declared model of the machine.
    Model(PathBuf),
}

/// Why it was not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// No such meter.
    #[error(
        "`{0}` is not a meter; write auto, none, rapl, hwmon, hwmon:NAME, battery, shelly:URL, tasmota:URL, csv:FILE or \
         model:FILE"
    )]
    Unknown(String),
    /// Plugs are spoken to without TLS.
    #[error("`{0}` is not a plug's address; write e.g. 192.168.1.20 or http://plug.local")]
    Url(String),
}

impl FromStr for MeterChoice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let (word, rest) = match text.split_once(':') {
            Some((word, rest)) if !rest.is_empty() => (word, Some(rest)),
            Some(_) => return Err(ChoiceError::Unknown(text.to_owned())),
            None => (text, None),
        };
        match (word, rest) {
            ("auto", None) => Ok(Self::Auto),
            ("none", None) => Ok(Self::None),
            ("rapl", None) => Ok(Self::Rapl),
            ("battery", None) => Ok(Self::Battery),
            ("hwmon", name) => Ok(Self::Hwmon(name.map(str::to_owned))),
            ("shelly", Some(url)) => address(url).map(Self::Shelly),
            ("tasmota", Some(url)) => address(url).map(Self::Tasmota),
            ("csv", Some(file)) => Ok(Self::Csv(file.into())),
            ("model", Some(file)) => Ok(Self::Model(file.into())),
            _ => Err(ChoiceError::Unknown(text.to_owned())),
        }
    }
}

/// `http://HOST[:PORT]`, without what may come after it.
fn address(text: &str) -> Result<String, ChoiceError> {
    let refused = || ChoiceError::Url(text.to_owned());
    let host = match text.split_once("://") {
        Some(("http", host)) => host,
        Some(_) => return Err(refused()),
        None => text,
    };
    let host = host.trim_end_matches('/');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if host.is_empty() || !host.chars().all(is_plain) {
        return Err(refused());
    }
    Ok(format!("http://{host}"))
}

impl fmt::Display for MeterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Rapl => f.write_str("rapl"),
            Self::Hwmon(None) => f.write_str("hwmon"),
            Self::Hwmon(Some(name)) => write!(f, "hwmon:{name}"),
            Self::Battery => f.write_str("battery"),
            Self::Shelly(url) => write!(f, "shelly:{url}"),
            Self::Tasmota(url) => write!(f, "tasmota:{url}"),
            Self::Csv(file) => write!(f, "csv:{}", file.display()),
            Self::Model(file) => write!(f, "model:{}", file.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_meter_is_written_as_it_is_read() {
        for text in [
            "auto",
            "none",
            "rapl",
            "hwmon",
            "hwmon:ina219/power1",
            "battery",
            "shelly:http://192.168.1.20",
            "tasmota:http://[fe80::1]:8080",
            "csv:a b.csv",
            "model:dir/pi.toml",
        ] {
            assert_eq!(text.parse::<MeterChoice>().map(|choice| choice.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("shelly:plug.local/".parse(), Ok(MeterChoice::Shelly("http://plug.local".to_owned())));
    }

    #[test]
    fn what_is_no_meter_is_refused() {
        for text in ["", "watt", "rapl:0", "hwmon:", "shelly", "csv", "csv:", "model", "auto:x"] {
            assert_eq!(text.parse::<MeterChoice>(), Err(ChoiceError::Unknown(text.to_owned())), "{text}");
        }
        for text in ["shelly:https://plug", "tasmota:http://", "shelly:a b", "tasmota:plug/cm?cmnd=Power%20Off"] {
            assert!(matches!(text.parse::<MeterChoice>(), Err(ChoiceError::Url(_))), "{text}");
        }
    }
}
