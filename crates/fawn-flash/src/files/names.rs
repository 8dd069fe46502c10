//! File names of a store's directory: `manifest-N`, `commit-log`, `segment-N`, `value-N`, with N as 16 hexadecimal
//! digits, so that names sort as numbers do.

use fawn_store::flash::FileId;

/// The name of `file`, also in errors.
pub fn name_of(file: FileId) -> String {
    file.to_string()
}

/// The file that `name` names; `None` for anything that [`name_of`] does not make.
pub fn parse(name: &str) -> Option<FileId> {
    if name == "commit-log" {
        return Some(FileId::CommitLog);
    }
    let (kind, digits) = name.split_once('-')?;
    let plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if digits.len() != 16 || !digits.bytes().all(plain) {
        return None;
    }
    let number = u64::from_str_radix(digits, 16).ok()?;
    match kind {
        "manifest" => Some(FileId::Manifest(number)),
        "segment" => Some(FileId::Segment(number)),
        "value" => Some(FileId::Value(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for file in [
            FileId::CommitLog,
            FileId::Manifest(0),
            FileId::Segment(u64::MAX),
            FileId::Segment(0x1234_abcd),
            FileId::Value(7),
        ] {
            assert_eq!(parse(&name_of(file)), Some(file));
        }
    }

    #[test]
    fn foreign_names_are_not_taken_for_ours() {
        for name in
            ["", "LOCK", "segment-1", "segment-00000000000000zz", "segment-000000000000000A", "segment-+00000000000001"]
        {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
