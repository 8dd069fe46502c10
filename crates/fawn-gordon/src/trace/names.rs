//! Numbers for devices that a trace names by words.

use std::collections::BTreeMap;

use super::error::{LineProblem, MAX_DEVICE_NAMES, MAX_NAME_BYTES};

/// Names of devices, numbered in the order in which they appear.
#[derive(Debug, Default)]
pub struct DeviceNames {
    names: Vec<String>,
    numbers: BTreeMap<Vec<u8>, u32>,
}

impl DeviceNames {
    /// The number of a name, which is given one if it has none.
    ///
    /// # Errors
    /// There are too many names, or this one is too long.
    pub fn number(&mut self, name: &[u8]) -> Result<u32, LineProblem> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        if self.names.len() >= MAX_DEVICE_NAMES || name.len() > MAX_NAME_BYTES {
            return Err(LineProblem::Names);
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_vec(), number);
        self.names.push(String::from_utf8_lossy(name).into_owned());
        Ok(number)
    }

    /// The name with this number.
    pub fn name(&self, number: u32) -> Option<&str> {
        self.names.get(number as usize).map(String::as_str)
    }
}
