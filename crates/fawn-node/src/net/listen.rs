//! Opening the sockets that a node listens on.

use crate::error::ServeError;
use crate::options::{BACKLOG, ServeOptions, UnixOptions};
use crate::protocol::Protocol;
use crate::protocol::http::HTTP;
use crate::protocol::redis::REDIS;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, getsockname, socket_with, sockopt};
use std::io::{Error, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The flag that says where a Unix socket is.
const UNIX: &str = "--unix";

/// The flag that says where other processes of the cluster call.
const CLUSTER_LISTEN: &str = "--cluster-listen";

/// The flag that says where memcached clients connect.
const LISTEN: &str = "--listen";

/// The flag that says where clients of Redis connect.
const REDIS_LISTEN: &str = "--redis";

/// The flag that says where clients of HTTP connect.
const HTTP_LISTEN: &str = "--http";

/// What came over a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// TCP; with TLS when that is on.
    Tcp,
    /// A Unix socket.
    Unix,
}

/// Where a node is to listen. Whoever connects is refused until it [listens](Self::listen). Another process may listen there
/// first, which is an error then.
#[derive(Debug)]
pub struct ReservedAddress {
    /// For people: the address with its real port, or the path.
    pub name: String,
    /// What clients speak there.
    pub protocol: &'static dyn Protocol,
    place: ReservedSocket,
}

