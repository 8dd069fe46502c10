//! What edits and views of hashes append and answer.

use super::super::bit_field::{self, BitFieldAction, BitFieldOverflow, BitFieldStep};
use super::super::{Edit, EditError, EditKind, View, ViewKind, hash, items};
use super::*;

fn list(items: &[&[u8]]) -> Vec<u8> {
    let mut list = Vec::new();
    items.iter().for_each(|item| items::push(&mut list, Some(item)));
    list
}

fn item(value: &[u8]) -> Item<'_> {
    Item { value, flags: hash::HASH_FLAGS, stale: true, won: true, ..ITEM }
}

fn edit(kind: EditKind, argument: &[u8], current: Option<Item<'_>>) -> (Outcome, Option<Vec<u8>>) {
    let decision = decide_at_most(&Operation::Edit(Edit { kind, argument }), current, 1000);
    let made = match decision.append {
        Append::Nothing => None,
        Append::Delete => Some(Vec::new()),
        Append::Value(Version { value: NewValue::Made(made), flags, expiry, stale, won, client_cas }) => {
            let expiry_before = current.map_or(0, |item| item.expiry);
            assert_eq!((flags, expiry), (hash::HASH_FLAGS, expiry_before));
            assert_eq!((stale, won, client_cas), (false, false, None));
            Some(made)
        }
        append => panic!("{append:?}"),
    };
    (decision.outcome, made)
}

fn decide_at_most<'a>(operation: &Operation<'a>, current: Option<Item<'_>>, most: usize) -> Decision<'a> {
    evaluate(operation, current, NOW, most)
}

fn show(kind: ViewKind, argument: &[u8], current: Option<Item<'_>>) -> (Outcome, Vec<u8>) {
    let decision = decide_at_most(&Operation::View(View { kind, argument }), current, 1000);
    assert_eq!(decision.append, Append::Nothing);
    (decision.outcome, decision.shown)
}

const SET: EditKind = EditKind::SetFields { only_absent: false };
const SET_ABSENT: EditKind = EditKind::SetFields { only_absent: true };

#[test]
fn fields_are_set_in_their_order() {
    let old = hash_of(&[(b"a", b"1"), (b"b", b"2")]);
    let set = |kind, argument: &[&[u8]]| edit(kind, &list(argument), Some(item(&old)));
    let made = |fields: &[_]| Some(hash_of(fields));
    assert_eq!(edit(SET, &list(&[b"a", b"1", b"b", b"2"]), None), (Outcome::Integer(2), Some(old.clone())));
    assert_eq!(
        set(SET, &[b"c", b"3", b"a", b"longer"]),
        (Outcome::Integer(1), made(&[(b"a", b"longer"), (b"b", b"2"), (b"c", b"3")]))
    );
    // Of several values of one name the last one stays, and the field is new once.
    assert_eq!(
        set(SET, &[b"d", b"1", b"c", b"3", b"d", b"2", b"a", b"x", b"a", b"y"]),
        (Outcome::Integer(2), made(&[(b"a", b"y"), (b"b", b"2"), (b"d", b"2"), (b"c", b"3")]))
    );
    assert_eq!(set(SET_ABSENT, &[b"c", b"3", b"a", b"x"]), (Outcome::Integer(0), None));
    assert_eq!(
        set(SET_ABSENT, &[b"c", b"3"]),
        (Outcome::Integer(1), made(&[(b"a", b"1"), (b"b", b"2"), (b"c", b"3")]))
    );
}

#[test]
fn fields_are_removed_and_with_the_last_one_the_key() {
    let old = hash_of(&[(b"a", b"1"), (b"b", b"2"), (b"", b"")]);
    let remove = |argument: &[&[u8]]| edit(EditKind::RemoveFields, &list(argument), Some(item(&old)));
    assert_eq!(remove(&[b"x"]), (Outcome::Integer(0), None));
    assert_eq!(remove(&[b"b", b"x", b"b"]), (Outcome::Integer(1), Some(hash_of(&[(b"a", b"1"), (b"", b"")]))));
    assert_eq!(remove(&[b"b", b"a", b""]), (Outcome::Integer(3), Some(Vec::new())));
    assert_eq!(edit(EditKind::RemoveFields, &list(&[b"a"]), None), (Outcome::Integer(0), None));
}

