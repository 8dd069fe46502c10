//! `fawn-peers`, a workspace of its own.

use std::path::{Path, PathBuf};

use crate::process::cargo;

/// What `BerkeleyDB` is compiled with, where Debian's libdb-dev puts it.
const HEADER: &str = "/usr/include/db.h";

/// Whether the system has `BerkeleyDB`.
pub fn has_bdb() -> bool {
    Path::new(HEADER).exists()
}

/// Builds it with `BerkeleyDB` alone; the program, or `None` where the system has none.
///
/// # Errors
/// It cannot be compiled.
pub fn build(target: &Path, is_release: bool) -> anyhow::Result<Option<PathBuf>> {
    if !has_bdb() {
        return Ok(None);
    }
    let (profile, place): (&[&str], _) = if is_release { (&["--release"], "release") } else { (&[], "debug") };
    let target_dir = target.display().to_string();
    let arguments =
        ["build", "--quiet", "--manifest-path", "peers/Cargo.toml", "--locked", "--target-dir", &target_dir];
    cargo(&[&arguments[..], &["--no-default-features", "--features", "bdb"], profile].concat(), &[])?;
    Ok(Some(target.join(place).join("fawn-peers")))
}
