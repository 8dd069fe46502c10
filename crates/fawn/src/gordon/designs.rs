//! Designs of nodes: the paper's, a catalogue's, or those of a file.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use fawn_files::links;
use fawn_gordon::node::NodeDesign;
use fawn_gordon::survey::catalogue::{SurveyRatings, UnsurveyedOption, designs};
use fawn_gordon::survey::paper::{self, STATED_CONFIGURATIONS};
use fawn_gordon::survey::{SurveyFile, simulated};
use fawn_plan::Catalogue;

use super::typed::TypedFlags;
use crate::tell::tell;

/// The paper's designs.
pub const PAPER: &str = "gordon-2009";
/// The catalogue that is built in.
pub const TODAY: &str = "today";

/// How the paper's storage is rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StorageChoice {
    /// As the paper states or implies it: flash at 900 MB/s, a disk at 80 MB/s
    Stated,
    /// As the simulators of flash and disk rate the workloads' pattern of accesses
    Simulated,
}

/// How machines of a catalogue are rated.
#[derive(Clone, Debug, Args)]
pub struct RatingArguments {
    /// Ratings of processors and drives that a catalogue lacks, as TOML. They come before those built in
    #[arg(long, value_name = "FILE")]
    pub ratings: Option<PathBuf>,
    /// Take drives to write as fast as they read if nobody has measured their writes, instead of leaving them out
    #[arg(long)]
    pub guess_writes: bool,
}

/// How designs are rated.
#[derive(Clone, Debug, Args)]
pub struct DesignArguments {
    #[command(flatten)]
    pub catalogues: RatingArguments,
    /// Rates of the paper's flash and disk
    #[arg(long, value_name = "HOW", default_value = "stated")]
    pub storage: StorageChoice,
}

/// Designs to choose from.
#[derive(Clone, Debug)]
pub struct DesignSet {
    /// What they are, in a line.
    pub title: String,
    /// Those of which enough is known.
    pub designs: Vec<NodeDesign>,
    /// The others.
    pub left_out: Vec<UnsurveyedOption>,
}

impl RatingArguments {
    /// The ratings to use for a catalogue. Tells which of the file's are of nothing in it.
    ///
    /// # Errors
    /// The file cannot be read or understood.
    pub fn ratings(&self, catalogue: &Catalogue) -> anyhow::Result<SurveyRatings> {
        let mut ratings = match &self.ratings {
            None => SurveyRatings::today(),
            Some(file) => {
                let told = file.display();
                let text = fawn_files::text::read(file).with_context(|| format!("cannot read the ratings {told}"))?;
                let own = SurveyRatings::parse(&text).with_context(|| format!("cannot use the ratings {told}"))?;
                for name in own.unknown_to(catalogue) {
                    tell(format_args!("fawn: {told}: the catalogue has no {name}, so its rating is not used"));
                }
                own.completed_by(SurveyRatings::today())
            }
        };
        ratings.writes_as_reads |= self.guess_writes;
        Ok(ratings)
    }
}

impl DesignArguments {
    /// Refuses ratings of other designs than those of this name or file.
    pub fn check(name: &str, typed: &TypedFlags<'_>) -> Result<(), String> {
        const OF_CATALOGUES: &[&str] = &["ratings", "guess_writes"];
        let is_paper = name == PAPER || paper::space().designs().iter().any(|design| design.name == name);
        if is_paper {
            return typed.refuse(OF_CATALOGUES, "on the paper's designs, whose rates are the paper's");
        }
        typed.refuse(&["storage"], "on other designs than the paper's")?;
        let file = Path::new(name);
        let is_own = !links::is_stream(file) && fawn_files::text::read(file).is_ok_and(|text| !is_catalogue(&text));
        if is_own { typed.refuse(OF_CATALOGUES, "on designs of a file, which have their rates") } else { Ok(()) }
    }

    /// The designs of a name or a file.
    ///
    /// # Errors
    /// A file cannot be read or understood.
    pub fn set(&self, name: &str) -> anyhow::Result<DesignSet> {
        match Catalogue::built_in(name) {
            _ if name == PAPER => self.paper(),
            Some(built_in) => self.catalogue(&built_in),
            None => self.file(Path::new(name)),
        }
    }

