//! `fawn serve`: one node.

pub mod arguments;

use std::io::Write;

use arguments::{ServeArguments, options, refuse_file};
use fawn_node::ServeOptions;

use crate::local_cluster;
use crate::outcome::CommandStatus;

/// Serves until a signal asks to stop.
pub fn run(arguments: &ServeArguments) -> anyhow::Result<CommandStatus> {
    refuse_file(&arguments.dir)?;
    arguments.observe.log();
    let admin = arguments.observe.open(arguments.insecure)?;
    if let Some(nodes) = arguments.nodes {
        return local_cluster::run(arguments, nodes, admin.as_ref());
    }
    local_cluster::refuse_cluster(&arguments.dir)?;
    let board = admin.as_ref().map(|admin| admin.board.clone());
    fawn_node::serve(&ServeOptions { board, ..options(arguments) }, |addresses| {
        crate::tell::finish();
        let mut out = std::io::stdout().lock();
        for address in addresses {
            // Nobody may be listening; that is no reason to stop.
            let _ = writeln!(out, "{}", address.ready_line());
        }
        if let Some(admin) = &admin {
            admin.tell(&mut out);
        }
        let _ = out.flush();
    })?;
    Ok(CommandStatus::Done)
}
