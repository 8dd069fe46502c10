//! Actions as words: how each is written and read, and whether a plan has what it names.

use std::fmt;
use std::str::FromStr;

use fawn_check::KvOperation;

use crate::cluster::faults::action::FaultAction;
use crate::cluster::network::party::LinkSet;
use crate::cluster::network::party::Party;
use crate::cluster::script::lexer::Lexer;
use crate::cluster::script::plan::Plan;
use crate::cluster::script::settings::{MOST_US, most};
use crate::cluster::time::WRONG_US;
use crate::cluster::trace::formatter;

/// No clock jumps further: a thousand years, in seconds.
pub const MOST_JUMP_S: u64 = 31_536_000_000;

/// Where a word may stand for nobody.
const NONE: &str = "none";

/// Every action with its arguments. There are no others: what is not here is not read.
pub const ACTIONS: [(&str, &str); 33] = [
    ("crash", "NODE US DICE"),
    ("crash-at", "NODE KIND US DICE"),
    ("power-failure", "DICE"),
    ("lose-disk", "NODE US DICE"),
    ("full", "NODE US"),
    ("bad-read", "NODE"),
    ("fail-disk", "NODE US DICE"),
    ("other-disk", "NODE US DICE"),
    ("join", "NODE"),
    ("drain", "NODE"),
    ("stay", "NODE"),
    ("replicas", "COUNT"),
    ("rules", "LEAST SPREAD IN-MEMORY"),
    ("pause", "NODE US"),
    ("pause-at-read", "NODE US"),
    ("clock", "NODE AHEAD"),
    ("clock-jump", "NODE WAY SECONDS US"),
    ("cut", "US LINK..."),
    ("sever", "LINK..."),
    ("network", "LOST DOUBLED SLOW"),
    ("hold-back", "NODE KIND US"),
    ("hold-back-at", "NODE SAID KIND US"),
    ("lead", "MANAGER"),
    ("lag", "US"),
    ("restart-manager", "MANAGER"),
    ("crash-front", "FRONT US"),
    ("pause-front", "FRONT US"),
    ("cut-front", "SLOW US LINK..."),
    ("put", "CLIENT KEY VALUE"),
    ("get", "CLIENT KEY"),
    ("delete", "CLIENT KEY"),
    ("cas", "CLIENT KEY EXPECTED VALUE"),
    ("nothing", ""),
];

