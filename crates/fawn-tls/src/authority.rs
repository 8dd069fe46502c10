//! Makes certificates: ECDSA on P-256, which everything that speaks TLS verifies.

use crate::certificate::{Facts, Host, Validity};
use crate::error::TlsError;
use crate::files::{key_error, read_chain, read_secret};
use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType, SerialNumber,
};
use std::fmt;
use std::path::Path;
use time::OffsetDateTime;

/// The common name of a cluster's authority.
const SUBJECT: &str = "FAWN cluster authority";

/// The text of a private key, which is never shown.
pub struct KeyPem(pub(crate) String);

impl fmt::Debug for KeyPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyPem(…)")
    }
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Pair {
    /// PEM.
    pub cert: String,
    /// PEM.
    pub key: KeyPem,
}

/// What a certificate is to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRequest {
    /// Who it is for; a name of files, too.
    pub subject: String,
    /// Names of the cluster's domain.
    pub names: Vec<String>,
    /// Hosts that it serves clients as.
    pub hosts: Vec<Host>,
    /// When it is good; never longer than its authority.
    pub validity: Validity,
    /// Whether it is shown to those who dial.
    pub serves: bool,
}

/// An authority with its key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    validity: Validity,
}

impl fmt::Debug for Authority {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// [`TlsError::Make`].
    pub fn make(validity: Validity) -> Result<(Self, Pair), TlsError> {
        let key = KeyPair::generate()?;
        let params = authority_params(SUBJECT, validity)?;
        let cert = params.self_signed(&key)?.pem();
        let pair = Pair { cert, key: KeyPem(key.serialize_pem()) };
        Ok((Self { issuer: Issuer::new(params, key), validity }, pair))
    }

    /// The one in two files.
    ///
    /// # Errors
    /// [`TlsError::File`].
    pub fn open(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let pair = KeyPair::from_pem(&read_secret(key)?).map_err(|error| TlsError::file(key, key_error(&error)))?;
        // While an authority is replaced, the file has the newer one first.
        let der = &read_chain(cert)?[0];
        let facts = Facts::of(der).map_err(|error| TlsError::file(cert, error.to_string()))?;
        if !facts.is_authority {
            return Err(TlsError::file(cert, "it is not an authority's certificate"));
        }
        if !is_key_of(&pair, der) {
            return Err(TlsError::file(key, format!("it is not the key of {}", cert.display())));
        }
        let issuer = Issuer::from_ca_cert_der(der, pair).map_err(|error| TlsError::file(cert, error.to_string()))?;
        Ok(Self { issuer, validity: facts.validity })
    }

    /// Its own certificate again, with the same key and subject: what it has signed stays good.
    ///
    /// # Errors
    /// [`TlsError::Make`].
    pub fn renewed(&mut self, subject: &str, validity: Validity) -> Result<String, TlsError> {
        self.validity = validity;
        Ok(authority_params(subject, validity)?.self_signed(self.issuer.key())?.pem())
    }

    /// A certificate with a new key.
    ///
    /// # Errors
    /// [`TlsError::Make`], [`TlsError::Name`].
    pub fn issue(&self, request: &CertificateRequest) -> Result<Pair, TlsError> {
        let key = KeyPair::generate()?;
        Ok(Pair { cert: self.sign(request, &key)?, key: KeyPem(key.serialize_pem()) })
    }

    /// A certificate for a key that there is already.
    ///
    /// # Errors
    /// As [`issue`](Self::issue); [`TlsError::File`] about the key.
    pub fn issue_for(&self, request: &CertificateRequest, key: &Path) -> Result<String, TlsError> {
        let pair = KeyPair::from_pem(&read_secret(key)?).map_err(|error| TlsError::file(key, key_error(&error)))?;
        self.sign(request, &pair)
    }

    fn sign(&self, request: &CertificateRequest, key: &KeyPair) -> Result<String, TlsError> {
        let validity = Validity { until: request.validity.until.min(self.validity.until), ..request.validity };
        let mut params = params(&request.subject, validity)?;
        let names = request.names.iter().map(|name| dns(name));
        let hosts = request.hosts.iter().map(|host| match host {
            Host::Name(name) => dns(name),
            Host::Ip(address) => Ok(SanType::IpAddress(*address)),
        });
        params.subject_alt_names = names.chain(hosts).collect::<Result<_, _>>()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        if request.serves {
            params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        }
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }
}

fn dns(name: &str) -> Result<SanType, TlsError> {
    let refused = |_| TlsError::Name { name: name.to_owned(), what: "it is not ASCII" };
    Ok(SanType::DnsName(Ia5String::try_from(name).map_err(refused)?))
}

fn authority_params(subject: &str, validity: Validity) -> Result<CertificateParams, TlsError> {
    let mut params = params(subject, validity)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn params(subject: &str, validity: Validity) -> Result<CertificateParams, TlsError> {
    let time = |unix| OffsetDateTime::from_unix_timestamp(unix).map_err(|error| TlsError::Make(error.to_string()));
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (time(validity.from)?, time(validity.until)?);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    // One that was renewed with its key would have the same number otherwise.
    let mut serial = [0; 16];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut serial).map_err(|_| TlsError::Make("the system has no random numbers".into()))?;
    serial[0] &= 0x7f;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(params)
}

/// Whether a certificate is about this key.
fn is_key_of(key: &KeyPair, der: &[u8]) -> bool {
    use rcgen::PublicKeyData;
    use x509_parser::prelude::{FromDer, X509Certificate};
    X509Certificate::from_der(der).is_ok_and(|(_, cert)| cert.public_key().raw == key.subject_public_key_info())
}