    fn paper(&self) -> anyhow::Result<DesignSet> {
        let space = match self.storage {
            StorageChoice::Stated => paper::space(),
            StorageChoice::Simulated => simulated::space().context("cannot simulate the paper's flash array")?,
        };
        let designs = space.designs();
        let count = designs.len();
        let title = format!(
            "Gordon's design space (ASPLOS 2009): the {count} configurations of its Table 5; its text states \
             {STATED_CONFIGURATIONS}"
        );
        Ok(DesignSet { title, designs, left_out: Vec::new() })
    }

    fn catalogue(&self, catalogue: &Catalogue) -> anyhow::Result<DesignSet> {
        let (designs, left_out) = designs(catalogue, &self.catalogues.ratings(catalogue)?);
        Ok(DesignSet { title: catalogue.title.clone(), designs, left_out })
    }

    /// A file of designs, or a catalogue as `fawn plan` takes it.
    fn file(&self, file: &Path) -> anyhow::Result<DesignSet> {
        let told = file.display();
        let text = fawn_files::text::read(file).with_context(|| {
            let known = Catalogue::names().chain([PAPER]).collect::<Vec<_>>().join(", ");
            format!("cannot read the designs {told} (built in are {known})")
        })?;
        if is_catalogue(&text) {
            let catalogue = Catalogue::parse(&text).with_context(|| format!("cannot use the catalogue {told}"))?;
            return self.catalogue(&catalogue);
        }
        let parsed = SurveyFile::parse(&text).with_context(|| format!("cannot use the designs {told}"))?;
        let title = if parsed.title.is_empty() { told.to_string() } else { parsed.title.clone() };
        Ok(DesignSet { title, designs: parsed.designs(), left_out: Vec::new() })
    }

    /// One design: by its name in the paper's or in today's, or that of a file.
    ///
    /// # Errors
    /// There is none of the name, or too little is known of it; a file has several.
    pub fn one(&self, name: &str) -> anyhow::Result<NodeDesign> {
        let (paper, today) = (self.set(PAPER)?, self.set(TODAY)?);
        let mut built_in = paper.designs.iter().chain(&today.designs);
        if let Some(design) = built_in.find(|design| design.name == name) {
            return Ok(design.clone());
        }
        if let Some(option) = today.left_out.iter().find(|option| option.name == name) {
            bail!("{name} cannot be simulated, as no {} is known", option.missing.join(" and no "));
        }
        if name == PAPER || Catalogue::names().any(|catalogue| catalogue == name) {
            bail!("{name} has many designs: give the name of one; --list prints all names");
        }
        if !Path::new(name).exists() {
            let names = paper.designs.iter().chain(&today.designs).map(|design| design.name.as_str());
            let near = names.max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)));
            let near = near.unwrap_or_default();
            bail!("there is no design and no file `{name}`; is `{near}` meant? --list prints all names");
        }
        let mut set = self.set(name)?;
        match (set.designs.pop(), set.designs.len()) {
            (Some(design), 0) => Ok(design),
            (last, _) => {
                let names: Vec<&str> = set.designs.iter().chain(&last).map(|it| it.name.as_str()).collect();
                bail!("{name} has {} designs ({}): simulate one, in a file of its own", names.len(), names.join("; "))
            }
        }
    }
}

/// Whether a file is a catalogue, which has options, and not one of designs.
fn is_catalogue(text: &str) -> bool {
    toml::from_str::<toml::Table>(text).is_ok_and(|table| table.contains_key("options"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_is_known_however_its_options_are_written() {
        for text in ["[[options]]\nname = 'a'", "[[ options ]]\nname = 'a'", "options = [{ name = 'a' }]"] {
            assert!(is_catalogue(text), "{text}");
        }
        for text in ["", "[[nodes]]\nname = 'a'", "# [[options]]", "title = '[[options]]'", "[[options"] {
            assert!(!is_catalogue(text), "{text}");
        }
    }
}
