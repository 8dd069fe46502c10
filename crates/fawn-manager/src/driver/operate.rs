//! Operators' questions.

use super::{Driver, Event};
use crate::backup::{self, Place};
use crate::clock::now_us;
use crate::consensus::Proposal;
use crate::decided::{Decided, Decision};
use crate::links::table::LinkId;
use fawn_kv::ids::{Consistency, ManagerId, SeatId};
use fawn_kv::link::Control;
use fawn_kv::manager::roster::{Change, Member};
use fawn_kv::manager::{Command, Settings, Standing, State};
use fawn_kv::status::unserved::{DUMP, held_alone};
use fawn_kv::status::{
    Answer, ManagerStatus, NewSettings, Question, RangeStatus, SeatDetails, SeatStatus, Status, WedgeStatus,
};
use fawn_kv::wire::version::TOTALS;
use fawn_ring::NodeId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A manager that has not answered for so long is not heard.
pub(super) const HEARD: Duration = Duration::from_secs(2);

/// The node of a seat.
pub(super) fn node_of(seat: SeatId) -> NodeId {
    NodeId(u64::from(seat.0))
}

/// The seat of a node.
pub(super) fn seat_of(node: NodeId) -> SeatId {
    SeatId(u32::try_from(node.0).unwrap_or(u32::MAX))
}

impl Driver {
    /// An operator asks.
    pub(super) fn ask(&mut self, link: LinkId, number: u64, question: Question) {
        let Some(term) = self.led.filter(|_| self.manager.is_some() && self.has_majority()) else {
            let leader = self.said.1.filter(|leader| *leader != self.me.id);
            let leader = leader.and_then(|leader| self.address_of(leader));
            return self.answer(link, number, Answer::NotLeader { leader });
        };
        let order = self.order(&question);
        let decisions = match question {
            Question::Status => {
                let status = self.status(term);
                if self.table.speaks(link, TOTALS) {
                    self.table.say(link, &Control::Details(self.details()));
                }
                return self.answer(link, number, Answer::Status(Box::new(status)));
            }
            Question::Plan { without } => {
                let answer = self.plan(&without).map_or_else(Answer::Refused, Answer::Plan);
                return self.answer(link, number, answer);
            }
            Question::Backup => {
                let answer = self.backup().map_or_else(Answer::Refused, Answer::Backup);
                return self.answer(link, number, answer);
            }
            Question::AddManager { address } => {
                self.tell_order(link, &format!("adds the manager at {address} to the group"));
                return self.add_manager(link, number, address);
            }
            Question::RemoveManager { id } => {
                self.tell_order(link, &format!("removes manager {} from the group", id.0));
                return self.remove_manager(link, number, id);
            }
            Question::Drain { name, leave } => self.drain(&name, leave),
            Question::Remove { name, force } => self.remove(&name, force),
            Question::Set(new) => self.set(new),
        };
        match decisions {
            Ok(decisions) if decisions.is_empty() => self.answer(link, number, Answer::Done),
            Ok(decisions) => {
                self.tell_order(link, &order);
                self.decide(link, number, term, decisions);
            }
            Err(why) => self.answer(link, number, Answer::Refused(why)),
        }
    }

    /// Says in the log who orders what.
    fn tell_order(&mut self, link: LinkId, order: &str) {
        if let Some(peer) = self.table.peer(link) {
            tracing::info!("{} {order}", peer.told());
        }
    }

    /// What an operator orders, for the log; nothing for a question alone.
    fn order(&self, question: &Question) -> String {
        match question {
            Question::Drain { name, leave: true } => format!("drains {name}"),
            Question::Drain { name, leave: false } => format!("cancels the drain of {name}"),
            Question::Remove { name, force: false } => format!("removes {name}"),
            Question::Remove { name, force: true } => format!("removes {name} by force"),
            Question::Set(new) => {
                let before = self.state().ok().map(|state| state.settings);
                let changes = before.map(|before| changed(&before, new)).unwrap_or_default();
                format!("changes settings: {changes}")
            }
            Question::Status
            | Question::Plan { .. }
            | Question::Backup
            | Question::AddManager { .. }
            | Question::RemoveManager { .. } => String::new(),
        }
    }

