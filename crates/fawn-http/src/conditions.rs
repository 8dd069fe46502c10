//! Entity tags and the fields that compare them. An item's tag is its cas, in quotes.

/// Tags that one request can name; a longer list is cut, which is noted.
pub const MOST_TAGS: usize = 3;

/// The tags of `If-Match` or `If-None-Match`. Tags that are not of this server match nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityTags {
    /// The field came.
    pub given: bool,
    /// It is `*`: any item matches.
    pub any: bool,
    /// More tags than there is room for.
    pub too_many: bool,
    /// Numbers of the tags.
    pub numbers: [u64; MOST_TAGS],
    /// How many there are.
    pub count: u8,
}

impl EntityTags {
    /// Adds the tags of a field's value. Weak ones count if `weak_count`.
    ///
    /// # Errors
    /// It is no list of entity tags.
    pub fn add(&mut self, value: &str, weak_count: bool) -> Result<(), ()> {
        self.given = true;
        let value = value.trim();
        if value == "*" {
            self.any = true;
            return Ok(());
        }
        let mut rest = value;
        while !rest.is_empty() {
            let (is_weak, tag) = rest.strip_prefix("W/").map_or((false, rest), |tag| (true, tag));
            let (text, after) = tag.strip_prefix('"').and_then(|tag| tag.split_once('"')).ok_or(())?;
            if let Some(number) = number(text).filter(|_| weak_count || !is_weak) {
                self.note(number);
            }
            rest = after.trim_start();
            if !rest.is_empty() {
                rest = rest.strip_prefix(',').ok_or(())?.trim_start();
            }
        }
        Ok(())
    }

    fn note(&mut self, number: u64) {
        match self.numbers.get_mut(usize::from(self.count)) {
            Some(place) => {
                *place = number;
                self.count += 1;
            }
            None => self.too_many = true,
        }
    }

    /// The tags.
    pub fn as_slice(&self) -> &[u64] {
        &self.numbers[..usize::from(self.count)]
    }
}

/// The cas of an entity tag's text. A tag has one spelling, so that `"07"` is not `"7"`.
fn number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number: &u64| number.to_string() == text)
}

/// The cas of a strong entity tag, such as `"7"`; `None` for anything else.
pub fn strong_tag(value: &str) -> Option<u64> {
    number(value.trim().strip_prefix('"')?.strip_suffix('"')?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(value: &str, weak_count: bool) -> Result<EntityTags, ()> {
        let mut tags = EntityTags::default();
        tags.add(value, weak_count).map(|()| tags)
    }

    #[test]
    fn lists_of_tags_are_read_and_foreign_tags_match_nothing() {
        assert!(tags("*", false).unwrap().any);
        assert_eq!(tags("\"7\"", false).unwrap().as_slice(), [7]);
        assert_eq!(tags(" \"1\" , W/\"2\",\"3\"", true).unwrap().as_slice(), [1, 2, 3]);
        assert_eq!(tags("\"1\", W/\"2\"", false).unwrap().as_slice(), [1]);
        assert_eq!(tags("\"abc\", \"07\", \"+7\", \"99999999999999999999999\"", true).unwrap().count, 0);
        assert!(tags("\"1\",\"2\",\"3\",\"4\"", true).unwrap().too_many);
        for broken in ["7", "\"7", "\"7\" \"8\"", "\"7\";\"8\"", "W/7", "*, \"7\""] {
            assert_eq!(tags(broken, true), Err(()), "{broken}");
        }
        assert_eq!((strong_tag("\"7\""), strong_tag("W/\"7\""), strong_tag("\"")), (Some(7), None, None));
    }
}
