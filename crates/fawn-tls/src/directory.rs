//! A directory of certificates, as an operator keeps it: `ca.pem` with `ca-key.pem`, and for each name `NAME.pem` with
//! `NAME-key.pem`. A machine gets `ca.pem` and its own two files; the authority's key stays where it is.

use crate::authority::{Authority, CertificateRequest, KeyPem, Pair};
use crate::certificate::{Facts, Host, Validity};
use crate::config::{Material, links};
use crate::error::TlsError;
use crate::files::{Readers, make_dir, read_chain, replace, stage, sync_dir, write_new};
use crate::identity::{DOMAIN, Role, check_name};
use rustls::pki_types::DnsName;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The authority's file name.
const AUTHORITY: &str = "ca";

/// What a key's file name ends with, after the certificate's.
const KEY: &str = "-key";

/// The file name of the first operator.
const OPERATOR: &str = "operator";

/// Days that an authority lasts.
const AUTHORITY_DAYS: u32 = 3650;

const END: &str = "-----END CERTIFICATE-----\n";

/// Somebody who is to have a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applicant {
    /// Name of the files, and of a member.
    pub name: String,
    /// What they may do.
    pub roles: BTreeSet<Role>,
    /// Where clients reach them.
    pub hosts: BTreeSet<Host>,
}

impl Applicant {
    fn check(&self) -> Result<(), TlsError> {
        check_name(&self.name)?;
        let refuse = |name: &str, what| Err(TlsError::Name { name: name.to_owned(), what });
        if self.name == AUTHORITY || self.name.ends_with(KEY) {
            return refuse(&self.name, "files of that name have another purpose; choose another name");
        }
        self.check_reserved()?;
        for host in &self.hosts {
            let Host::Name(name) = host else { continue };
            if name.to_ascii_lowercase().ends_with(DOMAIN) {
                return refuse(name, "names that end with .fawn are roles, not hosts");
            }
            if DnsName::try_from(name.as_str()).is_err() {
                return refuse(name, "give a host name or an IP address, without a port");
            }
        }
        Ok(())
    }

    /// Refuses a name that stands for a role to whoever is not to have that role alone: by its name nobody becomes an operator, and
    /// no process is shown files that are not for it. A manager may be a member, too.
    fn check_reserved(&self) -> Result<(), TlsError> {
        let (role, flag) = match self.name.as_str() {
            OPERATOR => (Role::Operator, "operators"),
            "manager" => (Role::Manager, "managers"),
            "client" => (Role::Client, "clients"),
            _ => return Ok(()),
        };
        let may_be_member = role == Role::Manager;
        let fits = |other: &Role| *other == role || (may_be_member && matches!(other, Role::Member(_)));
        if self.roles.contains(&role) && self.roles.iter().all(fits) {
            return Ok(());
        }
        Err(TlsError::Reserved { name: self.name.clone(), of: flag })
    }

    fn request(&self, validity: Validity) -> CertificateRequest {
        let mut names: Vec<String> = self.roles.iter().map(Role::dns_name).collect();
        if self.roles.contains(&Role::Manager) {
            names.push(format!("{}.{}", self.name, Role::Manager.dns_name()));
        }
        CertificateRequest {
            subject: self.name.clone(),
            names,
            hosts: self.hosts.iter().cloned().collect(),
            validity,
            serves: self.roles.iter().any(Role::serves),
        }
    }
}

/// A host from what an operator writes: a name or an IP address.
pub fn host(text: &str) -> Host {
    text.parse::<IpAddr>().map_or_else(|_| Host::Name(text.to_owned()), Host::Ip)
}

/// A certificate that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCertificate {
    /// Whose it is.
    pub name: String,
    /// Its file.
    pub cert: PathBuf,
    /// Its key's file.
    pub key: PathBuf,
    /// Whether the key is new, too.
    pub has_new_key: bool,
    /// What it says.
    pub facts: Facts,
}

/// Makes an authority, and a certificate for everybody who is wanted.
///
/// # Errors
/// [`TlsError`]; nothing is written over, and what was written before an error is removed.
pub fn init(dir: &Path, wanted: &[Applicant], days: u32, now: i64) -> Result<Vec<WrittenCertificate>, TlsError> {
    let ca = files_of(dir, AUTHORITY);
    if ca.cert.exists() || ca.key.exists() {
        let what = "this directory has an authority; create more certificates with `fawn certs add`";
        return Err(TlsError::Exists { path: ca.cert, what });
    }
    wanted.iter().try_for_each(Applicant::check)?;
    let (authority, pair) = Authority::make(Validity::days(now, AUTHORITY_DAYS))?;
    let mut pairs = vec![(AUTHORITY.to_owned(), pair)];
    pairs.extend(issue(&authority, wanted, Validity::days(now, days))?);
    make_dir(dir)?;
    write_all(dir, &pairs)
}