    pub(super) fn answer(&self, link: LinkId, number: u64, answer: Answer) {
        self.table.say(link, &Control::Answer { number, answer });
    }

    /// Answers once it is decided.
    fn decide(&self, link: LinkId, number: u64, term: u64, decisions: Vec<Decision>) {
        if let Some(why) = self.proposer.stalled() {
            let why = format!("cannot write the manager's log: {why}; free space on its device, and retry");
            return self.answer(link, number, Answer::Refused(why));
        }
        let (proposer, tasks) = (self.proposer.clone(), self.tasks.clone());
        tokio::spawn(async move {
            let answer = match proposer.propose(Proposal { term, decisions }).await {
                Ok(done) if done.data.iter().all(|did| *did) => Answer::Done,
                Ok(_) => Answer::Refused("another decision came first: check the status, and retry".into()),
                Err(error) => Answer::Refused(format!("the managers cannot decide it now: {error}")),
            };
            let _ = tasks.send(Event::Say { link, control: Box::new(Control::Answer { number, answer }) });
        });
    }

    fn address_of(&self, manager: ManagerId) -> Option<String> {
        let members = self.group_members();
        let address = members.membership().get_node(&manager.0).map(|node| node.addr.clone());
        address.filter(|address| !address.is_empty())
    }

    fn state(&self) -> Result<&State, String> {
        let manager = self.manager.as_ref().ok_or("the cluster has not begun yet: retry")?;
        Ok(manager.state())
    }

    fn member(&self, name: &str) -> Result<&Member, String> {
        let known = || self.facts.roster.members.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.facts
            .roster
            .members
            .get(name)
            .ok_or_else(|| format!("there is no member {name}: the members are {}", known()))
    }

    /// A member is to leave, or to stay after all.
    fn drain(&self, name: &str, leave: bool) -> Result<Vec<Decision>, String> {
        let (member, state) = (self.member(name)?, self.state()?);
        let nodes: BTreeSet<NodeId> = member.seats().map(node_of).collect();
        let standing = if leave { Standing::Draining } else { Standing::Member };
        if leave {
            let rest = state.nodes.iter().filter(|(id, node)| node.standing == Standing::Member && !nodes.contains(id));
            let machines: BTreeSet<_> = rest.map(|(_, node)| node.machine).collect();
            let least = usize::from(state.settings.rules.min_write_replicas).max(1);
            if machines.len() < least && nodes.iter().any(|node| state.nodes.contains_key(node)) {
                return Err(format!(
                    "without {name} there are {} machines that keep data, and writes need {least}: add one first",
                    machines.len()
                ));
            }
        }
        let stand = |node: &NodeId| {
            let known = state.nodes.get(node).filter(|known| known.standing != standing)?;
            let command = Command::Stand { node: *node, incarnation: known.incarnation, standing };
            Some(Decision::command(&command))
        };
        Ok(nodes.iter().filter_map(stand).collect())
    }

