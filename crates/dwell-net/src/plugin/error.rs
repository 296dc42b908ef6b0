//! Why a tool gave no figure.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Which end of a tool.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that is started first, and waits.
    Server,
    /// The one that measures.
    Client,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "server",
            Self::Client => "client",
        })
    }
}

/// What can be wrong with a tool or its description; each in one line.
#[derive(Debug, Error)]
pub enum PluginError {
    /// The description cannot be read.
    #[error("{file}: cannot read the description: {source}")]
    Unreadable {
        /// Its file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The description is wrong.
    #[error("{place}: {problem}")]
    Wrong {
        /// File and line, or file and key.
        place: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The program is not there.
    #[error("{role} `{program}` is not installed{advice}")]
    Missing {
        /// Which end.
        role: Role,
        /// Its name.
        program: String,
        /// Where it is to be had, where the description says so.
        advice: String,
    },
    /// The server ended, or waited for nobody.
    #[error("{role} `{program}` was not ready within {within:?}{said}")]
    NotReady {
        /// Which end.
        role: Role,
        /// Its name.
        program: String,
        /// How long it was waited for.
        within: Duration,
        /// The last that it said.
        said: String,
    },
    /// It did not end in its time.
    #[error("{role} `{program}` did not end within {after:?} and was killed{said}")]
    Hung {
        /// Which end.
        role: Role,
        /// Its name.
        program: String,
        /// Its time.
        after: Duration,
        /// The last that it said.
        said: String,
    },
    /// It ended by an error of its own.
    #[error("{role} `{program}` ended by {status}{said}")]
    Failed {
        /// Which end.
        role: Role,
        /// Its name.
        program: String,
        /// Exit status or signal.
        status: String,
        /// The last that it said.
        said: String,
    },
    /// It printed without end.
    #[error("{role} `{program}` printed more than {most} bytes and was killed: that is no result")]
    Flood {
        /// Which end.
        role: Role,
        /// Its name.
        program: String,
        /// As much is read.
        most: u64,
    },
    /// What it printed holds no figure.
    #[error("{role} `{program}` ended well, but {problem}{said}")]
    Garbage {
        /// Which end.
        role: Role,
        /// Its name.
        program: String,
        /// What was looked for, and is not there or is none.
        problem: String,
        /// The last that it said.
        said: String,
    },
    /// The system refused something.
    #[error("cannot {what}: {source}")]
    System {
        /// What.
        what: String,
        /// What it said.
        source: io::Error,
    },
}

impl PluginError {
    pub(super) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
    }
}

/// The last line of what a program said, as the end of a sentence.
pub(super) fn last_words(text: &str) -> String {
    const MOST: usize = 200;
    match text.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        None => "; it said nothing".to_owned(),
        Some(line) => {
            let plain: String = line
                .chars()
                .map(|letter| if letter.is_control() { '?' } else { letter })
                .take(MOST)
                .collect();
            format!("; its last words: {plain}")
        }
    }
}
