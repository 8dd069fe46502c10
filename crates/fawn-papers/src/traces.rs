//! Where the workloads of the Gordon paper come from: recordings that `integrations/hadoop/record` has made, or synthetic traces.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use fawn_gordon::node::workloads::{PaperWorkload, TABLE_2};
use fawn_gordon::node::{ClusterTrace, CpuCalibration, NodeDesign, read_node_trace};
use fawn_gordon::survey::SurveyFile;
use fawn_gordon::survey::catalogue::CORE_2_INSTRUCTIONS_PER_CYCLE;
use fawn_gordon::trace::{BlockRequest, TraceFormat, TraceReader};
use serde::Deserialize;

use crate::error::Error;
use crate::finding::Finding;

/// What says how recordings came about.
const INDEX: &str = "index.json";

/// The version of its form.
const FORMAT: u32 = 1;

/// The parameter of a finding that says what traces it is of.
pub(crate) const PARAMETER: &str = "traces";

/// What [`GordonTraces::label`] says of synthetic ones.
const SYNTHETIC: &str = "synthetic";

/// Where traces come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GordonTraces {
    /// Made after Table 2.
    #[default]
    Synthetic,
    /// Recordings in this folder.
    Recorded(PathBuf),
}

impl GordonTraces {
    /// Where the sources have recordings.
    pub const FOLDER: &str = "results/gordon-traces";

    /// The recordings in [`Self::FOLDER`], if they are there.
    pub fn usual() -> Self {
        let folder = Path::new(Self::FOLDER);
        if Self::are_in(folder) { Self::Recorded(folder.to_owned()) } else { Self::Synthetic }
    }

    /// Whether a folder has recordings.
    pub fn are_in(folder: &Path) -> bool {
        folder.join(INDEX).is_file()
    }

    /// What they are, for the parameters of findings: other traces have another label.
    ///
    /// # Errors
    /// The folder has no index that can be read.
    pub fn label(&self) -> Result<String, Error> {
        let Self::Recorded(folder) = self else { return Ok(SYNTHETIC.to_owned()) };
        let dates: Vec<String> = read_index(folder)?.runs.into_iter().map(|run| run.date).collect();
        Ok(format!("recorded in {}, {}", folder.display(), dates.join(", ")))
    }

    /// Whether a finding is of other traces than these, which are called `label`.
    pub fn is_other(finding: &Finding, label: &str) -> bool {
        finding.parameters.get(PARAMETER).is_some_and(|of| of != label)
    }
}

#[derive(Debug, Deserialize)]
struct TraceIndex {
    format: u32,
    runs: Vec<IndexRun>,
}

#[derive(Debug, Deserialize)]
struct IndexRun {
    date: String,
    /// Absent in runs of somebody's own jobs.
    cpu_mips: Option<f64>,
    node: Option<PathBuf>,
    jobs: Vec<IndexJob>,
}

#[derive(Debug, Deserialize)]
struct IndexJob {
    workload: String,
    from: Option<String>,
    to: Option<String>,
    size_bytes: Option<f64>,
    seconds: f64,
    folder: PathBuf,
    requests: Option<PathBuf>,
}

/// Jobs that were recorded on one cluster.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// Its nodes.
    pub node: NodeDesign,
    /// Its jobs.
    pub jobs: Vec<RecordedJob>,
}

/// One job.
#[derive(Clone, Debug)]
pub struct RecordedJob {
    /// What it is in the paper.
    pub workload: &'static PaperWorkload,
    /// Where it read and wrote.
    pub way: String,
    /// Bytes of its input, or of its output if it reads nothing.
    pub size_bytes: f64,
    /// How long it took, with the sync of what it wrote.
    pub seconds: f64,
    /// What its nodes did.
    pub trace: ClusterTrace,
    /// Requests to the disk of one node, if they were recorded.
    requests: Option<PathBuf>,
}

impl RecordedJob {
    /// Whether input and output were in HDFS, as in the paper's engine.
    pub fn is_as_in_the_paper(&self) -> bool {
        self.way == "HDFS to HDFS"
    }

    /// Requests to the disk of one node; none if they were not recorded.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn requests(&self) -> Result<Vec<BlockRequest>, Error> {
        let Some(path) = &self.requests else { return Ok(Vec::new()) };
        let file = File::open(path).map_err(Error::io(path))?;
        let requests = TraceReader::new(BufReader::new(file), TraceFormat::Compact);
        requests.collect::<Result<_, _>>().map_err(|error| no_recordings(path, &error))
    }
}

/// What is wrong with a file or a folder of recordings.
pub(crate) fn no_recordings(path: &Path, what: &dyn std::fmt::Display) -> Error {
    Error::Recordings { path: path.to_owned(), what: what.to_string() }
}