    /// A member is gone for good.
    fn remove(&self, name: &str, force: bool) -> Result<Vec<Decision>, String> {
        if self.facts.struck.contains(name) {
            // Whoever asked did not hear that it was done, and asks again.
            return Ok(Vec::new());
        }
        let (member, state) = (self.member(name)?, self.state()?);
        if !force && self.is_heard(member.seats()) {
            return Err(format!(
                "{name} still runs: stop it first (after fawn node drain {name}), or remove it with --force"
            ));
        }
        let nodes: BTreeSet<NodeId> = member.seats().map(node_of).collect();
        let left = nodes.iter().filter_map(|node| state.by_node.get(node)).map(BTreeSet::len).sum::<usize>();
        let is_its = |seat| nodes.contains(&node_of(seat));
        let is_known = |seat| self.facts.roster.member_of(seat).is_some();
        let alone = held_alone(state.ranges.values().map(|range| &range.chain), is_its, is_known);
        if !force && alone > 0 {
            let ranges = state.ranges.len();
            return Err(format!(
                "{name} alone has the latest data of {alone} of {ranges} ranges, which nobody can serve without it: \
                start it with its directory, or {DUMP}"
            ));
        }
        if !force && left > 0 {
            return Err(format!(
                "{name} is still in the chains of {left} ranges: drain it, wait until others have its data, or \
                remove it with --force and lose what only it has"
            ));
        }
        let stand = |node: &NodeId| {
            let known = state.nodes.get(node).filter(|known| known.standing != Standing::Gone)?;
            let (incarnation, standing) = (known.incarnation, Standing::Gone);
            Some(Decision::command(&Command::Stand { node: *node, incarnation, standing }))
        };
        let mut decisions: Vec<Decision> = nodes.iter().filter_map(stand).collect();
        decisions.push(Decision::Roster(Change::Strike { name: name.to_owned() }));
        Ok(decisions)
    }

    /// Other settings.
    fn set(&self, new: NewSettings) -> Result<Vec<Decision>, String> {
        let before = self.state()?.settings;
        if new.min_write_replicas == Some(0) {
            return Err("a write needs at least one replica: set --min-write-replicas to 1 or more".to_owned());
        }
        let mut rules = before.rules;
        rules.ack = new.ack.unwrap_or(rules.ack);
        rules.min_write_replicas = new.min_write_replicas.unwrap_or(rules.min_write_replicas);
        rules.spread_reads = new.spread_reads.unwrap_or(rules.spread_reads);
        rules.unsynced = new.unsynced.unwrap_or(rules.unsynced);
        let settings = Settings { replicas: new.replicas.unwrap_or(before.replicas), rules, ..before };
        settings.check().map_err(|error| error.to_string())?;
        if rules.spread_reads && rules.consistency == Consistency::Weak && new.spread_reads.is_some() {
            return Err(
                "this cluster is weak, and only the owner of a key answers gets: leave --spread-reads false".into()
            );
        }
        let command = (settings != before).then(|| Decision::command(&Command::Set(settings)));
        Ok(command.into_iter().collect())
    }

    /// All that is decided.
    fn backup(&self) -> Result<Vec<u8>, String> {
        let decided = Decided { facts: self.facts.clone(), state: Some(self.state()?.clone()) };
        let metrics = self.group.metrics().borrow().clone();
        let last = metrics.last_log_index.unwrap_or(0);
        let taken_unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let place = Place { term: metrics.current_term, index: last, taken_unix };
        Ok(backup::encode(&decided, place))
    }

    fn plan(&self, without: &[String]) -> Result<Vec<fawn_kv::status::PlannedChange>, String> {
        let state = self.state()?;
        let mut nodes = BTreeSet::new();
        for name in without {
            nodes.extend(self.member(name)?.seats().map(node_of));
        }
        Ok(state.would_change(&nodes))
    }

    /// What is known of seats beside their status.
    fn details(&self) -> BTreeMap<SeatId, SeatDetails> {
        let now_us = now_us();
        let members = self.facts.roster.members.values().flat_map(Member::seats);
        members.filter_map(|seat| Some((seat, self.seats.get(&seat)?.details(now_us)))).collect()
    }

