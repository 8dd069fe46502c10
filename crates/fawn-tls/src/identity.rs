//! Who a certificate says that somebody is.
//!
//! A role is a DNS name in the certificate's subject alternative names, so that whoever dials can have the ordinary
//! check of a server's name make sure of the role. Names are lower case: DNS knows no other, and two members must not be
//! one to it.

use crate::error::TlsError;
use rustls::pki_types::{CertificateDer, DnsName, ServerName};
use std::collections::BTreeSet;
use std::fmt;

/// All roles end with this; no host does.
pub const DOMAIN: &str = ".fawn";

const MEMBER: &str = ".member.fawn";
const MANAGER: &str = "manager.fawn";
const NAMED_MANAGER: &str = ".manager.fawn";
const OPERATOR: &str = "operator.fawn";
const CLIENT: &str = "client.fawn";

/// What somebody may do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Be this member: speak for its seats.
    Member(String),
    /// Be a manager.
    Manager,
    /// Look after the cluster: ask managers for its state, and for changes.
    Operator,
    /// Be a client.
    Client,
}

impl Role {
    /// The name that stands for it.
    pub fn dns_name(&self) -> String {
        match self {
            Self::Member(name) => format!("{name}{MEMBER}"),
            Self::Manager => MANAGER.to_owned(),
            Self::Operator => OPERATOR.to_owned(),
            Self::Client => CLIENT.to_owned(),
        }
    }

    /// The role that a name of a certificate stands for, if it does.
    pub fn of_dns_name(name: &str) -> Option<Self> {
        match name {
            MANAGER => Some(Self::Manager),
            OPERATOR => Some(Self::Operator),
            CLIENT => Some(Self::Client),
            name => {
                let before = |suffix| name.strip_suffix(suffix).filter(|name| check_name(name).is_ok());
                match before(MEMBER) {
                    Some(name) => Some(Self::Member(name.to_owned())),
                    None => before(NAMED_MANAGER).map(|_| Self::Manager),
                }
            }
        }
    }

    /// Whether others dial it, so that its certificate has to serve, too.
    pub fn serves(&self) -> bool {
        matches!(self, Self::Member(_) | Self::Manager)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => write!(f, "member {name}"),
            Self::Manager => f.write_str("manager"),
            Self::Operator => f.write_str("operator"),
            Self::Client => f.write_str("client"),
        }
    }
}

/// Everything that a verified certificate says about its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Never empty.
    roles: BTreeSet<Role>,
}

impl Identity {
    /// The holder of a chain that was verified, leaf first: what `rustls` has as the peer's certificates.
    ///
    /// # Errors
    /// [`TlsError::NoRole`] if there is no certificate, or none of its names is a role's.
    pub fn of(chain: &[CertificateDer<'_>]) -> Result<Self, TlsError> {
        let leaf = chain.first().ok_or(TlsError::NoRole)?;
        let leaf = webpki::EndEntityCert::try_from(leaf).map_err(|error| TlsError::Certificate(error.to_string()))?;
        let roles: BTreeSet<Role> = leaf.valid_dns_names().filter_map(Role::of_dns_name).collect();
        if roles.is_empty() { Err(TlsError::NoRole) } else { Ok(Self { roles }) }
    }

    /// Somebody with these roles, by their [names](Role::dns_name), as another party has verified them; `None`: none is a role's.
    pub fn of_names(names: &[String]) -> Option<Self> {
        let roles: BTreeSet<Role> = names.iter().filter_map(|name| Role::of_dns_name(name)).collect();
        (!roles.is_empty()).then_some(Self { roles })
    }

    /// Whether this is one of its roles.
    pub fn has(&self, role: &Role) -> bool {
        self.roles.contains(role)
    }

    /// Whether it may be the member of this name.
    pub fn is_member(&self, name: &str) -> bool {
        self.roles.iter().any(|role| matches!(role, Role::Member(member) if member == name))
    }

    /// Whether it may know where keys are, and ask for them: a client, an operator, a manager, or a member that is one still.
    pub fn may_ask(&self, is_member: impl Fn(&str) -> bool) -> bool {
        self.roles.iter().any(|role| match role {
            Role::Member(name) => is_member(name),
            Role::Manager | Role::Operator | Role::Client => true,
        })
    }

    /// Its roles.
    pub fn roles(&self) -> impl Iterator<Item = &Role> {
        self.roles.iter()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, role) in self.roles.iter().enumerate() {
            let between = if number == 0 { "" } else { ", " };
            write!(f, "{between}{role}")?;
        }
        Ok(())
    }
}

