//! Whether a trial finds what is wrong, and nothing where all is well.

#![allow(clippy::unwrap_used)]

mod proxy;
mod seen;
mod severed;
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
        let mut build = Command::new(cargo);
        build.args(["test", "--no-run", "--quiet", "--workspace", "--test", "durability"]);
        // What Cargo says of this package would be another environment for build scripts that watch it, as ring's does.
        let is_of_this_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_of_this_package)) {
            build.env_remove(name);
        }
        let built = build.status().unwrap();
        assert!(built.success(), "the fawn command can be built");
        PathBuf::from(env!("CARGO_BIN_EXE_fawn-trial")).with_file_name("fawn")
    };
    BUILT.get_or_init(build).clone()
}
