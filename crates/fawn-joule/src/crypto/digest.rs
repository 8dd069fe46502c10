//! Digests of blocks, with the processor's instructions and without.

use sha1::Digest as _;
use sha1_portable::Digest as _;

/// A digest by one library.
#[derive(Clone, Copy, Debug)]
pub struct DigestEntry {
    /// The algorithm.
    pub name: &'static str,
    /// The crate.
    pub library: &'static str,
    /// What it uses of the processor.
    pub instructions: Instructions,
    /// The digest's first 20 bytes.
    pub run: fn(&[u8]) -> [u8; 20],
}

/// Which instructions of the processor a digest uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// Those that are made for it, if the processor has them.
    Hash,
    /// Those of vectors, if the processor has them.
    Vector,
    /// None but the usual ones.
    Usual,
}

impl Instructions {
    /// As reports have it, on this processor.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hash if hash_instructions().is_some() => "own",
            Self::Hash => "none here",
            Self::Vector => "vector",
            Self::Usual => "none",
        }
    }
}

/// The instructions of this processor that are made for SHA-1 and SHA-256; `None`: it has none.
pub fn hash_instructions() -> Option<&'static str> {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return std::arch::is_x86_feature_detected!("sha").then_some("SHA-NI");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("sha2").then_some("ARMv8 SHA");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// All digests. The portable ones are of the release before of the same crates, which can be told to leave the processor's own
/// instructions out.
pub const DIGESTS: &[DigestEntry] = &[
    DigestEntry { name: "SHA-1", library: "sha1", instructions: Instructions::Hash, run: sha1_own },
    DigestEntry { name: "SHA-1", library: "sha1", instructions: Instructions::Usual, run: sha1_usual },
    DigestEntry { name: "SHA-256", library: "sha2", instructions: Instructions::Hash, run: sha256_own },
    DigestEntry { name: "SHA-256", library: "sha2", instructions: Instructions::Usual, run: sha256_usual },
    DigestEntry { name: "BLAKE3", library: "blake3", instructions: Instructions::Vector, run: blake3_vector },
];

fn first(digest: &[u8]) -> [u8; 20] {
    digest[..20].try_into().expect("every digest has 20 bytes")
}

fn sha1_own(block: &[u8]) -> [u8; 20] {
    sha1::Sha1::digest(block).into()
}

fn sha1_usual(block: &[u8]) -> [u8; 20] {
    sha1_portable::Sha1::digest(block).into()
}

fn sha256_own(block: &[u8]) -> [u8; 20] {
    first(&sha2::Sha256::digest(block))
}

fn sha256_usual(block: &[u8]) -> [u8; 20] {
    first(&sha2_portable::Sha256::digest(block))
}

fn blake3_vector(block: &[u8]) -> [u8; 20] {
    first(blake3::hash(block).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of "abc": FIPS 180-4's examples, and BLAKE3's reference implementation.
    const OF_ABC: &[(&str, &str)] = &[
        ("SHA-1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("SHA-256", "ba7816bf8f01cfea414140de5dae2223b00361a3"),
        ("BLAKE3", "6437b3ac38465133ffb63b75273a8db548c55846"),
    ];

    fn hex(bytes: &[u8]) -> String {
        bytes
            .iter()
            .flat_map(|byte| [byte >> 4, byte & 15])
            .filter_map(|digit| char::from_digit(digit.into(), 16))
            .collect()
    }

    #[test]
    fn every_digest_gives_its_published_value() {
        for entry in DIGESTS {
            let (_, expected) = OF_ABC.iter().find(|(name, _)| *name == entry.name).unwrap();
            assert_eq!(hex(&(entry.run)(b"abc")), *expected, "{entry:?}");
        }
    }

    #[test]
    fn both_kinds_of_a_digest_agree_at_every_length() {
        let block: Vec<u8> = (0..=255).cycle().take(9000).collect();
        for pair in DIGESTS.chunks(2).filter(|pair| pair.len() == 2) {
            assert_eq!(pair[0].name, pair[1].name);
            for length in [0, 1, 55, 56, 63, 64, 65, 119, 128, 1024, 8192, 9000] {
                assert_eq!(
                    (pair[0].run)(&block[..length]),
                    (pair[1].run)(&block[..length]),
                    "{} {length}",
                    pair[0].name
                );
            }
        }
    }
}