/// The name that a server in this role must show when it is dialed.
///
/// # Errors
/// [`TlsError::Name`]: a member's name that no certificate can carry.
pub fn server_name_for(role: &Role) -> Result<ServerName<'static>, TlsError> {
    if let Role::Member(name) = role {
        check_name(name)?;
    }
    let refused = |_| TlsError::Name { name: role.to_string(), what: "it is too long" };
    Ok(ServerName::DnsName(DnsName::try_from(role.dns_name()).map_err(refused)?))
}

/// Refuses names that cannot be part of a role's name.
///
/// # Errors
/// [`TlsError::Name`].
pub fn check_name(name: &str) -> Result<(), TlsError> {
    let refuse = |what| Err(TlsError::Name { name: name.to_owned(), what });
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return refuse("use lower-case letters, digits, dots, dashes and underscores");
    }
    if name.len() > 64 || DnsName::try_from(format!("{name}{MEMBER}")).is_err() {
        return refuse("it needs 1 to 63 characters between dots, no dash at an end, and at most 64 in all");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_read_back_from_its_name() {
        for role in
            [Role::Member("a".into()), Role::Member("rack-1.a_b".into()), Role::Manager, Role::Operator, Role::Client]
        {
            assert_eq!(Role::of_dns_name(&role.dns_name()), Some(role.clone()));
            let ServerName::DnsName(name) = server_name_for(&role).unwrap() else { panic!("a role has a DNS name") };
            assert_eq!(name.as_ref(), role.dns_name());
        }
        assert_eq!(Role::of_dns_name("one.manager.fawn"), Some(Role::Manager));
    }

    #[test]
    fn a_member_may_ask_as_long_as_it_is_one() {
        let of = |role| Identity { roles: BTreeSet::from([role]) };
        let is_member = |name: &str| name == "a";
        for role in [Role::Client, Role::Operator, Role::Manager, Role::Member("a".into())] {
            assert!(of(role).may_ask(is_member));
        }
        assert!(!of(Role::Member("b".into())).may_ask(is_member));
    }

    #[test]
    fn names_that_only_look_like_a_role_are_none() {
        for name in [
            "fawn",
            "member.fawn",
            ".member.fawn",
            "*.member.fawn",
            "a.member.fawn.example",
            "notmanager.fawn",
            "A.member.fawn",
            "operator",
        ] {
            assert_eq!(Role::of_dns_name(name), None, "{name}");
        }
        // A member may have an odd name, but is never anything else for that.
        assert_eq!(Role::of_dns_name("x.manager.member.fawn"), Some(Role::Member("x.manager".into())));
        assert_eq!(Role::of_dns_name("x.member.manager.fawn"), Some(Role::Manager));
    }

    #[test]
    fn names_that_dns_does_not_tell_apart_are_refused() {
        for name in ["", "A", "a b", "ä", "-a", "a-", ".a", "a..b", "a.", "*", "a/b", &"a".repeat(64)] {
            assert!(check_name(name).is_err(), "{name}");
            assert!(server_name_for(&Role::Member(name.to_owned())).is_err(), "{name}");
        }
        for name in ["a", "n1", "rack-3.node_7", &"a".repeat(63)] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }
}
