//! Whether a trial finds what is wrong, and nothing where all is well.

#![allow(clippy::unwrap_used)]

mod proxy;
mod seen;
mod trials;

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The fawn command, built if need be: as `cargo test --workspace` builds it for tests of its own, so that nothing is
/// compiled again with other features.
fn fawn() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let build = ["test", "--no-run", "--quiet", "--workspace", "--test", "durability"];
        let built = Command::new(cargo).args(build).status().unwrap();
        assert!(built.success(), "the fawn command can be built");
        PathBuf::from(env!("CARGO_BIN_EXE_fawn-trial")).with_file_name("fawn")
    };
    BUILT.get_or_init(build).clone()
}
