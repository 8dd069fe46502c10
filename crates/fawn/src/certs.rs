//! `fawn certs`: makes a cluster's certificates, shows and renews them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Subcommand};
use fawn_tls::certificate::{Expiry, Facts, Host, date, now};
use fawn_tls::directory::{
    Applicant, Keys, ListedCertificate, Which, WrittenCertificate, add, host, init, renew, show,
};
use fawn_tls::identity::check_name;
use fawn_tls::{Role, TlsError};
use serde_json::{Value, json};

use crate::outcome::{CommandStatus, UsageError};
use crate::tell::tell;
use crate::values::number;

/// Arguments of `fawn certs`.
#[derive(Debug, Args)]
pub struct CertsArguments {
    /// What to do.
    #[command(subcommand)]
    command: CertsCommand,
}

/// What `fawn certs` does.
#[derive(Debug, Subcommand)]
enum CertsCommand {
    /// Create an authority, an operator's certificate, and those of members and managers
    Init(InitArguments),
    /// Create more certificates of the existing authority
    Add(AddArguments),
    /// Show subject and expiry of each certificate; exit code 1 if one cannot be used, or its key is missing
    Show(ShowArguments),
    /// Reissue certificates that expire within 30 days
    Renew(RenewArguments),
}

/// Where certificates are.
#[derive(Debug, Args)]
struct DirArguments {
    /// Directory of the certificates
    #[arg(long = "certs", visible_alias = "dir", value_name = "DIR", default_value = "./certs")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Who certificates are made for.
#[derive(Debug, Args)]
struct WhoArguments {
    /// A member, and the names and IP addresses at which memcached clients reach it; may be given several times
    #[arg(long, value_name = "NAME[=HOST[,HOST]]", hide_env = true)]
    member: Vec<NamedHosts>,
    /// A manager; a member and a manager of the same name share one certificate
    #[arg(long, value_name = "NAME[=HOST[,HOST]]", hide_env = true)]
    manager: Vec<NamedHosts>,
    /// Validity of the certificates in days; the authority lasts ten years
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = number::<u32>(1..=36_500))]
    days: u32,
}

/// Arguments of `fawn certs init`.
#[derive(Debug, Args)]
#[command(after_help = "Only the owner of key files may read them. The command overwrites nothing. The authority's \
    key, ca-key.pem, can create a certificate for anybody: keep it away from the machines of the cluster.")]
struct InitArguments {
    #[command(flatten)]
    dir: DirArguments,
    #[command(flatten)]
    who: WhoArguments,
}

/// Arguments of `fawn certs add`.
#[derive(Debug, Args)]
struct AddArguments {
    #[command(flatten)]
    dir: DirArguments,
    #[command(flatten)]
    who: WhoArguments,
    /// An operator, who may give every command to the managers
    #[arg(long, value_name = "NAME", hide_env = true)]
    operator: Vec<NamedHosts>,
    /// A client
    #[arg(long, value_name = "NAME", hide_env = true)]
    client: Vec<NamedHosts>,
}

/// Arguments of `fawn certs show`.
#[derive(Debug, Args)]
struct ShowArguments {
    #[command(flatten)]
    dir: DirArguments,
}

/// Arguments of `fawn certs renew`.
#[derive(Debug, Args)]
#[command(after_help = "Each file is replaced atomically. Processes that use it present the new certificate on new \
    connections within seconds. An authority keeps its key, so that the certificates it has signed stay valid.")]
struct RenewArguments {
    #[command(flatten)]
    dir: DirArguments,
    /// Renew all certificates, whatever their expiry
    #[arg(long, conflicts_with = "names")]
    all: bool,
    /// Also create new keys (the authority keeps its own)
    #[arg(long)]
    new_keys: bool,
    /// Validity of the new certificates in days
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = number::<u32>(1..=36_500))]
    days: u32,
    /// Renew these, whatever their expiry
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

