//! Random edits beside models of what they edit, and operations of random bytes.

use super::super::bit_field::{self, BitFieldAction, BitFieldOverflow, BitFieldStep};
use super::super::{BitRange, Edit, EditKind, ExpiryCondition, PutCondition, View, ViewKind, hash, items};
use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// A key's value and its flags, and what an edit does with them.
#[derive(Debug, Default)]
struct Key(Option<(Vec<u8>, u32)>);

impl Key {
    fn edit(&mut self, kind: EditKind, argument: &[u8]) -> Outcome {
        let current = self.0.as_ref().map(|(value, flags)| Item { value, flags: *flags, expiry: 0, ..ITEM });
        let operation = Operation::Edit(Edit { kind, argument });
        let Decision { append, outcome, .. } = evaluate(&operation, current, NOW, usize::MAX);
        match append {
            Append::Nothing => {}
            Append::Delete => self.0 = None,
            Append::Value(Version { value: NewValue::Given(value), flags, .. }) => {
                self.0 = Some((value.to_vec(), flags))
            }
            Append::Value(Version { value: NewValue::Made(value), flags, .. }) => self.0 = Some((value, flags)),
            Append::Value(version) => panic!("{version:?}"),
        }
        outcome
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..6)
}

#[derive(Clone, Debug)]
enum StringEdit {
    Put(Vec<u8>),
    Append(Vec<u8>),
    Overwrite(usize, Vec<u8>),
    SetBit(usize, bool),
    Take,
}

fn string_edit() -> impl Strategy<Value = StringEdit> {
    prop_oneof![
        1 => text().prop_map(StringEdit::Put),
        3 => text().prop_map(StringEdit::Append),
        3 => (0_usize..20, text()).prop_map(|(place, text)| StringEdit::Overwrite(place, text)),
        5 => (0_usize..160, any::<bool>()).prop_map(|(place, is_set)| StringEdit::SetBit(place, is_set)),
        1 => Just(StringEdit::Take),
    ]
}

/// What an edit makes of a string, and its outcome if that is a number.
fn run_model(model: &mut Option<Vec<u8>>, edit: &StringEdit) -> Option<i64> {
    let len = |model: &Option<Vec<u8>>| model.as_ref().map_or(0, Vec::len);
    match edit {
        StringEdit::Put(text) => {
            *model = Some(text.clone());
            None
        }
        StringEdit::Append(text) => {
            model.get_or_insert_default().extend(text);
            Some(len(model) as i64)
        }
        StringEdit::Overwrite(_, text) if text.is_empty() => Some(len(model) as i64),
        StringEdit::Overwrite(place, text) => {
            let string = model.get_or_insert_default();
            string.resize(string.len().max(place + text.len()), 0);
            string[*place..place + text.len()].copy_from_slice(text);
            Some(string.len() as i64)
        }
        StringEdit::SetBit(place, is_set) => {
            let string = model.get_or_insert_default();
            let mut bits: Vec<bool> =
                string.iter().flat_map(|byte| (0..8).map(move |bit| byte << bit & 0x80 != 0)).collect();
            bits.resize(bits.len().max((place / 8 + 1) * 8), false);
            let before = std::mem::replace(&mut bits[*place], *is_set);
            *string = bits.chunks(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit))).collect();
            Some(before.into())
        }
        StringEdit::Take => {
            *model = None;
            None
        }
    }
}

fn apply(key: &mut Key, edit: &StringEdit) -> Outcome {
    match edit {
        StringEdit::Put(text) => {
            key.edit(EditKind::Put { condition: PutCondition::Always, expiry: None, show: false }, text)
        }
        StringEdit::Append(text) => key.edit(EditKind::Append, text),
        StringEdit::Overwrite(place, text) => key.edit(EditKind::Overwrite { place: *place as u64 }, text),
        StringEdit::SetBit(place, is_set) => key.edit(EditKind::SetBit { place: *place as u64, is_set: *is_set }, b""),
        StringEdit::Take => key.edit(EditKind::Take, b""),
    }
}

