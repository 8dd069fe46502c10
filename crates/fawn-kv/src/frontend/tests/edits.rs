//! What becomes of what is known of a key when a part of its value is changed.

use super::*;
use crate::operation::{Edit, EditError, EditKind, ExpiryCondition, PutCondition};
use crate::range::entry::Shown;

/// An edit, what it came to, and what was shown.
fn edits() -> Vec<(EditKind, Outcome, Option<Shown>)> {
    let shown = Some(Shown { value: b"v".to_vec(), flags: 0 });
    let put = EditKind::Put { condition: PutCondition::Always, expiry: Some(0), show: false };
    vec![
        (EditKind::Add { delta: 1 }, Outcome::Integer(2), None),
        (EditKind::Take, Outcome::Computed, shown),
        (put, Outcome::Stored { cas: Cas::Appended, size: 1 }, None),
        (EditKind::Expire { expiry: 1, condition: ExpiryCondition::Always }, Outcome::Integer(1), None),
        (EditKind::Append, Outcome::Refused(EditError::WrongType), None),
    ]
}

#[test]
fn what_is_cached_or_under_way_of_a_key_is_not_shown_after_an_edit_of_it() {
    for (kind, outcome, shown) in edits() {
        for again in [false, true] {
            let mut bench = Bench::serving();
            let miss = bench.miss("k");
            bench.reply(&miss, found("k", "v", 5));
            assert_eq!(bench.cached("k"), Some(found("k", "v", 5)));
            let operation = Operation::Edit(Edit { kind, argument: b"w" });
            let edit = asked(&bench.ask("k", Some(&operation)));
            assert_eq!(bench.cached("k"), Some(found("k", "v", 5)), "until it is answered it may come later");
            let shown = shown.clone().filter(|_| !again);
            let done = Answer::Done { outcome, position: at(6), again, shown };
            assert_eq!(answers(&bench.reply(&edit, done.clone())), [done]);
            let late = bench.miss("k");
            // An answer from before the edit comes last.
            let edit = asked(&bench.ask("k", Some(&operation)));
            bench.reply(&edit, Answer::Done { outcome, position: at(8), again: false, shown: None });
            bench.reply(&late, found("k", "v", 7));
            bench.miss("k");
        }
    }
}
