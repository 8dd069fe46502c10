//! `fawn status`: who is in a cluster, what they have, and what moves.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use comfy_table::{Cell, Color, Table, presets};
use fawn_kv::ids::{Ack, SeatId};
use fawn_kv::manager::Standing;
use fawn_kv::manager::roster::{Member, NodeClass};
use fawn_kv::status::unserved::{SILENT_MS, UnservedRanges};
use fawn_kv::status::{LinkFigures, ManagerStatus, RangeStatus, Role, SeatFigures, SeatStatus, Status};
use fawn_ring::Interval;
use serde_json::{Value, json};

mod totals;

use totals::{Totals, grouped};

use super::arguments::StatusArguments;
use crate::consistency::consistency_told;
use crate::outcome::CommandStatus;
use crate::tell::unless_closed;
use crate::values::Size;

/// Seats tell the managers how they do once a second.
const REPORTED: Duration = Duration::from_millis(1100);

/// Prints how a cluster does.
pub fn run(arguments: &StatusArguments) -> anyhow::Result<CommandStatus> {
    let mut before: Option<TimedStatus> = None;
    loop {
        let mut seen = TimedStatus::now(arguments)?;
        let copies = || !arguments.check && copied(&seen.status).next().is_some();
        if before.is_none() && (copies() || !seen.status.unserved().is_empty()) {
            // How fast they are shows only in what comes, and what nobody serves only if that lasts.
            std::thread::sleep(REPORTED);
            let now = TimedStatus::now(arguments)?;
            before = Some(std::mem::replace(&mut seen, now));
        }
        let since = |before: &TimedStatus| {
            let seconds = seen.at.duration_since(before.at).as_secs_f64();
            rates(&copied(&before.status).collect(), copied(&seen.status), seconds)
        };
        let rates = before.as_ref().map(since).unwrap_or_default();
        let unserved = seen.status.unserved();
        let unserved = match &before {
            Some(before) => unserved.that_were_before(&before.status.unserved()),
            None => unserved,
        };
        let (line, is_well) = check(&seen.status, &unserved);
        let told = if arguments.check && !arguments.json {
            line
        } else if arguments.json {
            format!("{}\n", json(&seen.status, &unserved, &rates))
        } else {
            text(&seen.status, &unserved, &rates, arguments.ranges)
        };
        let mut out = std::io::stdout().lock();
        if arguments.watch && !arguments.json && out.is_terminal() {
            // From the top left, and nothing of the last time.
            unless_closed(out.write_all(b"\x1b[H\x1b[J"))?;
        }
        // A reader that has gone ends this; `main` knows that from a failure.
        out.write_all(told.as_bytes())?;
        out.flush()?;
        drop(out);
        if !arguments.watch {
            return Ok(if is_well || !arguments.check { CommandStatus::Done } else { CommandStatus::Missing });
        }
        before = Some(seen);
        std::thread::sleep(arguments.every.0);
    }
}

/// A status, and when it was asked for.
struct TimedStatus {
    at: Instant,
    status: Status,
}

impl TimedStatus {
    fn now(arguments: &StatusArguments) -> anyhow::Result<Self> {
        Ok(Self { at: Instant::now(), status: arguments.managers.status()? })
    }
}

/// Bytes a second that come to seats by copies.
type Rates = BTreeMap<SeatId, u64>;

/// A copy that comes to a seat: of which range.
type Copy = (SeatId, u32);

/// The copies that come in, and their bytes so far.
fn copied(status: &Status) -> impl Iterator<Item = (Copy, u64)> {
    let figures = status.seats.iter().filter_map(|seat| Some((seat.seat, seat.figures.as_ref()?)));
    figures.flat_map(|(seat, figures)| {
        figures.ranges.iter().filter_map(move |range| Some(((seat, range.range.0), range.copy?.bytes)))
    })
}

fn rates(before: &BTreeMap<Copy, u64>, now: impl Iterator<Item = (Copy, u64)>, seconds: f64) -> Rates {
    let mut rates = Rates::new();
    for (copy, bytes) in now {
        // One that has begun anew since counts from its beginning.
        let came = bytes.checked_sub(before.get(&copy).copied().unwrap_or(0)).unwrap_or(bytes);
        *rates.entry(copy.0).or_default() += (came as f64 / seconds.max(0.001)) as u64;
    }
    rates
}

