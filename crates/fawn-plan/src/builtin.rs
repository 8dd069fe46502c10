//! The catalogues that are built in.

use crate::Catalogue;

/// Names and texts, the one that is used unless another is named first.
const BUILT_IN: &[(&str, &str)] = &[
    ("today", include_str!("../catalogues/today.toml")),
    ("paper-2009", include_str!("../catalogues/paper-2009.toml")),
    ("paper-2009-stated", include_str!("../catalogues/paper-2009-stated.toml")),
];

impl Catalogue {
    /// The catalogue with this name; `None` if none is built in.
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(text).expect("the catalogues that are built in are good"))
    }

    /// The names of those that are built in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_one_can_be_read_and_has_its_name() {
        for name in Catalogue::names() {
            assert_eq!(Catalogue::built_in(name).unwrap().name, name);
        }
        assert_eq!(Catalogue::built_in("tomorrow"), None);
    }
}
