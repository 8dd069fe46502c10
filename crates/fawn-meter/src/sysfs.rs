//! Files of the kernel that hold one value each.

use std::fs;
use std::io;
use std::path::Path;

use crate::error::MeterError;

/// The word that the file holds.
///
/// # Errors
/// [`MeterError::RootAlone`], [`MeterError::Unreadable`].
pub fn word(path: &Path) -> Result<String, MeterError> {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| refused(path, error))
}

fn refused(path: &Path, error: io::Error) -> MeterError {
    if error.kind() == io::ErrorKind::PermissionDenied {
        // Since Linux 5.10, as the counters' changes give away what others compute.
        return MeterError::RootAlone(path.to_owned());
    }
    MeterError::reading(path)(error)
}

/// The number that it holds.
///
/// # Errors
/// As [`word`], and [`MeterError::Odd`].
pub fn number<T: std::str::FromStr>(path: &Path) -> Result<T, MeterError> {
    let found = word(path)?;
    found.parse().map_err(|_| MeterError::Odd { path: path.to_owned(), found, expected: "a whole number" })
}

/// The number that it holds, if it is there.
pub fn number_if_there<T: std::str::FromStr>(path: &Path) -> Option<T> {
    word(path).ok()?.parse().ok()
}

/// Names in a directory, sorted as people count (`hwmon2` before `hwmon10`); none where there is no such directory.
pub fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_not_read_is_told_how_to() {
        let path = Path::new("/sys/class/powercap/intel-rapl:0/energy_uj");
        let error = refused(path, io::ErrorKind::PermissionDenied.into()).to_string();
        assert_eq!(
            error,
            "only root may read /sys/class/powercap/intel-rapl:0/energy_uj: run this as root, or give others access \
            with `sudo chmod a+r /sys/class/powercap/intel-rapl:0/energy_uj`"
        );
        let error = refused(path, io::ErrorKind::NotFound.into()).to_string();
        assert!(error.starts_with("cannot read /sys/class/powercap"), "{error}");
    }

    #[test]
    fn names_are_sorted_as_people_count() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["hwmon10", "hwmon2", "hwmon0"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(names(dir.path()), ["hwmon0", "hwmon2", "hwmon10"]);
        assert!(names(&dir.path().join("nothing")).is_empty());
    }
}
