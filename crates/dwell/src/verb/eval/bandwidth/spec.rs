//! What a grid says of a block that judges bandwidth tools.

use super::goal::Original;
use super::own::Own;
use crate::verb::eval::grid::EvalWorld;
use anyhow::{Result, anyhow, bail};
use dwell_net::plugin::Plugin;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The tools that are judged in a block.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::verb::eval) struct Bandwidth {
    /// Ours, of `dwell avail` and `dwell capacity`, and `tcp` of `dwell throughput`, by their names.
    #[serde(default)]
    methods: Vec<String>,
    /// Descriptions of programs of others, from the grid's folder. In the lab only.
    #[serde(default)]
    tools: Vec<PathBuf>,
    /// How long those measure that can be told.
    #[serde(default = "few")]
    pub(super) seconds: u32,
    /// Each measures again and again for so many seconds, as in papers/004; once, where this is not given.
    #[serde(default)]
    pub(super) continuous: Option<u32>,
    /// What the originals of the methods found in this block's one condition, elsewhere.
    #[serde(default)]
    pub(in crate::verb::eval) originals: Vec<Original>,
    #[serde(skip)]
    pub(super) own: Vec<Own>,
    #[serde(skip)]
    pub(super) foreign: Vec<Plugin>,
}

fn few() -> u32 {
    5
}

impl Bandwidth {
    /// With everything that it names, if that is all there; `folder` is the grid's.
    pub(in crate::verb::eval) fn load(&mut self, world: EvalWorld, folder: &Path) -> Result<()> {
        if self.methods.is_empty() && self.tools.is_empty() {
            bail!("bandwidth: names neither `methods` nor `tools`");
        }
        if world == EvalWorld::Sim && !self.tools.is_empty() {
            bail!("bandwidth: programs run on a kernel: `tools` are for the lab");
        }
        if !(1..=600).contains(&self.seconds) {
            bail!("bandwidth: seconds: from 1 to 600");
        }
        if self.continuous.is_some_and(|seconds| !(1..=3600).contains(&seconds)) {
            bail!("bandwidth: continuous: from 1 to 3600 seconds");
        }
        let own = self.methods.iter().map(|name| Own::named(name).map_err(|why| anyhow!("bandwidth: {why}")));
        self.own = own.collect::<Result<_>>()?;
        if let Some(problem) = self.originals.iter().find_map(|one| one.problem(&self.methods)) {
            bail!("bandwidth: {problem}");
        }
        if world == EvalWorld::Sim && self.own.contains(&Own::Tcp) {
            bail!("bandwidth: `{}` is the kernel's: it is for the lab", Own::Tcp.name());
        }
        self.foreign =
            self.tools.iter().map(|file| Plugin::load(&folder.join(file))).collect::<Result<_, _>>()?;
        Ok(())
    }
}
