//! What most likely is wrong where a call ends before the other side has said a word: the two do not agree about TLS.
//!
//! Neither side can tell the other, since they have no language in common; and what `rustls` or the system says is true, but
//! tells nobody what to do.

use rustls::{CertificateError, Error};
use std::io::{self, ErrorKind};
use std::path::Path;

/// The other side hung up before its first word.
///
/// `is_secure`: the call was made with certificates.
pub fn hung_up(is_secure: bool) -> io::Error {
    let what = if is_secure {
        "it closed the connection after the first message: is it a process of this cluster, and does it use TLS?"
    } else {
        "it closed the connection after the first message: if the cluster uses TLS, give certificates (--certs DIR)"
    };
    io::Error::new(ErrorKind::UnexpectedEof, what)
}

/// An error of a call without certificates, before the other side's first word.
pub fn plain(error: io::Error) -> io::Error {
    if is_end(&error) { hung_up(false) } else { error }
}

/// An error of a call with certificates, before the other side's first word. `ca` has the authorities that are trusted,
/// `who` is to answer.
pub fn secure(error: io::Error, ca: &Path, who: &str) -> io::Error {
    let Some(cause) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) else {
        return if is_end(&error) { hung_up(true) } else { error };
    };
    let what = match cause {
        Error::InvalidMessage(_) => {
            "it does not speak TLS: leave out --certs, or check whether the port is a cluster port".to_owned()
        }
        Error::InvalidCertificate(CertificateError::BadSignature | CertificateError::UnknownIssuer) => {
            format!("its certificate has another authority than {}: does it belong to another cluster?", ca.display())
        }
        Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => format!("its certificate is not for {who}: check whether the port belongs to {who}"),
        Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired: renew it with `fawn certs renew`, and check this machine's clock".to_owned()
        }
        Error::AlertReceived(alert) => {
            format!("it rejects this side's certificate, or speaks another TLS version ({alert:?}): see its log")
        }
        _ => return error,
    };
    io::Error::new(error.kind(), what)
}

/// Whether the other side has gone.
fn is_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::InvalidMessage;

    #[test]
    fn each_cause_is_told_with_what_to_do() {
        let told =
            |error: Error| secure(io::Error::new(ErrorKind::InvalidData, error), Path::new("c/ca.pem"), "a manager");
        let certificate = |error: CertificateError| told(error.into()).to_string();
        assert!(told(InvalidMessage::InvalidContentType.into()).to_string().starts_with("it does not speak TLS: "));
        for error in [CertificateError::BadSignature, CertificateError::UnknownIssuer] {
            assert!(certificate(error).contains("another authority than c/ca.pem"));
        }
        assert!(certificate(CertificateError::NotValidForName).contains("check whether the port belongs to a manager"));
        assert!(certificate(CertificateError::Expired).contains("fawn certs renew"));
        assert_eq!(certificate(CertificateError::Revoked), Error::from(CertificateError::Revoked).to_string());
    }

    #[test]
    fn whoever_hangs_up_may_want_the_other_kind() {
        let end = || io::Error::from(ErrorKind::ConnectionReset);
        assert!(plain(end()).to_string().contains("(--certs DIR)"));
        assert!(secure(end(), Path::new("ca.pem"), "a manager").to_string().contains("does it use TLS?"));
        let refused = io::Error::from(ErrorKind::ConnectionRefused);
        assert_eq!(plain(refused).kind(), ErrorKind::ConnectionRefused);
    }
}
