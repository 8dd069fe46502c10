//! What was measured on a node: a file of its own, as a benchmark writes it or as somebody writes it by hand.
//!
//! TOML, or JSON with the same names. Its figures take the place of those of the option that it names; without one, the
//! node is an option of its own. docs/plan.md has the form.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::catalogue::one_line;
use crate::{Catalogue, Date, Figure, Kind, NodeOption, PlanError, Quantity, Scope};

/// A node that was measured.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct MeasuredNode {
    /// What the node is called.
    pub name: String,
    /// When it was measured.
    pub date: Date,
    /// The option of a catalogue that it is.
    pub option: Option<String>,
    /// By what it was measured.
    pub source: Option<String>,
    /// Bytes of the values at which rates were measured.
    pub value_bytes: Option<f64>,
    #[serde(flatten)]
    figures: BTreeMap<Quantity, Value>,
}

/// A value as the file has it: a number alone, or with how it was come by.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "a value is neither a number nor a table of value, kind (measured, vendor, derived or declared) and maybe \
                 source and scope (package, board or wall)"
)]
enum Value {
    Number(f64),
    Told(Told),
}

/// A value with how it was come by.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    value: f64,
    kind: Kind,
    /// By what, beside the source of the file.
    source: Option<String>,
    /// Of watts; the wall if nothing is said.
    scope: Option<Scope>,
}

impl Value {
    fn number(&self) -> f64 {
        match self {
            Self::Number(value) => *value,
            Self::Told(told) => told.value,
        }
    }

    fn scope(&self) -> Option<Scope> {
        match self {
            Self::Number(_) => None,
            Self::Told(told) => told.scope,
        }
    }
}

impl MeasuredNode {
    /// Reads a node's file.
    ///
    /// # Errors
    /// It is neither TOML nor JSON of this form, a figure is not above 0, or one that is not watts has a scope.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let node: Self = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| PlanError::Form(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| PlanError::Form(one_line(&error, text)))?
        };
        for (quantity, value) in &node.figures {
            if value.scope().is_some() && !quantity.is_watts() {
                return Err(PlanError::Form(format!("its {quantity} has a scope, which only watts have")));
            }
            let value = value.number();
            let is_good = value > 0.0 || (value == 0.0 && quantity.may_be_nothing());
            if !(is_good && value.is_finite()) {
                return Err(PlanError::Form(format!("its {quantity} is {value}, and must be above 0")));
            }
        }
        if node.figures.is_empty() {
            return Err(PlanError::Form("it has no figure, such as cpu_gets_per_second".to_owned()));
        }
        Ok(node)
    }

    /// Puts what was measured into a catalogue; says which option has it now.
    ///
    /// # Errors
    /// The catalogue does not have the option that is named; or none is named, and it has one with the node's name.
    pub fn add_to(&self, catalogue: &mut Catalogue) -> Result<String, PlanError> {
        let figures = self.figures.iter().map(|(quantity, value)| (*quantity, self.figure(*quantity, value)));
        let Some(name) = &self.option else {
            if catalogue.options.iter().any(|option| option.name == self.name) {
                return Err(PlanError::Twice(self.name.clone()));
            }
            catalogue.options.push(NodeOption {
                name: self.name.clone(),
                machine: self.name.clone(),
                drives: None,
                note: None,
                figures: figures.collect(),
                drive_watts_unknown: false,
            });
            return Ok(self.name.clone());
        };
        let Some(option) = catalogue.options.iter_mut().find(|option| option.name.eq_ignore_ascii_case(name)) else {
            let known = catalogue.options.iter().map(|option| format!("`{}`", option.name));
            let known = known.collect::<Vec<_>>().join(", ");
            return Err(PlanError::UnknownOption { option: name.clone(), known });
        };
        option.figures.extend(figures);
        if self.figures.get(&Quantity::WattsStress).is_some_and(|watts| watts.scope() != Some(Scope::Package)) {
            option.drive_watts_unknown = false;
        }
        Ok(option.name.clone())
    }

    /// A value with where it is from.
    fn figure(&self, quantity: Quantity, value: &Value) -> Figure {
        let mut source = self.source.as_ref().map_or(self.name.clone(), |source| format!("{source} on {}", self.name));
        let kind = match value {
            // Nobody measures a price.
            Value::Number(_) if quantity.may_be_nothing() => Kind::Declared,
            Value::Number(_) => Kind::Measured,
            Value::Told(told) => {
                if let Some(how) = &told.source {
                    source = format!("{source}: {how}");
                }
                told.kind
            }
        };
        let scope = value.scope();
        match scope {
            Some(Scope::Package) => source.push_str(" (of the processor alone, not at the wall)"),
            Some(Scope::Board) => source.push_str(" (of the board, not at the wall)"),
            Some(Scope::Wall) | None => {}
        }
        let value = value.number();
        Figure { value, low: value, high: value, kind, source, date: self.date, scope }
    }
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
        assert_eq!((watts.value, watts.kind, watts.source.as_str()), (12.0, Kind::Measured, "a benchmark on mine"));
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
        assert_eq!(seen(Quantity::PriceDollars), (90.0, Kind::Declared, plain, None));
        assert_eq!(seen(Quantity::Gb), (100.0, Kind::Measured, plain, None));
        assert_eq!(seen(Quantity::CpuGetsPerSecond), (1000.0, Kind::Derived, plain, None));
        let idle = "a benchmark on n: by its owner";
        assert_eq!(seen(Quantity::WattsIdle), (2.0, Kind::Declared, idle, Some(Scope::Wall)));
        let stress = "a benchmark on n: a sensor (of the board, not at the wall)";
        assert_eq!(seen(Quantity::WattsStress), (4.5, Kind::Measured, stress, Some(Scope::Board)));
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
            ("name = \"n\"\ndate = \"2026-11-24\"\n", "no figure"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ngb = -1\n", "its space is -1"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ncpus = 4\n", "unknown variant `cpus`"),
            ("date = \"2026-11-24\"\ngb = 1\n", "missing field `name`"),
            ("{\"name\": 1}", "invalid type"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ngb = \"much\"\n", "neither a number nor a table"),
            (
                "name = \"n\"\ndate = \"2026-11-24\"\ngb = { value = 1, kind = \"guessed\" }\n",
                "neither a number nor a table",
            ),
            ("name = \"n\"\ndate = \"2026-11-24\"\ngb = { value = 0, kind = \"measured\" }\n", "its space is 0"),
            (
                "name = \"n\"\ndate = \"2026-11-24\"\ngb = { value = 1, kind = \"measured\", scope = \"wall\" }\n",
                "its space has a scope",
            ),
        ];
        for (text, expected) in cases {
            let error = MeasuredNode::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains('\n'), "{expected}: {error}");
        }
        let other = "name = \"n\"\ndate = \"2026-11-24\"\noption = \"Mainframe\"\ngb = 1\n";
        let error = MeasuredNode::parse(other).unwrap().add_to(&mut Catalogue::built_in("paper-2009").unwrap());
        assert!(error.unwrap_err().to_string().contains("`FAWN+SSD`"));
    }
}
