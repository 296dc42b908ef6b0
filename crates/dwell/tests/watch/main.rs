//! `dwell watch` on captures and on interfaces.

mod captures;
mod continuous;
mod flows;
mod frames;
mod misuse;
mod outputs;
mod prometheus;
mod quic;
mod running;
mod wire;

use std::path::Path;
use std::process::{Command, Output};

fn dwell(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).current_dir(folder).env("HOME", folder).output().expect("the command runs")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lines of `--json`.
fn lines(output: &Output) -> Vec<serde_json::Value> {
    let lines = text(&output.stdout);
    lines.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}