impl fmt::Display for FaultAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Crash { node, for_us, dice } => write!(f, "crash {node} {for_us} {dice}"),
            Self::CrashAt { node, kind, for_us, dice } => write!(f, "crash-at {node} {kind} {for_us} {dice}"),
            Self::Lag { for_us } => write!(f, "lag {for_us}"),
            Self::PowerFailure { dice } => write!(f, "power-failure {dice}"),
            Self::LoseDisk { node, for_us, dice } => write!(f, "lose-disk {node} {for_us} {dice}"),
            Self::Full { node, for_us } => write!(f, "full {node} {for_us}"),
            Self::BadRead { node } => write!(f, "bad-read {node}"),
            Self::FailDisk { node, for_us, dice } => write!(f, "fail-disk {node} {for_us} {dice}"),
            Self::OtherDisk { node, for_us, dice } => write!(f, "other-disk {node} {for_us} {dice}"),
            Self::Lead { manager: Some(manager) } => write!(f, "lead {manager}"),
            Self::Lead { manager: None } => write!(f, "lead none"),
            Self::RestartManager { manager } => write!(f, "restart-manager {manager}"),
            Self::Cut { links, for_us } => {
                write!(f, "cut {for_us}")?;
                write_links(links, f)
            }
            Self::Sever { links } => {
                write!(f, "sever")?;
                write_links(links, f)
            }
            Self::CrashFront { front, for_us } => write!(f, "crash-front {front} {for_us}"),
            Self::PauseFront { front, for_us } => write!(f, "pause-front {front} {for_us}"),
            Self::CutFront { slow, for_us, links } => {
                write!(f, "cut-front {slow} {for_us}")?;
                write_links(links, f)
            }
            Self::Pause { node, for_us } => write!(f, "pause {node} {for_us}"),
            Self::PauseAtRead { node, for_us } => write!(f, "pause-at-read {node} {for_us}"),
            Self::Network { lost, doubled, slow } => write!(f, "network {lost} {doubled} {slow}"),
            Self::Clock { node, ahead_us } => write!(f, "clock {node} {ahead_us}"),
            Self::ClockJump { node, off_s, for_us } => {
                let way = if *off_s < 0 { "back" } else { "forward" };
                write!(f, "clock-jump {node} {way} {} {for_us}", off_s.unsigned_abs())
            }
            Self::Drain { node } => write!(f, "drain {node}"),
            Self::Stay { node } => write!(f, "stay {node}"),
            Self::Replicas { count } => write!(f, "replicas {count}"),
            Self::Rules { least, spread, in_memory } => write!(f, "rules {least} {spread} {in_memory}"),
            Self::HoldBack { node, kind, for_us } => write!(f, "hold-back {node} {kind} {for_us}"),
            Self::HoldBackAt { node, said, kind, for_us } => write!(f, "hold-back-at {node} {said} {kind} {for_us}"),
            Self::Join { node } => write!(f, "join {node}"),
            Self::Nothing => write!(f, "nothing"),
            Self::Ask { client, key, operation } => match operation {
                KvOperation::Put { value } => write!(f, "put {client} {key} {value}"),
                KvOperation::CompareAndSwap { expected, value } => write!(f, "cas {client} {key} {expected} {value}"),
                KvOperation::Delete => write!(f, "delete {client} {key}"),
                _ => write!(f, "get {client} {key}"),
            },
        }
    }
}

fn write_links(links: &LinkSet, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if links.is_empty() {
        write!(f, " {NONE}")?;
    }
    links.iter().try_for_each(|(from, to)| write!(f, " {from}>{to}"))
}

impl FromStr for FaultAction {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = Lexer::of(text);
        let name = words.word("the name of an act")?;
        let Some((_, arguments)) = ACTIONS.iter().find(|(known, _)| *known == name) else {
            return Err(format!("no act is called `{name}`"));
        };
        let action = read(name, &mut words).and_then(|action| words.end().map(|()| action));
        action.map_err(|error| format!("{error}; write `{}`", format!("{name} {arguments}").trim_end()))
    }
}

/// A clock that shows another time for a while.
fn clock_jump(words: &mut Lexer<'_>) -> Result<FaultAction, String> {
    let node = node(words)?;
    let is_back = match words.word("a way")? {
        "forward" => false,
        "back" => true,
        other => return Err(format!("`{other}` is no way: it is forward or back")),
    };
    let seconds = words.number("number of seconds", 0..=MOST_JUMP_S)?.cast_signed();
    Ok(FaultAction::ClockJump { node, off_s: if is_back { -seconds } else { seconds }, for_us: us(words)? })
}

