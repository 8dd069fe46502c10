//! Flags that were typed and would do nothing beside others: they are refused.
//!
//! What is configured for all runs of a command is not: a run may do without it.

use clap::{Args, Command};

/// The arguments of a command line that were typed, by their names in the code.
pub struct TypedFlags<'a>(pub &'a [String]);

impl TypedFlags<'_> {
    /// Whether this one was typed.
    pub fn has(&self, id: &str) -> bool {
        self.0.iter().any(|typed| typed == id)
    }

    /// Refuses the flags of `A` that were typed. `but` are those that have an effect; `why` says why the others have none.
    ///
    /// # Errors
    /// One of them was typed.
    pub fn refuse_all<A: Args>(&self, but: &[&str], why: &str) -> Result<(), String> {
        let all = A::augment_args(Command::new("all"));
        let mut idle = all.get_arguments().filter(|arg| {
            let id = arg.get_id().as_str();
            self.has(id) && !but.contains(&id)
        });
        idle.next().map_or(Ok(()), |arg| {
            let name = match arg.get_long() {
                Some(long) => format!("--{long}"),
                None => arg.get_value_names().map_or_else(String::new, |names| names.join(" ")),
            };
            Err(refusal(&name, why))
        })
    }

    /// Refuses these flags where they were typed, for the same reason.
    ///
    /// # Errors
    /// One of them was typed.
    pub fn refuse(&self, ids: &[&str], why: &str) -> Result<(), String> {
        let idle = ids.iter().find(|id| self.has(id));
        idle.map_or(Ok(()), |id| Err(refusal(&format!("--{}", id.replace('_', "-")), why)))
    }
}

fn refusal(name: &str, why: &str) -> String {
    format!("{name} has no effect {why}: leave it out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Args)]
    struct Both {
        #[arg(value_name = "FILE")]
        _file: Option<String>,
        #[arg(long = "first")]
        _one: bool,
        #[arg(long)]
        _second_one: bool,
    }

    #[test]
    fn what_was_typed_is_refused_by_its_name() {
        let typed = ["_one".to_owned(), "_file".to_owned()];
        let flags = TypedFlags(&typed);
        let refused = |but: &[&str]| flags.refuse_all::<Both>(but, "beside --list").unwrap_err();
        assert_eq!(refused(&["_file"]), "--first has no effect beside --list: leave it out");
        assert_eq!(refused(&[]), "FILE has no effect beside --list: leave it out");
        assert_eq!(flags.refuse_all::<Both>(&["_one", "_file"], ""), Ok(()));
        assert_eq!(flags.refuse(&["second_one"], ""), Ok(()));
    }
}
