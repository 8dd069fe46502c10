//! What conversations over the protocol cannot show: what is appended, and what is not.

mod answers;
mod edits;
mod hashes;
mod models;

use super::*;

const NOW: u32 = 1_800_000_000;
const ITEM: Item<'static> = Item { value: b"10", flags: 7, expiry: NOW + 50, cas: 41, stale: false, won: false };

fn decide<'a>(operation: &Operation<'a>, current: Option<Item<'_>>) -> Decision<'a> {
    evaluate(operation, current, NOW, 100)
}

fn appended<'a>(operation: &Operation<'a>, current: Item<'_>) -> Version<'a> {
    match decide(operation, Some(current)).append {
        Append::Value(version) => version,
        other => panic!("{operation:?} appends {other:?}"),
    }
}

fn step(decrement: bool) -> Arithmetic {
    Arithmetic { decrement, delta: 1, initial: 0, vivify: None, touch: None, compare: None, new_cas: None }
}

fn append(value: &[u8]) -> Operation<'_> {
    Operation::Store(Store { mode: Mode::Append { vivify: None }, ..Store::set(value) })
}

/// A hash of these fields.
fn hash_of(fields: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut bytes = [&hash::MAGIC[..], &(fields.len() as u32).to_le_bytes()].concat();
    for (name, value) in fields {
        items::push(&mut bytes, Some(name));
        items::push(&mut bytes, Some(value));
    }
    bytes
}

#[test]
fn views_read_and_edits_write() {
    let view = Operation::View(View { kind: ViewKind::Length, argument: b"field" });
    assert!(view.is_read() && !view.is_conditional() && view.needs_current() && view.needs_value());
    assert_eq!((view.payload(), view.expiries().count()), (&b"field"[..], 0));
    assert!(!Operation::View(View { kind: ViewKind::Expiry, argument: b"" }).needs_value());
    let edit = |kind| Operation::Edit(Edit { kind, argument: b"text" });
    for (kind, expiry) in [
        (EditKind::Put { condition: PutCondition::Always, expiry: Some(5), show: false }, Some(5)),
        (EditKind::Put { condition: PutCondition::Always, expiry: None, show: false }, None),
        (EditKind::Expire { expiry: 6, condition: ExpiryCondition::Always }, Some(6)),
        (EditKind::ShowAndExpire { expiry: 7 }, Some(7)),
        (EditKind::Append, None),
    ] {
        let operation = edit(kind);
        assert!(!operation.is_read() && operation.is_conditional() && operation.needs_current());
        assert_eq!((operation.payload(), operation.expiries().next()), (&b"text"[..], expiry));
    }
    assert!(!edit(EditKind::Expire { expiry: 6, condition: ExpiryCondition::Always }).needs_value());
    assert!(edit(EditKind::Append).needs_value());
}

#[test]
fn a_touch_appends_the_same_version_with_its_cas_and_marks() {
    let item = Item { stale: true, won: true, ..ITEM };
    for operation in [
        Operation::Touch { expiry: NOW + 9 },
        Operation::GetAndTouch { expiry: NOW + 9 },
        Operation::MetaGet(MetaGet { touch: Some(NOW + 9), ..MetaGet::default() }),
    ] {
        let same = Version {
            value: NewValue::Unchanged,
            flags: 7,
            expiry: NOW + 9,
            stale: true,
            won: true,
            client_cas: Some(41),
        };
        assert_eq!(appended(&operation, item), same);
    }
}

#[test]
fn a_touch_that_changes_nothing_appends_nothing() {
    for operation in [Operation::Touch { expiry: ITEM.expiry }, Operation::GetAndTouch { expiry: ITEM.expiry }] {
        assert_eq!(decide(&operation, Some(ITEM)).append, Append::Nothing);
    }
}

