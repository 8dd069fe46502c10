//! What was measured on a node: a file of its own, as a benchmark writes it or as somebody writes it by hand.
//!
//! TOML, or JSON with the same names. Its figures take the place of those of the option that it names; without one, the
//! node is an option of its own. reference/planning in the book has the form.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::catalogue::{bounds, contradiction, one_line};
use crate::quantity::MOST;
use crate::{Catalogue, Date, Figure, FigureKind, NodeOption, PlanError, Quantity, Scope};

/// A node that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredNode {
    /// What the node is called.
    pub name: String,
    /// When it was measured.
    pub date: Date,
    /// The option of a catalogue that it is.
    pub option: Option<String>,
    /// Bytes of the values at which rates were measured.
    pub value_bytes: Option<f64>,
    figures: BTreeMap<Quantity, Figure>,
}

/// What a file says of a node beside its figures.
#[derive(Debug, Deserialize)]
struct Head {
    name: String,
    date: Date,
    option: Option<String>,
    source: Option<String>,
    value_bytes: Option<f64>,
    #[serde(flatten)]
    figures: BTreeMap<String, toml::Value>,
}

/// A value with how it was come by.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredValue {
    value: f64,
    kind: FigureKind,
    /// By what, beside the source of the file.
    source: Option<String>,
    /// Of watts; the wall if nothing is said.
    scope: Option<Scope>,
}

impl MeasuredNode {
    /// Reads a node's file.
    ///
    /// # Errors
    /// It is neither TOML nor JSON of this form, a figure is out of bounds, or one that is not watts has a scope.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let head: Head = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| PlanError::Form(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| PlanError::Form(one_line(&error, text)))?
        };
        let form = |what: String| Err(PlanError::Form(what));
        if head.name.trim().is_empty() {
            return form("its name is empty: give the node a name".to_owned());
        }
        if head.value_bytes.is_some_and(|bytes| !(1.0..=MOST).contains(&bytes)) {
            return form("its value_bytes must be 1 or more".to_owned());
        }
        let source = head.source.as_ref().map_or(head.name.clone(), |source| format!("{source} on {}", head.name));
        let mut figures = BTreeMap::new();
        for (name, value) in &head.figures {
            let quantity = toml::Value::String(name.clone()).try_into::<Quantity>();
            let quantity = quantity.map_err(|error| PlanError::Form(error.message().replace('\n', ", ")))?;
            figures.insert(quantity, figure(name, quantity, value, &source, head.date)?);
        }
        if figures.is_empty() {
            return form("it has no measurement, e.g. cpu_gets_per_second".to_owned());
        }
        let Head { name, date, option, value_bytes, .. } = head;
        if let Some(what) = contradiction(&figures) {
            return Err(PlanError::Contradiction(format!("`{name}` {what}")));
        }
        Ok(Self { name, date, option, value_bytes, figures })
    }

    /// Puts what was measured into a catalogue; says which option has it now.
    ///
    /// # Errors
    /// The catalogue does not have the option that is named; or none is named, and it has one with the node's name.
    pub fn add_to(&self, catalogue: &mut Catalogue) -> Result<String, PlanError> {
        let figures = self.figures.clone();
        let Some(name) = &self.option else {
            if catalogue.options.iter().any(|option| option.name == self.name) {
                return Err(PlanError::Twice(self.name.clone()));
            }
            catalogue.options.push(NodeOption {
                name: self.name.clone(),
                machine: self.name.clone(),
                drives: None,
                note: None,
                figures,
                drive_watts_unknown: false,
                is_measured: true,
            });
            return Ok(self.name.clone());
        };
        let Some(option) = catalogue.options.iter_mut().find(|option| option.name.eq_ignore_ascii_case(name)) else {
            let known = catalogue.options.iter().map(|option| format!("`{}`", option.name));
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(PlanError::UnknownOption { option: name.clone(), known });
        };
        if std::mem::replace(&mut option.is_measured, true) {
            return Err(PlanError::MeasuredTwice(option.name.clone()));
        }
        if figures.get(&Quantity::WattsStress).is_some_and(|watts| watts.scope != Some(Scope::Package)) {
            option.drive_watts_unknown = false;
        }
        // What is paid is one of both.
        for (of_node, of_catalogue) in
            [(Quantity::PriceDollars, Quantity::RentDollarsHour), (Quantity::RentDollarsHour, Quantity::PriceDollars)]
        {
            if figures.contains_key(&of_node) {
                option.figures.remove(&of_catalogue);
            }
        }
        option.figures.extend(figures);
        // It may be of values that others have replaced.
        option.note = option.note.take().map(|note| format!("as the catalogue has it, {note}"));
        if let Some(what) = contradiction(&option.figures) {
            let what = format!("`{}` with what the catalogue has {what}", option.name);
            return Err(PlanError::Contradiction(what));
        }
        Ok(option.name.clone())
    }
}

