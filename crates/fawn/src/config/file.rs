//! A configuration file: TOML, one table a command, keys before all tables or in `[common]` for every command.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::flags::{Section, nearest};
use super::problem::{Problem, SettingOrigin};

/// The table that is the same as none: TOML cannot have a key `manager` beside a table `[manager]`.
const COMMON: &str = "common";

/// A value as it is written in a file or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A text or a number.
    One(String),
    /// A list of them.
    Many(Vec<String>),
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// The table; `None` before all tables.
    pub table: Option<String>,
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where it stands.
    pub at: SettingOrigin,
}

/// A file, and what is wrong with how it is written.
#[derive(Clone, Debug, Default)]
pub struct ConfigFile {
    /// In the order of the file.
    pub entries: Vec<FileEntry>,
    /// Lines that cannot be understood, and keys that do not exist.
    pub problems: Vec<Problem>,
}

/// Reads a file.
pub fn read(path: &Path, sections: &[Section]) -> ConfigFile {
    match fawn_files::text::read(path) {
        Ok(text) => parse(&path.display().to_string(), &text, sections),
        Err(error) => {
            let at = SettingOrigin::File { path: path.display().to_string(), line: 0 };
            ConfigFile { entries: Vec::new(), problems: vec![Problem { at, what: format!("cannot be read: {error}") }] }
        }
    }
}

/// Understands the text of a file.
pub fn parse(path: &str, text: &str, sections: &[Section]) -> ConfigFile {
    let mut reader = FileReader { path, text, sections, file: ConfigFile::default() };
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let start = error.span().map_or(0, |span| span.start);
        let message: Vec<&str> = error.message().lines().collect();
        reader.refuse(start, format!("invalid TOML: {}", message.join("; ")));
    }
    if errors.is_empty() {
        reader.root(root.get_ref());
    }
    let mut file = reader.file;
    let line = |at: &SettingOrigin| if let SettingOrigin::File { line, .. } = at { *line } else { 0 };
    file.entries.sort_by_key(|entry| line(&entry.at));
    file.problems.sort();
    file
}

struct FileReader<'a> {
    path: &'a str,
    text: &'a str,
    sections: &'a [Section],
    file: ConfigFile,
}

impl FileReader<'_> {
    fn at(&self, offset: usize) -> SettingOrigin {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        SettingOrigin::File { path: self.path.to_owned(), line }
    }

    fn refuse(&mut self, offset: usize, what: String) {
        let at = self.at(offset);
        self.file.problems.push(Problem { at, what });
    }

    fn root(&mut self, root: &DeTable<'_>) {
        for (key, value) in root {
            let (name, offset) = (key.get_ref().as_ref(), key.span().start);
            match value.get_ref() {
                DeValue::Table(table) if name == COMMON => self.root(table),
                DeValue::Table(table) => self.table(name, offset, table),
                _ if self.sections.iter().any(|section| section.flag(name).is_some()) => {
                    self.entry(None, name, offset, value.get_ref());
                }
                _ => {
                    let known = self.sections.iter().flat_map(|section| &section.flags);
                    let hint = suggestion(nearest(name, known.map(|flag| flag.long.as_str())));
                    self.refuse(offset, format!("no command has a flag {name:?}{hint}"));
                }
            }
        }
    }

    fn table(&mut self, name: &str, offset: usize, table: &DeTable<'_>) {
        let sections = self.sections;
        let Some(section) = sections.iter().find(|section| section.name == name) else {
            let known = sections.iter().map(|section| section.name.as_str());
            // `[certs.init]` for `[certs-init]`.
            let inner = table.keys().map(|key| format!("{name}-{}", key.get_ref()));
            let meant = inner.into_iter().find_map(|inner| known.clone().find(|known| *known == inner));
            let hint = suggestion(meant.or_else(|| nearest(name, known)));
            return self.refuse(offset, format!("there is no command for [{name}]{hint}"));
        };
        for (key, value) in table {
            let (long, offset) = (key.get_ref().as_ref(), key.span().start);
            if section.flag(long).is_some() {
                self.entry(Some(name), long, offset, value.get_ref());
                continue;
            }
            let near = nearest(long, section.flags.iter().map(|flag| flag.long.as_str()));
            let elsewhere = sections.iter().find(|section| section.flag(long).is_some());
            let hint = match (near, elsewhere) {
                (None, Some(other)) => format!("; it is a key of [{}]", other.name),
                _ => suggestion(near),
            };
            self.refuse(offset, format!("[{name}] has no key {long:?}{hint}"));
        }
    }

    fn entry(&mut self, table: Option<&str>, key: &str, offset: usize, value: &DeValue<'_>) {
        let value = match value {
            DeValue::Boolean(value) => Ok(Value::Switch(*value)),
            DeValue::Array(items) => {
                let items: Result<Vec<String>, _> = items.iter().map(|item| text(item.get_ref())).collect();
                items.map(Value::Many)
            }
            value => text(value).map(Value::One),
        };
        match value {
            Ok(value) => {
                let at = self.at(offset);
                self.file.entries.push(FileEntry { table: table.map(str::to_owned), key: key.to_owned(), value, at });
            }
            Err(kind) => self.refuse(offset, format!("{key:?} cannot be a {kind}: write a string or a number")),
        }
    }
}

/// A text or a number; otherwise what it is.
fn text(value: &DeValue<'_>) -> Result<String, &'static str> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(plain) => Ok(plain.to_string()),
            Err(_) => Ok(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(_) => Err("list of switches"),
        DeValue::Datetime(_) => Err("date"),
        DeValue::Array(_) => Err("list of lists"),
        DeValue::Table(_) => Err("table"),
    }
}

fn suggestion(name: Option<&str>) -> String {
    name.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}
