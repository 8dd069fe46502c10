//! The one table of commands: what carries each out, how many words it has, where its keys are, and what `COMMAND` says of it.

mod connection;
mod entry;
mod keys;
mod server;

use super::spec::CommandTable;
use std::sync::LazyLock;

/// All commands.
pub static TABLE: LazyLock<CommandTable> = LazyLock::new(|| {
    CommandTable::new(keys::COMMANDS.iter().chain(connection::COMMANDS).chain(server::COMMANDS).collect())
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::redis::spec::{Handler, MOST_NAME_BYTES};

    #[test]
    fn each_command_is_found_by_its_name() {
        for spec in TABLE.everything() {
            assert!(std::ptr::eq(TABLE.find(spec.name.to_uppercase().as_bytes()).unwrap(), spec), "{}", spec.name);
            assert!(spec.name.len() <= MOST_NAME_BYTES);
            if let Some((container, _)) = spec.name.split_once('|') {
                assert!(TABLE.find(container.as_bytes()).unwrap().has_subcommands(), "{}", spec.name);
            }
            let has_key = matches!(spec.handler, Handler::Key(_) | Handler::Line(_));
            assert!(!has_key || spec.keys.first > 0, "{}", spec.name);
        }
        for name in [&b""[..], b"nope", &[b'x'; 100]] {
            assert!(TABLE.find(name).is_none());
        }
    }

    #[test]
    fn keys_are_where_the_table_says() {
        let places = |name: &str, words| TABLE.find(name.as_bytes()).unwrap().key_places(words).collect::<Vec<_>>();
        assert_eq!(places("get", 2), [1]);
        assert_eq!(places("mset", 7), [1, 3, 5]);
        assert_eq!(places("mget", 3), [1, 2]);
        assert_eq!(places("object|encoding", 3), [2]);
        assert_eq!(places("ping", 2), [0; 0]);
    }
}
