//! Configurations of `rustls`, from PEM files.

use crate::certificate::{Expiry, Facts, date, now};
use crate::error::TlsError;
use crate::files::{read_chain, read_key, read_roots};
use crate::identity::Identity;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{CertificateError, ClientConfig, ServerConfig};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files that a part of a cluster needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Material {
    /// Certificates of the authorities that are trusted.
    pub ca: PathBuf,
    /// Its own certificate chain, leaf first.
    pub cert: PathBuf,
    /// The key of its certificate.
    pub key: PathBuf,
}

impl Material {
    /// Where `fawn certs` puts the files of somebody of this name.
    pub fn in_dir(dir: &Path, name: &str) -> Self {
        Self { ca: dir.join("ca.pem"), cert: dir.join(format!("{name}.pem")), key: dir.join(format!("{name}-key.pem")) }
    }
}

/// What links of a cluster are made with. Cheap to clone; connections keep what they began with.
#[derive(Clone, Debug)]
pub struct Links {
    /// For those who call: TLS 1.3 alone, with a certificate of the cluster's authority.
    pub server: Arc<ServerConfig>,
    /// For calling, with [`server_name_for`](crate::server_name_for) the one who is to answer.
    pub client: Arc<ClientConfig>,
    /// Who the own certificate says that this is.
    pub identity: Identity,
    /// The file of the authorities that are trusted.
    pub ca: Arc<Path>,
}

/// Reads what links are made with.
///
/// # Errors
/// [`TlsError`] names the file, and what is wrong with it: also what peers would find wrong, who cannot say it as well.
pub fn links(files: &Material) -> Result<Links, TlsError> {
    Ok(read_links(files)?.0)
}

/// The same with what will expire first: the certificate or its authority.
pub(crate) fn read_links(files: &Material) -> Result<(Links, Option<Expiry>), TlsError> {
    let (chain, key) = (read_chain(&files.cert)?, read_key(&files.key)?);
    let roots = Arc::new(read_roots(&files.ca)?);
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
        .build()
        .map_err(|error| TlsError::file(&files.ca, error.to_string()))?;
    check_own(files, &chain, &*verifier)?;
    let identity = Identity::of(&chain).map_err(|error| TlsError::file(&files.cert, error.to_string()))?;

    let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| TlsError::Make(error.to_string()))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), key.clone_key())
        .map_err(|error| unfit(&files.key, &files.cert, &error))?;
    // Every link shows its certificates: one that was replaced or has expired is of no use to anybody.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    let mut client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| TlsError::Make(error.to_string()))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, key)
        .map_err(|error| unfit(&files.key, &files.cert, &error))?;
    client.resumption = Resumption::disabled();
    let (server, client, ca) = (Arc::new(server), Arc::new(client), Arc::from(files.ca.as_path()));
    let links = Links { server, client, identity, ca };
    Ok((links, first_to_expire([&files.cert, &files.ca])))
}

/// Refuses a certificate that every peer would refuse.
fn check_own(
    files: &Material,
    chain: &[CertificateDer<'static>],
    verifier: &dyn ClientCertVerifier,
) -> Result<(), TlsError> {
    let (leaf, between) = chain.split_first().expect("a chain has a leaf");
    let Err(error) = verifier.verify_client_cert(leaf, between, UnixTime::now()) else { return Ok(()) };
    let refuse = |what: String| Err(TlsError::file(&files.cert, what));
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
        ) => {
            // A machine without a clock of its own may believe so for a moment after it has started.
            tracing::warn!("{} is not valid yet: check this machine's clock", files.cert.display());
            Ok(())
        }
        rustls::Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            let day = Facts::of(leaf).map_or_else(|_| "some day".to_owned(), |facts| date(facts.validity.until));
            refuse(format!("it expired on {day}: renew it with `fawn certs renew`, and check this machine's clock"))
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
            refuse(format!("no authority of {} has signed it: they belong to different clusters", files.ca.display()))
        }
        other => refuse(other.to_string()),
    }
}

/// Reads what clients of memcached's port are shown: a certificate, and nothing is asked of them.
///
/// # Errors
/// [`TlsError`] names the file, and what is wrong with it.
pub fn for_clients(cert: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    Ok(read_for_clients(cert, key)?.0)
}

