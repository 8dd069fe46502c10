//! What Redis has that is not loaded.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a load from Redis, or from one of its files, leaves out. As JSON, the fields are the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Keys that hold neither strings nor hashes, by their types.
    pub other_types: BTreeMap<String, LeftOutKeys>,
    /// Keys that are empty, or too long for where they were to go.
    pub unloadable_keys: LeftOutKeys,
    /// Keys of other databases, by their numbers.
    pub other_databases: BTreeMap<u32, u64>,
    /// Keys that had expired.
    pub expired_before: u64,
}

/// Keys that are left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOutKeys {
    /// How many.
    pub keys: u64,
    /// The first of them, with bytes that are no printable ASCII escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// Characters of an example at most.
const LONGEST_EXAMPLE: usize = 80;

impl LeftOutKeys {
    /// Counts a key.
    pub fn add(&mut self, key: &[u8]) {
        self.keys += 1;
        self.example.get_or_insert_with(|| {
            let mut text = key[..key.len().min(LONGEST_EXAMPLE)].escape_ascii().to_string();
            if text.len() > LONGEST_EXAMPLE || key.len() > LONGEST_EXAMPLE {
                text.truncate(LONGEST_EXAMPLE);
                text.push_str("...");
            }
            text
        });
    }
}

impl LeftOut {
    /// Counts a key of another type.
    pub fn add_type(&mut self, name: &str, key: &[u8]) {
        match self.other_types.get_mut(name) {
            Some(keys) => keys.add(key),
            None => self.other_types.entry(name.to_owned()).or_default().add(key),
        }
    }

    /// Whether everything of the database that can be loaded at all was loaded.
    pub fn is_nothing(&self) -> bool {
        self.other_types.is_empty() && self.unloadable_keys.keys == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_type_the_first_key_is_an_example() {
        let mut left_out = LeftOut::default();
        assert!(left_out.is_nothing());
        left_out.add_type("list", b"a\xff\n");
        left_out.add_type("list", b"b");
        left_out.add_type("zset", &[0; 300]);
        let examples: Vec<_> = left_out
            .other_types
            .iter()
            .map(|(name, keys)| (name.as_str(), keys.keys, keys.example.as_deref().unwrap()))
            .collect();
        let long = "\\x00".repeat(20) + "...";
        assert_eq!(examples, [("list", 2, "a\\xff\\n"), ("zset", 1, &long)]);
        assert!(!left_out.is_nothing());
    }
}
