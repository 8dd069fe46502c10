//! Disks by their names: presets, or files that describe one.

use std::path::Path;

use anyhow::{Context, bail};
use fawn_files::links;
use fawn_gordon::disk::presets::{named, preset};
use fawn_gordon::disk::{DiskValues, PoweredDisk};
use fawn_gordon::flash::presets as arrays;
use fawn_gordon::values_file;

/// Values that a disk's file has and an array's file has not.
const OF_DISKS: [&str; 6] = ["rpm", "heads", "cylinders", "seek_ms", "outer_track_sectors", "interface_mb_per_s"];

/// The disk of a preset or a file.
///
/// # Errors
/// There is neither, or the file cannot be used.
pub fn disk(name: &str) -> anyhow::Result<PoweredDisk> {
    if let Some(preset) = preset(name) {
        return Ok(preset.into());
    }
    if arrays::preset(name).is_some() {
        bail!("{name} is an array: give it to `fawn gordon flash`");
    }
    let text = fawn_files::text::read(Path::new(name))
        .with_context(|| format!("cannot read the disk {name} (built in are {})", known()))?;
    let values = DiskValues::parse(&text);
    values.and_then(|values| values.disk()).with_context(|| format!("cannot use the disk {name}"))
}

/// The names of all presets.
pub fn known() -> String {
    named().into_iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

/// Whether this is the name of a disk's preset, or a file that describes a disk.
pub fn is_disk(name: &str) -> bool {
    let file = Path::new(name);
    preset(name).is_some() || !links::is_stream(file) && fawn_files::text::read(file).is_ok_and(|text| describes(&text))
}

/// Whether a text describes a disk: by its preset, or by values that no array has.
fn describes(text: &str) -> bool {
    values_file::parse::<toml::Table>(text).is_ok_and(|keys| {
        let begins_with = keys.get("preset").and_then(toml::Value::as_str);
        begins_with.is_some_and(|name| preset(name).is_some()) || OF_DISKS.iter().any(|key| keys.contains_key(*key))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_disks_are_known_by_their_values() {
        for text in ["rpm = 7200", "preset = 'sata-1tb-2008'", r#"{"heads": 4}"#, "name = 'a'\nseek_ms = [1, 2, 3]"] {
            assert!(describes(text), "{text}");
        }
        for text in ["", "buses = 4", "preset = 'gordon-slc-133'", r#"{"buses": 4}"#, "rpm", "name = 'rpm = 1'"] {
            assert!(!describes(text), "{text}");
        }
    }
}
