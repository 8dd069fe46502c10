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
#[derive(Clone, Copy, Debug)]
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
        let item = take(&mut self.rest).ok_or(NoList);
        if item.is_err() {
            self.rest = b"";
        }
        Some(item)
    }
}

/// Takes the first item off a list; `None`: it is none.
fn take<'a>(list: &mut &'a [u8]) -> Option<Option<&'a [u8]>> {
    let mut head = 0_u64;
    let mut shift = 0;
    loop {
        let (&byte, rest) = list.split_first()?;
        *list = rest;
        head |= u64::from(byte & 0x7f).checked_shl(shift).filter(|_| shift < 35)?;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let Some(len) = head.checked_sub(1) else { return Some(None) };
    let (item, rest) = list.split_at_checked(usize::try_from(len).ok()?)?;
    *list = rest;
    Some(Some(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back_as_they_were() {
        let long = vec![7; 300];
        let items = [Some(&b"a"[..]), None, Some(b""), Some(&long)];
        let mut list = Vec::new();
        items.iter().for_each(|item| push(&mut list, *item));
        assert_eq!(Items::of(&list).collect::<Result<Vec<_>, _>>(), Ok(items.to_vec()));
        assert_eq!(Items::of(&list[..list.len() - 1]).last(), Some(Err(NoList)), "one that is cut off");
        assert_eq!(Items::of(&[0xff; 9]).collect::<Vec<_>>(), [Err(NoList)]);
    }
}