/// A value of a node's file with where it is from: a number alone, or with how it was come by.
fn figure(name: &str, quantity: Quantity, value: &toml::Value, source: &str, date: Date) -> Result<Figure, PlanError> {
    let wrong = |what: &str| PlanError::Form(format!("`{name}` {what}"));
    let number = match value {
        toml::Value::Float(number) => Some(*number),
        toml::Value::Integer(number) => Some(*number as f64),
        _ => None,
    };
    let told = match number {
        // Nobody measures a price.
        Some(value) => {
            let kind = if quantity.may_be_nothing() { FigureKind::Declared } else { FigureKind::Measured };
            MeasuredValue { value, kind, source: None, scope: None }
        }
        None if value.is_table() => value.clone().try_into().map_err(|error: toml::de::Error| {
            wrong(&format!(
                "is not a table of value, kind (measured, vendor, derived or declared) and optionally source and \
                scope (package, board or wall): {}",
                error.message().replace('\n', ", ")
            ))
        })?,
        None => return Err(wrong("is neither a number nor a table, e.g. { value = 9, kind = \"measured\" }")),
    };
    if told.scope.is_some() && !quantity.is_watts() {
        return Err(wrong("has a scope, which applies only to watts"));
    }
    let (words, least) = bounds(quantity);
    if !(least..=MOST).contains(&told.value) {
        return Err(wrong(&format!("is {}, but must be {words}", told.value)));
    }
    let mut source = told.source.as_ref().map_or(source.to_owned(), |how| format!("{source}: {how}"));
    match told.scope {
        Some(Scope::Package) => source.push_str(" (of the processor alone, not at the wall)"),
        Some(Scope::Board) => source.push_str(" (of the board, not at the wall)"),
        Some(Scope::Wall) | None => {}
    }
    let MeasuredValue { value, kind, scope, .. } = told;
    Ok(Figure { value, low: value, high: value, kind, source, date, scope })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_toml_say_the_same() {
        let toml = "name = \"n\"\ndate = \"2026-11-24\"\nvalue_bytes = 1000\ncpu_gets_per_second = 250000\n";
        let json = r#"{"name": "n", "date": "2026-11-24", "value_bytes": 1000, "cpu_gets_per_second": 250000}"#;
        assert_eq!(MeasuredNode::parse(toml).unwrap(), MeasuredNode::parse(json).unwrap());
    }

    #[test]
    fn what_was_measured_counts_before_what_the_catalogue_has() {
        let mut catalogue = Catalogue::built_in("paper-2009").unwrap();
        let text = "name = \"mine\"\ndate = \"2026-11-24\"\noption = \"fawn+ssd\"\nsource = \"a benchmark\"\nwatts_stress = 12\n";
        assert_eq!(MeasuredNode::parse(text).unwrap().add_to(&mut catalogue).unwrap(), "FAWN+SSD");
        let option = catalogue.options.iter().find(|option| option.name == "FAWN+SSD").unwrap();
        let watts = option.figure(Quantity::WattsStress).unwrap();
        assert_eq!(
            (watts.value, watts.kind, watts.source.as_str()),
            (12.0, FigureKind::Measured, "a benchmark on mine")
        );
        assert_eq!(option.value(Quantity::Gb), Some(32.0));
    }

    #[test]
    fn values_keep_how_they_were_come_by() {
        let text = "name = \"n\"\ndate = \"2026-11-24\"\nsource = \"a benchmark\"\noption = \"fawn+ssd\"\nprice_dollars = 90\n\
                    gb = 100\ncpu_gets_per_second = { value = 1000, kind = \"derived\" }\n\
                    watts_idle = { value = 2, kind = \"declared\", source = \"by its owner\", scope = \"wall\" }\n\
                    watts_stress = { value = 4.5, kind = \"measured\", source = \"a sensor\", scope = \"board\" }\n";
        let mut catalogue = Catalogue::built_in("paper-2009").unwrap();
        MeasuredNode::parse(text).unwrap().add_to(&mut catalogue).unwrap();
        let option = catalogue.options.iter().find(|option| option.name == "FAWN+SSD").unwrap();
        let seen = |quantity| {
            let figure = option.figure(quantity).unwrap();
            (figure.value, figure.kind, figure.source.as_str(), figure.scope)
        };
        let plain = "a benchmark on n";
        assert_eq!(seen(Quantity::PriceDollars), (90.0, FigureKind::Declared, plain, None));
        assert_eq!(seen(Quantity::Gb), (100.0, FigureKind::Measured, plain, None));
        assert_eq!(seen(Quantity::CpuGetsPerSecond), (1000.0, FigureKind::Derived, plain, None));
        let idle = "a benchmark on n: by its owner";
        assert_eq!(seen(Quantity::WattsIdle), (2.0, FigureKind::Declared, idle, Some(Scope::Wall)));
        let stress = "a benchmark on n: a sensor (of the board, not at the wall)";
        assert_eq!(seen(Quantity::WattsStress), (4.5, FigureKind::Measured, stress, Some(Scope::Board)));
    }

    #[test]
    fn watts_of_a_processor_leave_those_of_drives_unknown() {
        let name = "Raspberry Pi 5 8 GB + NVMe 1 TB";
        for (scope, is_unknown) in [("package", true), ("board", false), ("wall", false)] {
            let mut catalogue = Catalogue::built_in("today").unwrap();
            let text = format!(
                r#"{{"name": "n", "date": "2026-11-24", "option": "{name}",
                "watts_stress": {{"value": 9, "kind": "measured", "scope": "{scope}"}}}}"#
            );
            MeasuredNode::parse(&text).unwrap().add_to(&mut catalogue).unwrap();
            let option = catalogue.options.iter().find(|option| option.name == name).unwrap();
            assert_eq!(option.drive_watts_unknown, is_unknown, "{scope}");
        }
    }

    #[test]
    fn files_that_cannot_be_meant_are_refused() {
        let cases = [
            ("name = \"n\"\ndate = \"2026-11-24\"\n", "no measurement"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ngb = -1\n", "`gb` is -1, but must be from 0.001"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ncpus = 4\n", "unknown variant `cpus`"),
            ("date = \"2026-11-24\"\ngb = 1\n", "missing field `name`"),
            ("{\"name\": 1}", "invalid type"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ngb = \"much\"\n", "`gb` is neither a number nor a table"),
            ("name = \"n\"\ndate = 2026-11-24\ngb = 1\n", "write it in quotes"),
            ("name = \" \"\ndate = \"2026-11-24\"\ngb = 1\n", "its name is empty"),
            ("name = \"n\"\ndate = \"2026-11-24\"\nvalue_bytes = 0\ngb = 1\n", "value_bytes must be 1"),
            ("name = \"n\"\ndate = \"2026-11-24\"\nwatts_idle = 50\nwatts_stress = 9\n", "at rest than under load"),
            (
                "name = \"n\"\ndate = \"2026-11-24\"\ngb = { low = 1, high = 2, kind = \"measured\" }\n",
                "`gb` is not a table",
            ),
            (
                "name = \"n\"\ndate = \"2026-11-24\"\ngb = { value = 1, kind = \"guessed\" }\n",
                "unknown variant `guessed`",
            ),
            (
                "name = \"n\"\ndate = \"2026-11-24\"\ngb = { value = 0, kind = \"measured\" }\n",
                "`gb` is 0, but must be",
            ),
            (
                "name = \"n\"\ndate = \"2026-11-24\"\ngb = { value = 1, kind = \"measured\", scope = \"wall\" }\n",
                "`gb` has a scope",
            ),
        ];
        for (text, expected) in cases {
            let error = MeasuredNode::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{expected}: {error}");
        }
        let file = "name = \"n\"\ndate = \"2026-11-24\"\noption = \"FAWN+SSD\"\ngb = 1\n";
        let mut catalogue = Catalogue::built_in("paper-2009").unwrap();
        MeasuredNode::parse(file).unwrap().add_to(&mut catalogue).unwrap();
        let again = MeasuredNode::parse(file).unwrap().add_to(&mut catalogue);
        assert_eq!(again, Err(PlanError::MeasuredTwice("FAWN+SSD".to_owned())), "the second would count, unsaid");
        let other = "name = \"n\"\ndate = \"2026-11-24\"\noption = \"Mainframe\"\ngb = 1\n";
        let error = MeasuredNode::parse(other).unwrap().add_to(&mut Catalogue::built_in("paper-2009").unwrap());
        assert!(error.unwrap_err().to_string().contains("`FAWN+SSD`"));
    }
}
