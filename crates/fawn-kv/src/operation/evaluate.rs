//! From operation and item to decision.

use super::{
    Append, Arithmetic, Cas, Decision, Delete, Hit, Item, MetaGet, Mode, NewValue, Number, Operation, Outcome, Store,
    Version, arithmetic, edit, is_past, view,
};

/// Decides `operation` against the key's `current` item (`None` when there is none; an expired one counts as none) at
/// `now_unix`. `most_value_bytes` bounds what append, prepend and edits make, and the lists that views show.
///
/// Bytes are only copied where a new value is made (append, prepend, counters, edits) or a part of one is shown.
pub fn evaluate<'a>(
    operation: &Operation<'a>,
    current: Option<Item<'_>>,
    now_unix: u32,
    most_value_bytes: usize,
) -> Decision<'a> {
    let current = current.filter(|item| !item.is_expired(now_unix));
    let mut decision = match operation {
        Operation::Get => read(current),
        Operation::GetAndTouch { expiry } => get_and_touch(current, *expiry),
        Operation::MetaGet(get) => meta_get(get, current),
        Operation::Store(request) => store(request, current, most_value_bytes),
        Operation::Delete(request) => delete(request, current),
        Operation::Arithmetic(request) => count(request, current),
        Operation::Touch { expiry } => touch(current, *expiry),
        Operation::View(view) => view::evaluate(view, current, most_value_bytes),
        Operation::Edit(edit) => edit::evaluate(edit, current, most_value_bytes),
    };
    if matches!(&decision.append, Append::Value(version) if is_past(version.expiry, now_unix)) {
        decision.append =
            if current.is_some() || !operation.needs_current() { Append::Delete } else { Append::Nothing };
    }
    decision
}

pub(super) fn nothing<'a>(outcome: Outcome) -> Decision<'a> {
    Decision { append: Append::Nothing, outcome, shown: Vec::new() }
}

pub(super) fn value(version: Version<'_>, outcome: Outcome) -> Decision<'_> {
    Decision { append: Append::Value(version), outcome, shown: Vec::new() }
}

/// What a new version's cas will be.
fn new_cas(client_cas: Option<u64>) -> Cas {
    client_cas.map_or(Cas::Appended, Cas::Known)
}

/// The current item again: value, flags, marks and cas as they are.
pub(super) fn unchanged<'a>(item: &Item<'_>) -> Version<'a> {
    Version {
        value: NewValue::Unchanged,
        flags: item.flags,
        expiry: item.expiry,
        stale: item.stale,
        won: item.won,
        client_cas: Some(item.cas),
    }
}

fn plain_hit(item: &Item<'_>) -> Hit {
    Hit {
        cas: Cas::Known(item.cas),
        expiry_before: item.expiry,
        expiry: item.expiry,
        created: false,
        won: false,
        stale: item.stale,
        already_won: item.won,
        same_version: false,
    }
}

fn read<'a>(current: Option<Item<'_>>) -> Decision<'a> {
    nothing(current.map_or(Outcome::Miss, |item| Outcome::Hit(plain_hit(&item))))
}

fn get_and_touch<'a>(current: Option<Item<'_>>, expiry: u32) -> Decision<'a> {
    let Some(item) = current else { return nothing(Outcome::Miss) };
    with_expiry(&item, expiry, Outcome::Hit(Hit { expiry, ..plain_hit(&item) }))
}

fn touch<'a>(current: Option<Item<'_>>, expiry: u32) -> Decision<'a> {
    match current {
        Some(item) => with_expiry(&item, expiry, Outcome::Touched),
        None => nothing(Outcome::NotFound),
    }
}

pub(super) fn with_expiry<'a>(item: &Item<'_>, expiry: u32, outcome: Outcome) -> Decision<'a> {
    if expiry == item.expiry { nothing(outcome) } else { value(Version { expiry, ..unchanged(item) }, outcome) }
}

fn meta_get<'a>(get: &MetaGet, current: Option<Item<'_>>) -> Decision<'a> {
    let Some(item) = current else { return vivify(get) };
    let expiry = get.touch.unwrap_or(item.expiry);
    let due = get.recache.is_some_and(|recache| {
        let expiry = if recache.after_touch { expiry } else { item.expiry };
        expiry != 0 && expiry < recache.before
    });
    let won = !item.won && (due || item.stale);
    let same_version = get.compare == Some(item.cas);
    let outcome = Outcome::Hit(Hit { expiry, won, same_version, ..plain_hit(&item) });
    if expiry == item.expiry && !won {
        return nothing(outcome);
    }
    value(Version { expiry, won: item.won || won, ..unchanged(&item) }, outcome)
}

/// A meta get's miss.
fn vivify<'a>(get: &MetaGet) -> Decision<'a> {
    let Some(expiry) = get.vivify else { return nothing(Outcome::Miss) };
    let cas = new_cas(get.new_cas);
    let hit = Hit {
        cas,
        expiry_before: 0,
        expiry,
        created: true,
        won: true,
        stale: false,
        already_won: false,
        same_version: false,
    };
    let version =
        Version { value: NewValue::Given(b""), flags: 0, expiry, stale: false, won: true, client_cas: get.new_cas };
    value(version, Outcome::Hit(hit))
}