fn read_index(folder: &Path) -> Result<TraceIndex, Error> {
    let path = folder.join(INDEX);
    let text = std::fs::read_to_string(&path).map_err(|error| no_recordings(&path, &error))?;
    let index: TraceIndex = serde_json::from_str(&text).map_err(|error| no_recordings(&path, &error))?;
    if index.format != FORMAT {
        return Err(no_recordings(&path, &format!("its format is {}, not {FORMAT}", index.format)));
    }
    Ok(index)
}

/// Every run of the paper's workloads in a folder.
///
/// # Errors
/// A file is missing or damaged.
pub fn read(folder: &Path) -> Result<Vec<RecordedRun>, Error> {
    let mut runs = Vec::new();
    for run in read_index(folder)?.runs {
        let (Some(mips), Some(node)) = (run.cpu_mips, &run.node) else { continue };
        let path = folder.join(node);
        let text = std::fs::read_to_string(&path).map_err(|error| no_recordings(&path, &error))?;
        let file = SurveyFile::parse(&text).map_err(|error| no_recordings(&path, &error))?;
        let Some(node) = file.designs().into_iter().next() else { continue };
        let jobs = run.jobs.into_iter().filter_map(|job| read_job(folder, mips, job).transpose());
        runs.push(RecordedRun { node, jobs: jobs.collect::<Result<_, _>>()? });
    }
    if runs.iter().all(|run| run.jobs.is_empty()) {
        return Err(no_recordings(folder, &"it has none of the paper's workloads"));
    }
    Ok(runs)
}

/// A job, if it is one of the paper's.
fn read_job(folder: &Path, mips: f64, job: IndexJob) -> Result<Option<RecordedJob>, Error> {
    let letters = |name: &str| name.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_lowercase();
    let is_it = |workload: &&PaperWorkload| letters(workload.name) == letters(&job.workload);
    let Some(workload) = TABLE_2.iter().find(is_it) else { return Ok(None) };
    let (Some(from), Some(to), Some(size_bytes)) = (&job.from, &job.to, job.size_bytes) else { return Ok(None) };
    let place = folder.join(&job.folder);
    let listed = std::fs::read_dir(&place).map_err(|error| no_recordings(&place, &error))?;
    let mut files: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut nodes = Vec::new();
    for path in files {
        let file = File::open(&path).map_err(Error::io(&path))?;
        nodes.push(read_node_trace(BufReader::new(file)).map_err(|error| no_recordings(&path, &error))?);
    }
    let mut trace = ClusterTrace::of_nodes(workload.name, nodes);
    trace.calibrate(&CpuCalibration { instructions_per_cycle: CORE_2_INSTRUCTIONS_PER_CYCLE, hz: mips * 1e6 });
    Ok(Some(RecordedJob {
        workload,
        way: format!("{} to {}", from.to_uppercase(), to.to_uppercase()),
        size_bytes,
        seconds: job.seconds,
        trace,
        requests: job.requests.map(|path| folder.join(path)),
    }))
}

/// Of recordings the jobs that are as in the paper, each workload once, in its order.
pub fn as_in_the_paper(runs: &[RecordedRun]) -> Vec<&RecordedJob> {
    let jobs = || runs.iter().flat_map(|run| &run.jobs).filter(|job| job.is_as_in_the_paper());
    TABLE_2.iter().filter_map(|workload| jobs().find(|job| job.workload.name == workload.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_another_form_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let traces = GordonTraces::Recorded(dir.path().to_owned());
        assert!(!GordonTraces::are_in(dir.path()));
        for text in ["", "{}", "{\"format\": 9, \"runs\": []}"] {
            std::fs::write(dir.path().join(INDEX), text).unwrap();
            let refused = traces.label().unwrap_err().to_string();
            assert!(refused.contains("index.json") && refused.contains("--traces synthetic"), "{text}: {refused}");
        }
        std::fs::write(dir.path().join(INDEX), "{\"format\": 1, \"runs\": []}").unwrap();
        assert!(GordonTraces::are_in(dir.path()));
        assert!(read(dir.path()).unwrap_err().to_string().contains("none of the paper's workloads"));
    }

    #[test]
    fn a_finding_of_other_traces_is_known() {
        let mut finding = Finding::default();
        assert!(!GordonTraces::is_other(&finding, SYNTHETIC), "it is of no traces");
        finding.parameter(PARAMETER, SYNTHETIC);
        assert!(!GordonTraces::is_other(&finding, SYNTHETIC) && GordonTraces::is_other(&finding, "recorded in x, y"));
    }
}
