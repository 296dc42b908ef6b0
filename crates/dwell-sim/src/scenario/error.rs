//! What is wrong with a scenario file, and where.

use thiserror::Error;

/// Why a scenario cannot be used.
#[derive(Debug, Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{file}: cannot read the scenario: {source}")]
    Unreadable {
        /// Its name.
        file: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The text is no scenario.
    #[error("{file}:{line}: {}{problem}", in_key(.key))]
    Wrong {
        /// The file's name.
        file: String,
        /// From 1.
        line: usize,
        /// The key with the tables around it, such as `links[1].rate`; empty where the text is not even TOML.
        key: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
}

fn in_key(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("{key}: ") }
}
