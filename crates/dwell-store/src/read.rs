use crate::error::StoreError;
use crate::hexadecimal::hexadecimal;
use crate::record::{FORMAT, Header, Kept, Line, Record};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The longest line that is read.
pub const MAX_LINE_BYTES: u64 = 16 << 20;

/// The largest record that is read.
pub const MAX_FILE_BYTES: u64 = 4 << 30;

impl Record {
    /// Reads a whole record and proves that it is what was written.
    ///
    /// # Errors
    /// Names the file and the line of whatever is wrong, see [`StoreError`].
    pub fn load(file: &Path) -> Result<Self, StoreError> {
        match Self::load_partial(file)? {
            (record, None) => Ok(record),
            (_, Some(cut)) => Err(cut),
        }
    }

    /// Reads a record that may be cut short, and says how: everything up to the last whole line is there. What is
    /// there is checked line by line, but only a whole record has a digest to prove it.
    ///
    /// # Errors
    /// As [`load`](Self::load), but for [`StoreError::CutShort`], which comes beside the record.
    pub fn load_partial(file: &Path) -> Result<(Self, Option<StoreError>), StoreError> {
        let failed = |doing| move |source| StoreError::Io { file: file.to_owned(), doing, source };
        let input = File::open(file).map_err(failed("open"))?;
        let meta = input.metadata().map_err(failed("look at"))?;
        if meta.is_dir() {
            return Err(StoreError::NotARecord { file: file.to_owned(), why: "it is a folder".into() });
        }
        if meta.len() > MAX_FILE_BYTES {
            let what = "the file";
            return Err(StoreError::TooLarge { file: file.to_owned(), line: 1, what, limit: MAX_FILE_BYTES });
        }
        read(file, BufReader::new(input))
    }
}

/// Lines of a file, with the digest of all lines before the last one handed out.
struct LineReader<'a, R> {
    file: &'a Path,
    input: R,
    line: u64,
    total: u64,
    before: Sha256,
    bytes: Vec<u8>,
}

/// One line as it stands in the file.
enum Raw {
    /// With its line feed.
    Whole,
    /// The file ended within it.
    Torn,
    /// The file has ended.
    Nothing,
}

impl<R: BufRead> LineReader<'_, R> {
    fn advance(&mut self) -> Result<Raw, StoreError> {
        self.before.update(&self.bytes);
        self.bytes.clear();
        self.line += 1;
        let (file, line) = (self.file, self.line);
        let io = |source| StoreError::Io { file: file.to_owned(), doing: "read", source };
        self.input.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut self.bytes).map_err(io)?;
        let length = self.bytes.len() as u64;
        self.total += length;
        let too_large = |what, limit| Err(StoreError::TooLarge { file: file.to_owned(), line, what, limit });
        if length > MAX_LINE_BYTES {
            return too_large("the line", MAX_LINE_BYTES);
        }
        if self.total > MAX_FILE_BYTES {
            return too_large("the file", MAX_FILE_BYTES);
        }
        Ok(match self.bytes.last() {
            None => Raw::Nothing,
            Some(b'\n') => Raw::Whole,
            Some(_) => Raw::Torn,
        })
    }

    fn altered(&self, why: impl Into<String>) -> StoreError {
        StoreError::Altered { file: self.file.to_owned(), line: self.line, why: why.into() }
    }

    /// The first line, which says whether the rest can be understood.
    fn header(&mut self) -> Result<Header, StoreError> {
        #[derive(Deserialize)]
        struct Version {
            dwell_record: u64,
            #[serde(default)]
            dwell: String,
        }
        let not = |why: String| StoreError::NotARecord { file: self.file.to_owned(), why };
        let version: Version = match serde_json::from_slice(&self.bytes) {
            Ok(version) => version,
            Err(_) if self.bytes.is_empty() => return Err(not("the file is empty".into())),
            Err(_) => return Err(not("the first line is not JSON with the key dwell_record".into())),
        };
        if version.dwell_record > u64::from(FORMAT) {
            let (found, known, dwell) = (version.dwell_record, FORMAT, version.dwell);
            return Err(StoreError::Newer { file: self.file.to_owned(), found, known, dwell });
        }
        if version.dwell_record == 0 {
            return Err(not("there is no record format 0".into()));
        }
        serde_json::from_slice(&self.bytes).map_err(|error| self.altered(error.to_string()))
    }
}

