//! The Java client's classes of messages are made from the Rust types and `docs/wire.md`: this writes them, and compares.
//!
//! After a change of the wire: `FAWN_WRITE_JAVA=1 cargo test -p fawn-sim --test all java`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fawn_kv::link::control::{Greeted, Greeting};
use fawn_kv::manager::roster::Roster;
use fawn_kv::operation::Operation;
use fawn_kv::scan::Bookmark;
use fawn_kv::wire::Message;

use crate::schema::Schema;
use crate::wire_doc::rows;

/// Where the classes are kept, from the root of the repository.
const FOLDER: &str = "integrations/java/fawn-client/src/main/java/fawn/client/wire";

/// The first line of a file that is made here.
const MARK: &str = "// Made from the Rust types and docs/wire.md by crates/fawn-sim/tests/all/java.rs.";

/// Characters a line of a comment, with what is before it.
const WIDTH: usize = 120;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file with what it has to be; writes it if `FAWN_WRITE_JAVA` is set.
pub fn compare(file: &str, expected: &str) {
    let path = root().join(file);
    if std::env::var_os("FAWN_WRITE_JAVA").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, expected).unwrap();
    }
    let is_same = std::fs::read_to_string(&path).is_ok_and(|found| found == expected);
    assert!(is_same, "{file} is not what the code makes: FAWN_WRITE_JAVA=1 cargo test -p fawn-sim --test all java");
}

/// What a field is in Java.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A number or bool: its Java type, the boxed one, and the method that reads and writes it.
    Plain(&'static str, &'static str, &'static str),
    /// So many bytes.
    Fixed(usize),
    Option(Box<Self>),
    List(Box<Self>),
    Map(Box<Self>, Box<Self>),
    Pair(Box<Self>, Box<Self>),
    Named(String),
}

impl Kind {
    /// The kind that a schema calls so. A type of one field without a name is that field.
    fn of(text: &str, schema: &Schema) -> Self {
        let of = |text| Box::new(Self::of(text, schema));
        if let Some(inner) = text.strip_prefix("option of ") {
            return Self::Option(of(inner));
        }
        if let Some(inner) = text.strip_prefix("list of ") {
            return Self::List(of(inner));
        }
        if let Some((key, value)) = text.strip_prefix("map of ").and_then(|inner| inner.split_once(" to ")) {
            return Self::Map(of(key), of(value));
        }
        if let Some((one, other)) = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')?.split_once(", ")) {
            return Self::Pair(of(one), of(other));
        }
        if let Some(count) = text.strip_suffix(" bytes as they are") {
            return Self::Fixed(count.parse().unwrap());
        }
        match text {
            "bool" => Self::Plain("boolean", "Boolean", "bool"),
            "u8" => Self::Plain("int", "Integer", "u8"),
            "u32" => Self::Plain("long", "Long", "u32"),
            "u64" => Self::Plain("long", "Long", "u64"),
            "i64" => Self::Plain("long", "Long", "i64"),
            "bytes" => Self::Plain("byte[]", "byte[]", "bytes"),
            "string" => Self::Plain("String", "String", "string"),
            "Key" => Self::Named("Key".to_owned()),
            name => match schema.structs.get(name) {
                Some(inner) if !inner.contains('`') => Self::of(inner, schema),
                _ => Self::Named(name.to_owned()),
            },
        }
    }

    fn java(&self) -> String {
        match self {
            Self::Plain(java, ..) => (*java).to_owned(),
            _ => self.boxed(),
        }
    }

    fn boxed(&self) -> String {
        match self {
            Self::Plain(_, boxed, _) => (*boxed).to_owned(),
            Self::Fixed(_) => "byte[]".to_owned(),
            Self::Option(inner) => inner.boxed(),
            Self::List(inner) => format!("List<{}>", inner.boxed()),
            Self::Map(key, value) => format!("List<Pair<{}, {}>>", key.boxed(), value.boxed()),
            Self::Pair(one, other) => format!("Pair<{}, {}>", one.boxed(), other.boxed()),
            Self::Named(name) => name.clone(),
        }
    }

    /// An expression that reads one from `from`.
    fn read(&self, from: &str, depth: usize) -> String {
        let inner = |kind: &Self| kind.reader(depth + 1);
        match self {
            Self::Plain(_, _, method) => format!("{from}.{method}()"),
            Self::Fixed(count) => format!("{from}.fixed({count})"),
            Self::Option(kind) => format!("{from}.option({})", inner(kind)),
            Self::List(kind) => format!("{from}.list({})", inner(kind)),
            Self::Map(one, other) => format!("{from}.map({}, {})", inner(one), inner(other)),
            Self::Pair(one, other) => format!("{from}.pair({}, {})", inner(one), inner(other)),
            Self::Named(name) => format!("{name}.read({from})"),
        }
    }

    fn reader(&self, depth: usize) -> String {
        match self {
            Self::Plain(_, _, method) => format!("WireReader::{method}"),
            Self::Named(name) => format!("{name}::read"),
            _ => format!("in{depth} -> {}", self.read(&format!("in{depth}"), depth)),
        }
    }

    /// An expression that writes `value` to `to`.
    fn write(&self, value: &str, to: &str, depth: usize) -> String {
        let inner = |kind: &Self| kind.writer(depth + 1);
        match self {
            Self::Plain(_, _, method) => format!("{to}.{method}({value})"),
            Self::Fixed(count) => format!("{to}.fixed({value}, {count})"),
            Self::Option(kind) => format!("{to}.option({value}, {})", inner(kind)),
            Self::List(kind) => format!("{to}.list({value}, {})", inner(kind)),
            Self::Map(one, other) => format!("{to}.map({value}, {}, {})", inner(one), inner(other)),
            Self::Pair(one, other) => format!("{to}.pair({value}, {}, {})", inner(one), inner(other)),
            Self::Named(_) => format!("{value}.write({to})"),
        }
    }

    fn writer(&self, depth: usize) -> String {
        match self {
            Self::Named(name) => format!("{name}::write"),
            _ => format!(
                "(value{depth}, out{depth}) -> {}",
                self.write(&format!("value{depth}"), &format!("out{depth}"), depth)
            ),
        }
    }

    /// Whether Java's lists are in it.
    fn is_of_lists(&self) -> bool {
        match self {
            Self::List(_) | Self::Map(..) => true,
            Self::Option(inner) => inner.is_of_lists(),
            Self::Pair(one, other) => one.is_of_lists() || other.is_of_lists(),
            _ => false,
        }
    }
}

