//! `openssl speed` beside our own measurements: the program that the paper used (e-Energy'10 §3.5).
//!
//! With one process it counts user CPU time, so its figures are work per CPU second, whatever else the machine does. With several
//! (`-multi`) OpenSSL 3 counts wall time, and adds up what each process did per second.

use std::ffi::OsString;
use std::process::Command;

/// The program.
#[derive(Clone, Debug)]
pub struct Openssl {
    program: OsString,
    /// What it calls itself.
    pub version: String,
}

/// What one call has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpensslSpeed {
    /// Bytes per second of all processes, by the clock that the program uses; of a digest.
    pub bytes_a_second: Option<f64>,
    /// Blocks of all processes.
    pub blocks: u64,
    /// Signatures and verifications per second, likewise.
    pub signatures: Option<(f64, f64)>,
}

impl Openssl {
    /// The program of this name, if it is installed; else why not.
    ///
    /// # Errors
    /// Part of a sentence.
    pub fn find(program: &OsString) -> Result<Self, String> {
        let name = program.to_string_lossy();
        let output = Command::new(program).arg("version").output();
        let output = output.map_err(|error| format!("{name} cannot be run ({error})"))?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if !output.status.success() || version.is_empty() {
            return Err(format!("`{name} version` failed"));
        }
        Ok(Self { program: program.clone(), version })
    }

    /// Measures one algorithm, named as `openssl speed` names it, with `processes` at a time.
    ///
    /// # Errors
    /// A sentence for a note.
    pub fn speed(
        &self,
        what: &str,
        block_bytes: Option<u64>,
        seconds: u64,
        processes: usize,
    ) -> Result<OpensslSpeed, String> {
        let mut command = Command::new(&self.program);
        command.args(["speed", "-mr", "-seconds", &seconds.to_string()]);
        if let Some(bytes) = block_bytes {
            command.args(["-bytes", &bytes.to_string()]);
        }
        if processes > 1 {
            command.args(["-multi", &processes.to_string()]);
        }
        let failed = |why: String| format!("`openssl speed {what}` failed ({why}), so its figures are missing");
        let output = command.arg(what).output().map_err(|error| failed(error.to_string()))?;
        let (out, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            return Err(failed(log.lines().last().unwrap_or("no message").to_owned()));
        }
        let speed = parse(&out, &log);
        if speed.bytes_a_second.is_none() && speed.signatures.is_none() {
            return Err(failed("its output has no figures".to_owned()));
        }
        Ok(speed)
    }
}

/// `-mr` writes `+F:NUMBER:ALGORITHM:BYTES_A_SECOND` for a digest, `+F2:NUMBER:BITS:SIGN_A_SECOND:VERIFY_A_SECOND` for RSA and
/// `+F6:NUMBER:BITS:Ed25519:…` likewise, to standard output; with `-multi` after those of each process, which begin with `Got: `.
/// Standard error has `+R:BLOCKS:ALGORITHM:SECONDS` of each process.
fn parse(out: &str, log: &str) -> OpensslSpeed {
    let mut speed = OpensslSpeed::default();
    for line in out.lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.trim().parse::<f64>().ok());
        match fields[0] {
            "+F" => speed.bytes_a_second = number(3),
            kind if kind.strip_prefix("+F").is_some_and(|digits| digits.parse::<u32>().is_ok()) => {
                let figures = if kind == "+F2" { 3 } else { 4 };
                speed.signatures = number(figures).zip(number(figures + 1));
            }
            _ => {}
        }
    }
    let blocks = log.lines().filter_map(|line| line.strip_prefix("+R:")?.split(':').next()?.parse::<u64>().ok());
    speed.blocks = blocks.sum();
    speed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_outputs_of_openssl_3_are_read() {
        let log = "+DT:sha1:1:8192\n+R:239102:sha1:0.900000\n";
        let of_sha1 = parse("+H:8192\n+F:4:sha1:2176359537.78\n", log);
        assert_eq!(
            (of_sha1.bytes_a_second, of_sha1.blocks, of_sha1.signatures),
            (Some(2_176_359_537.78), 239_102, None)
        );
        let of_rsa = parse("+F2:1:1024:16806.250000:279138.000000\n", "+DTP:1024:private:rsa:1\n+R1:16134:1024:0.96\n");
        assert_eq!((of_rsa.signatures, of_rsa.blocks), (Some((16_806.25, 279_138.0)), 0));
        let of_ed25519 = parse("+H:8192\n+F6:0:253:Ed25519:45154.838710:16727.551020\n", "");
        assert_eq!(of_ed25519.signatures, Some((45_154.838_71, 16_727.551_02)));
    }

    #[test]
    fn of_several_processes_the_sum_is_taken() {
        let out = "Forked child 0\nGot: +H:1024 from 0\nGot: +F:4:sha1:1061220352.00 from 0\n\
                   Got: +F:4:sha1:1137192960.00 from 1\n+F:4:sha1:2198413312.00\n";
        let log = "+DT:sha1:1:1024\n+R:1036348:sha1:1.000000\n+DT:sha1:1:1024\n+R:1110540:sha1:1.000000\n";
        let speed = parse(out, log);
        assert_eq!((speed.bytes_a_second, speed.blocks), (Some(2_198_413_312.0), 2_146_888));
    }

    #[test]
    fn a_program_that_is_absent_or_says_something_else_is_noted() {
        let absent = Openssl::find(&"no-such-program".into()).unwrap_err();
        assert!(absent.starts_with("no-such-program cannot be run ("), "{absent}");
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("openssl");
        let text =
            "#!/bin/sh\nif [ $1 = version ]; then echo OpenSSL 9; exit 0; fi\n[ $7 = broken ] && exit 3\necho hello\n";
        std::fs::write(&script, text).unwrap();
        std::process::Command::new("chmod").arg("+x").arg(&script).status().unwrap();
        let openssl = Openssl::find(&script.into()).unwrap();
        assert_eq!(openssl.version, "OpenSSL 9");
        let error = openssl.speed("broken", Some(16), 1, 1).unwrap_err();
        assert!(error.contains("`openssl speed broken` failed (no message)"), "{error}");
        let error = openssl.speed("sha1", Some(16), 1, 1).unwrap_err();
        assert!(error.contains("its output has no figures"), "{error}");
    }
}
