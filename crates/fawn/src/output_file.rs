//! Files that commands write what they found into.

use std::fs::File;
use std::path::Path;

use anyhow::Context;
use fawn_files::links;

use crate::outcome::UsageError;

/// Refuses an output that would overwrite what the same command reads or writes, under whatever name, or a directory.
/// `flag` names the output, `others` are the other files; `-` among them is standard input.
///
/// # Errors
/// It is one of the others, a directory, or `-`.
pub fn check_output<'a>(path: &Path, flag: &str, others: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<()> {
    if path == Path::new("-") {
        return Err(UsageError(format!("{flag} writes a file: name one, e.g. result.out")).into());
    }
    for other in others {
        let is_stdin = other == Path::new("-");
        let place = if is_stdin { Path::new("/dev/stdin") } else { other };
        if path == other || links::is_same(path, place) {
            let told = if is_stdin { "standard input".to_owned() } else { other.display().to_string() };
            let path = path.display();
            return Err(UsageError(format!("{flag} {path} would overwrite {told}: name another file")).into());
        }
    }
    links::refuse_directory(path).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes the file of an output, in the place of one that is there, after [`check_output`].
///
/// # Errors
/// What [`check_output`] says, or the file cannot be made.
pub fn create<'a>(path: &Path, flag: &str, others: impl IntoIterator<Item = &'a Path>) -> anyhow::Result<File> {
    check_output(path, flag, others)?;
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_is_none_of_the_inputs_under_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("trace"), "bytes").unwrap();
        std::os::unix::fs::symlink("trace", path("soft")).unwrap();
        std::fs::hard_link(path("trace"), path("hard")).unwrap();
        for name in ["trace", "soft", "hard", "./trace"] {
            let error = create(&path(name), "--to", [path("trace").as_path()]).unwrap_err().to_string();
            assert!(error.ends_with("/trace: name another file"), "{error}");
            assert_eq!(std::fs::read(path("trace")).unwrap(), b"bytes", "{name}");
        }
        create(&path("other"), "--to", [path("trace").as_path(), Path::new("none")]).unwrap();
        std::os::unix::fs::symlink(".", path("here")).unwrap();
        for name in ["new", "./new", "here/new"] {
            assert!(check_output(&path(name), "--to", [path("new").as_path()]).is_err(), "{name}");
        }
        let error = format!("{:#}", create(dir.path(), "--to", []).unwrap_err());
        assert!(error.ends_with("it is a directory: name a file in it"), "{error}");
        assert!(create(Path::new("-"), "--to", []).unwrap_err().to_string().contains("name one, e.g. "));
    }
}
