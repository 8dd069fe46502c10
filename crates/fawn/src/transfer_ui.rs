//! What a person at a terminal sees of a transfer, and is told where a signal ends it.

use fawn_transfer::TransferExtent;

use crate::interrupt::on_interrupt;
use crate::progress::TerminalBar;

/// A transfer that is shown on a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal;

impl Terminal {
    fn progress(extent: TransferExtent) -> TerminalBar {
        match extent {
            TransferExtent::Bytes(total) => TerminalBar::bytes(total),
            TransferExtent::Records(total) => TerminalBar::records(total),
            TransferExtent::Ranges(total) => TerminalBar::ranges(total),
        }
    }
}

impl fawn_transfer::Ui for Terminal {
    fn bar(&self, extent: TransferExtent) -> Box<dyn fawn_transfer::Progress> {
        Box::new(Self::progress(extent))
    }

    fn begin(
        &self,
        extent: TransferExtent,
        interrupted: Box<dyn FnOnce() -> String + Send>,
    ) -> anyhow::Result<Box<dyn fawn_transfer::Progress>> {
        let progress = Self::progress(extent);
        on_interrupt(&progress, interrupted)?;
        Ok(Box::new(progress))
    }
}
