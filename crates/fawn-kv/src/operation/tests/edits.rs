//! What edits and views of strings append and answer.

use super::super::bit_field::{self, BitFieldAction, BitFieldOverflow, BitFieldStep};
use super::super::{BitRange, Edit, EditError, EditKind, ExpiryCondition, PutCondition, View, ViewKind, hash};
use super::*;

/// A string with marks and flags.
const TEXT: Item<'static> = Item { value: b"10", flags: 7, expiry: NOW + 50, cas: 41, stale: true, won: true };
const HASH: Item<'static> = Item { value: b"\0hash\x01\x01\0\0\0\x02f\x023", flags: hash::HASH_FLAGS, ..TEXT };

fn edit(kind: EditKind, argument: &[u8]) -> Operation<'_> {
    Operation::Edit(Edit { kind, argument })
}

fn view(kind: ViewKind) -> Operation<'static> {
    Operation::View(View { kind, argument: b"" })
}

fn put(condition: PutCondition, expiry: Option<u32>, show: bool) -> Operation<'static> {
    edit(EditKind::Put { condition, expiry, show }, b"new")
}

fn computed<'a>(append: Append<'a>, shown: &[u8]) -> Decision<'a> {
    Decision { append, outcome: Outcome::Computed, shown: shown.to_vec() }
}

fn nothing(outcome: Outcome) -> Decision<'static> {
    Decision { append: Append::Nothing, outcome, shown: Vec::new() }
}

/// What replaces `TEXT`: no marks, no cas of the client's.
fn changed(value: NewValue<'_>) -> Version<'_> {
    Version { value, flags: TEXT.flags, expiry: TEXT.expiry, stale: false, won: false, client_cas: None }
}

fn made(value: &[u8]) -> Append<'static> {
    Append::Value(changed(NewValue::Made(value.to_vec())))
}

#[test]
fn a_put_stores_if_its_condition_holds() {
    let given = changed(NewValue::Given(b"new"));
    let stored = Outcome::Stored { cas: Cas::Appended, size: 3 };
    for (condition, current, is_met) in [
        (PutCondition::Always, Some(TEXT), true),
        (PutCondition::Always, Some(HASH), true),
        (PutCondition::Always, None, true),
        (PutCondition::Absent, Some(TEXT), false),
        (PutCondition::Absent, None, true),
        (PutCondition::Present, Some(TEXT), true),
        (PutCondition::Present, None, false),
    ] {
        let decision = decide(&put(condition, Some(NOW + 9), false), current);
        let version = Version { flags: 0, expiry: NOW + 9, ..given.clone() };
        if is_met {
            assert_eq!(
                (decision.append, decision.outcome),
                (Append::Value(version), stored),
                "{condition:?} {current:?}"
            );
        } else {
            assert_eq!(decision, nothing(Outcome::NotStored), "{condition:?} {current:?}");
        }
    }
    let kept = |current| match decide(&put(PutCondition::Always, None, false), current).append {
        Append::Value(version) => version.expiry,
        append => panic!("{append:?}"),
    };
    assert_eq!((kept(Some(TEXT)), kept(None)), (TEXT.expiry, 0));
    assert!(!put(PutCondition::Absent, None, false).needs_value());
    assert!(put(PutCondition::Absent, None, true).needs_value());
}

#[test]
fn a_put_shows_the_string_before_stored_or_not() {
    let version = Append::Value(Version { flags: 0, expiry: 0, ..changed(NewValue::Given(b"new")) });
    let shows = |condition, current| decide(&put(condition, Some(0), true), current);
    let missed = Decision { append: version.clone(), ..nothing(Outcome::Miss) };
    assert_eq!(shows(PutCondition::Always, Some(TEXT)), computed(version, b"10"));
    assert_eq!(shows(PutCondition::Always, None), missed);
    assert_eq!(shows(PutCondition::Absent, None), missed);
    assert_eq!(shows(PutCondition::Absent, Some(TEXT)), computed(Append::Nothing, b"10"));
    assert_eq!(shows(PutCondition::Present, None), nothing(Outcome::Miss));
    assert_eq!(shows(PutCondition::Always, Some(HASH)), nothing(Outcome::Refused(EditError::WrongType)));
    assert_eq!(shows(PutCondition::Absent, Some(HASH)), nothing(Outcome::Refused(EditError::WrongType)));
}