/// A table as all of them look.
pub fn new_table<const N: usize>(head: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(head);
    table
}

/// The part of all keys that an interval is.
pub fn share(keys: &Interval) -> f64 {
    (keys.high.prefix() as f64 - keys.low.prefix() as f64) / (u64::MAX as f64)
}

/// What the rows of a member are made of.
struct MemberRow<'a> {
    seats: Vec<&'a SeatStatus>,
    is_stopped: bool,
    ranges: Vec<(&'a RangeStatus, usize)>,
}

impl<'a> MemberRow<'a> {
    fn of(status: &'a Status, member: &Member) -> Self {
        let is_own = |seat: SeatId| member.seats().any(|own| own == seat);
        let seats: Vec<&SeatStatus> = status.seats.iter().filter(|seat| is_own(seat.seat)).collect();
        let is_stopped = |seat: &&SeatStatus| status.details.get(&seat.seat).is_some_and(|details| details.is_stopped);
        let is_stopped = seats.iter().any(is_stopped);
        let place = |range: &'a RangeStatus| {
            let at = range.chain.members.iter().position(|member| is_own(SeatId(member.node.0 as u32)))?;
            Some((range, at))
        };
        Self { seats, is_stopped, ranges: status.ranges.iter().filter_map(place).collect() }
    }

    fn roles(&self) -> (usize, usize, usize) {
        let count = |is: &dyn Fn(usize, usize) -> bool| {
            self.ranges.iter().filter(|(range, at)| is(*at, range.chain.members.len())).count()
        };
        (count(&|at, _| at == 0), count(&|at, of| at > 0 && at + 1 < of), count(&|at, of| at > 0 && at + 1 == of))
    }

    /// Milliseconds since the last of its seats was heard.
    fn heard_ms(&self) -> Option<u64> {
        self.seats.iter().filter_map(|seat| seat.heard_ms).max()
    }

    /// Whether it is there, so that what it said last is of now.
    fn is_answering(&self) -> bool {
        !self.is_stopped && self.heard_ms().is_some_and(|ms| ms <= SILENT_MS)
    }

    /// What its seats say of themselves; nothing if they are not there now.
    fn figures(&self) -> impl Iterator<Item = &'a SeatFigures> {
        let is_answering = self.is_answering();
        self.seats.iter().filter(move |_| is_answering).filter_map(|seat| seat.figures.as_ref())
    }

    fn sum(&self, of: impl Fn(&SeatFigures) -> u64) -> u64 {
        self.figures().map(of).sum()
    }

    /// Bytes that are free where it keeps its data: its stores share a device.
    fn free_bytes(&self) -> u64 {
        self.figures().map(|figures| figures.free_bytes).max().unwrap_or(0)
    }

    /// What it is, in a word, and whether that is as it should be.
    fn state(&self) -> (String, Color) {
        let has = |standing| self.seats.iter().any(|seat| seat.standing == Some(standing));
        let is_drained = has(Standing::Draining) && self.ranges.is_empty();
        match self.heard_ms() {
            _ if self.is_stopped && is_drained => ("drained, stopped".to_owned(), Color::Yellow),
            _ if self.is_stopped => ("stopped".to_owned(), Color::Red),
            None => ("not heard".to_owned(), Color::Red),
            Some(ms) if ms > SILENT_MS => (format!("silent {} s", ms / 1000), Color::Red),
            _ if self.troubles().next().is_some() => ("trouble".to_owned(), Color::Red),
            _ if has(Standing::Gone) => ("gone".to_owned(), Color::Red),
            _ if is_drained => ("drained".to_owned(), Color::Yellow),
            _ if has(Standing::Draining) => ("draining".to_owned(), Color::Yellow),
            _ => ("up".to_owned(), Color::Green),
        }
    }

    /// Why it takes no part.
    fn troubles(&self) -> impl Iterator<Item = &'a String> {
        self.figures().filter_map(|figures| figures.trouble.as_ref())
    }

    /// The copies that come in: how many, and how far they are together.
    fn copies(&self) -> Option<(usize, u64)> {
        let copies = self.figures().flat_map(|figures| figures.ranges.iter().filter_map(|range| range.copy));
        let permille: Vec<u64> = copies.map(|copy| u64::from(copy.permille)).collect();
        (!permille.is_empty()).then(|| (permille.len(), permille.iter().sum::<u64>() / permille.len() as u64))
    }

    /// Bytes a second that come by them.
    fn rate(&self, rates: &Rates) -> u64 {
        self.seats.iter().filter_map(|seat| rates.get(&seat.seat)).sum()
    }

    /// The most records that any of its replicas has not committed, of those that the newest in the chain has.
    fn lag(&self, lasts: &BTreeMap<u32, u64>) -> u64 {
        let ranges = self.figures().flat_map(|figures| &figures.ranges).filter(|range| range.role != Role::Idle);
        let lag = ranges.filter_map(|range| Some(lasts.get(&range.range.0)?.saturating_sub(range.committed.seq.0)));
        lag.max().unwrap_or(0)
    }
}

