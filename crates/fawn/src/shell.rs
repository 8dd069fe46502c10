//! `fawn completions` and `fawn man`: what a package puts beside the binary.

use std::io::Write;

use anyhow::Context;
use clap::CommandFactory;

use crate::command::{CompletionsArguments, Fawn, ManArguments};
use crate::outcome::CommandStatus;

/// Prints the completions of one shell.
pub fn completions(arguments: &CompletionsArguments) -> anyhow::Result<CommandStatus> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Fawn::command(), "fawn", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(CommandStatus::Done)
}

/// Prints the manual page, or writes one for each subcommand.
pub fn man(arguments: &ManArguments) -> anyhow::Result<CommandStatus> {
    if let Some(dir) = &arguments.dir {
        std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(Fawn::command(), dir))
            .with_context(|| format!("cannot write manual pages into {}", dir.display()))?;
        return Ok(CommandStatus::Done);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Fawn::command()).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(CommandStatus::Done)
}