/// Makes certificates of the authority that a directory has.
///
/// # Errors
/// As [`init`].
pub fn add(dir: &Path, wanted: &[Applicant], days: u32, now: i64) -> Result<Vec<WrittenCertificate>, TlsError> {
    wanted.iter().try_for_each(Applicant::check)?;
    let pairs = issue(&authority_of(dir)?, wanted, Validity::days(now, days))?;
    write_all(dir, &pairs)
}

fn authority_of(dir: &Path) -> Result<Authority, TlsError> {
    let ca = files_of(dir, AUTHORITY);
    Authority::open(&ca.cert, &ca.key)
}

fn issue(authority: &Authority, wanted: &[Applicant], validity: Validity) -> Result<Vec<(String, Pair)>, TlsError> {
    let of = |wanted: &Applicant| Ok((wanted.name.clone(), authority.issue(&wanted.request(validity))?));
    wanted.iter().map(of).collect()
}

/// Writes pairs that are not there yet: all of them or none.
fn write_all(dir: &Path, pairs: &[(String, Pair)]) -> Result<Vec<WrittenCertificate>, TlsError> {
    let files: Vec<(Material, &Pair)> = pairs.iter().map(|(name, pair)| (files_of(dir, name), pair)).collect();
    for path in files.iter().flat_map(|(files, _)| [&files.cert, &files.key]) {
        if path.exists() {
            let what = "choose another name, or renew it with `fawn certs renew`";
            return Err(TlsError::Exists { path: path.clone(), what });
        }
    }
    let mut written: Vec<&PathBuf> = Vec::new();
    for (Material { cert, key, .. }, pair) in &files {
        for (path, text, readers) in [(key, &pair.key.0, Readers::Owner), (cert, &pair.cert, Readers::All)] {
            if let Err(error) = write_new(path, text, readers) {
                // A failed write leaves its own file, too, unless that was there before.
                let own = (!matches!(error, TlsError::Exists { .. })).then_some(path);
                for path in written.into_iter().chain(own) {
                    // The first error is the one to tell.
                    let _ = std::fs::remove_file(path);
                }
                return Err(error);
            }
            written.push(path);
        }
    }
    sync_dir(&dir.join(AUTHORITY))?;
    pairs.iter().zip(files).map(|((name, _), (files, _))| made(name, files, true)).collect()
}

fn made(name: &str, files: Material, has_new_key: bool) -> Result<WrittenCertificate, TlsError> {
    let facts = facts_of(&files.cert)?;
    Ok(WrittenCertificate { name: name.to_owned(), cert: files.cert, key: files.key, has_new_key, facts })
}

fn facts_of(cert: &Path) -> Result<Facts, TlsError> {
    Facts::of(&read_chain(cert)?[0]).map_err(|error| TlsError::file(cert, error.to_string()))
}

fn files_of(dir: &Path, name: &str) -> Material {
    Material::in_dir(dir, name)
}

/// The files of whoever looks after a cluster: `operator`, or else the one other operator whose files are there.
///
/// # Errors
/// [`TlsError::File`] if there is none, or several of whom none is `operator`.
pub fn operator(dir: &Path) -> Result<Material, TlsError> {
    let usual = files_of(dir, OPERATOR);
    if usual.cert.exists() {
        return Ok(usual);
    }
    let is_operator = |facts: &Facts| facts.roles().contains(&Role::Operator);
    let shown = show(dir)?.into_iter().filter(|shown| shown.has_key && shown.facts.as_ref().is_some_and(is_operator));
    let names: Vec<String> = shown.map(|shown| shown.name).collect();
    match names.as_slice() {
        [name] => Ok(files_of(dir, name)),
        [] => Err(TlsError::file(
            dir,
            "it has no operator's certificate and key: copy operator.pem and operator-key.pem there, or those of \
            another operator, from `fawn certs add --operator NAME`",
        )),
        several => {
            let what = format!("it has no operator.pem, but several operators' certificates: {}", several.join(", "));
            Err(TlsError::file(
                dir,
                format!("{what}; copy ca.pem and the files of one of them to a directory of their own"),
            ))
        }
    }
}

/// A certificate of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCertificate {
    /// Whose it is.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// What it says, if it can be read.
    pub facts: Option<Facts>,
    /// Whether its key is there.
    pub has_key: bool,
    /// Why it cannot be used.
    pub problem: Option<String>,
}

