//! Lists of byte strings as bytes: arguments and answers of operations on parts of values.
//!
//! Each item is a varint (7 bits a byte, the lowest first), 0 for nothing, else its length plus 1, and then its bytes.

/// Appends an item to a list.
pub fn push(list: &mut Vec<u8>, item: Option<&[u8]>) {
    let mut head = item.map_or(0, |item| item.len() as u64 + 1);
    while head >= 0x80 {
        list.push(head as u8 | 0x80);
        head >>= 7;
    }
    list.push(head as u8);
    list.extend_from_slice(item.unwrap_or_default());
}

/// The items of a list.
#[derive(Clone, Debug)]
pub struct Items<'a> {
    rest: &'a [u8],
}

/// Bytes that are no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoList;

impl<'a> Items<'a> {
    /// The items of a list that [`push`] made.
    pub fn of(list: &'a [u8]) -> Self {
        Self { rest: list }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Option<&'a [u8]>, NoList>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let item = take(&mut self.rest);
        if item.is_err() {
            self.rest = b"";
        }
        Some(item)
    }
}

/// Takes the first item off a list.
fn take<'a>(list: &mut &'a [u8]) -> Result<Option<&'a [u8]>, NoList> {
    let Some(len) = take_number(list).ok_or(NoList)?.checked_sub(1) else { return Ok(None) };
    let (item, rest) = usize::try_from(len).ok().and_then(|len| list.split_at_checked(len)).ok_or(NoList)?;
    *list = rest;
    Ok(Some(item))
}

/// Takes a varint off a list; `None`: it is none of up to 35 bits.
fn take_number(list: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in [0, 7, 14, 21, 28] {
        let (&byte, rest) = list.split_first()?;
        *list = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_as_they_were() {
        let long = vec![7; 300];
        let items = [Some(&b"a"[..]), None, Some(b""), Some(&long)];
        let mut list = Vec::new();
        for item in items {
            push(&mut list, item);
        }
        assert_eq!(Items::of(&list).collect::<Result<Vec<_>, _>>(), Ok(items.to_vec()));
        assert_eq!(Items::of(&list[..list.len() - 1]).last(), Some(Err(NoList)), "one that is cut off");
        assert_eq!(Items::of(&[0xff; 9]).collect::<Vec<_>>(), [Err(NoList)]);
    }
}