#[derive(Debug)]
enum ReservedSocket {
    /// A socket with its address, and the flag that names it.
    Tcp(OwnedFd, &'static str),
    /// The path is made when the node listens there.
    Unix(UnixOptions),
}

impl ReservedAddress {
    /// Takes connections from here on.
    ///
    /// # Errors
    /// [`ServeError::InUse`], [`ServeError::Listen`].
    pub fn listen(self) -> Result<Listener, ServeError> {
        let Self { name, protocol, place } = self;
        match place {
            ReservedSocket::Tcp(socket, flag) => {
                ready(&socket, &name, flag)?;
                Ok(Listener { socket, family: Family::Tcp, protocol, name, remove: None })
            }
            ReservedSocket::Unix(unix) => open_unix(&unix, protocol),
        }
    }
}

/// One open listener.
#[derive(Debug)]
pub struct Listener {
    /// The socket, not blocking.
    pub socket: OwnedFd,
    /// Its family.
    pub family: Family,
    /// What clients speak.
    pub protocol: &'static dyn Protocol,
    /// For people: the address with its real port, or the path.
    pub name: String,
    /// A Unix socket's path is removed when the listener goes.
    remove: Option<PathBuf>,
}

impl Listener {
    /// A listener on any socket.
    #[cfg(test)]
    pub fn of_test(socket: OwnedFd) -> Self {
        let protocol = &crate::protocol::memcached::MEMCACHED;
        Self { socket, family: Family::Unix, protocol, name: String::new(), remove: None }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(path) = &self.remove {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Reserves all addresses of `options`. Clients speak `protocol`, but for those of Redis and of HTTP.
///
/// # Errors
/// [`ServeError::Address`], [`ServeError::InUse`], [`ServeError::Listen`], [`ServeError::Exposed`].
pub fn reserve_all(
    options: &ServeOptions,
    protocol: &'static dyn Protocol,
) -> Result<Vec<ReservedAddress>, ServeError> {
    let mut reserved = Vec::new();
    let (of_redis, of_http): (&'static dyn Protocol, &'static dyn Protocol) = (&REDIS, &HTTP);
    for (names, protocol, flag) in [
        (&options.listen, protocol, LISTEN),
        (&options.redis, of_redis, REDIS_LISTEN),
        (&options.http, of_http, HTTP_LISTEN),
    ] {
        for address in names.iter().map(|name| resolve(name)).collect::<Result<Vec<_>, _>>()?.concat() {
            refuse_exposed(&address, options)?;
            let (socket, name) = bind(address, flag)?;
            reserved.push(ReservedAddress { name, protocol, place: ReservedSocket::Tcp(socket, flag) });
        }
    }
    if let Some(unix) = &options.unix {
        let name = unix.path.display().to_string();
        remove_stale(&unix.path, &name)?;
        reserved.push(ReservedAddress { name, protocol, place: ReservedSocket::Unix(unix.clone()) });
    }
    Ok(reserved)
}

/// The addresses of `name`. A host with several gives all of them, but for port 0, which takes one port.
fn resolve(name: &str) -> Result<Vec<SocketAddr>, ServeError> {
    let refuse = |source| ServeError::Address { address: name.into(), source };
    let mut addresses: Vec<SocketAddr> = name.to_socket_addrs().map_err(refuse)?.collect();
    addresses.dedup();
    if addresses.first().is_some_and(|address| address.port() == 0) {
        addresses.truncate(1);
    }
    if addresses.is_empty() {
        return Err(refuse(Error::new(ErrorKind::NotFound, "the name has no address")));
    }
    Ok(addresses)
}

fn refuse_exposed(address: &SocketAddr, options: &ServeOptions) -> Result<(), ServeError> {
    let (missing, missing_options) = match (&options.tls, &options.auth_file) {
        _ if address.ip().is_loopback() || options.insecure => return Ok(()),
        (Some(_), Some(_)) => return Ok(()),
        (None, None) => ("neither TLS nor authentication is on", "--tls-cert, --tls-key and --auth-file"),
        (None, Some(_)) => ("TLS is off", "--tls-cert and --tls-key"),
        (Some(_), None) => ("authentication is off", "--auth-file"),
    };
    Err(ServeError::Exposed { address: address.to_string(), missing, missing_options })
}

/// Opens the port that other processes of a cluster call; and its address, with its real port.
///
/// # Errors
/// As [`reserve_all`].
pub fn open_cluster(name: &str, insecure: bool) -> Result<(OwnedFd, String), ServeError> {
    let address = *resolve(name)?.first().expect("a name that is resolved has an address");
    if !address.ip().is_loopback() && !insecure {
        let (missing, missing_options) = ("TLS between the processes of the cluster is off", "--certs");
        return Err(ServeError::Exposed { address: address.to_string(), missing, missing_options });
    }
    let (socket, name) = bind(address, CLUSTER_LISTEN)?;
    ready(&socket, &name, CLUSTER_LISTEN)?;
    Ok((socket, name))
}

/// A socket with the address that `flag` says, which does not listen yet, and that address with its real port.
fn bind(address: SocketAddr, flag: &'static str) -> Result<(OwnedFd, String), ServeError> {
    let name = address.to_string();
    let failed = |error: Errno| failure(&name, flag, error.into());
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(failed)?;
    // Connections of a process that was there before may be on their way out.
    sockopt::set_socket_reuseaddr(&socket, true).map_err(failed)?;
    net::bind(&socket, &address).map_err(failed)?;
    let real = getsockname(&socket).and_then(SocketAddr::try_from).map_err(failed)?;
    Ok((socket, real.to_string()))
}

fn open_unix(unix: &UnixOptions, protocol: &'static dyn Protocol) -> Result<Listener, ServeError> {
    let name = unix.path.display().to_string();
    remove_stale(&unix.path, &name)?;
    let listener = UnixListener::bind(&unix.path).map_err(|source| failure(&name, UNIX, source))?;
    let remove = Some(unix.path.clone());
    let listener = Listener { socket: listener.into(), family: Family::Unix, protocol, name, remove };
    std::fs::set_permissions(&unix.path, std::fs::Permissions::from_mode(unix.mode))
        .map_err(|source| failure(&listener.name, UNIX, source))?;
    ready(&listener.socket, &listener.name, UNIX)?;
    Ok(listener)
}

/// Removes a socket that nobody listens on any more; anything else at `path` stays.
fn remove_stale(path: &Path, name: &str) -> Result<(), ServeError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let what = "there is a file in its place that is not a socket";
            Err(failure(name, UNIX, Error::new(ErrorKind::AlreadyExists, what)))
        }
        Ok(_) if UnixStream::connect(path).is_ok() => Err(ServeError::InUse { address: name.into(), flag: UNIX }),
        Ok(_) => std::fs::remove_file(path).map_err(|source| failure(name, UNIX, source)),
        Err(_) => Ok(()),
    }
}

fn ready(socket: impl AsFd, name: &str, flag: &'static str) -> Result<(), ServeError> {
    rustix::io::ioctl_fionbio(&socket, true).map_err(|source| failure(name, flag, source.into()))?;
    net::listen(&socket, BACKLOG).map_err(|source| failure(name, flag, source.into()))
}

fn failure(name: &str, flag: &'static str, source: Error) -> ServeError {
    match source.kind() {
        ErrorKind::AddrInUse => ServeError::InUse { address: name.into(), flag },
        ErrorKind::PermissionDenied => ServeError::Listen {
            address: name.into(),
            source: Error::new(ErrorKind::PermissionDenied, "no permission; ports below 1024 need a privilege"),
        },
        _ => ServeError::Listen { address: name.into(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::TlsFiles;
    use crate::protocol::memcached::MEMCACHED;
    use std::net::{TcpListener, TcpStream};

    fn open_all(options: &ServeOptions) -> Result<Vec<Listener>, ServeError> {
        reserve_all(options, &MEMCACHED)?.into_iter().map(ReservedAddress::listen).collect()
    }

    fn options(listen: &[&str]) -> ServeOptions {
        let listen = listen.iter().map(ToString::to_string).collect();
        ServeOptions { listen, ..ServeOptions::new("unused") }
    }

    #[test]
    fn port_zero_takes_a_free_port_and_says_which() {
        let open = open_all(&options(&["127.0.0.1:0", "127.0.0.1:0"])).unwrap();
        let ports: Vec<u16> = open.iter().map(|one| one.name.parse::<SocketAddr>().unwrap().port()).collect();
        assert!(ports[0] != 0 && ports[1] != 0 && ports[0] != ports[1], "{ports:?}");
    }

    #[test]
    fn a_port_in_use_is_named_with_a_way_out() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().map(|at| at.to_string());
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = held.local_addr().unwrap().to_string();
        let error = open_all(&options(&[&address])).unwrap_err().to_string();
        assert!(error.contains(&address) && error.contains("already in use") && error.contains(" --listen"), "{error}");
        let error = open_cluster(&address, false).unwrap_err().to_string();
        assert!(error.contains(&address) && error.ends_with("with --cluster-listen"), "{error}");
        assert!(open_all(&options(&[&taken.unwrap()])).is_ok(), "a port that was left is free again");
    }

    #[test]
    fn whoever_connects_to_a_reserved_address_is_refused_until_the_node_listens() {
        let dir = tempfile::tempdir().unwrap();
        let unix = UnixOptions { path: dir.path().join("socket"), mode: 0o600 };
        let reserved =
            reserve_all(&ServeOptions { unix: Some(unix.clone()), ..options(&["127.0.0.1:0"]) }, &MEMCACHED).unwrap();
        let tcp = reserved[0].name.clone();
        assert_eq!(TcpStream::connect(&tcp).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        assert!(UnixStream::connect(&unix.path).is_err());
        let listeners: Vec<_> = reserved.into_iter().map(|one| one.listen().unwrap()).collect();
        assert!(TcpStream::connect(&tcp).is_ok() && UnixStream::connect(&unix.path).is_ok());
        drop(listeners);
        let (one, other) =
            (reserve_all(&options(&[&tcp]), &MEMCACHED).unwrap(), reserve_all(&options(&[&tcp]), &MEMCACHED));
        let open: Vec<_> = one.into_iter().map(|one| one.listen().unwrap()).collect();
        let error = other.and_then(|mut other| other.remove(0).listen()).unwrap_err().to_string();
        assert!(error.contains("already in use") && error.ends_with("with --listen"), "{error}");
        drop(open);
    }

    #[test]
    fn other_machines_need_tls_and_authentication_or_a_word_that_they_do_not() {
        let mut wide = options(&["0.0.0.0:0"]);
        assert!(matches!(open_all(&wide), Err(ServeError::Exposed { .. })));
        wide.auth_file = Some("users".into());
        let error = open_all(&wide).unwrap_err().to_string();
        assert!(error.contains("TLS is off") && error.contains("--tls-cert"), "{error}");
        let tls = Some(TlsFiles { cert: "c".into(), key: "k".into() });
        assert!(open_all(&ServeOptions { tls, ..wide.clone() }).is_ok());
        assert!(open_all(&ServeOptions { insecure: true, ..wide }).is_ok());
    }

    #[test]
    fn an_address_without_port_is_refused_with_an_example() {
        let error = open_all(&options(&["localhost"])).unwrap_err().to_string();
        assert!(error.contains("'localhost'") && error.contains("HOST:PORT"), "{error}");
    }

    #[test]
    fn a_stale_unix_socket_is_replaced_a_live_one_and_a_file_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let unix = UnixOptions { path: path.clone(), mode: 0o600 };
        drop(UnixListener::bind(&path).unwrap());
        let open = open_unix(&unix, &MEMCACHED).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(open_unix(&unix, &MEMCACHED).unwrap_err().to_string().ends_with("with --unix"));
        drop(open);
        assert!(!path.exists(), "the socket goes with its listener");
        std::fs::write(&path, b"mine").unwrap();
        assert!(open_unix(&unix, &MEMCACHED).unwrap_err().to_string().contains("not a socket"));
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    }
}
