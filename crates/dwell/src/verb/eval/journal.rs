//! The rows of an evaluation in a file, a line a run, so that a killed evaluation loses no more than the runs that
//! were under way.

use super::gaps::SizeGaps;
use super::place::Place;
use super::rows::Row;
use crate::failure::bad_argument;
use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first line: of which evaluation the rows are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    /// Version of Dwell.
    pub(super) dwell: String,
    /// Of the grid and all its conditions.
    pub(super) grid: String,
    pub(super) seed: u64,
    pub(super) max_load: f64,
}

/// Every other line: what came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judged {
    pub(super) place: Place,
    pub(super) rows: Vec<Row>,
    /// What the published methods read their figures from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gaps: Vec<SizeGaps>,
}

/// A file of rows, open for more.
#[derive(Debug)]
pub(super) struct Journal {
    name: PathBuf,
    file: File,
}

impl Header {
    /// Why rows under `other` are none of this evaluation's.
    fn differs_from(&self, other: &Self) -> Option<String> {
        let differs = |what: &str, its: &dyn std::fmt::Display, asked: &dyn std::fmt::Display| {
            Some(format!("its rows are of {what} {its}, and {asked} is asked for"))
        };
        if self.dwell != other.dwell {
            return differs("version", &other.dwell, &self.dwell);
        }
        if self.seed != other.seed {
            return differs("seed", &other.seed, &self.seed);
        }
        if self.max_load != other.max_load {
            return differs("a probing load of", &other.max_load, &self.max_load);
        }
        (self.grid != other.grid).then(|| {
            "its rows are of another grid, or the grid or a scenario under it has changed since".to_owned()
        })
    }
}

impl Journal {
    /// Opens `name` to go on with, or begins it, and returns what it holds. A last line that was cut short, as when
    /// the evaluation was killed, is dropped.
    pub(super) fn open(name: &Path, header: &Header) -> Result<(Self, Vec<Judged>)> {
        let cannot = || format!("{}: cannot open the file of rows", name.display());
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(name);
        let mut file = open.with_context(cannot)?;
        let mut text = String::new();
        // A device or a pipe holds nothing to go on with.
        if file.metadata().with_context(cannot)?.is_file() {
            file.read_to_string(&mut text).map_err(|error| match error.kind() {
                ErrorKind::InvalidData => foreign(name),
                _ => anyhow!(error).context(cannot()),
            })?;
        }
        let mut journal = Self { name: name.to_owned(), file };
        let first = serde_json::to_string(header)? + "\n";
        // Killed before the first line was whole.
        if first.starts_with(&text) && text != first {
            journal.cut(0)?;
            journal.write(&first, "the first line")?;
            return Ok((journal, Vec::new()));
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let its: Header =
            lines.next().and_then(|line| serde_json::from_str(line).ok()).ok_or_else(|| foreign(name))?;
        if let Some(problem) = header.differs_from(&its) {
            return Err(bad_argument(anyhow!("{}: {problem}; name another file", name.display())));
        }
        let judged = rows_of(lines, name)?;
        journal.cut(whole as u64)?;
        Ok((journal, judged))
    }

    /// Adds a run.
    pub(super) fn push(&mut self, judged: &Judged) -> Result<()> {
        let line = serde_json::to_string(judged)? + "\n";
        self.write(&line, &format!("the rows of {}", judged.place))
    }

    fn write(&mut self, line: &str, what: &str) -> Result<()> {
        self.file.write_all(line.as_bytes()).and_then(|()| self.file.flush()).with_context(|| {
            format!("{}: cannot add {what}; what it holds stays usable, to go on from", self.name.display())
        })
    }

    /// Drops what comes after the first `length` bytes, where there is anything.
    fn cut(&mut self, length: u64) -> Result<()> {
        let cannot = || format!("{}: cannot write to the file of rows", self.name.display());
        if self.file.metadata().with_context(cannot)?.is_file() {
            self.file.set_len(length).with_context(cannot)?;
            self.file.seek(SeekFrom::Start(length)).with_context(cannot)?;
        }
        Ok(())
    }
}

/// What a file of rows holds, of whatever evaluation.
pub(super) fn held(name: &Path) -> Result<Vec<Judged>> {
    let text = std::fs::read_to_string(name)
        .with_context(|| format!("{}: cannot open the file of rows", name.display()))
        .map_err(bad_argument)?;
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let mut lines = text[..whole].lines();
    lines.next().and_then(|line| serde_json::from_str::<Header>(line).ok()).ok_or_else(|| foreign(name))?;
    rows_of(lines, name)
}

/// The lines after the first.
fn rows_of<'a>(lines: impl Iterator<Item = &'a str>, name: &Path) -> Result<Vec<Judged>> {
    let judged = lines.zip(2..).map(|(line, number)| {
        serde_json::from_str(line).map_err(|error| {
            let advice = "damaged; delete the line, and its run is made again";
            bad_argument(anyhow!("{}:{number}: {advice} ({error})", name.display()))
        })
    });
    judged.collect()
}

