//! `dwell generate`: manual page and completions, from the one description of the command line; captures to try
//! readers on.

mod capture;

use crate::failure::bad_argument;
use crate::output::Output;
use crate::screen::print;
use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use std::path::PathBuf;

/// Make the manual page, a shell's completions, or a capture with known truth
#[derive(Args)]
#[command(after_help = "Examples:
  dwell generate man ~/.local/share/man/man1
  dwell generate completions bash > /etc/bash_completion.d/dwell
  dwell generate capture --connections 90000 --out handshakes.pcap --truth handshakes.jsonl")]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Manual pages, one a verb, into a folder
    Man {
        /// Made where it is missing
        folder: PathBuf,
    },
    /// Completions, on standard output
    Completions {
        /// For which shell
        shell: Shell,
    },
    Capture(capture::CaptureArgs),
}

impl GenerateArgs {
    /// `command` is the command line that is told of.
    pub(crate) fn run(self, output: &Output, mut command: Command) -> Result<()> {
        if output.json || output.plot.is_some() || output.record.is_some() {
            bail!(bad_argument(anyhow!(
                "what is generated has no figures: nothing to print as JSON, to plot or to record"
            )));
        }
        match self.what {
            What::Man { folder } => {
                let fails = || format!("{}: cannot write the manual pages", folder.display());
                std::fs::create_dir_all(&folder).with_context(fails)?;
                clap_mangen::generate_to(command, &folder).with_context(fails)
            }
            What::Capture(capture) => capture.run(),
            What::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut command, "dwell", &mut script);
                print(&String::from_utf8_lossy(&script))
            }
        }
    }
}