#[test]
fn strings_are_taken_extended_and_written_over() {
    let take = edit(EditKind::Take, b"");
    assert_eq!(decide(&take, Some(TEXT)), computed(Append::Delete, b"10"));
    assert_eq!(decide(&take, None), nothing(Outcome::Miss));

    for (operation, value, length) in [
        (edit(EditKind::Append, b"xyz"), &b"10xyz"[..], 5),
        (edit(EditKind::Overwrite { place: 1 }, b"x"), b"1x", 2),
        (edit(EditKind::Overwrite { place: 0 }, b"x"), b"x0", 2),
        (edit(EditKind::Overwrite { place: 1 }, b"xy"), b"1xy", 3),
        (edit(EditKind::Overwrite { place: 4 }, b"xy"), b"10\0\0xy", 6),
    ] {
        let decision = Decision { append: made(value), ..nothing(Outcome::Integer(length)) };
        assert_eq!(decide(&operation, Some(TEXT)), decision);
    }
    for operation in [edit(EditKind::Append, b""), edit(EditKind::Overwrite { place: 90 }, b"")] {
        assert_eq!(decide(&operation, Some(TEXT)), nothing(Outcome::Integer(2)));
    }
    // An append of nothing makes an empty string, as it does in Redis.
    let empty = appended_to_nothing(&edit(EditKind::Append, b""));
    assert_eq!((empty.value, empty.flags, empty.expiry), (NewValue::Made(Vec::new()), 0, 0));
    assert_eq!(decide(&edit(EditKind::Overwrite { place: 9 }, b""), None), nothing(Outcome::Integer(0)));
    assert_eq!(
        appended_to_nothing(&edit(EditKind::Overwrite { place: 1 }, b"x")).value,
        NewValue::Made(b"\0x".to_vec())
    );
}

fn appended_to_nothing<'a>(operation: &Operation<'a>) -> Version<'a> {
    match decide(operation, None).append {
        Append::Value(version) => version,
        append => panic!("{operation:?} appends {append:?}"),
    }
}

#[test]
fn a_bit_is_written_only_if_that_changes_the_string() {
    let set = |place, is_set| edit(EditKind::SetBit { place, is_set }, b"");
    let one = |append, bit| Decision { append, ..nothing(Outcome::Integer(bit)) };
    assert_eq!(decide(&set(7, true), Some(TEXT)), nothing(Outcome::Integer(1)));
    assert_eq!(decide(&set(7, false), Some(TEXT)), one(made(b"00"), 1));
    assert_eq!(decide(&set(9, false), Some(TEXT)), nothing(Outcome::Integer(0)));
    assert_eq!(decide(&set(16, false), Some(TEXT)), one(made(b"10\0"), 0));
    assert_eq!(decide(&set(25, true), Some(TEXT)), one(made(b"10\0\x40"), 0));
    assert_eq!(decide(&set(u64::MAX, true), Some(TEXT)), nothing(Outcome::Refused(EditError::TooLong)));
}

#[test]
fn numbers_are_added_to_strings() {
    let add = |delta| edit(EditKind::Add { delta }, b"");
    let text = |value| Item { value, ..TEXT };
    let refused = |error| nothing(Outcome::Refused(error));
    assert_eq!(decide(&add(-11), Some(TEXT)), Decision { append: made(b"-1"), ..nothing(Outcome::Integer(-1)) });
    assert_eq!(appended_to_nothing(&add(5)).value, NewValue::Made(b"5".to_vec()));
    assert_eq!(decide(&add(1), Some(text(b"9223372036854775807"))), refused(EditError::Overflow));
    assert_eq!(decide(&add(i64::MIN), Some(text(b"-1"))), refused(EditError::Overflow));
    for value in [&b""[..], b" 1", b"1 ", b"01", b"+1", b"1.0", b"x", b"9223372036854775808"] {
        assert_eq!(decide(&add(0), Some(text(value))), refused(EditError::NotInteger), "{value:?}");
    }
    let sum = edit(EditKind::AddFloat, b"0.5");
    assert_eq!(decide(&sum, Some(TEXT)), computed(made(b"10.5"), b"10.5"));
}

