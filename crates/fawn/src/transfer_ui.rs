//! What a person at a terminal sees of a transfer, and is told where a signal ends it.

use fawn_transfer::Extent;

use crate::interrupt::on_interrupt;
use crate::progress::Progress;

/// A transfer that is shown on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal;

impl Terminal {
    fn progress(extent: Extent) -> Progress {
        match extent {
            Extent::Bytes(total) => Progress::bytes(total),
            Extent::Records(total) => Progress::records(total),
            Extent::Ranges(total) => Progress::ranges(total),
        }
    }
}

impl fawn_transfer::Ui for Terminal {
    fn bar(&self, extent: Extent) -> Box<dyn fawn_transfer::Progress> {
        Box::new(Self::progress(extent))
    }

    fn begin(
        &self,
        extent: Extent,
        interrupted: Box<dyn FnOnce() -> String + Send>,
    ) -> anyhow::Result<Box<dyn fawn_transfer::Progress>> {
        let progress = Self::progress(extent);
        on_interrupt(&progress, interrupted)?;
        Ok(Box::new(progress))
    }
}
