//! Which arguments of `cargo xtask sim` go together.

/// A form's arguments: those that make it this one, and those that may be there as well.
pub struct Rule {
    /// Arguments without which it is another form.
    pub needs: &'static [&'static str],
    /// Arguments that may be there as well.
    pub may: &'static [&'static str],
    /// How it is written.
    pub usage: &'static str,
}

/// The forms. A command line has the first one whose needs it meets.
pub const RULES: &[Rule] = &[
    Rule { needs: &["--scale"], may: &[], usage: "--scale NODES,NODES,…" },
    Rule { needs: &["--pauses"], may: &["--seeds"], usage: "--pauses [--seeds FROM..TO]" },
    Rule { needs: &["--scenario"], may: &["--trace"], usage: "--scenario NAME [--trace]" },
    Rule { needs: &["--planted", "--script"], may: &["--trace"], usage: "--planted BUG --script FILE [--trace]" },
    Rule {
        needs: &["--planted", "--seed"],
        may: &["--trace", "--shrink"],
        usage: "--planted BUG --seed N [--trace | --shrink]",
    },
    Rule { needs: &["--planted"], may: &["--minutes"], usage: "--planted all|BUG [--minutes M]" },
    Rule { needs: &["--script"], may: &["--trace"], usage: "--script FILE [--trace]" },
    Rule { needs: &["--twice"], may: &["--weak"], usage: "--twice FROM..TO [--weak]" },
    Rule { needs: &["--minutes"], may: &["--from", "--weak"], usage: "--minutes M [--from SEED] [--weak]" },
    Rule {
        needs: &["--seed"],
        may: &["--trace", "--shrink", "--weak"],
        usage: "--seed N [--trace | --shrink] [--weak]",
    },
    Rule { needs: &["--seeds"], may: &["--weak"], usage: "--seeds FROM..TO [--weak]" },
];

/// The forms, one a line.
pub fn usage() -> String {
    let lines: Vec<String> = RULES.iter().rev().map(|rule| format!("cargo xtask sim {}", rule.usage)).collect();
    lines.join("\n       ")
}