/// Looks at every certificate of a directory, the authority first.
///
/// # Errors
/// [`TlsError::File`] if the directory cannot be read or has none.
pub fn show(dir: &Path) -> Result<Vec<ListedCertificate>, TlsError> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(dir).map_err(|error| TlsError::file(dir, error.to_string()))? {
        let name = entry.map_err(|error| TlsError::file(dir, error.to_string()))?.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".pem"));
        names.extend(name.filter(|name| !name.ends_with(KEY)).map(|name| (name != AUTHORITY, name.to_owned())));
    }
    if names.is_empty() {
        return Err(TlsError::file(dir, "it has no certificates: create them with `fawn certs init`"));
    }
    Ok(names.into_iter().map(|(_, name)| look_at(dir, name)).collect())
}

fn look_at(dir: &Path, name: String) -> ListedCertificate {
    let files = files_of(dir, &name);
    let facts = facts_of(&files.cert);
    let has_key = files.key.exists();
    let problem = match (&facts, has_key) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(_), true) if name == AUTHORITY => authority_of(dir).err().map(|error| error.to_string()),
        (Ok(_), true) => links(&files).err().map(|error| error.to_string()),
        // The authority's key is better kept elsewhere.
        (Ok(_), false) if name == AUTHORITY => None,
        (Ok(_), false) => {
            let error = TlsError::file(&files.key, "it is missing: without it the certificate cannot be used");
            Some(error.to_string())
        }
    };
    ListedCertificate { name, path: files.cert, facts: facts.ok(), has_key, problem }
}

/// Which certificates are renewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those that end soon.
    Expiring,
    /// All.
    All,
    /// These.
    Named(Vec<String>),
}

/// What becomes of the keys of certificates that are renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// They stay. One file is replaced, so that there is no moment at which key and certificate do not fit.
    Keep,
    /// They are new, too, but for the authority's.
    New,
}

/// Issues certificates again, for the same names. An authority keeps its key, so that what it has signed stays good.
///
/// # Errors
/// [`TlsError`]; what was renewed before it stays so.
pub fn renew(dir: &Path, which: &Which, keys: Keys, days: u32, now: i64) -> Result<Vec<WrittenCertificate>, TlsError> {
    let mut authority = authority_of(dir)?;
    let shown = show(dir)?;
    if let Which::Named(names) = which {
        let unknown = names.iter().find(|name| shown.iter().all(|shown| shown.name != **name));
        if let Some(name) = unknown {
            let has: Vec<&str> = shown.iter().map(|shown| shown.name.as_str()).collect();
            return Err(TlsError::Unknown { name: name.clone(), dir: dir.to_owned(), has: has.join(", ") });
        }
    }
    let mut renewed = Vec::new();
    for ListedCertificate { name, facts, path, has_key, .. } in shown {
        let is_due = match (which, &facts) {
            (Which::All, _) => true,
            (Which::Named(names), _) => names.contains(&name),
            (Which::Expiring, facts) => facts.as_ref().is_some_and(|facts| facts.validity.ends_soon(now)),
        };
        if !is_due {
            continue;
        }
        let Some(facts) = facts else {
            return Err(TlsError::file(
                &path,
                "it cannot be read: remove it, and create another with `fawn certs add`",
            ));
        };
        let files = files_of(dir, &name);
        if name == AUTHORITY {
            renew_authority(&mut authority, &files, &facts, now)?;
            renewed.push(made(&name, files, false)?);
            continue;
        }
        let request = CertificateRequest {
            subject: facts.subject.clone(),
            serves: facts.roles().iter().any(Role::serves),
            names: facts.names,
            hosts: facts.hosts,
            validity: Validity::days(now, days),
        };
        let has_new_key = keys == Keys::New || !has_key;
        if has_new_key {
            let Pair { cert, key: KeyPem(key) } = authority.issue(&request)?;
            let key = stage(&files.key, &key, Readers::Owner)?;
            let cert = stage(&files.cert, &cert, Readers::All);
            // Without its certificate the key would be one that fits none.
            let cert = cert.inspect_err(|_| key.discard())?;
            key.put()?;
            cert.put()?;
        } else {
            replace(&files.cert, &authority.issue_for(&request, &files.key)?, Readers::All)?;
        }
        renewed.push(made(&name, files, has_new_key)?);
    }
    Ok(renewed)
}

/// Puts a new certificate in the place of the file's first; others there, of an authority that is replaced, stay.
fn renew_authority(authority: &mut Authority, files: &Material, facts: &Facts, now: i64) -> Result<(), TlsError> {
    let cert = authority.renewed(&facts.subject, Validity::days(now, AUTHORITY_DAYS))?;
    let old = std::fs::read_to_string(&files.cert).map_err(|error| TlsError::file(&files.cert, error.to_string()))?;
    let others = old.split_once(END).map_or("", |(_, others)| others);
    replace(&files.cert, &format!("{cert}{others}"), Readers::All)
}