fn store<'a>(store: &Store<'a>, current: Option<Item<'_>>, most_value_bytes: usize) -> Decision<'a> {
    match (store.mode, current) {
        (Mode::Set, _) | (Mode::Add, None) | (Mode::Replace, Some(_)) => put(store, None),
        (Mode::Add, Some(_)) | (Mode::Replace, None) => nothing(Outcome::NotStored),
        (Mode::Cas, None) => nothing(Outcome::NotFound),
        (Mode::Cas, Some(item)) => compare_and_store(store, &item),
        (Mode::Append { vivify } | Mode::Prepend { vivify }, None) => match vivify {
            Some(expiry) => put(&Store { expiry, ..*store }, None),
            None => nothing(Outcome::NotStored),
        },
        (Mode::Append { .. } | Mode::Prepend { .. }, Some(item)) => extend(store, &item, most_value_bytes),
    }
}

/// The store's value; over an item that it makes stale, if one is given.
fn put<'a>(store: &Store<'a>, stale: Option<&Item<'_>>) -> Decision<'a> {
    let version = Version {
        value: NewValue::Given(store.value),
        flags: store.flags,
        expiry: stale.map_or(store.expiry, |item| item.expiry),
        stale: stale.is_some(),
        won: stale.is_some_and(|item| item.won),
        client_cas: store.new_cas,
    };
    value(version, Outcome::Stored { cas: new_cas(store.new_cas), size: store.value.len() })
}

fn compare_and_store<'a>(store: &Store<'a>, item: &Item<'_>) -> Decision<'a> {
    match store.compare.unwrap_or(0) {
        0 => nothing(Outcome::Exists),
        cas if cas == item.cas => put(store, None),
        cas if store.invalidate && cas < item.cas => put(store, Some(item)),
        _ => nothing(Outcome::Exists),
    }
}

/// Append or prepend to an item. The marks go, as the value is new.
fn extend<'a>(store: &Store<'a>, item: &Item<'_>, most_value_bytes: usize) -> Decision<'a> {
    if store.compare.is_some_and(|cas| cas != 0 && cas != item.cas) {
        return nothing(Outcome::Exists);
    }
    let size = item.value.len() + store.value.len();
    if size > most_value_bytes {
        return nothing(Outcome::NotStored);
    }
    let made = match store.mode {
        Mode::Prepend { .. } => [store.value, item.value].concat(),
        _ => [item.value, store.value].concat(),
    };
    let version = Version {
        value: NewValue::Made(made),
        flags: item.flags,
        expiry: item.expiry,
        stale: false,
        won: false,
        client_cas: store.new_cas,
    };
    value(version, Outcome::Stored { cas: new_cas(store.new_cas), size })
}

fn delete<'a>(request: &Delete, current: Option<Item<'_>>) -> Decision<'a> {
    let Some(item) = current else { return nothing(Outcome::NotFound) };
    if request.compare.is_some_and(|cas| cas != item.cas) {
        return nothing(Outcome::Exists);
    }
    if !request.invalidate && !request.drop_value {
        return Decision { append: Append::Delete, outcome: Outcome::Deleted, shown: Vec::new() };
    }
    let mut version = unchanged(&item);
    if request.drop_value {
        version = Version {
            value: NewValue::Given(b""),
            flags: request.flags,
            expiry: request.expiry.unwrap_or(0),
            stale: false,
            won: false,
            client_cas: Some(request.new_cas.unwrap_or(item.cas)),
        };
    }
    if request.invalidate {
        let expiry = request.expiry.unwrap_or(version.expiry);
        version = Version { expiry, stale: true, won: false, client_cas: request.new_cas, ..version };
    }
    value(version, Outcome::Deleted)
}

fn count<'a>(request: &Arithmetic, current: Option<Item<'_>>) -> Decision<'a> {
    let Some(item) = current else { return start_counting(request) };
    if item.value.is_empty() {
        return nothing(Outcome::NonNumeric);
    }
    if request.compare.is_some_and(|cas| cas != 0 && cas != item.cas) {
        return nothing(Outcome::Exists);
    }
    let Some(old) = arithmetic::parse(item.value) else { return nothing(Outcome::NonNumeric) };
    let number = if request.decrement { old.saturating_sub(request.delta) } else { old.wrapping_add(request.delta) };
    let made = arithmetic::print_over(number, item.value.len());
    let in_place = made.len() == item.value.len();
    let expiry = request.touch.unwrap_or(item.expiry);
    let version = Version {
        flags: item.flags,
        expiry,
        stale: item.stale && in_place,
        won: item.won && in_place,
        client_cas: request.new_cas,
        value: NewValue::Made(made),
    };
    let cas = new_cas(request.new_cas);
    value(version, Outcome::Number(Number { value: number, cas, expiry_before: item.expiry, expiry, created: false }))
}

/// A counter's miss.
fn start_counting<'a>(request: &Arithmetic) -> Decision<'a> {
    let Some(expiry) = request.vivify else { return nothing(Outcome::NotFound) };
    let version = Version {
        value: NewValue::Made(arithmetic::print_over(request.initial, 0)),
        flags: 0,
        expiry,
        stale: false,
        won: false,
        client_cas: request.new_cas,
    };
    let cas = new_cas(request.new_cas);
    value(version, Outcome::Number(Number { value: request.initial, cas, expiry_before: 0, expiry, created: true }))
}
