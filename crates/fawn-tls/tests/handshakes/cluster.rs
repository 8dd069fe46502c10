//! A cluster's certificates in a temporary directory, and two ends that talk without a network.

use fawn_tls::certificate::now;
use fawn_tls::directory::{Applicant, host, init};
use fawn_tls::{Identity, Links, Material, Role, links, server_name_for};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection, SideData};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;

/// Somebody with roles and hosts.
pub fn wanted(name: &str, roles: &[Role], hosts: &[&str]) -> Applicant {
    Applicant {
        name: name.to_owned(),
        roles: roles.iter().cloned().collect(),
        hosts: hosts.iter().map(|text| host(text)).collect(),
    }
}

/// The member of this name.
pub fn member(name: &str) -> Role {
    Role::Member(name.to_owned())
}

/// Members a and b, a manager m, `both` that is a member and a manager, an operator and a client.
pub fn cluster() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    dir
}

pub fn make(dir: &Path) {
    let all = [
        wanted("a", &[member("a")], &["a.example", "127.0.0.1"]),
        wanted("b", &[member("b")], &[]),
        wanted("m", &[Role::Manager], &[]),
        wanted("both", &[member("both"), Role::Manager], &[]),
        wanted("operator", &[Role::Operator], &[]),
        wanted("client", &[Role::Client], &[]),
    ];
    init(dir, &all, 90, now()).unwrap();
}

/// What the one of this name makes links with.
pub fn links_of(dir: &TempDir, name: &str) -> Links {
    links(&Material::in_dir(dir.path(), name)).unwrap()
}

/// Two ends of a connection, and who each takes the other for.
pub struct Pair {
    pub caller: ClientConnection,
    pub called: ServerConnection,
}

impl Pair {
    /// Whom the caller talks to.
    pub fn answered(&self) -> Identity {
        Identity::of(self.caller.peer_certificates().unwrap()).unwrap()
    }

    /// Who called.
    pub fn called_by(&self) -> Identity {
        Identity::of(self.called.peer_certificates().unwrap()).unwrap()
    }

    /// Has the caller say something, and returns what is heard.
    pub fn say(&mut self, what: &str) -> String {
        self.caller.writer().write_all(what.as_bytes()).unwrap();
        carry(&mut self.caller, &mut self.called).unwrap();
        let mut heard = vec![0; what.len()];
        self.called.reader().read_exact(&mut heard).unwrap();
        String::from_utf8(heard).unwrap()
    }
}

/// Dials somebody in a role.
///
/// # Errors
/// What the one who refused says.
pub fn dial(client: &Arc<ClientConfig>, server: &Arc<ServerConfig>, role: &Role) -> Result<Pair, rustls::Error> {
    dial_host(client, server, server_name_for(role).unwrap())
}

/// Dials somebody under a host's name.
pub fn dial_host(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    name: ServerName<'static>,
) -> Result<Pair, rustls::Error> {
    let mut caller = ClientConnection::new(Arc::clone(client), name).unwrap();
    let mut called = ServerConnection::new(Arc::clone(server)).unwrap();
    carry(&mut caller, &mut called)?;
    assert!(!caller.is_handshaking() && !called.is_handshaking());
    Ok(Pair { caller, called })
}

/// Carries bytes to and fro until nobody has more to say.
fn carry(caller: &mut ClientConnection, called: &mut ServerConnection) -> Result<(), rustls::Error> {
    while carry_one(caller, called)? || carry_one(called, caller)? {}
    Ok(())
}

/// Whether there was anything to carry.
fn carry_one<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) -> Result<bool, rustls::Error>
where
    A: SideData,
    B: SideData,
{
    let mut bytes = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut bytes).unwrap();
    }
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process_new_packets()?;
    }
    Ok(!bytes.is_empty())
}