/// The action of this name, with its arguments.
fn read(name: &str, words: &mut Lexer<'_>) -> Result<FaultAction, String> {
    Ok(match name {
        "crash" => FaultAction::Crash { node: node(words)?, for_us: us(words)?, dice: dice(words)? },
        "crash-at" => {
            FaultAction::CrashAt { node: node(words)?, kind: kind(words)?, for_us: us(words)?, dice: dice(words)? }
        }
        "power-failure" => FaultAction::PowerFailure { dice: dice(words)? },
        "lose-disk" => FaultAction::LoseDisk { node: node(words)?, for_us: us(words)?, dice: dice(words)? },
        "other-disk" => FaultAction::OtherDisk { node: node(words)?, for_us: us(words)?, dice: dice(words)? },
        "join" => FaultAction::Join { node: node(words)? },
        "drain" => FaultAction::Drain { node: node(words)? },
        "stay" => FaultAction::Stay { node: node(words)? },
        "replicas" => FaultAction::Replicas { count: words.number("number of replicas", 1..=most("replicas"))? as u32 },
        "rules" => FaultAction::Rules {
            least: words.number("number of members", 1..=most("least"))? as u8,
            spread: choice(words)?,
            in_memory: choice(words)?,
        },
        "pause" => FaultAction::Pause { node: node(words)?, for_us: us(words)? },
        "pause-at-read" => FaultAction::PauseAtRead { node: node(words)?, for_us: us(words)? },
        "clock" => {
            let node = node(words)?;
            FaultAction::Clock { node, ahead_us: words.number("time in microseconds", 0..=2 * WRONG_US - 1)? }
        }
        "clock-jump" => clock_jump(words)?,
        "full" => FaultAction::Full { node: node(words)?, for_us: us(words)? },
        "bad-read" => FaultAction::BadRead { node: node(words)? },
        "fail-disk" => FaultAction::FailDisk { node: node(words)?, for_us: us(words)?, dice: dice(words)? },
        "cut" => FaultAction::Cut { for_us: us(words)?, links: links(words)? },
        "sever" => FaultAction::Sever { links: links(words)? },
        "network" => FaultAction::Network { lost: share(words)?, doubled: share(words)?, slow: share(words)? },
        "hold-back" => FaultAction::HoldBack { node: node(words)?, kind: kind(words)?, for_us: us(words)? },
        "hold-back-at" => {
            FaultAction::HoldBackAt { node: node(words)?, said: kind(words)?, kind: kind(words)?, for_us: us(words)? }
        }
        "lead" => {
            let word = words.word("a manager, or none")?;
            FaultAction::Lead { manager: if word == NONE { None } else { Some(index(word, "manager")?) } }
        }
        "lag" => FaultAction::Lag { for_us: us(words)? },
        "restart-manager" => FaultAction::RestartManager { manager: index(words.word("a manager")?, "manager")? },
        "crash-front" => FaultAction::CrashFront { front: front(words)?, for_us: us(words)? },
        "pause-front" => FaultAction::PauseFront { front: front(words)?, for_us: us(words)? },
        "cut-front" => FaultAction::CutFront { slow: share(words)?, for_us: us(words)?, links: links(words)? },
        "put" => ask(words, |words| Ok(KvOperation::Put { value: value(words)? }))?,
        "get" => ask(words, |_| Ok(KvOperation::Get))?,
        "delete" => ask(words, |_| Ok(KvOperation::Delete))?,
        "cas" => ask(words, |words| Ok(KvOperation::CompareAndSwap { expected: value(words)?, value: value(words)? }))?,
        "nothing" => FaultAction::Nothing,
        other => unreachable!("{other} is in the list of acts"),
    })
}