/// A name with hosts: `a=10.0.0.1,a.example`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NamedHosts {
    name: String,
    hosts: BTreeSet<Host>,
}

impl FromStr for NamedHosts {
    type Err = TlsError;

    fn from_str(text: &str) -> Result<Self, TlsError> {
        let (name, hosts) = text.split_once('=').map_or((text, None), |(name, hosts)| (name, Some(hosts)));
        check_name(name)?;
        let hosts = hosts.into_iter().flat_map(|hosts| hosts.split(',')).map(|text| host(text.trim())).collect();
        Ok(Self { name: name.to_owned(), hosts })
    }
}

/// Does what is asked for.
pub fn run(arguments: &CertsArguments) -> anyhow::Result<CommandStatus> {
    match &arguments.command {
        CertsCommand::Init(InitArguments { dir, who }) => {
            let operator = NamedHosts { name: "operator".to_owned(), hosts: BTreeSet::new() };
            let made = init(&dir.dir, &everybody(who, &[operator], &[]), who.days, now())?;
            tell_made(dir, &made, "made")
        }
        CertsCommand::Add(AddArguments { dir, who, operator, client }) => {
            let wanted = everybody(who, operator, client);
            if wanted.is_empty() {
                let what = "no name is given: give --member, --manager, --operator or --client";
                return Err(UsageError(what.to_owned()).into());
            }
            tell_made(dir, &add(&dir.dir, &wanted, who.days, now())?, "made")
        }
        CertsCommand::Show(ShowArguments { dir }) => tell_shown(dir),
        CertsCommand::Renew(arguments) => {
            let RenewArguments { dir, all, new_keys, days, names } = arguments;
            let which = match (all, names.as_slice()) {
                (true, _) => Which::All,
                (false, []) => Which::Expiring,
                (false, names) => Which::Named(names.to_vec()),
            };
            let keys = if *new_keys { Keys::New } else { Keys::Keep };
            tell_made(dir, &renew(&dir.dir, &which, keys, *days, now())?, "renewed")
        }
    }
}

/// Who is named, each once with all roles.
fn everybody(who: &WhoArguments, operators: &[NamedHosts], clients: &[NamedHosts]) -> Vec<Applicant> {
    let member = |named: &NamedHosts| Role::Member(named.name.clone());
    let members = who.member.iter().map(|named| (named, member(named)));
    let managers = who.manager.iter().map(|named| (named, Role::Manager));
    let operators = operators.iter().map(|named| (named, Role::Operator));
    let clients = clients.iter().map(|named| (named, Role::Client));
    let mut all: BTreeMap<String, Applicant> = BTreeMap::new();
    for (NamedHosts { name, hosts }, role) in members.chain(managers).chain(operators).chain(clients) {
        let empty = || Applicant { name: name.clone(), roles: BTreeSet::new(), hosts: BTreeSet::new() };
        let wanted = all.entry(name.clone()).or_insert_with(empty);
        wanted.roles.insert(role);
        wanted.hosts.extend(hosts.iter().cloned());
    }
    all.into_values().collect()
}