/// The end of the longest log of each range, as its members have said.
fn lasts(status: &Status) -> BTreeMap<u32, u64> {
    let mut lasts = BTreeMap::new();
    let members = status.roster.members.values().map(|member| MemberRow::of(status, member));
    let figures = members.flat_map(|had| had.figures().collect::<Vec<_>>());
    for range in figures.flat_map(|figures| &figures.ranges).filter(|range| range.epoch.0 > 0) {
        let last = lasts.entry(range.range.0).or_insert(0);
        *last = range.last.seq.0.max(*last);
    }
    lasts
}

/// When a write is acknowledged, as `--ack` has it.
pub fn ack_told(ack: Ack) -> &'static str {
    match ack {
        Ack::Durable => "durable",
        Ack::Replicated => "replicated",
    }
}

/// What is not as it should be, apart from what moves: a sentence's part each.
fn lacks(status: &Status, unserved: &UnservedRanges) -> Vec<String> {
    let unheard = status.managers.iter().filter(|manager| manager.lag.is_none());
    let mut lacks: Vec<String> = unheard.map(|manager| format!("{} does not respond", manager_name(manager))).collect();
    for (name, member) in &status.roster.members {
        if let (state, Color::Red) = MemberRow::of(status, member).state() {
            lacks.push(format!("{name} is {state}").replace(" is trouble", " has trouble"));
        }
    }
    let (replicas, all) = (status.settings.replicas, status.ranges.len());
    let short = short_ranges(status);
    let least = usize::from(status.settings.rules.min_write_replicas);
    let is_too_short = |range: &&RangeStatus| (1..least).contains(&range.chain.members.len());
    let too_short = status.ranges.iter().filter(is_too_short).count();
    lacks.extend(unserved.sentence(all, |seat| member_name(status, seat)));
    if too_short > 0 {
        lacks.push(format!("{too_short} of {all} ranges refuse writes, which need {least} replicas"));
    }
    if short > 0 {
        lacks.push(format!("{short} of {all} ranges have fewer than {replicas} replicas"));
    }
    lacks.extend(few_copies(status, unserved));
    let unowned = status.wedges.iter().filter(|wedge| wedge.owner.is_none()).count();
    if unowned > 0 {
        lacks.push(format!("{unowned} of {} wedges have no owner", status.wedges.len()));
    }
    lacks
}

/// The same, and what members say of themselves.
fn lacks_with_reasons(status: &Status, unserved: &UnservedRanges) -> Vec<String> {
    let mut lacks = lacks(status, unserved);
    for (name, member) in &status.roster.members {
        let troubles: BTreeSet<&String> = MemberRow::of(status, member).troubles().collect();
        lacks.extend(troubles.iter().map(|why| format!("{name}: {why}")));
    }
    lacks
}

/// With how few copies writes go on where ranges are served, if that is fewer than there are to be.
fn few_copies(status: &Status, unserved: &UnservedRanges) -> Option<String> {
    let least = usize::from(status.settings.rules.min_write_replicas).max(1);
    let served = status.ranges.iter().filter(|range| !unserved.contains(range.range));
    let copies = served.map(|range| range.chain.members.len()).filter(|copies| *copies >= least).min()?;
    let replicas = status.settings.replicas as usize;
    (copies < replicas).then(|| format!("writes continue with {} of {replicas}", counted(copies, "copy", "copies")))
}

