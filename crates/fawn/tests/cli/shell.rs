//! Help, completions and manual pages.

use crate::server::fawn;

#[test]
fn help_names_the_exit_codes_and_the_defaults() {
    let help = fawn(&["--help"]).stdout;
    assert!(help.contains("Exit codes: 0 success, 1 failure or not found, 2"), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for units in ["powers of 1024; in `fawn plan`, powers of 1000", "--rate 50k`, take K, M or G (powers of 1000)"] {
        assert!(words.contains(units), "{help}");
    }
    let help = fawn(&["serve", "--help"]).stdout;
    for word in ["./fawn-data", "127.0.0.1:11211", "durable", "a quarter", "evicts"] {
        assert!(help.contains(word), "{word} is missing in {help}");
    }
}

#[test]
fn nothing_is_coloured_off_a_terminal() {
    for arguments in [&["--help"][..], &["get", "--to", "127.0.0.1:1", "k"], &["frobnicate"]] {
        let run = fawn(arguments);
        assert!(!run.stdout.contains('\x1b') && !run.stderr.contains('\x1b'), "{run:?}");
    }
}

#[test]
fn every_shell_gets_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = fawn(&["completions", shell]);
        assert_eq!(run.code, 0);
        assert!(run.stdout.contains("max-item-size"), "{shell}");
    }
}

#[test]
fn every_command_gets_a_manual_page() {
    assert!(fawn(&["man"]).stdout.contains(".TH fawn 1"));
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("share/man1");
    assert_eq!(fawn(&["man", "--dir", new.to_str().unwrap()]).code, 0);
    for page in ["fawn.1", "fawn-serve.1", "fawn-load.1", "fawn-store-check.1"] {
        assert!(new.join(page).exists(), "{page}");
    }
    assert_eq!(fawn(&["man", "--dir", new.join("fawn.1").to_str().unwrap()]).code, 1);
}
