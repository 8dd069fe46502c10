//! `fawn dump`: every record of a server into a file or a pipe.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::thread;

use anyhow::Context;

use crate::Outcome;
use crate::client::{Connection, Failure, Vanished, fetch_all};
use crate::command::{DumpArguments, Format};
use crate::load::{Report, Tally};
use crate::progress::Progress;
use crate::records::Record;

/// Bytes written at a time.
const WRITE_SIZE: usize = 256 * 1024;

/// Runs `fawn dump`.
pub fn run(arguments: &DumpArguments) -> anyhow::Result<Outcome> {
    let format = arguments.format.unwrap_or_else(|| Format::of_name(&arguments.file));
    let endpoint = arguments.connect.endpoint(arguments.from.clone());
    let total = Connection::open(&endpoint)?.stat("curr_items")?;
    let mut output = Output::create(&arguments.file)?;

    let progress = Progress::records(total);
    let (failure, vanished) = (Failure::default(), Vanished::default());
    let mut report = Report::start();
    let written = thread::scope(|scope| {
        let records = fetch_all(scope, &endpoint, arguments.connections, &vanished, &failure)?;
        write_all(&records, format, &mut output, &mut report, &progress)
    });
    progress.finish();
    let tally = failure.resolve(written)?;
    output.finish()?;
    report.finish(&tally);
    report.vanished = vanished.count();
    if arguments.file.as_os_str() == "-" {
        report.print("dumped", arguments.json, &mut io::stderr())?;
    } else {
        report.print("dumped", arguments.json, &mut io::stdout())?;
    }
    Ok(Outcome::Done)
}

/// Writes every record of the channel.
fn write_all(
    records: &Receiver<Vec<Record>>,
    format: Format,
    output: &mut Output,
    report: &mut Report,
    progress: &Progress,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    for batch in records {
        lines.clear();
        for record in &batch {
            format.push(&mut lines, record);
            tally.bytes += (record.key.len() + record.value.len()) as u64;
            report.cut += !format.carries_all_of(record) as u64;
        }
        tally.loaded += batch.len() as u64;
        output.write(&lines)?;
        progress.update(tally.loaded, String::new());
    }
    Ok(tally)
}

/// Where the records go.
enum Output {
    /// Standard output, a pipe or a device, which nothing may take the place of.
    Stream(BufWriter<Box<dyn Write>>),
    /// `partial` becomes `path` when it is complete.
    File { file: BufWriter<File>, partial: PathBuf, path: PathBuf },
}

impl Output {
    /// Opens `path`; `-` is standard output.
    fn create(path: &Path) -> anyhow::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stream(BufWriter::with_capacity(WRITE_SIZE, Box::new(io::stdout()))));
        }
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir()) {
            let file = OpenOptions::new().write(true).open(path).with_context(|| cannot_write(path))?;
            return Ok(Self::Stream(BufWriter::with_capacity(WRITE_SIZE, Box::new(file))));
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        let partial = PathBuf::from(name);
        let file = File::create(&partial).with_context(|| format!("cannot write {}", partial.display()))?;
        let file = BufWriter::with_capacity(WRITE_SIZE, file);
        Ok(Self::File { file, partial, path: path.to_owned() })
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::Stream(stream) => Ok(stream.write_all(bytes)?),
            Self::File { file, partial, .. } => file.write_all(bytes).with_context(|| cannot_write(partial)),
        }
    }

    /// Makes the records safe under the name that was asked for.
    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Stream(mut stream) => Ok(stream.flush()?),
            Self::File { file, partial, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error);
                file.and_then(|file| file.sync_all()).with_context(|| cannot_write(&partial))?;
                std::fs::rename(&partial, &path).with_context(|| cannot_write(&path))
            }
        }
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}; is there space?", path.display())
}