fn read(file: &Path, input: impl BufRead) -> Result<(Record, Option<StoreError>), StoreError> {
    let mut lines = LineReader { file, input, line: 0, total: 0, before: Sha256::new(), bytes: Vec::new() };
    lines.advance()?;
    let header = lines.header()?;
    let mut record = Record {
        header,
        passages: Vec::new(),
        echoes: Vec::new(),
        pairs: Vec::new(),
        transfers: Vec::new(),
        volleys: Vec::new(),
        tests: Vec::new(),
        found: Vec::new(),
        watch: None,
        events: Vec::new(),
        watched: None,
        whole: false,
    };
    let mut closed = false;
    let cut = loop {
        match lines.advance()? {
            Raw::Nothing => break "the closing line is missing",
            Raw::Torn => break "the line is not finished",
            Raw::Whole => {}
        }
        let line: Line =
            serde_json::from_slice(&lines.bytes).map_err(|error| lines.altered(error.to_string()))?;
        match line {
            Line::Passage(_)
            | Line::Echo(_)
            | Line::Pair(_)
            | Line::Transfer(_)
            | Line::Volley(_)
            | Line::Tested(_)
                if closed =>
            {
                return Err(lines.altered("a passage after the findings"));
            }
            Line::Passage(kept) => {
                check(&kept).map_err(|why| lines.altered(why))?;
                record.passages.push(kept);
            }
            Line::Echo(echo) => record.echoes.push(echo),
            Line::Pair(pair) => record.pairs.push(pair),
            Line::Transfer(transfer) => record.transfers.push(*transfer),
            Line::Volley(sighting) => record.volleys.push(sighting),
            Line::Tested(tested) => record.tests.push(*tested),
            Line::Found(_) if closed => return Err(lines.altered("findings twice")),
            Line::Found(found) => {
                record.found = found;
                closed = true;
            }
            Line::Watch(_) if record.watch.is_some() || !record.events.is_empty() => {
                return Err(lines.altered("settings twice, or after the first event"));
            }
            Line::Watch(watch) => record.watch = Some(*watch),
            Line::Event(_) if closed => return Err(lines.altered("an event after the end of watching")),
            Line::Event(event) => record.events.push(event),
            Line::Watched(_) if closed => return Err(lines.altered("the end of watching twice")),
            Line::Watched(watched) => {
                record.watched = Some(*watched);
                closed = true;
            }
            Line::End(end) => {
                let counts = [
                    ("passages", record.probed(), end.passages),
                    ("events", record.events.len(), end.events),
                ];
                if let Some((what, count, written)) =
                    counts.iter().find(|(_, count, written)| *count as u64 != *written)
                {
                    return Err(lines.altered(format!("{count} {what}, where {written} were written")));
                }
                if end.sha256 != hexadecimal(&lines.before.clone().finalize()) {
                    return Err(lines.altered("the lines before do not have the digest that was written"));
                }
                if !matches!(lines.advance()?, Raw::Nothing) {
                    return Err(lines.altered("something follows the closing line"));
                }
                record.whole = true;
                return Ok((record, None));
            }
        }
    };
    // Findings without the closing line are nobody's word.
    record.found.clear();
    record.watched = None;
    let passages = record.seen() as u64;
    let cut = StoreError::CutShort { file: file.to_owned(), line: lines.line, why: cut, passages };
    Ok((record, Some(cut)))
}

/// What JSON alone does not promise.
fn check(kept: &Kept) -> Result<(), &'static str> {
    let fates = &kept.passage.observation.fates;
    if fates.is_empty() {
        return Err("a train without packets");
    }
    if kept.passage.truth.as_ref().is_some_and(|truth| truth.len() != fates.len()) {
        return Err("the truth of a train and its packets differ in number");
    }
    Ok(())
}
