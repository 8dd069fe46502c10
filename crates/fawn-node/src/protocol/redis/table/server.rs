//! Commands of the server.

use super::entry::commands;
use crate::protocol::redis::spec::Handler::{Container, Key, Own, Refused, Table};
use crate::protocol::redis::spec::{CommandGroup, CommandSpec, KeyPlaces};
use crate::protocol::redis::{command, config, keys, refusals, server};

/// The commands.
pub static COMMANDS: &[CommandSpec] = commands! {
    "memory" -2 "" Server (0 0 0) Container,
        "A container for memory diagnostics commands";
    "memory|doctor" 2 "" Server (0 0 0) Refused(refusals::MEMORY),
        "Outputs memory problems report";
    "memory|purge" 2 "" Server (0 0 0) Refused(refusals::MEMORY),
        "Ask the allocator to release memory";
    "memory|stats" 2 "" Server (0 0 0) Refused(refusals::MEMORY),
        "Show memory usage details";
    "memory|usage" -3 "readonly" Server (2 2 1) Key(keys::memory_usage),
        "Estimate the memory usage of a key";
    "memory|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "memory|malloc-stats" 2 "" Server (0 0 0) Refused(refusals::MEMORY),
        "Show allocator internal stats";
    "shutdown" -1 "admin noscript loading stale no_multi allow_busy" Server (0 0 0) Refused(refusals::SHUTDOWN),
        "Synchronously save the dataset to disk and then shut down the server";
    "swapdb" 3 "write fast dangerous" Server (0 0 0) Refused(refusals::ONE_DATABASE),
        "Swaps two Redis databases";
    "command" -1 "loading stale" Server (0 0 0) Table(command::all),
        "Get array of Redis command details";
    "command|getkeys" -4 "loading stale" Server (0 0 0) Table(command::getkeys),
        "Extract keys given a full Redis command";
    "command|list" -2 "loading stale" Server (0 0 0) Table(command::list),
        "Get an array of Redis command names";
    "command|count" 2 "loading stale" Server (0 0 0) Table(command::count),
        "Get total number of Redis commands";
    "command|docs" -2 "loading stale" Server (0 0 0) Table(command::docs),
        "Get array of specific Redis command documentation";
    "command|info" -2 "loading stale" Server (0 0 0) Table(command::info),
        "Get array of specific Redis command details, or all when no argument is given";
    "command|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "config" -2 "" Server (0 0 0) Container,
        "A container for server configuration commands";
    "config|resetstat" 2 "admin noscript loading stale" Server (0 0 0) Own(config::resetstat),
        "Reset the stats returned by INFO";
    "config|rewrite" 2 "admin noscript loading stale" Server (0 0 0) Own(config::rewrite),
        "Rewrite the configuration file with the in memory configuration";
    "config|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "config|get" -3 "admin noscript loading stale" Server (0 0 0) Own(config::get),
        "Get the values of configuration parameters";
    "config|set" -4 "admin noscript loading stale" Server (0 0 0) Own(config::set),
        "Set configuration parameters to the given values";
    "latency" -2 "" Server (0 0 0) Container,
        "A container for latency diagnostics commands";
    "latency|histogram" -2 "admin noscript loading stale" Server (0 0 0) Own(server::empty_map),
        "Return the cumulative distribution of latencies of a subset of commands or all";
    "latency|doctor" 2 "admin noscript loading stale" Server (0 0 0) Refused(refusals::LATENCY),
        "Return a human readable latency analysis report";
    "latency|graph" 3 "admin noscript loading stale" Server (0 0 0) Refused(refusals::LATENCY),
        "Return a latency graph for the event";
    "latency|latest" 2 "admin noscript loading stale" Server (0 0 0) Own(server::nothing),
        "Return the latest latency samples for all events";
    "latency|reset" -2 "admin noscript loading stale" Server (0 0 0) Own(server::zero),
        "Reset latency data for one or more events";
    "latency|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "latency|history" 3 "admin noscript loading stale" Server (0 0 0) Own(server::nothing),
        "Return timestamp-latency samples for the event";
    "slowlog" -2 "" Server (0 0 0) Container,
        "A container for slow log commands";
    "slowlog|len" 2 "admin loading stale" Server (0 0 0) Own(server::zero),
        "Get the slow log's length";
    "slowlog|reset" 2 "admin loading stale" Server (0 0 0) Own(server::ok),
        "Clear all entries from the slow log";
    "slowlog|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "slowlog|get" -2 "admin loading stale" Server (0 0 0) Own(server::nothing),
        "Get the slow log's entries";
    "module" -2 "" Server (0 0 0) Container,
        "A container for module commands";
    "module|load" -3 "admin noscript no_async_loading" Server (0 0 0) Refused(refusals::MODULES),
        "Load a module";
    "module|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "module|list" 2 "admin noscript" Server (0 0 0) Own(server::nothing),
        "List all modules loaded by the server";
    "module|unload" 3 "admin noscript no_async_loading" Server (0 0 0) Refused(refusals::MODULES),
        "Unload a module";
    "time" 1 "loading stale fast" Server (0 0 0) Own(server::time),
        "Return the current server time";
    "acl" -2 "" Server (0 0 0) Container,
        "A container for Access List Control commands";
    "acl|whoami" 2 "noscript loading stale" Server (0 0 0) Own(server::whoami),
        "Return the name of the user associated to the current connection";
    "acl|help" 2 "loading stale" Server (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "debug" -2 "admin noscript loading stale" Server (0 0 0) Refused(refusals::DEBUG),
        "A container for debugging commands";
    "function" -2 "" Scripting (0 0 0) Container,
        "A container for function commands";
    "function|flush" -2 "write noscript" Scripting (0 0 0) Own(server::ok),
        "Deleting all functions";
    "function|list" -2 "noscript" Scripting (0 0 0) Own(server::nothing),
        "List information about all the functions";
    "function|help" 2 "loading stale" Scripting (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "flushall" -1 "write dangerous" Server (0 0 0) Own(server::flush),
        "Remove all keys from all databases";
    "flushdb" -1 "write dangerous" Server (0 0 0) Own(server::flush),
        "Remove all keys from the current database";
    "dbsize" 1 "readonly fast" Server (0 0 0) Own(server::dbsize),
        "Return the number of keys in the selected database";
    "info" -1 "loading stale dangerous" Server (0 0 0) Own(server::info),
        "Get information and statistics about the server";
    "role" 1 "noscript loading stale fast dangerous" Server (0 0 0) Own(server::role),
        "Return the role of the instance in the context of replication";
};