fn foreign(name: &Path) -> anyhow::Error {
    let advice = "is no file of rows, and is left as it is; name another";
    bad_argument(anyhow!("{}: {advice}", name.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verb::eval::bandwidth;
    use std::fs;

    fn header() -> Header {
        Header { dwell: "0.1.0".to_owned(), grid: "abc".to_owned(), seed: 7, max_load: 0.02 }
    }

    fn judged(run: u32) -> Judged {
        let place = Place { block: "b".to_owned(), condition: 0, run };
        Judged { place, rows: Vec::new(), gaps: Vec::new() }
    }

    fn runs(judged: &[Judged]) -> Vec<u32> {
        judged.iter().map(|judged| judged.place.run).collect()
    }

    #[test]
    fn a_file_cut_anywhere_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("rows");
        let (mut journal, _) = Journal::open(&name, &header()).unwrap();
        (0..3).for_each(|run| journal.push(&judged(run)).unwrap());
        let whole = fs::read(&name).unwrap();
        for length in 0..=whole.len() {
            fs::write(&name, &whole[..length]).unwrap();
            let (mut journal, held) = Journal::open(&name, &header()).unwrap();
            let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(runs(&held), (0..lines.saturating_sub(1) as u32).collect::<Vec<_>>(), "{length}");
            journal.push(&judged(9)).unwrap();
            let (_, again) = Journal::open(&name, &header()).unwrap();
            assert_eq!(again.last().map(|judged| judged.place.run), Some(9), "cut at {length}");
            assert_eq!(again.len(), held.len() + 1);
        }
    }

    #[test]
    fn rows_of_something_else_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("rows");
        drop(Journal::open(&name, &header()).unwrap());
        let refused = |header: &Header| Journal::open(&name, header).unwrap_err().to_string();
        assert!(refused(&Header { seed: 8, ..header() }).contains("of seed 7, and 8 is asked for"));
        assert!(refused(&Header { grid: "abd".to_owned(), ..header() }).contains("another grid"));
        assert!(refused(&Header { dwell: "0.2.0".to_owned(), ..header() }).contains("version 0.1.0"));
        assert!(refused(&Header { max_load: 0.1, ..header() }).contains("load of 0.02"));
        for foreign in [&b"dear diary\n"[..], b"{}\n", b"no end", b"\xff\xfe\n"] {
            fs::write(&name, foreign).unwrap();
            assert!(refused(&header()).contains("is no file of rows"));
            assert_eq!(fs::read(&name).unwrap(), foreign);
        }
    }

    #[test]
    fn rows_that_say_more_than_is_understood_are_not_counted_unseen() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("rows");
        let (mut journal, _) = Journal::open(&name, &header()).unwrap();
        let row = bandwidth::tests::row("a", 0, Some(1.0), 0);
        journal.push(&Judged { rows: vec![row], ..judged(0) }).unwrap();
        assert_eq!(Journal::open(&name, &header()).unwrap().1[0].rows.len(), 1);
        let text = fs::read_to_string(&name).unwrap();
        fs::write(&name, text.replacen("\"warnings\"", "\"uncarried\":\"too slow\",\"warnings\"", 1))
            .unwrap();
        let error = Journal::open(&name, &header()).unwrap_err().to_string();
        assert!(error.contains("rows:2:") && error.contains("`uncarried`"), "{error}");
    }

    #[test]
    fn damage_in_the_middle_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("rows");
        let (mut journal, _) = Journal::open(&name, &header()).unwrap();
        (0..3).for_each(|run| journal.push(&judged(run)).unwrap());
        let text = fs::read_to_string(&name).unwrap().replacen("b:0:1", "b;0;1", 1);
        fs::write(&name, text).unwrap();
        assert!(Journal::open(&name, &header()).unwrap_err().to_string().contains("rows:3: damaged"));
    }
}