/// A field: its name in Java, what it is, and what the document says of it.
struct Field {
    name: String,
    kind: Kind,
    meaning: String,
}

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capital(word))
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// `CopyPart` becomes `COPY_PART`.
fn constant(name: &str) -> String {
    let mut constant = String::new();
    for (at, letter) in name.chars().enumerate() {
        if at > 0 && letter.is_uppercase() {
            constant.push('_');
        }
        constant.push(letter.to_ascii_uppercase());
    }
    constant
}

/// The document's words as those of a Javadoc comment.
fn javadoc(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    // [`Operation`](#operations) becomes `Operation`.
    while let Some((before, link)) = rest.split_once('[') {
        let (name, after) = link.split_once("](").expect("a bracket begins a link");
        let (_, after) = after.split_once(')').expect("a link ends");
        plain += before;
        plain += name;
        rest = after;
    }
    plain += rest;
    let mut is_code = false;
    let plain = plain.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut made = String::new();
    for letter in plain.chars() {
        if letter == '`' {
            is_code = !is_code;
            made += if is_code { "{@code " } else { "}" };
        } else {
            made.push(letter);
        }
    }
    made
}

/// A Javadoc comment, on one line if it fits.
fn comment(out: &mut String, indent: usize, text: &str) {
    let text = capital(text) + if text.ends_with('.') { "" } else { "." };
    let pad = " ".repeat(indent);
    if indent + text.chars().count() + 7 <= WIDTH {
        writeln!(out, "{pad}/** {text} */").unwrap();
        return;
    }
    writeln!(out, "{pad}/**").unwrap();
    let mut line = format!("{pad} *");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}").unwrap();
            line = format!("{pad} *");
        }
        line = line + " " + word;
    }
    writeln!(out, "{line}\n{pad} */").unwrap();
}

/// What the document says of each field in a cell, by the field's name; `""`: of the only one, which has none.
fn meanings_of(cell: &str) -> BTreeMap<String, String> {
    let parts = cell.split("; ").filter_map(|part| part.split_once(": "));
    let named = parts.map(|(field, meaning)| {
        let name = field.split('`').nth(1).unwrap_or_default();
        (name.to_owned(), javadoc(meaning))
    });
    named.collect()
}

