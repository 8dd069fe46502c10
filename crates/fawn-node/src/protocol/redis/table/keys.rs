//! Commands on keys: strings, bits, hashes, and what goes for all.

use super::entry::commands;
use crate::protocol::redis::spec::Handler::{Container, Key, Line, Own, Refused, Table};
use crate::protocol::redis::spec::{CommandGroup, CommandSpec, KeyPlaces, LineKind};
use crate::protocol::redis::{bit_fields, bits, command, expiry, hashes, keys, moves, refusals, scan, server, strings};

/// The commands.
pub static COMMANDS: &[CommandSpec] = commands! {
    "get" 2 "readonly fast" String (1 1 1) Key(strings::get),
        "Get the value of a key";
    "set" -3 "write denyoom" String (1 1 1) Key(strings::set),
        "Set the string value of a key";
    "setnx" 3 "write denyoom fast" String (1 1 1) Key(strings::setnx),
        "Set the value of a key, only if the key does not exist";
    "setex" 4 "write denyoom" String (1 1 1) Key(strings::setex),
        "Set the value and expiration of a key";
    "psetex" 4 "write denyoom" String (1 1 1) Key(strings::psetex),
        "Set the value and expiration in milliseconds of a key";
    "getset" 3 "write denyoom fast" String (1 1 1) Key(strings::getset),
        "Set the string value of a key and return its old value";
    "getdel" 2 "write fast" String (1 1 1) Key(strings::getdel),
        "Get the value of a key and delete the key";
    "getex" -2 "write fast" String (1 1 1) Key(strings::getex),
        "Get the value of a key and optionally set its expiration";
    "append" 3 "write denyoom fast" String (1 1 1) Key(strings::append),
        "Append a value to a key";
    "strlen" 2 "readonly fast" String (1 1 1) Key(strings::strlen),
        "Get the length of the value stored in a key";
    "getrange" 4 "readonly" String (1 1 1) Key(strings::getrange),
        "Get a substring of the string stored at a key";
    "substr" 4 "readonly" String (1 1 1) Key(strings::getrange),
        "Get a substring of the string stored at a key";
    "setrange" 4 "write denyoom" String (1 1 1) Key(strings::setrange),
        "Overwrite part of a string at key starting at the specified offset";
    "incr" 2 "write denyoom fast" String (1 1 1) Key(strings::incr),
        "Increment the integer value of a key by one";
    "incrby" 3 "write denyoom fast" String (1 1 1) Key(strings::incrby),
        "Increment the integer value of a key by the given amount";
    "incrbyfloat" 3 "write denyoom fast" String (1 1 1) Key(strings::incrbyfloat),
        "Increment the float value of a key by the given amount";
    "decr" 2 "write denyoom fast" String (1 1 1) Key(strings::decr),
        "Decrement the integer value of a key by one";
    "decrby" 3 "write denyoom fast" String (1 1 1) Key(strings::decrby),
        "Decrement the integer value of a key by the given number";
    "expire" -3 "write fast" Generic (1 1 1) Key(expiry::expire),
        "Set a key's time to live in seconds";
    "pexpire" -3 "write fast" Generic (1 1 1) Key(expiry::pexpire),
        "Set a key's time to live in milliseconds";
    "expireat" -3 "write fast" Generic (1 1 1) Key(expiry::expireat),
        "Set the expiration for a key as a UNIX timestamp";
    "pexpireat" -3 "write fast" Generic (1 1 1) Key(expiry::pexpireat),
        "Set the expiration for a key as a UNIX timestamp specified in milliseconds";
    "ttl" 2 "readonly fast" Generic (1 1 1) Key(expiry::ttl),
        "Get the time to live for a key in seconds";
    "pttl" 2 "readonly fast" Generic (1 1 1) Key(expiry::pttl),
        "Get the time to live for a key in milliseconds";
    "expiretime" 2 "readonly fast" Generic (1 1 1) Key(expiry::expiretime),
        "Get the expiration Unix timestamp for a key";
    "pexpiretime" 2 "readonly fast" Generic (1 1 1) Key(expiry::pexpiretime),
        "Get the expiration Unix timestamp for a key in milliseconds";
    "persist" 2 "write fast" Generic (1 1 1) Key(expiry::persist),
        "Remove the expiration from a key";
    "type" 2 "readonly fast" Generic (1 1 1) Key(keys::type_of),
        "Determine the type stored at key";
    "setbit" 4 "write denyoom" Bitmap (1 1 1) Key(bits::setbit),
        "Sets or clears the bit at offset in the string value stored at key";
    "getbit" 3 "readonly fast" Bitmap (1 1 1) Key(bits::getbit),
        "Returns the bit value at offset in the string value stored at key";
    "bitcount" -2 "readonly" Bitmap (1 1 1) Key(bits::bitcount),
        "Count set bits in a string";
    "bitpos" -3 "readonly" Bitmap (1 1 1) Key(bits::bitpos),
        "Find first bit set or clear in a string";
    "bitfield" -2 "write denyoom" Bitmap (1 1 1) Key(bit_fields::bitfield),
        "Perform arbitrary bitfield integer operations on strings";
    "bitfield_ro" -2 "readonly fast" Bitmap (1 1 1) Key(bit_fields::bitfield_ro),
        "Perform arbitrary bitfield integer operations on strings. Read-only variant of BITFIELD";
    "hset" -4 "write denyoom fast" Hash (1 1 1) Key(hashes::hset),
        "Set the string value of a hash field";
    "hmset" -4 "write denyoom fast" Hash (1 1 1) Key(hashes::hmset),
        "Set multiple hash fields to multiple values";
    "hsetnx" 4 "write denyoom fast" Hash (1 1 1) Key(hashes::hsetnx),
        "Set the value of a hash field, only if the field does not exist";
    "hget" 3 "readonly fast" Hash (1 1 1) Key(hashes::hget),
        "Get the value of a hash field";
    "hmget" -3 "readonly fast" Hash (1 1 1) Key(hashes::hmget),
        "Get the values of all the given hash fields";
    "hgetall" 2 "readonly" Hash (1 1 1) Key(hashes::hgetall),
        "Get all the fields and values in a hash";
    "hdel" -3 "write fast" Hash (1 1 1) Key(hashes::hdel),
        "Delete one or more hash fields";
    "hlen" 2 "readonly fast" Hash (1 1 1) Key(hashes::hlen),
        "Get the number of fields in a hash";
    "hexists" 3 "readonly fast" Hash (1 1 1) Key(hashes::hexists),
        "Determine if a hash field exists";
    "hkeys" 2 "readonly" Hash (1 1 1) Key(hashes::hkeys),
        "Get all the fields in a hash";
    "hvals" 2 "readonly" Hash (1 1 1) Key(hashes::hvals),
        "Get all the values in a hash";
    "hincrby" 4 "write denyoom fast" Hash (1 1 1) Key(hashes::hincrby),
        "Increment the integer value of a hash field by the given number";
    "hincrbyfloat" 4 "write denyoom fast" Hash (1 1 1) Key(hashes::hincrbyfloat),
        "Increment the float value of a hash field by the given amount";
    "hscan" -3 "readonly" Hash (1 1 1) Key(hashes::hscan),
        "Incrementally iterate hash fields and associated values";
    "hstrlen" 3 "readonly fast" Hash (1 1 1) Key(hashes::hstrlen),
        "Get the length of the value of a hash field";
    "hrandfield" -2 "readonly" Hash (1 1 1) Key(hashes::hrandfield),
        "Get one or multiple random fields from a hash";
    "object" -2 "" Generic (0 0 0) Container,
        "A container for object introspection commands";
    "object|help" 2 "loading stale" Generic (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "object|encoding" 3 "readonly" Generic (2 2 1) Key(keys::encoding),
        "Inspect the internal encoding of a Redis object";
    "object|idletime" 3 "readonly" Generic (2 2 1) Key(keys::idletime),
        "Get the time since a Redis object was last accessed";
    "object|freq" 3 "readonly" Generic (2 2 1) Key(keys::freq),
        "Get the logarithmic access frequency counter of a Redis object";
    "object|refcount" 3 "readonly" Generic (2 2 1) Key(keys::refcount),
        "Get the number of references to the value of the key";
    "mget" -2 "readonly fast" String (1 -1 1) Line(LineKind::Get),
        "Get the values of all the given keys";
    "mset" -3 "write denyoom" String (1 -1 2) Line(LineKind::Set),
        "Set multiple keys to multiple values";
    "del" -2 "write" Generic (1 -1 1) Line(LineKind::Delete),
        "Delete a key";
    "unlink" -2 "write fast" Generic (1 -1 1) Line(LineKind::Delete),
        "Delete a key asynchronously in another thread. Otherwise it is just as DEL, but non blocking";
    "exists" -2 "readonly fast" Generic (1 -1 1) Line(LineKind::Count),
        "Determine if a key exists";
    "touch" -2 "readonly fast" Generic (1 -1 1) Line(LineKind::Count),
        "Alters the last access time of a key(s). Returns the number of existing keys specified";
    "msetnx" -3 "write denyoom" String (1 -1 2) Refused(refusals::SEVERAL_KEYS),
        "Set multiple keys to multiple values, only if none of the keys exist";
    "rename" 3 "write" Generic (1 2 1) Own(moves::rename),
        "Rename a key";
    "renamenx" 3 "write fast" Generic (1 2 1) Own(moves::renamenx),
        "Rename a key, only if the new key does not exist";
    "copy" -3 "write denyoom" Generic (1 2 1) Own(moves::copy),
        "Copy a key";
    "dump" 2 "readonly" Generic (1 1 1) Refused(refusals::DUMP),
        "Return a serialized version of the value stored at the specified key";
    "restore" -4 "write denyoom dangerous" Generic (1 1 1) Refused(refusals::DUMP),
        "Create a key using the provided serialized value, previously obtained using DUMP";
    "sort" -2 "write denyoom movablekeys dangerous" Generic (1 1 1) Refused(refusals::SORT),
        "Sort the elements in a list, set or sorted set";
    "sort_ro" -2 "readonly movablekeys dangerous" Generic (1 1 1) Refused(refusals::SORT),
        "Sort the elements in a list, set or sorted set. Read-only variant of SORT";
    "wait" 3 "noscript" Generic (0 0 0) Own(server::wait),
        "Wait for the synchronous replication of all the write commands sent in the context of the current connection";
    "scan" -2 "readonly" Generic (0 0 0) Own(scan::scan),
        "Incrementally iterate the keys space";
    "keys" 2 "readonly dangerous" Generic (0 0 0) Own(scan::keys),
        "Find all keys matching the given pattern";
    "randomkey" 1 "readonly" Generic (0 0 0) Own(scan::randomkey),
        "Return a random key from the keyspace";
    "move" 3 "write fast" Generic (1 1 1) Refused(refusals::ONE_DATABASE),
        "Move a key to another database";
};