#[test]
fn numbers_are_added_to_fields() {
    let old = hash_of(&[(b"a", b"1"), (b"b", b"9223372036854775807"), (b"c", b"x")]);
    let add = |name, delta| edit(EditKind::AddToField { delta }, name, Some(item(&old)));
    let sum = hash_of(&[(b"a", b"-4"), (b"b", b"9223372036854775807"), (b"c", b"x")]);
    assert_eq!(add(b"a", -5), (Outcome::Integer(-4), Some(sum)));
    assert_eq!(add(b"b", 1), (Outcome::Refused(EditError::Overflow), None));
    assert_eq!(add(b"c", 1), (Outcome::Refused(EditError::FieldNotInteger), None));
    let first = Some(hash_of(&[(b"n", b"7")]));
    assert_eq!(edit(EditKind::AddToField { delta: 7 }, b"n", None), (Outcome::Integer(7), first));

    let add = |name, delta| edit(EditKind::AddFloatToField, &list(&[name, delta]), Some(item(&old)));
    let sum = hash_of(&[(b"a", b"1.5"), (b"b", b"9223372036854775807"), (b"c", b"x")]);
    assert_eq!(add(b"a", b"0.5"), (Outcome::Computed, Some(sum)));
    assert_eq!(add(b"c", b"0.5"), (Outcome::Refused(EditError::FieldNotFloat), None));
    assert_eq!(add(b"a", b"x"), (Outcome::Refused(EditError::NotFloat), None));
}

#[test]
fn views_show_fields() {
    let hash = hash_of(&[(b"ab", b"1"), (b"b", b"22"), (b"bc", b"")]);
    let shows = |kind, argument: &[u8]| show(kind, argument, Some(item(&hash)));
    let number = |number| (Outcome::Integer(number), Vec::new());
    assert_eq!(shows(ViewKind::Field, b"b"), (Outcome::Computed, b"22".to_vec()));
    assert_eq!(shows(ViewKind::Field, b"bc"), (Outcome::Computed, Vec::new()));
    assert_eq!(shows(ViewKind::Field, b"x"), (Outcome::Miss, Vec::new()));
    assert_eq!(shows(ViewKind::CountFields, b""), number(3));
    assert_eq!(shows(ViewKind::HasField, b"b"), number(1));
    assert_eq!(shows(ViewKind::HasField, b"x"), number(0));
    assert_eq!(shows(ViewKind::FieldLength, b"b"), number(2));
    assert_eq!(shows(ViewKind::FieldLength, b"x"), number(0));
    let mut named = list(&[b"22"]);
    items::push(&mut named, None);
    items::push(&mut named, Some(b"22"));
    assert_eq!(shows(ViewKind::Fields, &list(&[b"b", b"x", b"b"])), (Outcome::Computed, named));
    for (names, values, pattern, shown) in [
        (true, true, &b""[..], list(&[b"ab", b"1", b"b", b"22", b"bc", b""])),
        (true, false, b"", list(&[b"ab", b"b", b"bc"])),
        (false, true, b"", list(&[b"1", b"22", b""])),
        (true, true, b"b*", list(&[b"b", b"22", b"bc", b""])),
        (true, false, b"?b", list(&[b"ab"])),
    ] {
        assert_eq!(shows(ViewKind::AllFields { names, values }, pattern), (Outcome::Computed, shown));
    }
}

#[test]
fn a_missing_hash_has_no_fields() {
    let shows = |kind, argument: &[u8]| show(kind, argument, None);
    assert_eq!(shows(ViewKind::Field, b"b"), (Outcome::Miss, Vec::new()));
    assert_eq!(shows(ViewKind::CountFields, b""), (Outcome::Integer(0), Vec::new()));
    assert_eq!(shows(ViewKind::Fields, &list(&[b"a", b"b"])), (Outcome::Computed, vec![0, 0]));
    assert_eq!(shows(ViewKind::AllFields { names: true, values: true }, b""), (Outcome::Computed, Vec::new()));
    assert_eq!(
        shows(ViewKind::RandomFields { count: -9, values: true, seed: 1 }, b""),
        (Outcome::Computed, Vec::new())
    );
}

#[test]
fn random_fields_are_different_ones_or_as_many_as_asked_for() {
    let names: Vec<[u8; 1]> = (0..50).map(|name| [name]).collect();
    let fields: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &b"v"[..])).collect();
    let hash = hash_of(&fields);
    let choose = |count, values, seed| {
        let (outcome, shown) = show(ViewKind::RandomFields { count, values, seed }, b"", Some(item(&hash)));
        assert_eq!(outcome, Outcome::Computed);
        items::Items::of(&shown).map(|item| item.expect("a list").expect("a name").to_vec()).collect::<Vec<_>>()
    };
    let all: Vec<_> = names.iter().map(|name| name.to_vec()).collect();
    assert_eq!((choose(50, false, 1), choose(i64::MAX, false, 2)), (all.clone(), all.clone()));
    assert_eq!(choose(7, false, 3), choose(7, false, 3));
    assert_ne!(choose(7, false, 3), choose(7, false, 4));
    let mut seen = std::collections::HashSet::new();
    for seed in 0..100 {
        let mut chosen = choose(7, false, seed);
        seen.extend(chosen.iter().cloned());
        chosen.sort();
        chosen.dedup();
        assert_eq!(chosen.len(), 7);
    }
    assert_eq!(seen.len(), 50, "each is chosen at times");
    let many = choose(-200, true, 5);
    assert_eq!(many.len(), 400);
    assert!(many.chunks(2).all(|field| all.contains(&field[0]) && field[1] == b"v"));
    assert_eq!(choose(0, true, 6), Vec::<Vec<u8>>::new());
    let (outcome, _) = show(ViewKind::RandomFields { count: i64::MIN, values: true, seed: 1 }, b"", Some(item(&hash)));
    assert_eq!(outcome, Outcome::Refused(EditError::TooLong));
}

