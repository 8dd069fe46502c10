//! The traces that an experiment is to take: recorded or synthetic ones.

use fawn_gordon::node::ClusterTrace;
use fawn_gordon::node::workloads::{NODES, TraceShape, suite};

use crate::error::Error;
use crate::finding::Finding;
use crate::run::Run;
use crate::traces::{GordonTraces, PARAMETER, RecordedRun, as_in_the_paper, no_recordings, read};

/// The recordings that this run is of. `None`: it is of synthetic traces. Says in the finding which.
///
/// # Errors
/// As for [`read`].
pub fn recorded(run: &Run<'_>, finding: &mut Finding) -> Result<Option<Vec<RecordedRun>>, Error> {
    let traces = &run.tools.traces;
    finding.parameter(PARAMETER, traces.label()?);
    match traces {
        GordonTraces::Synthetic => Ok(None),
        GordonTraces::Recorded(folder) => read(folder).map(Some),
    }
}

/// The workloads, for a survey.
///
/// # Errors
/// As for [`read`]; no recorded job is as in the paper.
pub fn workloads(run: &Run<'_>, finding: &mut Finding) -> Result<Vec<ClusterTrace>, Error> {
    let Some(runs) = recorded(run, finding)? else {
        let nodes = run.pick(4, NODES, NODES);
        finding.parameter("nodes", nodes);
        finding.parameter("seed", 1);
        return Ok(suite(&TraceShape::fitted(), nodes, 1));
    };
    let traces: Vec<ClusterTrace> = as_in_the_paper(&runs).into_iter().map(|job| job.trace.clone()).collect();
    if let GordonTraces::Recorded(folder) = &run.tools.traces
        && traces.is_empty()
    {
        return Err(no_recordings(folder, &"no workload was recorded from HDFS to HDFS"));
    }
    finding.parameter("nodes", traces.iter().map(|trace| trace.nodes.len()).max().unwrap_or(0));
    Ok(traces)
}

/// What every finding says that runs on traces. Whether they are synthetic.
pub fn say(run: &Run<'_>, finding: &mut Finding) -> bool {
    let is_synthetic = run.tools.traces == GordonTraces::Synthetic;
    finding.note(if is_synthetic {
        "the paper's traces are lost. These runs use synthetic traces with the bytes of Table 2, whose processor activity is \
         fitted to the speeds of Table 6"
            .to_owned()
    } else {
        "the paper's traces are lost. These runs use recordings of its seven workloads on Hadoop, from HDFS to HDFS, at smaller \
         sizes and on fewer nodes. Nothing in them is fitted. Caches were empty at the beginning, and host memory was ample, so \
         that intermediate data were read from memory"
            .to_owned()
    });
    is_synthetic
}