/// `1 copy`, `2 copies`.
fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// A manager as people know it: by its address, as its number says nothing.
fn manager_name(manager: &ManagerStatus) -> String {
    match &manager.address[..] {
        "" => format!("manager {}", manager.id.0),
        address => format!("the manager at {address}"),
    }
}

/// All in a line, for scripts, and whether all is well.
fn check(status: &Status, unserved: &UnservedRanges) -> (String, bool) {
    let lacks = lacks_with_reasons(status, unserved);
    let line = if lacks.is_empty() {
        let members = counted(status.roster.members.len(), "member", "members");
        let ranges = counted(status.ranges.len(), "range", "ranges");
        let replicas = counted(status.settings.replicas as usize, "replica", "replicas");
        let moves = if status.is_settled { "" } else { "; ranges are moving" };
        format!("ok: {members}, {ranges} with {replicas}{moves}\n")
    } else {
        format!("not ok: {}\n", lacks.join("; "))
    };
    (line, lacks.is_empty())
}

/// Ranges whose chains are shorter than they are to be.
pub fn short_ranges(status: &Status) -> usize {
    status.ranges.iter().filter(|range| range.chain.members.len() < status.settings.replicas as usize).count()
}

/// What the columns of members mean.
const LEGEND: &str = "\
HEAD/MID/TAIL: chains in which the member is first, in the middle or last. LAG: records that it has not committed \
yet.
COPIES: ranges being copied to it. LEASE: how long it may still answer reads. WEDGES: parts of the keys that it \
serves.
LIVE: bytes of live records. FREE: on its device. ITEMS: live keys of its replicas, estimated. LINKS: up, of those \
wanted.
";

/// The status as people read it.
fn text(status: &Status, unserved: &UnservedRanges, rates: &Rates, with_ranges: bool) -> String {
    let cluster = status.cluster.map_or_else(|| "none yet".to_owned(), |cluster| cluster.to_string());
    let mut lacks = lacks(status, unserved);
    if !status.is_settled {
        lacks.push("ranges are moving".to_owned());
    }
    let settled = if lacks.is_empty() { "healthy".to_owned() } else { lacks.join("; ") };
    let (replicas, least) = (status.settings.replicas, status.settings.rules.min_write_replicas.max(1));
    let mut told = vec![format!(
        "cluster {cluster}: {settled}\nreplicas {replicas}, writes need {least}, acknowledged when {}, consistency {}\n",
        ack_told(status.settings.rules.ack),
        consistency_told(status.settings.rules.consistency)
    )];
    if let Some(totals) = Totals::of(status) {
        told.push(format!("{}\n", totals.text()));
    }
    told.push("\n".to_owned());
    told.push(format!("{}\n\n", managers(status)));
    told.push(format!("{}\n\n{LEGEND}", members(status, rates)));
    let short = short_ranges(status);
    let changing = status.ranges.iter().filter(|range| range.is_changing).count();
    let learned = status.ranges.iter().filter(|range| range.learner.is_some()).count();
    let (ranges, owned) = (status.ranges.len(), status.wedges.iter().filter(|wedge| wedge.owner.is_some()).count());
    told.push(format!(
        "\n{}: {short} with fewer than {replicas} replicas, {learned} being copied, {changing} changing; \
         {owned} of {} wedges have an owner\n",
        counted(ranges, "range", "ranges"),
        status.wedges.len()
    ));
    for (name, member) in &status.roster.members {
        let had = MemberRow::of(status, member);
        // What is wrong with a machine, each of its seats says.
        for why in had.troubles().collect::<BTreeSet<_>>() {
            told.push(format!("{name}: {why}\n"));
        }
    }
    if with_ranges {
        told.push(format!("\n{}\n", ranges_table(status)));
    }
    told.concat()
}

fn managers(status: &Status) -> Table {
    let mut table = new_table(["MANAGER", "ROLE", "LAG", "NUMBER"]);
    for ManagerStatus { id, address, is_voter, lag } in &status.managers {
        let role = match (*id == status.leader, is_voter) {
            (true, _) => format!("leader, term {}", status.term),
            (false, true) => "follower".to_owned(),
            (false, false) => "learner".to_owned(),
        };
        let lag = match lag {
            Some(lag) => Cell::new(format!("{lag} entries")),
            None => Cell::new("not heard").fg(Color::Red),
        };
        let name = if address.is_empty() { "in this process" } else { address };
        table.add_row([Cell::new(name), Cell::new(role), lag, Cell::new(id.0)]);
    }
    table
}

