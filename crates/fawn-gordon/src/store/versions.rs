//! What super-pages held, by the stamp of the write: a power cut may leave any version since the last acknowledged one.

use std::collections::BTreeMap;

/// A stamp with the bytes of a super-page.
type StampedBytes = (u32, Box<[u8]>);

/// Versions of each super-page in the order of their stamps.
#[derive(Clone, Debug, Default)]
pub struct Versions {
    of_page: BTreeMap<u32, Vec<StampedBytes>>,
}

impl Versions {
    /// A super-page holds this once the write with this stamp is on flash.
    pub fn add(&mut self, page: u32, stamp: u32, bytes: &[u8]) {
        self.of_page.entry(page).or_default().push((stamp, Box::from(bytes)));
    }

    /// The write with this stamp is acknowledged: older versions never come back.
    pub fn acknowledge(&mut self, page: u32, stamp: u32) {
        if let Some(versions) = self.of_page.get_mut(&page) {
            versions.retain(|(other, _)| *other >= stamp);
        }
    }

    /// The version with this stamp.
    pub fn get(&self, page: u32, stamp: u32) -> Option<&[u8]> {
        let versions = self.of_page.get(&page)?;
        versions.iter().find(|(other, _)| *other == stamp).map(|(_, bytes)| &**bytes)
    }
}