/// The fields of a schema's text. `others` are names that stand for something else where they are used.
fn fields(text: &str, cell: &str, (schema, document): (&Schema, &str), others: &[&str]) -> Vec<Field> {
    let meanings = meanings_of(cell);
    let types = rows(document, "type");
    // What the document says of a type that is one field without a name.
    let of_type = |kind: &str| {
        let row = types.iter().find(|cells| cells[0].trim_matches('`') == kind)?;
        meanings_of(row[1]).get("").cloned()
    };
    let texts: Vec<&str> = text.split("; ").filter(|text| !text.is_empty()).collect();
    let is_one = texts.len() == 1;
    let field = |(at, text): (usize, &&str)| {
        let named = text.strip_prefix('`').and_then(|text| text.split_once("` "));
        let (name, kind) = named.map_or_else(
            || (if is_one { "value".to_owned() } else { format!("value{at}") }, *text),
            |(name, kind)| (camel(name), kind),
        );
        let meaning = meanings.get(named.map_or("", |(name, _)| name)).cloned();
        let meaning = meaning.or_else(|| of_type(kind.rsplit("of ").next().unwrap_or(kind)));
        let meaning = meaning.unwrap_or_else(|| format!("The field {{@code {name}}}"));
        let kind = match Kind::of(kind, schema) {
            Kind::Named(name) if others.contains(&name.as_str()) => Kind::Named(format!("fawn.client.wire.{name}")),
            kind => kind,
        };
        Field { name, kind, meaning }
    };
    texts.iter().enumerate().map(field).collect()
}

/// The members that a class has for its fields, and how they are read and written.
fn members(out: &mut String, indent: usize, class: &str, number: Option<u32>, fields: &[Field]) {
    let pad = " ".repeat(indent);
    for Field { name, kind, meaning } in fields {
        let none = if matches!(kind, Kind::Option(_)) { "; {@code null} for none" } else { "" };
        comment(out, indent, &(meaning.trim_end_matches('.').to_owned() + none));
        writeln!(out, "{pad}public final {} {name};", kind.java()).unwrap();
    }
    if fields.is_empty() {
        return write_method(out, indent, number, fields);
    }
    writeln!(out).unwrap();
    let parameters: Vec<String> = fields.iter().map(|field| format!("{} {}", field.kind.java(), field.name)).collect();
    comment(out, indent, "One of these fields");
    let line = parameters.join(", ");
    let broken = format!("\n{pad}        {}", parameters.join(&format!(",\n{pad}        ")));
    let parameters = if indent + class.len() + line.len() + 11 > WIDTH { broken } else { line };
    writeln!(out, "{pad}public {class}({parameters}) {{").unwrap();
    for Field { name, .. } in fields {
        writeln!(out, "{pad}    this.{name} = {name};").unwrap();
    }
    writeln!(out, "{pad}}}\n").unwrap();
    let reads: Vec<String> = fields.iter().map(|field| field.kind.read("in", 0)).collect();
    writeln!(out, "{pad}static {class} read(WireReader in) throws WireException {{").unwrap();
    if fields.len() < 2 {
        writeln!(out, "{pad}    return new {class}({});", reads.join(", ")).unwrap();
    } else {
        writeln!(
            out,
            "{pad}    return new {class}(\n{pad}            {});",
            reads.join(&format!(",\n{pad}            "))
        )
        .unwrap();
    }
    writeln!(out, "{pad}}}\n").unwrap();
    write_method(out, indent, number, fields);
}

fn write_method(out: &mut String, indent: usize, number: Option<u32>, fields: &[Field]) {
    let pad = " ".repeat(indent);
    if number.is_some() {
        writeln!(out, "{pad}@Override").unwrap();
    }
    writeln!(out, "{pad}void write(WireWriter out) {{").unwrap();
    if let Some(number) = number {
        writeln!(out, "{pad}    out.u32({number});").unwrap();
    }
    for Field { name, kind, .. } in fields {
        writeln!(out, "{pad}    {};", kind.write(name, "out", 0)).unwrap();
    }
    writeln!(out, "{pad}}}").unwrap();
}

fn file(body: &str, has_lists: bool) -> String {
    let import = if has_lists { "import java.util.List;\n\n" } else { "" };
    format!("{MARK}\npackage fawn.client.wire;\n\n{import}{body}")
}

fn of_struct(name: &str, text: &str, schema: &Schema, document: &str) -> String {
    let row = rows(document, "type").into_iter().find(|cells| cells[0] == format!("`{name}`"));
    let fields = fields(text, row.as_ref().map_or("", |cells| cells[1]), (schema, document), &[]);
    let mut out = String::new();
    comment(&mut out, 0, &format!("The type {{@code {name}}} of the wire"));
    writeln!(out, "public final class {name} {{").unwrap();
    members(&mut out, 4, name, None, &fields);
    writeln!(out, "}}").unwrap();
    file(&out, fields.iter().any(|field| field.kind.is_of_lists()))
}