/// The same with when it expires.
pub(crate) fn read_for_clients(cert: &Path, key: &Path) -> Result<(Arc<ServerConfig>, Option<Expiry>), TlsError> {
    let (chain, private): (_, PrivateKeyDer<'static>) = (read_chain(cert)?, read_key(key)?);
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::file(cert, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| unfit(key, cert, &error))?;
    config.ticketer = ring::Ticketer::new().map_err(|error| TlsError::file(key, error.to_string()))?;
    Ok((Arc::new(config), first_to_expire([cert])))
}

fn unfit(key: &Path, cert: &Path, error: &rustls::Error) -> TlsError {
    TlsError::file(key, format!("key and certificate {} do not match: {error}", cert.display()))
}

/// The file whose certificate ends first. One that cannot be read here is left to those who verify it.
fn first_to_expire<const N: usize>(files: [&Path; N]) -> Option<Expiry> {
    let expiry = |path: &Path| {
        let of = |der: &CertificateDer<'_>| Facts::of(der).map(|facts| facts.validity).ok();
        // Of several authorities the one that lasts longest counts: older ones are on their way out.
        let validity = match read_chain(path).ok()?.as_slice() {
            [leaf, ..] if !Facts::of(leaf).ok()?.is_authority => of(leaf)?,
            authorities => authorities.iter().filter_map(of).max_by_key(|validity| validity.until)?,
        };
        Some(Expiry { path: path.to_owned(), validity })
    };
    files.into_iter().filter_map(expiry).min_by_key(|expiry| expiry.validity.days_left(now()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Readers, replace};

    /// A certificate that anybody could have made, and its key.
    fn files(dir: &Path, cert: &str, key: &str) -> (PathBuf, PathBuf) {
        let (cert_file, key_file) = (dir.join("cert.pem"), dir.join("key.pem"));
        for (path, text, readers) in [(&cert_file, cert, Readers::All), (&key_file, key, Readers::Owner)] {
            replace(path, text, readers).unwrap();
        }
        (cert_file, key_file)
    }

    #[test]
    fn bad_files_for_clients_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let made = || rcgen::generate_simple_self_signed(["localhost".into()]).unwrap();
        let (one, other) = (made(), made());
        let (cert, key) = (one.cert.pem(), one.signing_key.serialize_pem());
        let (path, key_path) = files(dir.path(), &cert, &key);
        assert!(for_clients(&path, &key_path).is_ok());
        for (cert, key, file, what) in [
            ("rubbish", &*key, "cert.pem", "no certificate"),
            (&*cert, "rubbish", "key.pem", "no such item"),
            (&*cert, &*other.signing_key.serialize_pem(), "key.pem", "do not match"),
        ] {
            let (path, key_path) = files(dir.path(), cert, key);
            let error = for_clients(&path, &key_path).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(what), "{error}");
        }
        let error = for_clients(&dir.path().join("none.pem"), &key_path).unwrap_err().to_string();
        assert!(error.contains("none.pem") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_flipped_bit_of_a_certificate_or_key_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let roles = [crate::identity::Role::Operator].into();
        let wanted = crate::directory::Applicant { name: "operator".into(), roles, hosts: [].into() };
        crate::directory::init(dir.path(), &[wanted], 90, now()).unwrap();
        let files = Material::in_dir(dir.path(), "operator");
        assert!(links(&files).is_ok());
        for path in [&files.cert, &files.key] {
            let whole = std::fs::read(path).unwrap();
            let mut refused = 0;
            for at in (0..whole.len()).step_by(3) {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << (at % 7);
                std::fs::write(path, bytes).unwrap();
                match links(&files) {
                    Err(error) => {
                        let said = error.to_string();
                        assert!(said.contains(dir.path().to_str().unwrap()), "byte {at}: {said}");
                        refused += 1;
                    }
                    Ok(_) => assert!(whole[at].is_ascii_whitespace() || at > whole.len() - 40, "byte {at}"),
                }
            }
            assert!(refused > whole.len() / 4, "{refused} of {}", whole.len());
            std::fs::write(path, whole).unwrap();
        }
    }

    #[test]
    fn nothing_of_a_key_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        crate::directory::init(dir.path(), &[], 1, now()).unwrap();
        let ca = Material::in_dir(dir.path(), "ca");
        let authority = crate::authority::Authority::open(&ca.cert, &ca.key).unwrap();
        let key = std::fs::read_to_string(&ca.key).unwrap();
        let shown = format!("{authority:?} {:?}", crate::authority::KeyPem(key.clone()));
        for line in key.lines() {
            assert!(!shown.contains(line), "{shown}");
        }
    }
}
