//! Energy as figures of a report. Joules that were modelled or read by hand have names of their own, so that none is taken for a
//! measured one.

use fawn_report::{Column, Form, column};
use serde_json::{Map, Value, json};

use crate::reading::{Energy, MeterKind};

/// Adds what `rate` operations a second took to their row: operations per second of CPU time if they took `cpu_us`
/// microseconds each; and where energy was metered, joules, how far they may be off, watts, operations for each joule, the same
/// above what the machine draws at rest, and all of `energy` by that name.
///
/// Names of what was modelled have `modelled` in them: `modelled_joules`, `operations_a_modelled_joule`; of what was read by hand,
/// `hand_read`.
pub fn write_row(row: &mut Map<String, Value>, energy: Option<&Energy>, rate: f64, cpu_us: Option<f64>) {
    let a_cpu_second = cpu_us.filter(|us| *us > 0.0).map(|us| 1e6 / us);
    row.insert("operations_a_cpu_second".to_owned(), json!(a_cpu_second));
    let Some(energy) = energy else { return };
    let word = energy.kind.prefix();
    let mut insert = |name: String, value: Option<f64>| row.insert(name, json!(value));
    let each = |watts: f64| (watts > 0.0).then_some(rate / watts);
    insert(format!("{word}joules"), Some(energy.joules));
    insert(format!("uncertainty_{word}joules"), energy.uncertainty.joules);
    insert(format!("{word}watts"), Some(energy.watts));
    insert(format!("operations_a_{word}joule"), each(energy.watts));
    insert(format!("dynamic_{word}joules"), energy.dynamic_joules);
    // Next to nothing, which may be nothing, buys any number of operations.
    let dynamic = energy.clear_dynamic_joules().and_then(|joules| each(joules / energy.seconds.max(1e-9)));
    insert(format!("operations_a_dynamic_{word}joule"), dynamic);
    row.insert("energy".to_owned(), json!(energy));
}

/// The columns of these figures, in the table of any experiment. What is modelled says so.
pub const COLUMNS: &[Column] = &[
    column("operations_a_cpu_second", "per CPU-s", Form::Number(0)),
    column("joules", "J", Form::Number(2)),
    column("uncertainty_joules", "± J", Form::Number(2)),
    column("watts", "W", Form::Number(2)),
    column("operations_a_joule", "per J", Form::Number(1)),
    column("operations_a_dynamic_joule", "per J above idle", Form::Number(1)),
    column("modelled_joules", "modelled J", Form::Number(2)),
    column("uncertainty_modelled_joules", "± modelled J", Form::Number(2)),
    column("modelled_watts", "modelled W", Form::Number(2)),
    column("operations_a_modelled_joule", "per modelled J", Form::Number(1)),
    column("operations_a_dynamic_modelled_joule", "per modelled J above idle", Form::Number(1)),
    column("hand_read_joules", "J by hand", Form::Number(2)),
    column("hand_read_watts", "W by hand", Form::Number(2)),
    column("operations_a_hand_read_joule", "per J by hand", Form::Number(1)),
    column("operations_a_dynamic_hand_read_joule", "per J by hand above idle", Form::Number(1)),
];

/// Joules of stretches together; `None` where one was not metered, or by another meter than the others, or there is none.
pub fn sum<'e>(stretches: impl IntoIterator<Item = Option<&'e Energy>>) -> Option<Energy> {
    let mut stretches = stretches.into_iter();
    let mut sum = stretches.next()??.clone();
    for more in stretches {
        let more = more.filter(|more| (&more.instrument, more.scope) == (&sum.instrument, sum.scope))?;
        sum.add(more);
    }
    Some(sum)
}

/// How joules came about, as a part of a sentence: the scope, the instrument, how often it was read, and how far it may be off.
pub fn describe(energy: &Energy) -> String {
    let accuracy = match energy.uncertainty.stated_share {
        Some(share) => format!("to {:.1} %, {}", share * 100.0, energy.uncertainty.stated_by),
        None => format!("of unknown accuracy: {}", energy.uncertainty.stated_by),
    };
    let counter = if energy.is_counter { ", as the difference of its counter" } else { "" };
    // A model is not read.
    let how = match energy.samples {
        0 => String::new(),
        _ => format!("{counter}, read {:.1} times per second", energy.samples_a_second),
    };
    let open = energy.open_share() * 100.0;
    format!("{energy}{how}; {accuracy}; beyond that, steps and sampling leave {open:.2} % open")
}