fn of_enum(name: &str, variants: &BTreeMap<u32, (String, String)>, schema: &Schema, document: &str) -> String {
    let rows = rows(document, &format!("`{name}`"));
    let row = |number: u32| rows.iter().find(|cells| cells[0] == number.to_string());
    let meaning = |number| row(number).and_then(|cells| cells.get(3)).map_or(String::new(), |cell| javadoc(cell));
    let said = |number: u32| {
        let meaning = meaning(number);
        if meaning.is_empty() { format!("Number {number}") } else { format!("Number {number}: {meaning}") }
    };
    let mut out = String::new();
    comment(&mut out, 0, &format!("The type {{@code {name}}} of the wire: one of its variants"));
    if variants.values().all(|(_, text)| text.is_empty()) {
        writeln!(out, "public enum {name} {{").unwrap();
        for (number, (variant, _)) in variants {
            comment(&mut out, 4, &said(*number));
            let end = if *number as usize + 1 == variants.len() { ";\n" } else { "," };
            writeln!(out, "    {}{end}", constant(variant)).unwrap();
        }
        writeln!(out, "    static {name} read(WireReader in) throws WireException {{").unwrap();
        writeln!(out, "        return in.variant(values());\n    }}\n").unwrap();
        writeln!(out, "    void write(WireWriter out) {{\n        out.u32(ordinal());\n    }}\n}}").unwrap();
        return file(&out, false);
    }
    writeln!(out, "public abstract class {name} {{\n    private {name}() {{}}\n").unwrap();
    writeln!(out, "    abstract void write(WireWriter out);\n").unwrap();
    writeln!(out, "    static {name} read(WireReader in) throws WireException {{").unwrap();
    writeln!(out, "        long number = in.u32();\n        switch ((int) number) {{").unwrap();
    for (number, (variant, text)) in variants {
        let made = if text.is_empty() { format!("new {variant}()") } else { format!("{variant}.read(in)") };
        writeln!(out, "            case {number}:\n                return {made};").unwrap();
    }
    writeln!(out, "            default:\n                throw in.noSuch(\"{name}\", number);\n        }}\n    }}")
        .unwrap();
    let names: Vec<&str> = variants.values().map(|(variant, _)| variant.as_str()).collect();
    let mut has_lists = false;
    for (number, (variant, text)) in variants {
        let fields = fields(text, row(*number).map_or("", |cells| cells[2]), (schema, document), &names);
        has_lists |= fields.iter().any(|field| field.kind.is_of_lists());
        writeln!(out).unwrap();
        comment(&mut out, 4, &said(*number));
        writeln!(out, "    public static final class {variant} extends {name} {{").unwrap();
        members(&mut out, 8, variant, Some(*number), &fields);
        writeln!(out, "    }}").unwrap();
    }
    writeln!(out, "}}").unwrap();
    file(&out, has_lists)
}

#[test]
fn the_classes_of_the_java_client_are_made_of_these_types() {
    let mut schema = Schema::default();
    schema.add::<Message>();
    schema.add::<Operation<'static>>();
    schema.add::<Greeting>();
    schema.add::<Greeted>();
    schema.add::<Bookmark>();
    // A member of the roster is called as one of a chain.
    let mut of_roster = Schema::default();
    of_roster.add::<Roster>();
    for (name, text) in &of_roster.structs {
        let renamed = |name: &str| if name == "Member" { "RosterMember".to_owned() } else { name.to_owned() };
        schema.structs.insert(renamed(name), text.replace(" to Member", " to RosterMember"));
    }
    schema.enums.extend(of_roster.enums);
    let document = std::fs::read_to_string(root().join("docs/wire.md")).unwrap();
    let mut files = BTreeMap::new();
    let is_made = |name: &str, text: &str| name != "Interval" && text.contains('`');
    for (name, text) in schema.structs.iter().filter(|(name, text)| is_made(name, text)) {
        files.insert(name.clone(), of_struct(name, text, &schema, &document));
    }
    for (name, variants) in &schema.enums {
        files.insert(name.clone(), of_enum(name, variants, &schema, &document));
    }
    for (name, text) in &files {
        compare(&format!("{FOLDER}/{name}.java"), text);
    }
    for entry in std::fs::read_dir(root().join(FOLDER)).unwrap() {
        let path = entry.unwrap().path();
        let is_made = std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with(MARK));
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(!is_made || files.contains_key(&name), "nothing is called {name} any more: delete its file");
    }
}
