//! Properties that hold for every operation on every item.

use fawn_kv::operation::{
    Append, Arithmetic, Delete, Item, MetaGet, Mode, NewValue, Operation, Outcome, Recache, Store, evaluate,
};
use proptest::option::of;
use proptest::prelude::*;

const NOW: u32 = 1000;
const LIMIT: usize = 12;

#[derive(Clone, Debug)]
struct Owned {
    value: Vec<u8>,
    flags: u32,
    expiry: u32,
    cas: u64,
    stale: bool,
    won: bool,
}

impl Owned {
    fn item(&self) -> Item<'_> {
        let Self { flags, expiry, cas, stale, won, .. } = *self;
        Item { value: &self.value, flags, expiry, cas, stale, won }
    }
}

fn expiry() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(NOW), NOW + 1..NOW + 5]
}

fn cas() -> impl Strategy<Value = u64> {
    0..4u64
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof!["[0-9]{0,3}", "[a-z]{0,3}", Just("9".repeat(20))].prop_map(String::into_bytes)
}

prop_compose! {
    fn item()(value in values(), flags in 0..3u32, expiry in expiry(), cas in 1..4u64, stale: bool, won: bool) -> Owned {
        Owned { value, flags, expiry, cas, stale, won }
    }
}

fn operation() -> impl Strategy<Value = Operation<'static>> {
    let mode = prop_oneof![
        Just(Mode::Set),
        Just(Mode::Add),
        Just(Mode::Replace),
        Just(Mode::Cas),
        of(expiry()).prop_map(|vivify| Mode::Append { vivify }),
        of(expiry()).prop_map(|vivify| Mode::Prepend { vivify }),
    ];
    let value = prop_oneof![Just(&b""[..]), Just(&b"7"[..]), Just(&b"abc"[..])];
    let store = (mode, value, 0..3u32, expiry(), of(cas()), of(1..9u64), any::<bool>()).prop_map(
        |(mode, value, flags, expiry, compare, new_cas, invalidate)| {
            Operation::Store(Store { mode, value, flags, expiry, compare, new_cas, invalidate })
        },
    );
    let delete = (of(cas()), of(1..9u64), any::<bool>(), of(expiry()), any::<bool>(), 0..3u32).prop_map(
        |(compare, new_cas, invalidate, expiry, drop_value, flags)| {
            Operation::Delete(Delete { compare, new_cas, invalidate, expiry, drop_value, flags })
        },
    );
    let arithmetic = (any::<bool>(), any::<u64>(), any::<u64>(), of(expiry()), of(expiry()), of(cas()), of(1..9u64))
        .prop_map(|(decrement, delta, initial, vivify, touch, compare, new_cas)| {
            Operation::Arithmetic(Arithmetic { decrement, delta, initial, vivify, touch, compare, new_cas })
        });
    let recache = (expiry(), any::<bool>()).prop_map(|(before, after_touch)| Recache { before, after_touch });
    let meta_get = (of(expiry()), of(recache), of(expiry()), of(cas()), of(1..9u64)).prop_map(
        |(vivify, recache, touch, compare, new_cas)| {
            Operation::MetaGet(MetaGet { vivify, recache, touch, compare, new_cas })
        },
    );
    prop_oneof![
        Just(Operation::Get),
        expiry().prop_map(|expiry| Operation::GetAndTouch { expiry }),
        expiry().prop_map(|expiry| Operation::Touch { expiry }),
        store,
        delete,
        arithmetic,
        meta_get,
    ]
}

proptest! {
    #[test]
    fn an_expired_item_is_an_absent_one(operation in operation(), owned in item()) {
        let past = Item { expiry: NOW, ..owned.item() };
        prop_assert_eq!(evaluate(&operation, Some(past), NOW, LIMIT), evaluate(&operation, None, NOW, LIMIT));
    }

    #[test]
    fn a_blind_write_decides_the_same_over_anything(operation in operation(), owned in item()) {
        if !operation.needs_current() {
            let blind = evaluate(&operation, None, NOW, LIMIT);
            prop_assert_eq!(evaluate(&operation, Some(owned.item()), NOW, LIMIT), blind);
        }
    }

    #[test]
    fn a_read_appends_only_to_win_a_stale_item(operation in operation(), owned in of(item())) {
        let decision = evaluate(&operation, owned.as_ref().map(Owned::item), NOW, LIMIT);
        let winnable = owned.is_some_and(|owned| owned.stale && !owned.won);
        prop_assert!(!operation.is_read() || decision.append == Append::Nothing || winnable);
    }

    #[test]
    fn an_operation_that_needs_no_value_decides_the_same_for_any_of_its_length(
        operation in operation(),
        owned in item(),
    ) {
        if !operation.needs_value() {
            let blank = vec![b'?'; owned.value.len()];
            let decision = evaluate(&operation, Some(owned.item()), NOW, LIMIT);
            prop_assert_eq!(evaluate(&operation, Some(Item { value: &blank, ..owned.item() }), NOW, LIMIT), decision);
        }
    }

    #[test]
    fn a_refusal_appends_nothing_and_a_change_appends_something_that_lives(
        operation in operation(),
        owned in of(item()),
    ) {
        let decision = evaluate(&operation, owned.as_ref().map(Owned::item), NOW, LIMIT);
        match decision.outcome {
            Outcome::NotStored | Outcome::Exists | Outcome::NotFound | Outcome::NonNumeric | Outcome::Miss => {
                prop_assert_eq!(&decision.append, &Append::Nothing);
            }
            Outcome::Deleted => prop_assert_ne!(&decision.append, &Append::Nothing),
            _ => {}
        }
        if let Append::Value(version) = decision.append {
            prop_assert!(version.expiry == 0 || version.expiry > NOW);
            if version.value == NewValue::Unchanged {
                prop_assert!(owned.is_some_and(|owned| !owned.item().is_expired(NOW)));
            }
        }
    }

    #[test]
    fn a_counter_is_the_number_that_it_answers(operation in operation(), owned in of(item())) {
        let decision = evaluate(&operation, owned.as_ref().map(Owned::item), NOW, LIMIT);
        if let (Outcome::Number(number), Append::Value(version)) = (decision.outcome, decision.append) {
            let NewValue::Made(text) = version.value else { panic!("a counter's value is made") };
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(text.trim_end(), number.value.to_string());
        }
    }
}