    fn status(&self, term: u64) -> Status {
        let manager = self.manager.as_ref().expect("a leader that answers has one");
        let (state, now_us) = (manager.state(), now_us());
        let seats = self.facts.roster.members.values().flat_map(Member::seats).map(|seat| {
            let (node, known) = (state.nodes.get(&node_of(seat)), self.seats.get(&seat));
            SeatStatus {
                seat,
                incarnation: node.map(|node| node.incarnation),
                standing: node.map(|node| node.standing),
                heard_ms: known.and_then(|known| known.heard_us).map(|at| now_us.saturating_sub(at) / 1000),
                figures: known.and_then(|known| known.figures.clone()).map(|figures| self.with_reason(figures)),
            }
        });
        let ranges = state.by_last.values().filter_map(|id| Some((*id, state.ranges.get(id)?)));
        let ranges = ranges.map(|(range, known)| RangeStatus {
            range,
            chain: known.chain.clone(),
            learner: known.learner.map(|learner| seat_of(learner.node)),
            attempt: known.attempt,
            is_changing: known.pending.is_some(),
        });
        let wedges = (0..).zip(state.wedges.wedges());
        let wedges = wedges.map(|(id, wedge)| WedgeStatus {
            wedge: fawn_kv::ids::WedgeId(id),
            epoch: wedge.epoch,
            owner: wedge.owner,
        });
        Status {
            cluster: state.cluster,
            leader: self.me.id,
            term,
            managers: self.managers(),
            settings: state.settings,
            roster: self.facts.roster.clone(),
            seats: seats.collect(),
            ranges: ranges.collect(),
            wedges: wedges.collect(),
            is_settled: manager.is_settled(),
            version: None,
            details: BTreeMap::new(),
        }
    }

    pub(super) fn managers(&self) -> Vec<ManagerStatus> {
        let metrics = self.group.metrics().borrow().clone();
        let membership = metrics.membership_config.membership();
        // While the group changes, whoever is to vote counts once it does without the group that was before.
        let voters = |id: &u64| membership.get_joint_config().iter().all(|voters| voters.contains(id));
        let last = metrics.last_log_index.unwrap_or(0);
        let status = |(id, node): (&u64, &openraft::BasicNode)| {
            let has = metrics.replication.as_ref().and_then(|all| all.get(id).copied().flatten());
            let lag = match has {
                _ if *id == self.me.id.0 => Some(0),
                Some(has) if self.heard.is_within(*id, HEARD) => Some(last.saturating_sub(has.index)),
                _ => None,
            };
            ManagerStatus { id: ManagerId(*id), address: node.addr.clone(), is_voter: voters(id), lag }
        };
        membership.nodes().map(status).collect()
    }
}

/// Which settings become what.
fn changed(before: &Settings, new: &NewSettings) -> String {
    let rules = &before.rules;
    let ack = |ack| format!("{ack:?}").to_lowercase();
    let changes = [
        ("replicas", before.replicas.to_string(), new.replicas.map(|new| new.to_string())),
        ("ack", ack(rules.ack), new.ack.map(ack)),
        ("min-write-replicas", rules.min_write_replicas.to_string(), new.min_write_replicas.map(|new| new.to_string())),
        ("spread-reads", rules.spread_reads.to_string(), new.spread_reads.map(|new| new.to_string())),
        ("unsynced", rules.unsynced.to_string(), new.unsynced.map(|new| new.to_string())),
    ];
    let told = changes.into_iter().filter_map(|(name, before, new)| {
        let new = new.filter(|new| *new != before)?;
        Some(format!("{name} {before} to {new}"))
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fawn_kv::ids::{Ack, Rules};
    use fawn_kv::manager::Leases;

    #[test]
    fn settings_that_change_are_told_with_what_they_were() {
        let before = Settings { replicas: 3, first_nodes: 1, rules: Rules::default(), leases: Leases::default() };
        let new = NewSettings {
            replicas: Some(2),
            min_write_replicas: Some(2),
            ack: Some(Ack::Durable),
            ..NewSettings::default()
        };
        let told = changed(&before, &new);
        let least = before.rules.min_write_replicas;
        assert_eq!(told, format!("replicas 3 to 2, min-write-replicas {least} to 2"), "what stays is not told");
    }
}