#[test]
fn an_expiry_is_set_if_its_condition_holds() {
    let unlimited = Item { expiry: 0, ..TEXT };
    let (before, after) = (TEXT.expiry - 1, TEXT.expiry + 1);
    for (condition, expiry, current, is_met) in [
        (ExpiryCondition::Always, after, TEXT, true),
        (ExpiryCondition::Without, after, TEXT, false),
        (ExpiryCondition::Without, after, unlimited, true),
        (ExpiryCondition::With, before, TEXT, true),
        (ExpiryCondition::With, 0, TEXT, true),
        (ExpiryCondition::With, 0, unlimited, false),
        (ExpiryCondition::Later, before, TEXT, false),
        (ExpiryCondition::Later, TEXT.expiry, TEXT, false),
        (ExpiryCondition::Later, after, TEXT, true),
        (ExpiryCondition::Later, 0, TEXT, true),
        (ExpiryCondition::Later, after, unlimited, false),
        (ExpiryCondition::Earlier, after, TEXT, false),
        (ExpiryCondition::Earlier, TEXT.expiry, TEXT, false),
        (ExpiryCondition::Earlier, before, TEXT, true),
        (ExpiryCondition::Earlier, after, unlimited, true),
        (ExpiryCondition::Earlier, 0, unlimited, false),
        (ExpiryCondition::WithEarlier, before, TEXT, true),
        (ExpiryCondition::WithEarlier, after, TEXT, false),
        (ExpiryCondition::WithEarlier, after, unlimited, false),
    ] {
        let decision = decide(&edit(EditKind::Expire { expiry, condition }, b""), Some(current));
        assert_eq!(decision.outcome, Outcome::Integer(is_met.into()), "{condition:?} {expiry} {current:?}");
        if is_met {
            let same =
                Version { value: NewValue::Unchanged, expiry, stale: true, won: true, client_cas: Some(41), flags: 7 };
            assert_eq!(decision.append, Append::Value(same));
        } else {
            assert_eq!(decision.append, Append::Nothing);
        }
    }
    let always = |expiry| edit(EditKind::Expire { expiry, condition: ExpiryCondition::Always }, b"");
    assert_eq!(decide(&always(after), None), nothing(Outcome::Integer(0)));
    assert_eq!(decide(&always(TEXT.expiry), Some(TEXT)), nothing(Outcome::Integer(1)));
    assert!(matches!(decide(&always(after), Some(HASH)).append, Append::Value(_)), "of any type");
}

#[test]
fn an_edits_expiry_in_the_past_deletes() {
    let expire = edit(EditKind::Expire { expiry: 1, condition: ExpiryCondition::Always }, b"");
    let deleted = |outcome| Decision { append: Append::Delete, ..nothing(outcome) };
    assert_eq!(decide(&expire, Some(TEXT)), deleted(Outcome::Integer(1)));
    assert_eq!(
        decide(&edit(EditKind::ShowAndExpire { expiry: NOW }, b""), Some(TEXT)),
        computed(Append::Delete, b"10")
    );
    let put = put(PutCondition::Always, Some(1), false);
    let stored = Outcome::Stored { cas: Cas::Appended, size: 3 };
    assert_eq!(decide(&put, Some(TEXT)), deleted(stored));
    assert_eq!(decide(&put, None), nothing(stored));
    // What has expired is not there.
    let expired = Item { expiry: NOW, ..TEXT };
    assert_eq!(decide(&edit(EditKind::Take, b""), Some(expired)), nothing(Outcome::Miss));
    assert_eq!(decide(&view(ViewKind::Expiry), Some(expired)), nothing(Outcome::Integer(-2)));
}

