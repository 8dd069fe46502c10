//! Arguments that the commands on records share.

use clap::Args;
use fawn_joule::sort::record::RecordShape;

use crate::outcome::UsageError;
use crate::values::Size;

/// Threads that a command may ask for.
pub const MOST_THREADS: u64 = 1024;

/// Where in the files records lie, and in these their keys.
#[derive(Clone, Copy, Debug, Args)]
pub struct ShapeArguments {
    /// Bytes of each record
    #[arg(long, value_name = "BYTES", default_value = "100")]
    pub record_size: Size,
    /// Bytes of each key
    #[arg(long, value_name = "BYTES", default_value = "10")]
    pub key_size: Size,
    /// Bytes before the key in each record
    #[arg(long, value_name = "BYTES", default_value = "0")]
    pub key_offset: Size,
}

impl ShapeArguments {
    /// The shape.
    ///
    /// # Errors
    /// [`UsageError`]: the key is not in the record.
    pub fn shape(&self) -> anyhow::Result<RecordShape> {
        let [record, offset, key] = [self.record_size, self.key_offset, self.key_size].map(|size| size.bytes as usize);
        RecordShape::new(record, offset, key).map_err(|error| UsageError(error.to_string()).into())
    }
}

/// The threads that were asked for, or else one for each core.
pub fn threads_or_cores(threads: Option<u32>) -> usize {
    threads.map_or_else(|| fawn_machine::cores().0.get(), |threads| threads as usize)
}
