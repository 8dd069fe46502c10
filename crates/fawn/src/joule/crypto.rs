//! `fawn joule crypto`: digests and signatures.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;
use fawn_joule::crypto::openssl::Openssl;
use fawn_joule::crypto::{BLOCKS, CryptoPlan, output, run as measure};

use super::energy::EnergyArguments;
use super::output::{SuiteOutputArguments, print};
use super::threads::ThreadCount;
use crate::bench::output::Bar;
use crate::outcome::CommandStatus;
use crate::progress::TerminalBar;
use crate::table::print_json;
use crate::tell::unless_closed;
use crate::values::{decimal, number};

/// A block that is larger says nothing new.
const LARGEST_BLOCK: u64 = 1 << 20;

/// Arguments of `fawn joule crypto`.
#[derive(Debug, Args)]
#[command(after_help = "\
The command measures SHA-1, SHA-256 and BLAKE3 over block sizes, RSA and Ed25519 signatures. SHA runs with the \
processor's own instructions and without. Sizes are those of `openssl speed`, which runs beside it where it is installed.

For example:
  fawn joule crypto --page crypto.html
  fawn joule crypto --threads all --openssl none --watts 9.7

Without a meter the figures are per CPU second. See operations/joules in the book.")]
pub struct CryptoArguments {
    /// Numbers of threads, one after the other
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,all")]
    pub threads: Vec<ThreadCount>,
    /// Seconds of each point; openssl takes whole seconds, at least one
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = decimal(0.001..=3600.0))]
    pub seconds: f64,
    /// Bytes of a block, several sizes one after the other [default: 16,64,256,1024,8192]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = number::<u64>(1..=LARGEST_BLOCK))]
    pub blocks: Vec<u64>,
    /// The openssl program to run beside it; none runs none [default: openssl, if it is installed]
    #[arg(long, value_name = "PROGRAM")]
    pub openssl: Option<OsString>,
    #[command(flatten)]
    pub energy: EnergyArguments,
    #[command(flatten)]
    pub output: SuiteOutputArguments,
}

/// Measures.
///
/// # Errors
/// What the meter says.
pub fn run(arguments: &CryptoArguments) -> anyhow::Result<CommandStatus> {
    arguments.output.check([])?;
    let openssl = match &arguments.openssl {
        None => Openssl::find(&"openssl".into()).map_err(|why| format!("{why}, so its figures are missing")),
        Some(none) if none == "none" => Err("openssl was left out (--openssl none)".to_owned()),
        // Who names it wants its figures.
        Some(program) => match Openssl::find(program) {
            Ok(found) => Ok(found),
            Err(why) => anyhow::bail!("{why}: name another --openssl, or --openssl none"),
        },
    };
    let plan = CryptoPlan {
        threads: ThreadCount::resolve(&arguments.threads),
        time: Duration::from_secs_f64(arguments.seconds),
        blocks: if arguments.blocks.is_empty() { BLOCKS.to_vec() } else { arguments.blocks.clone() },
        openssl,
    };
    let meter = arguments.energy.open()?;
    arguments.energy.check_one_load(&plan.threads)?;
    let bar = Bar(TerminalBar::parts());
    let report = measure(&plan, meter.as_ref(), &bar);
    bar.0.finish();
    let report = report?;
    arguments.output.write_page(|origin| output::page(&report, origin))?;
    unless_closed(if arguments.output.json {
        print_json(&report)
    } else {
        let tables = [("Digests", output::digests(&report)), ("Signatures", output::signatures(&report))];
        print(&tables, &report.notes)
    })?;
    Ok(CommandStatus::Done)
}