#[test]
fn an_expiry_in_the_past_deletes_what_is_there() {
    let set = Operation::Store(Store { expiry: 1, ..Store::set(b"x") });
    let add = Operation::Store(Store { mode: Mode::Add, expiry: NOW, ..Store::set(b"x") });
    let touch = Operation::Touch { expiry: 1 };
    // A set does not know what is there.
    assert_eq!(decide(&set, None).append, Append::Delete);
    assert_eq!(decide(&add, None).append, Append::Nothing);
    assert_eq!(
        decide(&touch, Some(ITEM)),
        Decision { append: Append::Delete, outcome: Outcome::Touched, shown: Vec::new() }
    );
    for operation in [set, add] {
        assert!(matches!(decide(&operation, None).outcome, Outcome::Stored { size: 1, .. }));
    }
}

#[test]
fn a_changed_value_takes_the_records_number_as_cas_unless_the_client_chose_one() {
    let chosen = Operation::Arithmetic(Arithmetic { new_cas: Some(5), ..step(false) });
    for operation in [Operation::Arithmetic(step(false)), append(b"5"), Operation::Store(Store::set(b"5"))] {
        assert_eq!(appended(&operation, ITEM).client_cas, None);
    }
    assert_eq!(appended(&chosen, ITEM).client_cas, Some(5));
    let Outcome::Number(number) = decide(&chosen, Some(ITEM)).outcome else { panic!("a counter gives a number") };
    assert_eq!((number.value, number.cas.resolve(99)), (11, 5));
}

#[test]
fn a_counter_keeps_its_length_when_it_shrinks() {
    for (value, decrement, delta, made) in [
        ("10", true, 1, "9 "),
        ("10", true, 50, "0 "),
        ("99", false, 1, "100"),
        ("18446744073709551615", false, 3, "2                   "),
    ] {
        let operation = Operation::Arithmetic(Arithmetic { delta, ..step(decrement) });
        let version = appended(&operation, Item { value: value.as_bytes(), ..ITEM });
        assert_eq!(version.value, NewValue::Made(made.as_bytes().to_vec()));
        assert_eq!((version.flags, version.expiry), (ITEM.flags, ITEM.expiry));
    }
}

#[test]
fn an_append_beyond_the_limit_is_not_stored() {
    assert!(matches!(decide(&append(&[b'x'; 98]), Some(ITEM)).outcome, Outcome::Stored { size: 100, .. }));
    let refused = decide(&append(&[b'x'; 99]), Some(ITEM));
    assert_eq!(refused, Decision { append: Append::Nothing, outcome: Outcome::NotStored, shown: Vec::new() });
}

#[test]
fn an_invalidation_keeps_the_value_under_a_new_cas() {
    let operation = Operation::Delete(Delete { invalidate: true, ..Delete::default() });
    let version = appended(&operation, Item { won: true, ..ITEM });
    assert_eq!(
        (version.value, version.stale, version.won, version.client_cas),
        (NewValue::Unchanged, true, false, None)
    );
    assert_eq!(version.expiry, ITEM.expiry);
}

#[test]
fn dropping_the_value_keeps_the_cas() {
    let operation = Operation::Delete(Delete { drop_value: true, ..Delete::default() });
    let version = appended(&operation, ITEM);
    assert_eq!((version.value, version.flags, version.expiry), (NewValue::Given(b""), 0, 0));
    assert_eq!(version.client_cas, Some(41));
}

#[test]
fn one_client_alone_wins_a_stale_item() {
    let get = Operation::MetaGet(MetaGet::default());
    let stale = Item { stale: true, ..ITEM };
    let first = decide(&get, Some(stale));
    assert!(matches!(first.outcome, Outcome::Hit(Hit { won: true, stale: true, already_won: false, .. })));
    assert!(appended(&get, stale).won);
    let second = decide(&get, Some(Item { won: true, ..stale }));
    assert_eq!(second.append, Append::Nothing);
    assert!(matches!(second.outcome, Outcome::Hit(Hit { won: false, stale: true, already_won: true, .. })));
}
