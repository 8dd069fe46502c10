//! How the table is written down.

/// A list of commands: name, words, flags, group, places of keys, handler, summary.
macro_rules! commands {
    ($($name:literal $arity:literal $flags:literal $group:ident ($first:literal $last:literal $step:literal) $handler:expr,
       $summary:literal;)*) => {
        &[$(CommandSpec {
            name: $name,
            arity: $arity,
            flags: $flags,
            group: CommandGroup::$group,
            keys: KeyPlaces { first: $first, last: $last, step: $step },
            handler: $handler,
            summary: $summary,
        }),*]
    };
}
pub(super) use commands;
