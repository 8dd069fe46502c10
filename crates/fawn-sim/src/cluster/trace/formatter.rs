//! Messages in one readable line each.

use std::sync::Arc;

use fawn_kv::ids::{Chain, Incarnation, Member, Position};
use fawn_kv::operation::Operation;
use fawn_kv::range::entry::{Change, Entry, Kept};
use fawn_kv::scan::{Found, Sought};
use fawn_kv::wire::Answer;
use fawn_kv::wire::{Given, Message};

/// Stands for all that managers order nodes.
pub const ORDERS: &str = "orders";

/// Makes the list of names, and the name of a message.
macro_rules! names {
    ($($variant:ident: $name:literal,)*) => {
        /// The names of all messages.
        pub const MESSAGES: [&str; [$($name),*].len()] = [$($name),*];

        /// The message's name.
        pub fn name(message: &Message) -> &'static str {
            match message {
                $(Message::$variant { .. } => $name,)*
            }
        }
    };
}

names! {
    Request: "request",
    Flush: "flush",
    Get: "get",
    Reply: "reply",
    Feed: "feed",
    Have: "have",
    Barrier: "barrier",
    BarrierAt: "barrier-at",
    Copy: "copy",
    CopyPart: "copy-part",
    Fetch: "fetch",
    Fetched: "fetched",
    Hello: "hello",
    Welcome: "welcome",
    Superseded: "superseded",
    Heartbeat: "heartbeat",
    Lease: "lease",
    Learn: "learn",
    Seal: "seal",
    Sealed: "sealed",
    Equalise: "equalise",
    Level: "level",
    Activate: "activate",
    Drop: "drop",
    Ping: "ping",
    Pong: "pong",
    AskView: "ask-view",
    View: "view",
    Fence: "fence",
    FenceHolds: "fence-holds",
    Ask: "ask",
    AskMany: "ask-many",
    AskFlush: "ask-flush",
    FrontHello: "front-hello",
    FrontWelcome: "front-welcome",
    FrontSuperseded: "front-superseded",
    FrontHeartbeat: "front-heartbeat",
    FrontLease: "front-lease",
    Prepare: "prepare",
    Prepared: "prepared",
    OtherCluster: "other-cluster",
    Offer: "offer",
    Adopt: "adopt",
    Occupied: "occupied",
    Farewell: "farewell",
    FrontFarewell: "front-farewell",
    Scan: "scan",
    Scanned: "scanned",
    Relayed: "relayed",
    Probe: "probe",
    Echo: "echo",
    FrontCutOff: "front-cut-off",
    NodeCutOff: "node-cut-off",
}

/// The kind of messages that a word names: one of [`MESSAGES`], or [`ORDERS`].
///
/// # Errors
/// It names none.
pub fn kind(word: &str) -> Result<&'static str, String> {
    let kind = MESSAGES.iter().chain([&ORDERS]).find(|kind| **kind == word);
    kind.copied().ok_or_else(|| format!("no message is called `{word}`"))
}

/// Whether a message is of that kind.
pub fn is_kind(kind: &str, message: &Message) -> bool {
    name(message) == kind || (kind == ORDERS && is_order(message))
}

/// Whether a manager tells a node what to do.
fn is_order(message: &Message) -> bool {
    let activates = matches!(message, Message::Activate { .. } | Message::Drop { .. });
    activates
        || matches!(
            message,
            Message::Learn { .. } | Message::Prepare { .. } | Message::Seal { .. } | Message::Equalise { .. }
        )
}

/// The life of the receiver that the message is for; others do not listen to it.
pub fn life(message: &Message) -> Option<Incarnation> {
    match message {
        Message::Feed { to, .. }
        | Message::Have { to, .. }
        | Message::CopyPart { to, .. }
        | Message::Fetched { to, .. } => Some(*to),
        Message::Lease { incarnation, .. }
        | Message::Learn { incarnation, .. }
        | Message::Prepare { incarnation, .. }
        | Message::Seal { incarnation, .. }
        | Message::Equalise { incarnation, .. }
        | Message::Activate { incarnation, .. }
        | Message::Drop { incarnation, .. } => Some(*incarnation),
        _ => None,
    }
}