fn members(status: &Status, rates: &Rates) -> Table {
    let head = [
        "MEMBER",
        "STATE",
        "ADDRESS",
        "HEAD/MID/TAIL",
        "LAG",
        "COPIES",
        "LEASE",
        "WEDGES",
        "LIVE",
        "FREE",
        "ITEMS",
        "LINKS",
    ];
    let (mut table, lasts) = (new_table(head), lasts(status));
    for (name, member) in &status.roster.members {
        let had = MemberRow::of(status, member);
        let (state, colour) = had.state();
        let (head, mid, tail) = had.roles();
        let is_answering = had.is_answering();
        // What one that is not there said last is not so any more.
        let now = |figure: String| Cell::new(if is_answering { figure } else { "-".to_owned() });
        let rate = had.rate(rates);
        let copies = had.copies().map_or_else(
            || "-".to_owned(),
            |(count, done)| format!("{count} at {} %, {}/s", done / 10, Size { bytes: rate }),
        );
        let lease = had.figures().map(|figures| figures.lease_ms).min();
        let links =
            |up: bool| had.sum(|figures| links(status, figures).filter(|link| link.is_up || !up).count() as u64);
        let size = |bytes| Size { bytes }.to_string();
        table.add_row([
            Cell::new(name),
            Cell::new(if member.said.node == NodeClass::Archive { format!("{state}, archive") } else { state })
                .fg(colour),
            Cell::new(&member.said.address),
            Cell::new(format!("{head}/{mid}/{tail}")),
            now(had.lag(&lasts).to_string()),
            now(copies),
            now(lease.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"))),
            now(had.sum(|figures| u64::from(figures.wedges)).to_string()),
            now(size(had.sum(|figures| figures.live_bytes))),
            now(size(had.free_bytes())),
            now(format!("~{}", grouped(had.sum(|figures| figures.items)))),
            now(format!("{}/{}", links(true), links(false))),
        ]);
    }
    table
}

/// Connections to members; those to others are over.
fn links<'a>(status: &'a Status, figures: &'a SeatFigures) -> impl Iterator<Item = &'a LinkFigures> {
    figures.links.iter().filter(|link| status.roster.member_of(link.to).is_some())
}

/// The member that a seat is of.
fn member_name(status: &Status, seat: SeatId) -> String {
    status.roster.member_of(seat).map_or_else(|| named(status, seat), |(name, _)| name.to_owned())
}

/// A seat as people know it.
fn named(status: &Status, seat: SeatId) -> String {
    match status.roster.member_of(seat) {
        Some((name, member)) if member.said.seats > 1 => format!("{name}/{}", seat.0 - member.first.0),
        Some((name, _)) => name.to_owned(),
        None => format!("seat {}", seat.number()),
    }
}

fn chain(status: &Status, range: &RangeStatus) -> Vec<String> {
    range.chain.members.iter().map(|member| named(status, SeatId(member.node.0 as u32))).collect()
}

fn ranges_table(status: &Status) -> Table {
    let mut table = new_table(["RANGE", "UP TO", "SHARE", "EPOCH", "CHAIN", "LEARNS", "CHANGES"]);
    for range in &status.ranges {
        table.add_row([
            range.range.0.to_string(),
            format!("{:016x}", range.chain.keys.high.prefix()),
            format!("{:.1} %", share(&range.chain.keys) * 100.0),
            range.chain.epoch.0.to_string(),
            chain(status, range).join(" → "),
            range.learner.map_or_else(|| "-".to_owned(), |seat| named(status, seat)),
            if range.is_changing { format!("attempt {}", range.attempt.0) } else { "-".to_owned() },
        ]);
    }
    table
}

/// The status as programs read it.
fn json(status: &Status, unserved: &UnservedRanges, rates: &Rates) -> Value {
    let managers = status.managers.iter().map(|manager| {
        let (id, address, votes, lag) = (manager.id.0, &manager.address, manager.is_voter, manager.lag);
        json!({"id": id, "address": address, "votes": votes, "leads": manager.id == status.leader, "lag": lag})
    });
    let members = status.roster.members.iter().map(|(name, member)| member_json(status, rates, name, member));
    let ranges = status.ranges.iter().map(|range| {
        json!({
            "range": range.range.0,
            "low": format!("{:?}", range.chain.keys.low),
            "high": format!("{:?}", range.chain.keys.high),
            "epoch": range.chain.epoch.0,
            "chain": chain(status, range),
            "learner": range.learner.map(|seat| named(status, seat)),
            "attempt": range.attempt.0,
            "changing": range.is_changing,
            "served": !unserved.contains(range.range),
        })
    });
    let wedges = status.wedges.iter().map(|wedge| {
        let owner = wedge.owner.map(|owner| named(status, SeatId(owner.front.0)));
        json!({"wedge": wedge.wedge.0, "epoch": wedge.epoch.0, "owner": owner})
    });
    let rules = status.settings.rules;
    let lacks = lacks_with_reasons(status, unserved);
    json!({
        "cluster": status.cluster.map(|cluster| cluster.to_string()),
        "settled": status.is_settled,
        "healthy": lacks.is_empty(),
        "lacks": lacks,
        "totals": Totals::of(status).map(|totals| totals.json()),
        "version": status.version,
        "term": status.term,
        "settings": {
            "replicas": status.settings.replicas,
            "ack": ack_told(status.settings.rules.ack),
            "min_write_replicas": rules.min_write_replicas,
            "spread_reads": rules.spread_reads,
            "consistency": consistency_told(rules.consistency),
            "unsynced": rules.unsynced,
            "lease_ms": status.settings.leases.lease_us / 1000,
        },
        "managers": managers.collect::<Vec<_>>(),
        "members": members.collect::<Vec<_>>(),
        "ranges": ranges.collect::<Vec<_>>(),
        "wedges": wedges.collect::<Vec<_>>(),
    })
}

fn member_json(status: &Status, rates: &Rates, name: &str, member: &Member) -> Value {
    let had = MemberRow::of(status, member);
    let seats = had.seats.iter().map(|seat| {
        let standing = seat.standing.map(|standing| format!("{standing:?}").to_lowercase());
        json!({
            "seat": seat.seat.number(),
            "incarnation": seat.incarnation.map(|incarnation| incarnation.0),
            "standing": standing,
            "heard_ms": seat.heard_ms,
            "figures": seat.figures.as_ref().filter(|_| had.is_answering()).map(|figures| figures_json(status, figures)),
        })
    });
    let (head, mid, tail) = had.roles();
    json!({
        "name": name,
        "class": member.said.node.name(),
        "state": had.state().0,
        "address": member.said.address,
        "clients": member.said.clients,
        "machine": member.said.machine,
        "domain": member.said.domain,
        "release": member.said.release,
        "head": head, "mid": mid, "tail": tail,
        "lag": had.is_answering().then(|| had.lag(&lasts(status))),
        "copy_bytes_per_s": had.rate(rates),
        "seats": seats.collect::<Vec<_>>(),
    })
}

fn figures_json(status: &Status, figures: &SeatFigures) -> Value {
    let ranges = figures.ranges.iter().map(|range| {
        json!({
            "range": range.range.0,
            "epoch": range.epoch.0,
            "role": format!("{:?}", range.role).to_lowercase(),
            "last": range.last.seq.0,
            "committed": range.committed.seq.0,
            "synced": range.synced.0,
            "copy": range.copy.map(|copy| json!({"permille": copy.permille, "bytes": copy.bytes})),
        })
    });
    let links = links(status, figures).map(|link| {
        let (up, waiting, dropped) = (link.is_up, link.waiting_bytes, link.dropped);
        json!({"to": link.to.0, "up": up, "waiting_bytes": waiting, "dropped": dropped})
    });
    json!({
        "lease_ms": figures.lease_ms,
        "wedges": figures.wedges,
        "live_bytes": figures.live_bytes,
        "used_bytes": figures.used_bytes,
        "free_bytes": figures.free_bytes,
        "items": figures.items,
        "items_are_estimated": true,
        "trouble": figures.trouble,
        "ranges": ranges.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests;
