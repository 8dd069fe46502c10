//! A survey as comma-separated values: a line for each design, workload and bound.

use fawn_report::csv::line;

use super::report::SurveyReport;
use super::settings::SurveyBound;
use crate::node::NodeResource;

/// The names of the columns. Units come last.
const HEAD: [&str; 20] = [
    "design",
    "workload",
    "bound",
    "seconds",
    "work_seconds",
    "modelled_joules",
    "node_watts",
    "node_price_dollars",
    "processor_joules",
    "memory_joules",
    "storage_joules",
    "overhead_joules",
    "processor_activity",
    "storage_activity",
    "network_activity",
    "busy",
    "seconds_without_processor",
    "seconds_without_storage",
    "seconds_without_network",
    "pareto",
];

/// The survey, head first. What is unknown is empty.
pub fn csv(report: &SurveyReport) -> String {
    let mut out = line(HEAD);
    for (point, is_pareto) in report.points.iter().zip(&report.pareto) {
        for cell in &point.cells {
            for bound in SurveyBound::ALL {
                let run = cell.figures(bound);
                let mut cells = vec![point.name.clone(), cell.workload.clone(), bound.word().to_owned()];
                cells.extend([run.seconds, run.work_seconds, run.joules, run.average_watts].map(|it| it.to_string()));
                cells.push(point.price_dollars.map_or_else(String::new, |price| price.to_string()));
                let joules = run.component_joules;
                let parts = [joules.processor, joules.memory, joules.storage, joules.overhead];
                cells.extend(parts.map(|it| it.to_string()));
                let activity = run.activity;
                cells.extend([activity.processor, activity.storage, activity.network].map(|it| it.to_string()));
                cells.push(run.busy_resource().resource.word().to_owned());
                cells.extend(NodeResource::ALL.iter().zip(run.seconds_without).map(|(_, it)| it.to_string()));
                cells.push(is_pareto.map_or_else(String::new, |it| it.to_string()));
                out.push_str(&line(cells));
            }
        }
    }
    out
}
