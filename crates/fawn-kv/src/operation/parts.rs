//! Which operations and outcomes are about parts of values: they came with version
//! [`PARTS`](crate::wire::version::PARTS), and nobody who speaks an older one can read them.

use super::{Operation, Outcome};

/// The numbers of [`Operation::View`] and [`Operation::Edit`] in what operations are encoded in.
const NUMBERS: [u32; 2] = [7, 8];

/// Whether an operation, as messages carry it, reads or changes a part of a value. It is not decoded for that.
pub(crate) fn is_of_part(operation: &[u8]) -> bool {
    // A number may be written longer than it need be.
    postcard::take_from_bytes::<u32>(operation).is_ok_and(|(number, _)| NUMBERS.contains(&number))
}

impl Operation<'_> {
    /// Whether it reads or changes a part of a value.
    pub fn is_of_part(&self) -> bool {
        matches!(self, Self::View(_) | Self::Edit(_))
    }
}

impl Outcome {
    /// Whether only an operation on a part of a value comes to this.
    pub fn is_of_part(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Computed | Self::Refused(_))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Delete, Edit, EditKind, Store, View, ViewKind};
    use super::*;

    #[test]
    fn an_encoded_operation_on_a_part_is_known_by_its_number_however_long_that_is_written() {
        let view = Operation::View(View { kind: ViewKind::Type, argument: b"" });
        let edit = Operation::Edit(Edit { kind: EditKind::Take, argument: b"" });
        for operation in [Operation::Get, Operation::Store(Store::set(&[7; 9])), Operation::Delete(Delete::default())] {
            assert!(!operation.is_of_part() && !is_of_part(&operation.encode()), "{operation:?}");
        }
        for operation in [view, edit] {
            let bytes = operation.encode();
            let longer = [&[bytes[0] | 0x80, 0x80, 0][..], &bytes[1..]].concat();
            assert_eq!(postcard::from_bytes(&longer), Ok(operation));
            assert!(operation.is_of_part() && is_of_part(&bytes) && is_of_part(&longer), "{operation:?}");
        }
        assert!(!is_of_part(b"") && !is_of_part(&[0x87]));
    }
}
