//! From edit and item to decision.

use super::decision::nothing;
use super::editor::Editor;
use super::{Decision, Edit, EditError, EditKind, Item, Outcome};

/// Decides an edit against the key's `current` item; `most_value_bytes` bounds the new value.
pub(super) fn evaluate<'a>(edit: &Edit<'a>, current: Option<Item<'_>>, most_value_bytes: usize) -> Decision<'a> {
    let editor = Editor { current, most_value_bytes };
    decide(edit, editor).unwrap_or_else(|error| nothing(Outcome::Refused(error)))
}

fn decide<'a>(edit: &Edit<'a>, editor: Editor<'_>) -> Result<Decision<'a>, EditError> {
    let argument = edit.argument;
    match edit.kind {
        EditKind::Put { condition, expiry, show } => editor.put(argument, condition, expiry, show),
        EditKind::Take => editor.take(),
        EditKind::Append => editor.append(argument),
        EditKind::Overwrite { place } => editor.overwrite(argument, place),
        EditKind::SetBit { place, is_set } => editor.set_bit(place, is_set),
        EditKind::BitFields => editor.run_bit_fields(argument),
        EditKind::Add { delta } => editor.add(delta),
        EditKind::AddFloat => editor.add_float(argument),
        EditKind::Expire { expiry, condition } => Ok(editor.expire(expiry, condition)),
        EditKind::ShowAndExpire { expiry } => editor.show_and_expire(expiry),
        EditKind::SetFields { only_absent } => editor.set_fields(argument, only_absent),
        EditKind::RemoveFields => editor.remove_fields(argument),
        EditKind::AddToField { delta } => editor.add_to_field(argument, delta),
        EditKind::AddFloatToField => editor.add_float_to_field(argument),
    }
}
