//! `dwell lab`: the cooperating end.
use crate::cli::Output;
use anyhow::{Result, bail};
use clap::Args;
/// Answer those who measure this host
#[derive(Args)]
pub(crate) struct LabArgs {}
impl LabArgs {
    pub(crate) fn run(self, _output: &Output) -> Result<()> {
        bail!("not yet")
    }
}
