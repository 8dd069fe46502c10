//! What was measured on a node: a file of its own, as a benchmark writes it or as somebody writes it by hand.
//!
//! TOML, or JSON with the same names. Its figures take the place of those of the option that it names; without one, the
//! node is an option of its own. docs/plan.md has the form.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::catalogue::one_line;
use crate::{Catalogue, Date, Figure, Kind, NodeOption, PlanError, Quantity};

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
    figures: BTreeMap<Quantity, f64>,
}

impl MeasuredNode {
    /// Reads a node's file.
    ///
    /// # Errors
    /// It is neither TOML nor JSON of this form, or a figure is not above 0.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let node: Self = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| PlanError::Form(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| PlanError::Form(one_line(&error, text)))?
        };
        for (quantity, value) in &node.figures {
            let is_good = *value > 0.0 || (*value == 0.0 && quantity.may_be_nothing());
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
        let source = self.source.as_ref().map_or(self.name.clone(), |source| format!("{source} on {}", self.name));
        let figure = |(quantity, value): (&Quantity, &f64)| {
            // Nobody measures a price.
            let kind = if quantity.may_be_nothing() { Kind::Vendor } else { Kind::Measured };
            let figure =
                Figure { value: *value, low: *value, high: *value, kind, source: source.clone(), date: self.date };
            (*quantity, figure)
        };
        let figures = self.figures.iter().map(figure);
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
        if self.figures.contains_key(&Quantity::WattsStress) {
            option.drive_watts_unknown = false;
        }
        Ok(option.name.clone())
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
    fn files_that_cannot_be_meant_are_refused() {
        let cases = [
            ("name = \"n\"\ndate = \"2026-11-24\"\n", "no figure"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ngb = -1\n", "its space is -1"),
            ("name = \"n\"\ndate = \"2026-11-24\"\ncpus = 4\n", "unknown variant `cpus`"),
            ("date = \"2026-11-24\"\ngb = 1\n", "missing field `name`"),
            ("{\"name\": 1}", "invalid type"),
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