/// Whether the rows, if there are any yet, have none of these figures.
fn lack(rows: &[Map<String, Value>], names: &[&str]) -> bool {
    let has = |row: &Map<String, Value>| names.iter().any(|name| row.get(*name).is_some_and(|value| !value.is_null()));
    !rows.is_empty() && !rows.iter().any(has)
}

/// How the joules of a report came about: the kind of meter, and notes. Without energy the kind is `none`, and a note says how to
/// have some.
pub fn provenance(rows: &[Map<String, Value>], energy: Option<&Energy>) -> (&'static str, Vec<String>) {
    told(rows, energy, "`above idle` is without these")
}

/// The same of a report whose table has no column of what is drawn above rest.
pub fn provenance_without_idle(rows: &[Map<String, Value>], energy: Option<&Energy>) -> (&'static str, Vec<String>) {
    told(rows, energy, "JSON has the joules above that")
}

fn told(rows: &[Map<String, Value>], energy: Option<&Energy>, above_idle: &str) -> (&'static str, Vec<String>) {
    let Some(energy) = energy else {
        let column = "`per CPU-s` is operations per second of CPU time, which says nothing about joules; ";
        let column = if lack(rows, &["operations_a_cpu_second"]) { "" } else { column };
        let note = format!(
            "no energy was metered (--meter): {column}--meter model:FILE gives modelled joules (see reference/meters in the book)"
        );
        return ("none", vec![note]);
    };
    let mut notes = vec![format!("energy is {}", describe(energy))];
    if let Some(idle) = energy.idle {
        let how = match energy.kind {
            MeterKind::Model => "as the model states".to_owned(),
            MeterKind::Hand => "as the plug showed".to_owned(),
            _ => format!("measured for {:.1} s before", idle.seconds),
        };
        let kinds = ["", MeterKind::Model.prefix(), MeterKind::Hand.prefix()];
        let names = kinds.map(|word| format!("operations_a_dynamic_{word}joule"));
        let above = if lack(rows, &names.each_ref().map(String::as_str)) {
            "energy above that is within the error of the readings, and is not reported"
        } else {
            above_idle
        };
        notes.push(format!("at rest the machine draws {:.2} W, {how}; {above}", idle.watts));
    }
    notes.extend(energy.notes.iter().cloned());
    (energy.kind.name(), notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Idle, Scope, Uncertainty};

    fn energy(kind: MeterKind) -> Energy {
        let energy = Energy {
            joules: 50.0,
            measured: kind.is_measured(),
            kind,
            instrument: "it".to_owned(),
            scope: Scope::Wall,
            seconds: 10.0,
            watts: 5.0,
            began_unix_seconds: 0.0,
            samples: 11,
            samples_a_second: 1.1,
            longest_gap_seconds: 1.0,
            is_counter: false,
            uncertainty: Uncertainty::of(50.0, (Some(0.01), "a data sheet"), 0.25, 0.75),
            idle: None,
            dynamic_joules: None,
            dynamic_uncertainty_joules: None,
            parts: Vec::new(),
            notes: Vec::new(),
        };
        energy.above(Some(Idle { watts: 3.0, seconds: 5.0, uncertainty_watts: 0.1 }))
    }

    #[test]
    fn a_row_has_what_a_joule_buys() {
        let mut row = Map::new();
        write_row(&mut row, Some(&energy(MeterKind::Shelly)), 2000.0, Some(4.0));
        let of = |name: &str| row[name].as_f64().unwrap();
        assert_eq!((of("joules"), of("uncertainty_joules"), of("watts")), (50.0, 1.5, 5.0));
        assert_eq!((of("operations_a_joule"), of("operations_a_cpu_second")), (400.0, 250_000.0));
        // 30 J of the 50 are drawn at rest; what is left is known to 0.2 + 1 + 1 J.
        assert_eq!((of("dynamic_joules"), of("operations_a_dynamic_joule")), (20.0, 1000.0));
        assert!((row["energy"]["dynamic_uncertainty_joules"].as_f64().unwrap() - 2.2).abs() < 1e-12);
    }

    #[test]
    fn no_name_of_a_measured_joule_is_given_to_a_modelled_one() {
        let (mut measured, mut modelled, mut by_hand) = (Map::new(), Map::new(), Map::new());
        write_row(&mut by_hand, Some(&energy(MeterKind::Hand)), 2000.0, None);
        for name in by_hand.keys().filter(|name| name.contains("joule") || name.contains("watts")) {
            assert!(name.contains("hand_read"), "{name}");
        }
        assert_eq!(by_hand["operations_a_hand_read_joule"], 400.0);
        write_row(&mut measured, Some(&energy(MeterKind::Rapl)), 2000.0, None);
        write_row(&mut modelled, Some(&energy(MeterKind::Model)), 2000.0, None);
        let shared: Vec<&String> = modelled.keys().filter(|name| measured.contains_key(*name)).collect();
        assert_eq!(shared, ["energy", "operations_a_cpu_second"]);
        assert_eq!(modelled["operations_a_modelled_joule"], 400.0);
        assert_eq!((&modelled["energy"]["measured"], &measured["energy"]["measured"]), (&false.into(), &true.into()));
        for name in modelled.keys().filter(|name| name.contains("joule") || name.contains("watts")) {
            assert!(name.contains("modelled"), "{name}");
        }
    }

    #[test]
    fn power_below_rest_buys_nothing() {
        let mut row = Map::new();
        let mut low = energy(MeterKind::Rapl);
        let idle = low.idle;
        // 2 J above rest, of which the readings leave 2 open; and 10 J below it.
        for (joules, above) in [(32.0, 2.0), (20.0, -10.0)] {
            (low.joules, low.watts) = (joules, joules / 10.0);
            low = low.above(idle);
            write_row(&mut row, Some(&low), 2000.0, Some(0.0));
            assert_eq!(
                (&row["operations_a_dynamic_joule"], &row["operations_a_cpu_second"]),
                (&Value::Null, &Value::Null)
            );
            assert_eq!(row["dynamic_joules"], above);
        }
    }

    #[test]
    fn a_report_says_where_joules_are_from_or_that_there_are_none() {
        let (meter, notes) = provenance(&[], Some(&energy(MeterKind::Shelly)));
        assert_eq!(meter, "shelly");
        assert_eq!(
            notes[0],
            "energy is measured at the wall by it, read 1.1 times per second; to 1.0 %, a data sheet; beyond that, steps and sampling \
             leave 2.00 % open"
        );
        assert!(notes[1].starts_with("at rest the machine draws 3.00 W, measured for 5.0 s before"));
        let (_, notes) = provenance_without_idle(&[], Some(&energy(MeterKind::Shelly)));
        assert!(notes[1].ends_with("before; JSON has the joules above that"), "{notes:?}");
        let counted = Energy { is_counter: true, ..energy(MeterKind::Rapl) };
        assert!(
            describe(&counted)
                .contains(" by it, as the difference of its counter, read 1.1 times per second; to 1.0 %")
        );
        assert!(!describe(&Energy { samples: 0, ..energy(MeterKind::Model) }).contains("times per second"));
        let (meter, notes) = provenance(&[], None);
        assert!(notes[0].contains("operations per second of CPU time") && meter == "none");
        assert!(notes[0].contains("--meter model:FILE gives modelled joules"), "{notes:?}");
    }

    #[test]
    fn stretches_of_two_meters_are_no_sum() {
        let plug = energy(MeterKind::Shelly);
        let other = Energy { instrument: "another".to_owned(), ..plug.clone() };
        assert!(sum([Some(&plug), Some(&plug)]).is_some() && sum([Some(&plug), Some(&other)]).is_none());
    }
}
