//! Workloads: recordings by the second, or synthetic ones after the Gordon paper.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use fawn_gordon::node::workloads::{NODES, TABLE_2, TraceShape, synthetic};
use fawn_gordon::node::{ClusterTrace, CpuCalibration, TraceColumn, read_node_trace};
use fawn_gordon::survey::catalogue::CORE_2_INSTRUCTIONS_PER_CYCLE;

use super::packed::refuse_packed;
use super::refusal::of_recording;
use super::typed::TypedFlags;
use crate::outcome::UsageError;
use crate::tell::tell;
use crate::values::{decimal, number};

/// The most nodes of a synthetic workload.
const MOST_NODES: u64 = 4096;

/// Where workloads are from.
#[derive(Clone, Debug, Args)]
pub struct WorkloadArguments {
    /// Recordings by the second: a file, or a directory with a file for each node of a cluster [default: the seven
    /// workloads of the Gordon paper, synthetic]
    #[arg(value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Rating of one processor of the recorded machine by `7z b`, in MIPS: the total divided by the processors. It turns
    /// processor time into instructions where the recording has none
    #[arg(long, value_name = "MIPS", value_parser = decimal(1.0..=1e6))]
    pub cpu_mips: Option<f64>,
    /// Nodes of the synthetic workloads
    #[arg(long, value_name = "N", default_value_t = NODES, value_parser = number::<usize>(1..=MOST_NODES))]
    pub nodes: usize,
    /// Seed of the synthetic workloads; equal seeds give equal workloads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = number::<u64>(0..))]
    pub seed: u64,
}

impl WorkloadArguments {
    /// Refuses what is for other workloads.
    pub fn check(&self, typed: &TypedFlags<'_>) -> Result<(), String> {
        if self.recordings.is_empty() {
            typed.refuse(&["cpu_mips"], "without a recording")
        } else {
            typed.refuse(&["nodes", "seed"], "on recordings")
        }
    }

    /// Every file that is read.
    ///
    /// # Errors
    /// A directory cannot be listed.
    pub fn files(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for path in &self.recordings {
            files.extend(files_of(path)?);
        }
        Ok(files)
    }

    /// Each recording as a workload of its own, or all synthetic ones.
    ///
    /// # Errors
    /// A recording cannot be read, has no work, or counts processor time that nothing turns into instructions.
    pub fn workloads(&self) -> anyhow::Result<Vec<ClusterTrace>> {
        if self.recordings.is_empty() {
            let workloads = TABLE_2.iter().zip(0..);
            return Ok(workloads.map(|(workload, at)| self.synthetic(workload, at)).collect());
        }
        self.recordings.iter().map(|path| self.read(&name_of(path), &files_of(path)?)).collect()
    }

    /// All recordings as the nodes of one workload, or the synthetic one of this name.
    ///
    /// # Errors
    /// As for [`Self::workloads`].
    pub fn workload(&self, synthetic: &str) -> anyhow::Result<ClusterTrace> {
        if self.recordings.is_empty() {
            let found = TABLE_2.iter().zip(0..).find(|(workload, _)| workload.name == synthetic);
            let (workload, at) = found.context("the command line takes names of Table 2 alone")?;
            return Ok(self.synthetic(workload, at));
        }
        self.read(&name_of(&self.recordings[0]), &self.files()?)
    }

    /// What has to be said of the workloads.
    pub fn notes(&self) -> Vec<String> {
        if self.recordings.is_empty() {
            return vec![
                "the workloads are synthetic: bytes and pattern after the Gordon paper, the rest fitted to its Table 6"
                    .to_owned(),
            ];
        }
        Vec::new()
    }

    fn synthetic(&self, workload: &fawn_gordon::node::workloads::PaperWorkload, at: u64) -> ClusterTrace {
        synthetic(workload, &TraceShape::fitted(), self.nodes, self.seed.wrapping_add(at))
    }

    fn read(&self, name: &str, files: &[PathBuf]) -> anyhow::Result<ClusterTrace> {
        let mut nodes = Vec::new();
        for file in files {
            let told = file.display();
            let opened = File::open(file).with_context(|| format!("cannot open {told}"))?;
            let mut input = BufReader::new(opened);
            refuse_packed(&mut input, &told.to_string())?;
            nodes.push(read_node_trace(input).map_err(of_recording).with_context(|| format!("cannot read {told}"))?);
        }
        let mut trace = ClusterTrace::of_nodes(name, nodes);
        self.calibrate(&mut trace)?;
        let worked = TraceColumn::ALL.into_iter().any(|column| {
            column != TraceColumn::CpuSeconds && trace.nodes.iter().flatten().any(|sample| sample.value(column) > 0.0)
        });
        if !worked {
            bail!("{name} has no work: each column that it measures is 0 in every second; record a busier time");
        }
        Ok(trace)
    }

    /// Turns processor time into instructions where nobody has counted them.
    fn calibrate(&self, trace: &mut ClusterTrace) -> anyhow::Result<()> {
        if trace.is_measured(TraceColumn::Instructions) || !trace.is_measured(TraceColumn::CpuSeconds) {
            if self.cpu_mips.is_some() {
                let why = if trace.is_measured(TraceColumn::Instructions) {
                    "whose instructions are counted"
                } else {
                    "which has no processor time"
                };
                tell(format_args!("fawn: --cpu-mips has no effect on {}, {why}", trace.name));
            }
            return Ok(());
        }
        let Some(mips) = self.cpu_mips else {
            let what = format!(
                "{} counts processor time and no instructions: give --cpu-mips, the total rating of `7z b` on the \
                 recorded machine divided by its processors",
                trace.name
            );
            return Err(UsageError(what).into());
        };
        let calibration = CpuCalibration { instructions_per_cycle: CORE_2_INSTRUCTIONS_PER_CYCLE, hz: mips * 1e6 };
        trace.calibrate(&calibration);
        let source = format!("processor time at {mips} MIPS a processor by 7-Zip");
        trace.sources.insert(TraceColumn::Instructions, source);
        Ok(())
    }
}

/// The files of a recording: itself, or those of a directory by name. Hidden ones are left out.
fn files_of(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let told = path.display();
    let listed = std::fs::read_dir(path).with_context(|| format!("cannot list {told}"))?;
    let mut files = Vec::new();
    for entry in listed {
        let entry = entry.with_context(|| format!("cannot list {told}"))?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if !is_hidden && entry.path().is_file() {
            files.push(entry.path());
        }
    }
    if files.is_empty() {
        bail!("{told} has no files: it needs a recording for each node");
    }
    files.sort();
    Ok(files)
}

/// A workload's name: that of its file or directory, without its ending.
fn name_of(path: &Path) -> String {
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| path.display().to_string())
}
