//! Signatures: RSA of 1024 bits, which the paper's figures fit, and what is used today.

use ring::rand::SystemRandom;
use ring::signature::{self as fast, Ed25519KeyPair, RsaKeyPair, UnparsedPublicKey};
use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs1v15::{Signature, SigningKey, VerifyingKey};
use rsa::signature::hazmat::{PrehashSigner, PrehashVerifier};
use rsa::signature::{Keypair, SignatureEncoding};
use sha2::{Digest, Sha256};

/// Sample keys in PKCS #1, which protect nothing, as `openssl speed` has some.
const RSA_1024: &[u8] = include_bytes!("../../keys/rsa-1024.der");
const RSA_2048: &[u8] = include_bytes!("../../keys/rsa-2048.der");
/// Any 32 bytes are a key.
const ED25519: &[u8; 32] = b"a sample key that guards nothing";
/// What is signed.
const MESSAGE: &[u8] = b"abc";

/// A piece of work that a thread does again and again.
pub type SignatureWork = Box<dyn FnMut()>;

/// Signing or verifying by one library.
#[derive(Clone, Copy, Debug)]
pub struct SignatureEntry {
    /// The algorithm and the key's bits.
    pub name: &'static str,
    /// The crate.
    pub library: &'static str,
    /// `sign` or `verify`.
    pub what: &'static str,
    /// Makes the work of a thread: one signature a call. It panics if a signature is wrong.
    pub prepare: fn() -> SignatureWork,
}

const fn entry(
    name: &'static str,
    library: &'static str,
    what: &'static str,
    prepare: fn() -> SignatureWork,
) -> SignatureEntry {
    SignatureEntry { name, library, what, prepare }
}

/// All of them. `ring` signs with no less than 2048 bits.
pub const SIGNATURES: &[SignatureEntry] = &[
    entry("RSA-1024", "rsa", "sign", || rsa_sign(RSA_1024)),
    entry("RSA-1024", "rsa", "verify", || rsa_verify(RSA_1024)),
    entry("RSA-2048", "rsa", "sign", || rsa_sign(RSA_2048)),
    entry("RSA-2048", "rsa", "verify", || rsa_verify(RSA_2048)),
    entry("RSA-1024", "ring", "verify", || {
        ring_rsa_verify(RSA_1024, &fast::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)
    }),
    entry("RSA-2048", "ring", "sign", ring_rsa_sign),
    entry("RSA-2048", "ring", "verify", || ring_rsa_verify(RSA_2048, &fast::RSA_PKCS1_2048_8192_SHA256)),
    entry("Ed25519", "ring", "sign", ed25519_sign),
    entry("Ed25519", "ring", "verify", ed25519_verify),
];

fn rsa_key(der: &[u8]) -> SigningKey<Sha256> {
    SigningKey::new(rsa::PrivateKey::from_pkcs1_der(der).expect("the sample key is a key"))
}

fn rsa_sign(der: &'static [u8]) -> SignatureWork {
    let (key, digest) = (rsa_key(der), Sha256::digest(MESSAGE));
    Box::new(move || {
        let signature = key.sign_prehash(&digest).expect("a sample key signs");
        std::hint::black_box(signature);
    })
}

fn rsa_verify(der: &'static [u8]) -> SignatureWork {
    let (key, digest) = (rsa_key(der), Sha256::digest(MESSAGE));
    let signature = key.sign_prehash(&digest).expect("a sample key signs");
    let key: VerifyingKey<Sha256> = key.verifying_key();
    Box::new(move || {
        key.verify_prehash(&digest, std::hint::black_box(&signature)).expect("an own signature is right");
    })
}

fn ring_rsa_sign() -> SignatureWork {
    let key = RsaKeyPair::from_der(RSA_2048).expect("the sample key is a key");
    let (random, mut signature) = (SystemRandom::new(), vec![0; key.public().modulus_len()]);
    Box::new(move || {
        key.sign(&fast::RSA_PKCS1_SHA256, &random, MESSAGE, &mut signature).expect("a sample key signs");
        std::hint::black_box(&mut signature);
    })
}

/// Verifies what the other library has signed.
fn ring_rsa_verify(der: &'static [u8], algorithm: &'static fast::RsaParameters) -> SignatureWork {
    use rsa::pkcs1::EncodeRsaPublicKey;
    let key = rsa_key(der);
    let signature: Signature = key.sign_prehash(&Sha256::digest(MESSAGE)).expect("a sample key signs");
    let public = rsa::PublicKey::from(rsa::PrivateKey::from_pkcs1_der(der).expect("the sample key is a key"));
    let public = public.to_pkcs1_der().expect("a public key has bytes").into_vec();
    let (key, signature) = (UnparsedPublicKey::new(algorithm, public), signature.to_vec());
    Box::new(move || {
        key.verify(MESSAGE, std::hint::black_box(&signature)).expect("an own signature is right");
    })
}

fn ed25519_sign() -> SignatureWork {
    let key = Ed25519KeyPair::from_seed_unchecked(ED25519).expect("any seed is a key");
    Box::new(move || {
        std::hint::black_box(key.sign(MESSAGE));
    })
}

fn ed25519_verify() -> SignatureWork {
    use ring::signature::KeyPair;
    let key = Ed25519KeyPair::from_seed_unchecked(ED25519).expect("any seed is a key");
    let signature = key.sign(MESSAGE);
    let key = UnparsedPublicKey::new(&fast::ED25519, key.public_key().as_ref().to_vec());
    Box::new(move || {
        key.verify(MESSAGE, std::hint::black_box(signature.as_ref())).expect("an own signature is right");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .filter_map(|digit| char::from_digit(digit.into(), 16))
            .collect()
    }

    /// The beginnings of `openssl dgst -sha256 -sign rsa-1024.der` and of the other key, of "abc".
    const OF_ABC: [(&[u8], usize, &str); 2] =
        [(RSA_1024, 128, "9ab68a907ff4d494f177dd7a862e8cb7"), (RSA_2048, 256, "73a092dc8d1d172a84fe797af45f77dd")];

    #[test]
    fn signatures_are_those_of_openssl() {
        for (der, bytes, expected) in OF_ABC {
            let signature = rsa_key(der).sign_prehash(&Sha256::digest(MESSAGE)).unwrap().to_vec();
            assert_eq!((signature.len(), &hex(&signature)[..32]), (bytes, expected));
        }
        let key = RsaKeyPair::from_der(RSA_2048).unwrap();
        let mut signature = vec![0; 256];
        key.sign(&fast::RSA_PKCS1_SHA256, &SystemRandom::new(), MESSAGE, &mut signature).unwrap();
        assert_eq!(&hex(&signature)[..32], OF_ABC[1].2, "ring's");
    }

    #[test]
    fn every_piece_of_work_can_be_done_twice_and_what_is_wrong_is_found() {
        for entry in SIGNATURES {
            let mut work = (entry.prepare)();
            work();
            work();
        }
        let key = rsa_key(RSA_1024);
        let signature = key.sign_prehash(&Sha256::digest(MESSAGE)).unwrap();
        assert!(key.verifying_key().verify_prehash(&Sha256::digest(b"abd"), &signature).is_err());
    }
}