proptest! {
    #[test]
    fn strings_become_what_their_model_becomes(edits in vec(string_edit(), 1..40)) {
        let (mut key, mut model) = (Key::default(), None);
        for edit in &edits {
            let number = run_model(&mut model, edit);
            let outcome = apply(&mut key, edit);
            if let Some(number) = number {
                prop_assert_eq!(outcome, Outcome::Integer(number));
            }
            prop_assert_eq!(key.0.as_ref().map(|(value, _)| value), model.as_ref());
        }
    }

    #[test]
    fn hashes_become_what_their_model_becomes(
        edits in vec((any::<bool>(), vec((0_u8..30, text()), 1..20)), 1..20),
    ) {
        let (mut key, mut model) = (Key::default(), Vec::<(Vec<u8>, Vec<u8>)>::new());
        for (is_set, fields) in edits {
            let mut argument = Vec::new();
            let mut count = 0;
            for (name, value) in fields {
                let name = vec![name];
                items::push(&mut argument, Some(&name));
                let place = model.iter().position(|field| field.0 == name);
                match place {
                    Some(place) if is_set => model[place].1.clone_from(&value),
                    Some(place) => _ = model.remove(place),
                    None if is_set => model.push((name, value.clone())),
                    None => {}
                }
                count += i64::from(place.is_some() != is_set);
                if is_set {
                    items::push(&mut argument, Some(&value));
                }
            }
            let kind = if is_set { EditKind::SetFields { only_absent: false } } else { EditKind::RemoveFields };
            prop_assert_eq!(key.edit(kind, &argument), Outcome::Integer(count));
            let fields: Vec<(&[u8], &[u8])> = model.iter().map(|(name, value)| (&name[..], &value[..])).collect();
            let value = (!model.is_empty()).then(|| (hash_of(&fields), hash::HASH_FLAGS));
            prop_assert_eq!(&key.0, &value);
        }
    }

    #[test]
    fn no_bytes_make_an_operation_panic(
        value in prop_oneof![text(), list(), fields(), steps()],
        is_hash in any::<bool>(),
        is_missing in any::<bool>(),
        argument in prop_oneof![text(), list(), steps()],
        places in (place(), place(), any::<[bool; 3]>()),
    ) {
        let flags = if is_hash { hash::HASH_FLAGS } else { 0 };
        let current = (!is_missing).then_some(Item { value: &value, flags, ..ITEM });
        for operation in operations(&argument, places) {
            let Decision { append, outcome, shown } = evaluate(&operation, current, NOW, 100);
            prop_assert!(shown.is_empty() || outcome == Outcome::Computed);
            if operation.is_read() {
                prop_assert_eq!(&append, &Append::Nothing);
            }
            if let Append::Value(Version { value: NewValue::Made(made), .. }) = append {
                prop_assert!(made.len() <= 100);
            }
        }
    }
}

fn list() -> impl Strategy<Value = Vec<u8>> {
    vec(proptest::option::weighted(0.9, text()), 0..5).prop_map(|items| {
        let mut list = Vec::new();
        items.iter().for_each(|item| items::push(&mut list, item.as_deref()));
        list
    })
}

fn fields() -> impl Strategy<Value = Vec<u8>> {
    (0_u32..3, list()).prop_map(|(count, list)| [&hash::MAGIC[..], &count.to_le_bytes(), &list].concat())
}

fn steps() -> impl Strategy<Value = Vec<u8>> {
    let action = prop_oneof![
        Just(BitFieldAction::Get),
        any::<i64>().prop_map(BitFieldAction::Set),
        any::<i64>().prop_map(BitFieldAction::Add),
    ];
    let overflow =
        prop_oneof![Just(BitFieldOverflow::Wrap), Just(BitFieldOverflow::Saturate), Just(BitFieldOverflow::Fail)];
    let step =
        (action, any::<bool>(), 0_u8..66, place(), overflow).prop_map(|(action, is_signed, bits, place, overflow)| {
            BitFieldStep { action, is_signed, bits, place: place as u64, overflow }
        });
    vec(step, 0..4).prop_map(|steps| bit_field::encode(&steps))
}

fn place() -> impl Strategy<Value = i64> {
    prop_oneof![-20_i64..90, any::<i64>(), Just(i64::MIN), Just(i64::MAX)]
}

/// Each operation that looks at parts of values.
fn operations(argument: &[u8], (first, last, [one, two, three]): (i64, i64, [bool; 3])) -> Vec<Operation<'_>> {
    let range = three.then_some(BitRange { first, last, bits: one });
    let place = first as u64;
    let expiry = NOW + 5;
    let views = [
        ViewKind::Type,
        ViewKind::Expiry,
        ViewKind::Length,
        ViewKind::Range { first, last },
        ViewKind::Bit { place },
        ViewKind::CountBits(range),
        ViewKind::FindBit { is_set: one, range, is_open: two },
        ViewKind::BitFields,
        ViewKind::Field,
        ViewKind::Fields,
        ViewKind::AllFields { names: one, values: two },
        ViewKind::CountFields,
        ViewKind::HasField,
        ViewKind::FieldLength,
        ViewKind::RandomFields { count: first, values: one, seed: place },
    ];
    let edits = [
        EditKind::Put { condition: PutCondition::Present, expiry: one.then_some(expiry), show: two },
        EditKind::Take,
        EditKind::Append,
        EditKind::Overwrite { place },
        EditKind::SetBit { place, is_set: one },
        EditKind::BitFields,
        EditKind::Add { delta: first },
        EditKind::AddFloat,
        EditKind::Expire { expiry, condition: ExpiryCondition::Later },
        EditKind::ShowAndExpire { expiry },
        EditKind::SetFields { only_absent: one },
        EditKind::RemoveFields,
        EditKind::AddToField { delta: first },
        EditKind::AddFloatToField,
    ];
    let views = views.map(|kind| Operation::View(View { kind, argument }));
    views.into_iter().chain(edits.map(|kind| Operation::Edit(Edit { kind, argument }))).collect()
}