#[test]
fn a_string_is_shown_and_gets_another_expiry() {
    let show = |expiry| edit(EditKind::ShowAndExpire { expiry }, b"");
    let same =
        Version { value: NewValue::Unchanged, expiry: 0, stale: true, won: true, client_cas: Some(41), flags: 7 };
    assert_eq!(decide(&show(0), Some(TEXT)), computed(Append::Value(same), b"10"));
    assert_eq!(decide(&show(TEXT.expiry), Some(TEXT)), computed(Append::Nothing, b"10"));
    assert_eq!(decide(&show(0), None), nothing(Outcome::Miss));
}

#[test]
fn views_show_types_expiries_and_lengths() {
    let shows = |kind, current| decide(&view(kind), current);
    assert_eq!(shows(ViewKind::Type, Some(TEXT)), computed(Append::Nothing, b"string"));
    assert_eq!(shows(ViewKind::Type, Some(HASH)), computed(Append::Nothing, b"hash"));
    assert_eq!(shows(ViewKind::Type, None), nothing(Outcome::Miss));
    for (kind, current, number) in [
        (ViewKind::Expiry, Some(TEXT), TEXT.expiry.into()),
        (ViewKind::Expiry, Some(Item { expiry: 0, ..TEXT }), -1),
        (ViewKind::Expiry, None, -2),
        (ViewKind::Length, Some(TEXT), 2),
        (ViewKind::Length, None, 0),
        (ViewKind::Bit { place: 2 }, Some(TEXT), 1),
        (ViewKind::Bit { place: 3 }, Some(TEXT), 1),
        (ViewKind::Bit { place: 4 }, Some(TEXT), 0),
        (ViewKind::Bit { place: u64::MAX }, Some(TEXT), 0),
        (ViewKind::Bit { place: 0 }, None, 0),
        (ViewKind::CountBits(None), Some(TEXT), 5),
    ] {
        assert_eq!(shows(kind, current), nothing(Outcome::Integer(number)), "{kind:?}");
    }
}

#[test]
fn an_operation_for_strings_refuses_a_hash_and_what_is_too_long() {
    let whole = BitRange { first: 0, last: -1, bits: false };
    let step = |place| {
        let (action, overflow) = (BitFieldAction::Set(1), BitFieldOverflow::Wrap);
        bit_field::encode(&[BitFieldStep { action, is_signed: false, bits: 8, place, overflow }])
    };
    let (near, far) = (step(0), step(800));
    for operation in [
        edit(EditKind::Take, b""),
        edit(EditKind::Append, b"x"),
        edit(EditKind::Overwrite { place: 0 }, b""),
        edit(EditKind::SetBit { place: 0, is_set: true }, b""),
        edit(EditKind::BitFields, &near),
        edit(EditKind::Add { delta: 1 }, b""),
        edit(EditKind::AddFloat, b"1"),
        edit(EditKind::ShowAndExpire { expiry: 0 }, b""),
        view(ViewKind::Length),
        view(ViewKind::Range { first: 0, last: -1 }),
        view(ViewKind::Bit { place: 0 }),
        view(ViewKind::CountBits(Some(whole))),
        view(ViewKind::FindBit { is_set: true, range: None, is_open: true }),
    ] {
        assert_eq!(decide(&operation, Some(HASH)), nothing(Outcome::Refused(EditError::WrongType)), "{operation:?}");
    }
    for operation in [
        edit(EditKind::Append, &[b'x'; 99]),
        edit(EditKind::Overwrite { place: 100 }, b"x"),
        edit(EditKind::Overwrite { place: u64::MAX }, b"x"),
        edit(EditKind::SetBit { place: 800, is_set: false }, b""),
        edit(EditKind::BitFields, &far),
        edit(EditKind::Put { condition: PutCondition::Always, expiry: None, show: true }, &[b'x'; 101]),
    ] {
        assert_eq!(decide(&operation, Some(TEXT)), nothing(Outcome::Refused(EditError::TooLong)), "{operation:?}");
    }
    assert!(matches!(decide(&edit(EditKind::Append, &[b'x'; 98]), Some(TEXT)).append, Append::Value(_)));
}
