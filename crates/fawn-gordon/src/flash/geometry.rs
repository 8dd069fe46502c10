//! How many buses, packages, dies, planes, blocks and pages an array has.

use serde::{Deserialize, Serialize};

/// The shape of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Buses (channels) of the controller.
    pub buses: u32,
    /// Packages on each bus.
    pub packages_per_bus: u32,
    /// Dies in each package.
    pub dies_per_package: u32,
    /// Planes of each die.
    pub planes_per_die: u32,
    /// Erase blocks of each plane.
    pub blocks_per_plane: u32,
    /// Pages of each block.
    pub pages_per_block: u32,
    /// Data bytes of each page.
    pub page_bytes: u32,
    /// Bytes of each page beside its data, for error correction and the FTL.
    pub spare_bytes: u32,
}

/// A geometry that cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// A count is zero.
    #[error("{0} is 0; every count of a geometry is at least 1")]
    Zero(&'static str),
    /// More dies or buses than events can name.
    #[error("{0} dies; at most 2^24 can be simulated, so make buses, packages or dies fewer")]
    TooManyDies(u64),
}

impl Geometry {
    /// Dies on one bus.
    pub fn dies_per_bus(&self) -> u32 {
        self.packages_per_bus * self.dies_per_package
    }

    /// Dies of the array.
    pub fn dies(&self) -> u32 {
        self.buses * self.dies_per_bus()
    }

    /// Pages of the array, over all planes.
    pub fn pages(&self) -> u64 {
        u64::from(self.dies())
            * u64::from(self.planes_per_die)
            * u64::from(self.blocks_per_plane)
            * u64::from(self.pages_per_block)
    }

    /// Data bytes of the array.
    pub fn bytes(&self) -> u64 {
        self.pages() * u64::from(self.page_bytes)
    }

    /// Whether it can be simulated.
    ///
    /// # Errors
    ///
    /// A count is zero, or there are too many dies.
    pub fn check(&self) -> Result<(), GeometryError> {
        for (count, name) in [
            (self.buses, "buses"),
            (self.packages_per_bus, "packages_per_bus"),
            (self.dies_per_package, "dies_per_package"),
            (self.planes_per_die, "planes_per_die"),
            (self.blocks_per_plane, "blocks_per_plane"),
            (self.pages_per_block, "pages_per_block"),
            (self.page_bytes, "page_bytes"),
        ] {
            if count == 0 {
                return Err(GeometryError::Zero(name));
            }
        }
        let factors = [self.buses, self.packages_per_bus, self.dies_per_package];
        let dies = factors.into_iter().map(u64::from).fold(1, u64::saturating_mul);
        if dies > 1 << 24 { Err(GeometryError::TooManyDies(dies)) } else { Ok(()) }
    }
}