fn ask(
    words: &mut Lexer<'_>,
    operation: impl FnOnce(&mut Lexer<'_>) -> Result<KvOperation, String>,
) -> Result<FaultAction, String> {
    let client = index(words.word("a client")?, "client")?;
    let key = index(words.word("a key")?, "key")? as u64;
    Ok(FaultAction::Ask { client, key, operation: operation(words)? })
}

fn index(word: &str, what: &str) -> Result<usize, String> {
    word.parse().map_err(|_| format!("`{word}` is no number of a {what}"))
}

fn node(words: &mut Lexer<'_>) -> Result<usize, String> {
    index(words.word("a node")?, "node")
}

fn front(words: &mut Lexer<'_>) -> Result<usize, String> {
    index(words.word("a front-end")?, "front-end")
}

fn us(words: &mut Lexer<'_>) -> Result<u64, String> {
    words.number("time in microseconds", 0..=MOST_US)
}

fn choice(words: &mut Lexer<'_>) -> Result<bool, String> {
    let word = words.word("a choice: true or false")?;
    word.parse().map_err(|_| format!("`{word}` is no choice: it is true or false"))
}

fn dice(words: &mut Lexer<'_>) -> Result<u64, String> {
    words.number("number to draw from", 0..=u64::MAX)
}

fn value(words: &mut Lexer<'_>) -> Result<u64, String> {
    words.number("value", 0..=u64::MAX)
}

/// So many of a thousand.
fn share(words: &mut Lexer<'_>) -> Result<u64, String> {
    words.number("number of a thousand messages", 0..=1000)
}

fn kind(words: &mut Lexer<'_>) -> Result<&'static str, String> {
    formatter::kind(words.word("a kind of message")?)
}

fn links(words: &mut Lexer<'_>) -> Result<LinkSet, String> {
    let mut links = LinkSet::new();
    let mut word = words.word("a link such as n1>m0, or none")?;
    if word == NONE {
        return Ok(links);
    }
    loop {
        let (from, to) = word.split_once('>').ok_or_else(|| format!("`{word}` is no link such as n1>m0"))?;
        links.insert((from.parse()?, to.parse()?));
        match words.next() {
            Some(next) => word = next,
            None => return Ok(links),
        }
    }
}

/// Whether the plan has somebody; if not, what it has.
fn is_there(party: Party, plan: &Plan) -> Result<(), String> {
    let nodes = (plan.nodes + plan.late) as usize;
    let (number, count, what) = match party {
        Party::Manager(number) => (number, plan.managers, "managers"),
        Party::Node(number) => (number, nodes, "nodes"),
        Party::Front(number) => (number, plan.fronts as usize, "front-ends"),
        Party::Client(number) => (number, plan.clients as usize, "clients"),
    };
    if number < count { Ok(()) } else { Err(format!("there is no {party}: the plan has {count} {what}, from 0 on")) }
}

impl FaultAction {
    /// Whether all that it names is there.
    ///
    /// # Errors
    /// Says what is not.
    pub fn check(&self, plan: &Plan) -> Result<(), String> {
        match self {
            Self::Crash { node, .. }
            | Self::CrashAt { node, .. }
            | Self::LoseDisk { node, .. }
            | Self::OtherDisk { node, .. }
            | Self::Pause { node, .. }
            | Self::PauseAtRead { node, .. }
            | Self::Full { node, .. }
            | Self::BadRead { node }
            | Self::FailDisk { node, .. }
            | Self::Clock { node, .. }
            | Self::ClockJump { node, .. }
            | Self::Drain { node }
            | Self::Stay { node }
            | Self::HoldBack { node, .. }
            | Self::HoldBackAt { node, .. }
            | Self::Join { node } => is_there(Party::Node(*node), plan),
            Self::Lead { manager: Some(manager) } | Self::RestartManager { manager } => {
                is_there(Party::Manager(*manager), plan)
            }
            Self::CrashFront { front, .. } | Self::PauseFront { front, .. } => is_there(Party::Front(*front), plan),
            Self::Cut { links, .. } | Self::CutFront { links, .. } | Self::Sever { links } => {
                links.iter().try_for_each(|(from, to)| is_there(*from, plan).and_then(|()| is_there(*to, plan)))
            }
            Self::Ask { client, key, .. } => {
                is_there(Party::Client(*client), plan)?;
                let keys = plan.keys;
                if *key < keys { Ok(()) } else { Err(format!("there is no key {key}: the plan has {keys}, from 0 on")) }
            }
            Self::Rules { least, .. } => {
                let members = plan.replicas.min(plan.nodes + plan.late);
                let fits = u32::from(*least) <= members;
                fits.then_some(()).ok_or_else(|| format!("{least}, but no chain has more than {members} members"))
            }
            Self::PowerFailure { .. }
            | Self::Lead { manager: None }
            | Self::Lag { .. }
            | Self::Network { .. }
            | Self::Nothing
            | Self::Replicas { .. } => Ok(()),
        }
    }

    /// What is left of it in a smaller plan: of cuts the links between those who are there.
    pub fn fitted(&self, plan: &Plan) -> Option<Self> {
        let mut action = self.clone();
        if let Self::Cut { links, .. } | Self::CutFront { links, .. } | Self::Sever { links } = &mut action {
            links.retain(|(from, to)| is_there(*from, plan).and_then(|()| is_there(*to, plan)).is_ok());
        }
        action.check(plan).is_ok().then_some(action)
    }
}