#[test]
fn an_operation_for_hashes_refuses_a_string_and_what_is_no_hash() {
    let good = hash_of(&[(b"a", b"1")]);
    let pair = list(&[b"a", b"1"]);
    let mut nothing = good.clone();
    *nothing.last_mut().expect("it is not empty") = 0;
    let damaged = [
        &good[..good.len() - 1],
        &good[..7],
        &[&good[..], &list(&[b"b"])].concat(),
        &[&good[..], &list(&[b"b", b"2"])].concat(),
        &hash::MAGIC[..],
    ];
    let text = Item { flags: 0, ..item(&good) };
    let current = damaged.iter().map(|value| item(value)).chain([text]).collect::<Vec<_>>();
    for current in current {
        for (kind, argument) in [
            (SET, &pair),
            (SET_ABSENT, &pair),
            (EditKind::RemoveFields, &pair),
            (EditKind::AddToField { delta: 1 }, &pair),
            (EditKind::AddFloatToField, &pair),
        ] {
            assert_eq!(edit(kind, argument, Some(current)), (Outcome::Refused(EditError::WrongType), None), "{kind:?}");
        }
        for kind in [
            ViewKind::Field,
            ViewKind::Fields,
            ViewKind::AllFields { names: true, values: true },
            ViewKind::CountFields,
            ViewKind::HasField,
            ViewKind::FieldLength,
            ViewKind::RandomFields { count: 1, values: false, seed: 0 },
        ] {
            let refused = (Outcome::Refused(EditError::WrongType), Vec::new());
            assert_eq!(show(kind, &pair, Some(current)), refused, "{kind:?} {current:?}");
        }
    }
}

#[test]
fn what_is_too_long_is_refused() {
    let value = vec![b'x'; 400];
    let hash = hash_of(&[(b"a", &value)]);
    let too_long = Outcome::Refused(EditError::TooLong);
    assert_eq!(edit(SET, &list(&[b"b", &[b'x'; 600]]), Some(item(&hash))), (too_long, None));
    assert_eq!(show(ViewKind::Fields, &list(&[&b"a"[..]; 3]), Some(item(&hash))), (too_long, Vec::new()));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let malformed = (Outcome::Refused(EditError::Malformed), None);
    for (kind, argument) in [
        (SET, list(&[])),
        (SET, list(&[b"a"])),
        (SET, list(&[b"a", b"b", b"c"])),
        (SET, vec![2, b'a', 0]),
        (SET, vec![9, b'a']),
        (EditKind::RemoveFields, vec![0]),
        (EditKind::RemoveFields, vec![0xff; 9]),
        (EditKind::AddFloatToField, list(&[b"a"])),
        (EditKind::AddFloatToField, list(&[b"a", b"1", b"2"])),
        (EditKind::BitFields, vec![1]),
    ] {
        assert_eq!(edit(kind, &argument, None), malformed, "{kind:?} {argument:?}");
    }
    let step = BitFieldStep {
        action: BitFieldAction::Get,
        is_signed: true,
        bits: 64,
        place: 0,
        overflow: BitFieldOverflow::Wrap,
    };
    let shown = (Outcome::Refused(EditError::Malformed), Vec::new());
    for step in [
        BitFieldStep { bits: 65, ..step },
        BitFieldStep { bits: 0, ..step },
        BitFieldStep { is_signed: false, ..step },
        BitFieldStep { place: u64::MAX, ..step },
    ] {
        let argument = bit_field::encode(&[step]);
        assert_eq!(edit(EditKind::BitFields, &argument, None), malformed, "{step:?}");
        assert_eq!(show(ViewKind::BitFields, &argument, None), shown, "{step:?}");
    }
    let write = bit_field::encode(&[BitFieldStep { action: BitFieldAction::Set(1), ..step }]);
    assert_eq!(show(ViewKind::BitFields, &write, None), shown);
    assert_eq!(show(ViewKind::Fields, &[0], None), shown);
}