/// Says what was written, and where it has to go.
fn tell_made(
    DirArguments { dir, json }: &DirArguments,
    made: &[WrittenCertificate],
    did: &str,
) -> anyhow::Result<CommandStatus> {
    let mut out = io::stdout().lock();
    if *json {
        let made: Vec<Value> = made.iter().map(made_json).collect();
        writeln!(out, "{}", json!({ "dir": dir, did: made }))?;
        return Ok(CommandStatus::Done);
    }
    if made.is_empty() {
        writeln!(out, "nothing expires within 30 days")?;
        return Ok(CommandStatus::Done);
    }
    for WrittenCertificate { cert, key, facts, has_new_key, .. } in made {
        let files = if *has_new_key {
            format!("{} and {}", cert.display(), file_name(key))
        } else {
            cert.display().to_string()
        };
        writeln!(out, "{did} {files}: {}, until {}", who(facts), date(facts.validity.until))?;
    }
    let others = || made.iter().filter(|made| !made.facts.is_authority);
    if others().next().is_some() {
        writeln!(out, "\nCopy to the machine of each, for `--certs DIR`:")?;
    }
    for WrittenCertificate { cert, key, facts, has_new_key, .. } in others() {
        let host = facts.hosts.first().map_or_else(|| format!("the machine of {}", facts.subject), ToString::to_string);
        // Who has the key has the authority's certificate, too.
        let rest =
            if *has_new_key { format!("{} {} ", dir.join("ca.pem").display(), key.display()) } else { String::new() };
        writeln!(out, "  {rest}{} to {host}", cert.display())?;
    }
    for WrittenCertificate { cert, key, has_new_key, .. } in made.iter().filter(|made| made.facts.is_authority) {
        if *has_new_key {
            writeln!(
                out,
                "\nKeep {} away from the cluster: anyone who has it can impersonate every process there.",
                key.display()
            )?;
        } else {
            writeln!(out, "\nCopy {} to everybody who has the old one.", cert.display())?;
        }
    }
    Ok(CommandStatus::Done)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Roles, then hosts.
fn who(facts: &Facts) -> String {
    let mut words: Vec<String> = facts.roles().iter().map(ToString::to_string).collect();
    if facts.is_authority {
        words.push("the authority".to_owned());
    }
    words.extend(facts.hosts.iter().map(ToString::to_string));
    if words.is_empty() { "nobody".to_owned() } else { words.join(", ") }
}

fn made_json(made: &WrittenCertificate) -> Value {
    let mut value = facts_json(&made.facts);
    value["name"] = json!(made.name);
    value["cert"] = json!(made.cert);
    value["key"] = json!(made.key);
    value["new_key"] = json!(made.has_new_key);
    value
}

fn facts_json(facts: &Facts) -> Value {
    let texts = |items: Vec<String>| json!(items);
    json!({
        "roles": texts(facts.roles().iter().map(ToString::to_string).collect()),
        "hosts": texts(facts.hosts.iter().map(ToString::to_string).collect()),
        "authority": facts.is_authority,
        "from": facts.validity.from,
        "until": facts.validity.until,
        "days_left": facts.validity.days_left(now()),
    })
}

/// Prints what certificates say; what needs looking after goes to standard error.
fn tell_shown(DirArguments { dir, json }: &DirArguments) -> anyhow::Result<CommandStatus> {
    let shown = show(dir)?;
    let mut out = io::stdout().lock();
    if *json {
        let certificates: Vec<Value> = shown.iter().map(shown_json).collect();
        writeln!(out, "{}", json!({ "dir": dir, "certificates": certificates }))?;
    } else {
        for ListedCertificate { name, facts, .. } in &shown {
            match facts {
                None => writeln!(out, "{name}: cannot be read")?,
                Some(facts) => {
                    let (day, left) = (date(facts.validity.until), facts.validity.days_left(now()));
                    writeln!(out, "{name}: {}, until {day} ({left} days)", who(facts))?;
                }
            }
        }
    }
    out.flush()?;
    let mut is_usable = true;
    for ListedCertificate { path, facts, problem, .. } in shown {
        let expiry = facts.map(|facts| Expiry { path, validity: facts.validity });
        is_usable &= problem.is_none() && expiry.as_ref().is_none_or(|expiry| expiry.validity.days_left(now()) >= 0);
        if let Some(what) = problem.or_else(|| expiry?.warning(now())) {
            tell(format_args!("fawn: {what}"));
        }
    }
    Ok(if is_usable { CommandStatus::Done } else { CommandStatus::Missing })
}

fn shown_json(shown: &ListedCertificate) -> Value {
    let mut value = shown.facts.as_ref().map_or_else(|| json!({}), facts_json);
    value["name"] = json!(shown.name);
    value["cert"] = json!(shown.path);
    value["has_key"] = json!(shown.has_key);
    value["problem"] = json!(shown.problem);
    value
}
