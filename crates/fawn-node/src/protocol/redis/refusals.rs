//! Why some commands of Redis are refused.

pub const SEVERAL_KEYS: &str =
    "ERR this command is not supported: it changes several keys at once, and those may be on different nodes";
pub const TRANSACTIONS: &str = "ERR transactions are not supported: the keys of one may be on different nodes, so use single commands, which are atomic";
pub const SHUTDOWN: &str = "ERR clients cannot stop this server: send its process SIGTERM";
pub const ONE_DATABASE: &str = "ERR this command is not supported: there is one database, number 0";
pub const DUMP: &str = "ERR DUMP and RESTORE are not supported: use 'fawn dump' and 'fawn load', or GET and HGETALL";
pub const SORT: &str = "ERR SORT is not supported: there are no lists and sets to sort";
pub const DEBUG: &str = "ERR DEBUG is not supported: this server has no debugging commands for clients";
pub const OTHER_CLIENTS: &str =
    "ERR a client cannot stop or close other clients of this server: stop them where they run";
pub const TRACKING: &str = "ERR client side caching is not supported: the server does not remember what clients read, so turn it off in the client";
pub const MEMORY: &str = "ERR this report is not supported: see INFO memory, or the metrics of the server";
pub const LATENCY: &str = "ERR latencies are not recorded by event: see the metrics of the server";
pub const MODULES: &str = "ERR modules are not supported: this server loads no code";
pub const NO_CLUSTER: &str = "ERR This instance has cluster support disabled";
pub const EMPTY_KEY: &str = "ERR a key must have 1 to 65535 bytes, and this one is empty";
pub const LONG_KEY: &str = "ERR a key must have 1 to 65535 bytes, and this one has more";