/// What the message says, in a line.
pub fn line(message: &Message) -> String {
    let name = name(message);
    let about = message.about().map_or_else(String::new, |(range, _)| format!(" r{}", range.0));
    let rest = match message {
        Message::Request { id, key, operation, .. } => {
            format!("#{} {} {}", id.number, text(key), operation_line(operation))
        }
        Message::Flush { id, .. } | Message::AskFlush { id, .. } => format!("#{}", id.number),
        Message::Get { id, key, .. } => format!("#{} {}", id.number, text(key)),
        Message::Reply { id, answer, .. } => format!("#{} {}", id.number, answer_line(answer)),
        Message::Feed { epoch, entries, mark, .. } => {
            format!("e{} [{}] mark {}", epoch.0, entries_line(entries), mark.0)
        }
        Message::Have { epoch, last, committed, .. } => {
            format!("e{} last {} committed {}", epoch.0, last.0, committed.0)
        }
        Message::Barrier { epoch, number, .. } => format!("e{} barrier {number}", epoch.0),
        Message::BarrierAt { epoch, number, seq, .. } => format!("e{} barrier {number} is {}", epoch.0, seq.0),
        Message::Copy { learner, since, .. } => format!("to {} since {}", member(*learner), since.seq.0),
        Message::CopyPart { since, kept, at, next, .. } => {
            let end = if next.is_none() { "end" } else { "more" };
            format!("since {} [{}] {end} as of {}", since.seq.0, kept_line(kept), place(*at))
        }
        Message::Fetch { learner, committed, attempt, .. } => {
            let attempt = attempt.map_or_else(|| "to follow".into(), |attempt| format!("for a{}", attempt.0));
            format!("to {} {attempt} from {}", member(*learner), place(*committed))
        }
        Message::Fetched { records: Given::TooOld, .. } => "copy what is newer".into(),
        Message::Fetched { records: Given::Another, .. } => "copy everything".into(),
        Message::Fetched { records: Given::Records(records), .. } => {
            format!(
                "common {} [{}] last {}",
                place(records.common),
                entries_line(&records.entries),
                place(records.last)
            )
        }
        Message::Hello { .. }
        | Message::Ping
        | Message::Pong
        | Message::Probe { .. }
        | Message::Echo { .. }
        | Message::AskView { .. }
        | Message::FrontHello { .. }
        | Message::OtherCluster { .. }
        | Message::Offer { .. }
        | Message::Occupied { .. }
        | Message::FrontHeartbeat { .. } => String::new(),
        Message::Adopt { incarnation, range, .. } => format!("life {} r{}", incarnation.0, range.0),
        Message::Welcome { incarnation, .. }
        | Message::Superseded { incarnation }
        | Message::Lease { incarnation, .. }
        | Message::FrontWelcome { incarnation, .. }
        | Message::FrontSuperseded { incarnation } => {
            format!("life {}", incarnation.0)
        }
        Message::Farewell { member: who, .. } | Message::NodeCutOff { member: who } => member(*who),
        Message::FrontFarewell { member } | Message::FrontCutOff { member } => format!("life {}", member.incarnation.0),
        Message::Heartbeat { member: who, silent, .. } => {
            let silent: Vec<String> = silent.iter().map(|node| format!(" no n{}", node.number())).collect();
            format!("{}{}", member(*who), silent.concat())
        }
        Message::Learn { source, .. } => format!("from {}", member(*source)),
        Message::Prepare { attempt, .. } | Message::Seal { attempt, .. } => format!("a{}", attempt.0),
        Message::Sealed { range, attempt, last, synced, .. } => {
            let synced = if *synced { ", synced" } else { "" };
            format!("r{} a{} ends at {}{synced}", range.0, attempt.0, place(*last))
        }
        Message::Equalise { attempt, source, last, .. } => {
            let source = source.map_or_else(|| "nobody".into(), member);
            format!("a{} with {source}, to {}", attempt.0, place(*last))
        }
        Message::Prepared { range, attempt, .. } | Message::Level { range, attempt, .. } => {
            format!("r{} a{}", range.0, attempt.0)
        }
        Message::Activate { attempt, over, chains, .. } => {
            let over: Vec<String> = over.iter().map(|range| format!(" r{} over", range.0)).collect();
            let chains: Vec<String> =
                chains.iter().map(|(range, chain)| format!(" r{} {}", range.0, chain_line(chain))).collect();
            format!("a{}{}{}", attempt.0, over.concat(), chains.concat())
        }
        Message::Drop { range, .. } => format!("r{}", range.0),
        Message::Fence { epoch, .. } => format!("w{}", epoch.0),
        Message::FenceHolds { range, epoch, .. } => format!("r{} w{}", range.0, epoch.0),
        Message::Ask { id, key, operation, .. } => {
            let operation = operation.as_ref().map_or_else(|| "get".into(), |operation| operation_line(operation));
            format!("#{} {} {operation}", id.number, text(key))
        }
        Message::AskMany { id, keys, .. } => format!("#{} {} keys", id.number, keys.len()),
        Message::FrontLease { wedges, .. } => format!("{} wedges", wedges.len()),
        Message::Scan { least, sought, .. } => sought_line(*least, sought),
        Message::Scanned { found, .. } => found_line(found),
        Message::Relayed { to, from, message } => {
            let message = Message::decode(message).map_or_else(|error| error.to_string(), |message| line(&message));
            format!("{from:?} to {to:?}: {message}")
        }
        Message::View { number, chains, .. } => format!("{number}: {} chains", chains.len()),
    };
    format!("{name}{about} {rest}").trim_end().to_owned()
}

