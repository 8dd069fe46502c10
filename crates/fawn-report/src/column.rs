//! Columns of tables: which figure of a row, under which title, and how it is written.

use serde_json::Value;

/// How a figure is written.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// As it is.
    Text,
    /// With so many decimals.
    Number(usize),
    /// A number of bytes, in MiB.
    MiB,
    /// A share, in percent.
    Percent,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name in rows.
    pub name: &'static str,
    /// The head of the column.
    pub title: &'static str,
    /// How its figures are written.
    pub form: Form,
}

/// A column.
pub const fn column(name: &'static str, title: &'static str, form: Form) -> Column {
    Column { name, title, form }
}

impl Column {
    /// A figure as its column writes it; `-` if it is not known.
    pub fn text(&self, value: Option<&Value>) -> String {
        match (value, self.form) {
            (None | Some(Value::Null), _) => "-".to_owned(),
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), form) => match (value.as_f64(), form) {
                (Some(number), Form::Number(decimals)) => format!("{number:.decimals$}"),
                (Some(number), Form::MiB) => format!("{:.1} MiB", number / f64::from(1 << 20)),
                (Some(number), Form::Percent) => format!("{:.2} %", number * 100.0),
                _ => value.to_string(),
            },
        }
    }
}
