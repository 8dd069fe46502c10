//! How the suite's commands meter energy: `--meter`, or watts of a plug that somebody reads.

use clap::Args;
use fawn_meter::{HandReading, Meter};

use crate::bench::energy::MeterArguments;
use crate::outcome::UsageError;
use crate::values::decimal;

/// The most watts that are believed.
const MOST_WATTS: f64 = 1e6;

/// How energy is metered.
#[derive(Clone, Debug, Args)]
pub struct EnergyArguments {
    #[command(flatten)]
    pub meter: MeterArguments,
    /// Watts that a plug showed while this command ran, read by hand; its joules are marked as such
    #[arg(long, value_name = "W", value_parser = decimal(0.0..=MOST_WATTS), hide_env = true,
        conflicts_with_all = ["meter", "meter_idle"])]
    pub watts: Option<f64>,
    /// Watts that the plug showed while the machine did nothing
    #[arg(long, value_name = "W", value_parser = decimal(0.0..=MOST_WATTS), hide_env = true,
        conflicts_with_all = ["meter", "meter_idle"])]
    pub idle_watts: Option<f64>,
}

impl EnergyArguments {
    /// Refuses watts that were read by hand for several numbers of threads: what the plug showed was one load.
    ///
    /// # Errors
    /// [`UsageError`].
    pub fn check_one_load(&self, threads: &[usize]) -> anyhow::Result<()> {
        if self.watts.is_some() && threads.len() > 1 {
            let several =
                "--watts is what the plug showed under one load: give one number of threads, e.g. --threads all";
            return Err(UsageError(several.to_owned()).into());
        }
        Ok(())
    }

    /// The meter, tried; `None`: there is none.
    ///
    /// # Errors
    /// [`UsageError`], or why the one that was named cannot be used.
    pub fn open(&self) -> anyhow::Result<Option<Meter>> {
        let Some(watts) = self.watts else {
            if self.idle_watts.is_some() {
                let missing = "--idle-watts alone says nothing of the work: give --watts, too, as the plug showed it";
                return Err(UsageError(missing.to_owned()).into());
            }
            return self.meter.open();
        };
        let reading = HandReading { watts, idle_watts: self.idle_watts };
        let meter = Meter::by_hand(reading).map_err(|error| UsageError(error.to_string()))?;
        Ok(Some(match self.meter.meter_accuracy {
            Some(share) => meter.accurate_to(share),
            None => meter,
        }))
    }
}