fn sought_line(least: Position, sought: &Sought) -> String {
    match sought {
        Sought::Part { since, .. } => format!("part since {} seen {}", place(*since), place(least)),
        Sought::Records { after } => format!("records after {} seen {}", place(*after), place(least)),
    }
}

fn found_line(found: &Found) -> String {
    match found {
        Found::Part { kept, next, at, upto } => {
            let end = if next.is_none() { "end" } else { "more" };
            format!("[{}] {end} as of {} to {}", kept_line(kept), place(*at), place(*upto))
        }
        Found::Records { kept, upto, ended } => {
            let end = if ended.is_some() { "end" } else { "more" };
            format!("[{}] {end} to {}", kept_line(kept), place(*upto))
        }
        other => format!("{other:?}").to_lowercase(),
    }
}

fn kept_line(kept: &[Kept]) -> String {
    let keys: Vec<String> = kept.iter().map(|kept| format!("{}@{}", text(&kept.key), kept.position.seq.0)).collect();
    keys.join(" ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn place(position: Position) -> String {
    format!("{}.{}", position.epoch.0, position.seq.0)
}

fn member(member: Member) -> String {
    if member.incarnation.0 == 1 {
        format!("n{}", member.node.number())
    } else {
        format!("n{}'{}", member.node.number(), member.incarnation.0)
    }
}

fn chain_line(chain: &Chain) -> String {
    let members: Vec<String> = chain.members.iter().map(|one| member(*one)).collect();
    format!("e{} {} from {}", chain.epoch.0, members.join(">"), chain.first.0)
}

fn operation_line(operation: &[u8]) -> String {
    match postcard::from_bytes::<Operation<'_>>(operation) {
        Ok(Operation::Store(store)) => {
            let compare = store.compare.map_or_else(String::new, |cas| format!(" cas {cas}"));
            format!("{:?} {}{compare}", store.mode, text(store.value)).to_lowercase()
        }
        Ok(Operation::Delete(_)) => "delete".into(),
        Ok(_) => "changes".into(),
        Err(_) => "unreadable".into(),
    }
}

fn answer_line(answer: &Answer) -> String {
    match answer {
        Answer::Done { outcome, position, shown, .. } => {
            let debug = format!("{outcome:?}");
            let word = debug.split([' ', '(']).next().unwrap_or_default().to_lowercase();
            let shown = shown.as_ref().map(|shown| format!(" {}", text(&shown.value))).unwrap_or_default();
            format!("{word}{shown} {}", place(*position))
        }
        Answer::Found(Some(kept)) => match &kept.version {
            Some(version) => format!("value {} of {}", text(&version.value), place(kept.position)),
            None => "nothing".into(),
        },
        Answer::Found(None) => "nothing".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn entries_line(entries: &[Arc<Entry>]) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| entry_line(entry)).collect();
    entries.join(", ")
}

fn entry_line(entry: &Entry) -> String {
    let what = match &entry.change {
        Change::Value(version) => format!("{}={}", text(&entry.key), text(&version.value)),
        Change::Delete => format!("{} deleted", text(&entry.key)),
        Change::Nothing => "nothing".into(),
        Change::Fence { epoch, .. } => format!("fence w{}", epoch.0),
        Change::Begin { .. } => "begin".into(),
        Change::Flush { .. } => "flush".into(),
        Change::Expire { .. } => "expire".into(),
    };
    format!("{} {what}", place(entry.position))
}
