//! Commands of a connection, of transactions and of Redis Cluster.

use super::entry::commands;
use crate::protocol::redis::spec::Handler::{Container, Own, Refused, Table};
use crate::protocol::redis::spec::{CommandGroup, CommandSpec, KeyPlaces};
use crate::protocol::redis::{client, command, connection, refusals};

/// The commands.
pub static COMMANDS: &[CommandSpec] = commands! {
    "multi" 1 "noscript loading stale fast allow_busy" Transactions (0 0 0) Refused(refusals::TRANSACTIONS),
        "Mark the start of a transaction block";
    "exec" 1 "noscript loading stale skip_slowlog" Transactions (0 0 0) Refused(refusals::TRANSACTIONS),
        "Execute all commands issued after MULTI";
    "discard" 1 "noscript loading stale fast allow_busy" Transactions (0 0 0) Refused(refusals::TRANSACTIONS),
        "Discard all commands issued after MULTI";
    "watch" -2 "noscript loading stale fast allow_busy" Transactions (1 -1 1) Refused(refusals::TRANSACTIONS),
        "Watch the given keys to determine execution of the MULTI/EXEC block";
    "unwatch" 1 "noscript loading stale fast allow_busy" Transactions (0 0 0) Refused(refusals::TRANSACTIONS),
        "Forget about all watched keys";
    "select" 2 "loading stale fast" Connection (0 0 0) Own(connection::select),
        "Change the selected database for the current connection";
    "ping" -1 "fast" Connection (0 0 0) Own(connection::ping),
        "Ping the server";
    "echo" 2 "loading stale fast" Connection (0 0 0) Own(connection::echo),
        "Echo the given string";
    "hello" -1 "noscript loading stale fast no_auth allow_busy" Connection (0 0 0) Own(connection::hello),
        "Handshake with Redis";
    "auth" -2 "noscript loading stale fast no_auth allow_busy" Connection (0 0 0) Own(connection::auth),
        "Authenticate to the server";
    "quit" -1 "noscript loading stale fast no_auth allow_busy" Connection (0 0 0) Own(connection::quit),
        "Close the connection";
    "reset" 1 "noscript loading stale fast no_auth allow_busy" Connection (0 0 0) Own(connection::reset),
        "Reset the connection";
    "client" -2 "" Connection (0 0 0) Container,
        "A container for client connection commands";
    "client|setname" 3 "noscript loading stale" Connection (0 0 0) Own(client::setname),
        "Set the current connection name";
    "client|kill" -3 "admin noscript loading stale" Connection (0 0 0) Refused(refusals::OTHER_CLIENTS),
        "Kill the connection of a client";
    "client|unpause" 2 "admin noscript loading stale" Connection (0 0 0) Refused(refusals::OTHER_CLIENTS),
        "Resume processing of clients that were paused";
    "client|getredir" 2 "noscript loading stale" Connection (0 0 0) Own(client::getredir),
        "Get tracking notifications redirection client ID if any";
    "client|list" -2 "admin noscript loading stale" Connection (0 0 0) Own(client::list),
        "Get the list of client connections";
    "client|pause" -3 "admin noscript loading stale" Connection (0 0 0) Refused(refusals::OTHER_CLIENTS),
        "Stop processing commands from clients for some time";
    "client|trackinginfo" 2 "noscript loading stale" Connection (0 0 0) Own(client::trackinginfo),
        "Return information about server assisted client side caching for the current connection";
    "client|info" 2 "noscript loading stale" Connection (0 0 0) Own(client::info),
        "Returns information about the current client connection";
    "client|reply" 3 "noscript loading stale" Connection (0 0 0) Own(client::reply),
        "Instruct the server whether to reply to commands";
    "client|no-evict" 3 "admin noscript loading stale" Connection (0 0 0) Own(client::no_evict),
        "Set client eviction mode for the current connection";
    "client|id" 2 "noscript loading stale" Connection (0 0 0) Own(client::id),
        "Returns the client ID for the current connection";
    "client|getname" 2 "noscript loading stale" Connection (0 0 0) Own(client::getname),
        "Get the current connection name";
    "client|unblock" -3 "admin noscript loading stale" Connection (0 0 0) Own(client::unblock),
        "Unblock a client blocked in a blocking command from a different connection";
    "client|tracking" -3 "noscript loading stale" Connection (0 0 0) Own(client::tracking),
        "Enable or disable server assisted client side caching support";
    "client|help" 2 "loading stale" Connection (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "client|caching" 3 "noscript loading stale" Connection (0 0 0) Refused(refusals::TRACKING),
        "Instruct the server about tracking or not keys in the next request";
    "cluster" -2 "" Cluster (0 0 0) Container,
        "A container for cluster commands";
    "cluster|keyslot" 3 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Returns the hash slot of the specified key";
    "cluster|help" 2 "loading stale" Cluster (0 0 0) Table(command::help),
        "Show helpful text about the different subcommands";
    "cluster|countkeysinslot" 3 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Return the number of local keys in the specified hash slot";
    "cluster|slots" 2 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Get array of Cluster slot to node mappings";
    "cluster|info" 2 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Provides info about Redis Cluster node state";
    "cluster|shards" 2 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Get array of cluster slots to node mappings";
    "cluster|myid" 2 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Return the node id";
    "cluster|nodes" 2 "stale" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Get Cluster config for the node";
    "readonly" 1 "loading stale fast" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Enables read queries for a connection to a cluster replica node";
    "readwrite" 1 "loading stale fast" Cluster (0 0 0) Refused(refusals::NO_CLUSTER),
        "Disables read queries for a connection to a cluster replica node";
    "client|setinfo" 4 "noscript loading stale" Connection (0 0 0) Own(client::setinfo),
        "Set information specific to the client or connection";
    "client|no-touch" 3 "noscript loading stale" Connection (0 0 0) Own(client::no_touch),
        "Controls whether commands sent by the client affect the LRU/LFU of accessed keys";
};
