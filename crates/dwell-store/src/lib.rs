//! Records: what was asked, what was seen, what was found, under which circumstances.
//!
//! A record is one file of JSON lines: a header, one line for each train's passage, the findings, and a closing line
//! with the number of passages and the SHA-256 of every byte before it. It is written as the run goes on, under its
//! name with `.partial` added, and takes its own name when it is whole: a run that was killed leaves all that it had
//! seen, and nobody can take that for a whole one.
//!
//! ```
//! use dwell_store::{Ask, Header, Record, RecordWriter};
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("run.dwell");
//! let ask = Ask { verb: "ppt".into(), target: "host".into(), seed: 7, ..Ask::default() };
//! let writer = RecordWriter::create(&file, &Header::now(ask, None, Default::default()))?;
//! writer.finish(&[])?;
//! assert_eq!(Record::load(&file)?.header.ask.seed, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod hexadecimal;
mod read;
mod record;
mod write;

pub mod spool;
pub mod warehouse;

pub use error::StoreError;
pub use read::{MAX_FILE_BYTES, MAX_LINE_BYTES};
pub use record::{Ask, FORMAT, Found, Header, Kept, Record};
pub use write::{RecordWriter, partial_name};
