//! What a grid file says: worlds, conditions, methods.

mod condition;

pub(super) use condition::{Condition, Of};

use super::bandwidth::{Bandwidth, Original};
use super::draw::Draw;
use super::method::{MethodName, MethodSpec};
use super::place::{Only, Place};
use super::published::Published;
use super::sections::{Sections, Within};
use crate::failure::bad_argument;
use crate::verb::echo::Probe;
use anyhow::{Context, Result, anyhow};
use dwell_core::Quantity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A grid file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Grid {
    /// What it is for.
    #[serde(default)]
    pub(super) description: String,
    /// Where the packets travel.
    pub(super) world: EvalWorld,
    /// Runs of each condition.
    pub(super) runs: u32,
    /// Labs at once, where the grid is made of runs in labs of their own that wait more than they work.
    #[serde(default = "one")]
    pub(super) together: usize,
    /// What each run measures, one after another, where its block does not say otherwise.
    #[serde(rename = "method", default)]
    methods: Vec<MethodSpec>,
    /// The quantities that get rows; all that a method finds, where none is named.
    #[serde(default)]
    quantities: Vec<Quantity>,
    #[serde(rename = "block")]
    blocks: Vec<Block>,
    /// Figures of a paper, to stand beside ours.
    #[serde(default)]
    pub(super) published: Vec<Published>,
    /// The file itself.
    #[serde(skip)]
    file: PathBuf,
}

/// The worlds that know the truth.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EvalWorld {
    /// A testbed on this machine's kernel.
    Lab,
    /// The simulator.
    Sim,
}

/// Conditions of one kind: a scenario with some of its keys varied, or scenarios drawn at random.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    name: String,
    /// What its runs measure, instead of the grid's methods.
    #[serde(rename = "method", default)]
    methods: Vec<MethodSpec>,
    /// Echoes by these probes are heard instead, in labs of their own.
    #[serde(default)]
    echo: Vec<Probe>,
    /// Routers at these hops are probed instead, in labs of their own, over IPv4 and IPv6.
    #[serde(default)]
    fsd: Vec<u8>,
    /// Its links are sections, which probes between them tell apart, in labs of their own.
    sections: Option<Sections>,
    /// Bandwidth tools are judged instead, ours and those of others.
    bandwidth: Option<Bandwidth>,
    /// Connections pass probes instead, in the simulator; `set` and `axis` are of its keys.
    passing: Option<Table>,
    /// Scenario file, from the grid's folder.
    base: Option<PathBuf>,
    /// Keys of the scenario that every condition sets alike.
    #[serde(default)]
    set: BTreeMap<String, Value>,
    /// Keys of the scenario, each with the values that it takes; every combination is a condition. Keys parted by
    /// commas take the same value.
    #[serde(default)]
    axis: BTreeMap<String, Vec<Value>>,
    /// Conditions of which some keys are drawn at random, instead of axes.
    draw: Option<Draw>,
    /// So many scenarios drawn at random.
    #[serde(default)]
    random: u32,
    /// The largest load that a link of them may have.
    load: Option<f64>,
}

fn one() -> usize {
    1
}

impl Grid {
    /// Reads a grid file.
    pub(super) fn load(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("{}: cannot read the grid", file.display()))
            .map_err(bad_argument)?;
        let mut grid: Self = toml::from_str(&text).map_err(|error| {
            let before = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count();
            bad_argument(anyhow!("{}:{line}: {}", file.display(), error.message()))
        })?;
        if grid.runs == 0 {
            return Err(bad_argument(anyhow!("{}: runs: at least 1", file.display())));
        }
        grid.file = file.to_owned();
        let (world, folder) = (grid.world, file.parent().unwrap_or(Path::new("")));
        for index in 0..grid.blocks.len() {
            let asked = grid.blocks[index].bandwidth.as_mut();
            let loaded = asked.map_or(Ok(()), |asked| asked.load(world, folder));
            loaded.map_err(|error| grid.wrong(&grid.blocks[index], &error))?;
        }
        let wrong = |block: &Block, rule: &str| Err(grid.wrong(block, &anyhow!("{rule}")));
        let mut names = BTreeSet::new();
        for block in &grid.blocks {
            if block.name.is_empty() || block.name.contains(':') {
                return wrong(
                    block,
                    "a name needs letters, and no colon: `--only BLOCK:CONDITION:RUN` has them",
                );
            }
            if !names.insert(&block.name) {
                return wrong(block, "there are two of this name");
            }
            let measured = [
                !block.echo.is_empty(),
                !block.fsd.is_empty(),
                block.sections.is_some(),
                block.passing.is_some(),
                block.bandwidth.is_some(),
                !block.methods.is_empty(),
            ];
            let [echo, fsd, sections, passing, bandwidth, _] = measured;
            let several = measured.into_iter().filter(|one| *one).count() > 1;
            if (echo || fsd || sections) && (several || grid.world == EvalWorld::Sim) {
                return wrong(
                    block,
                    "echoes are heard, routers probed and sections parted in the lab, each in a block of their own \
                     without a [[method]]",
                );
            }
            if grid.together != 1 && !sections {
                return wrong(
                    block,
                    "only labs of sections may stand together: they wait more than they work",
                );
            }
            if bandwidth && several {
                return wrong(
                    block,
                    "bandwidth tools are judged in a block of their own without a [[method]]",
                );
            }
            if passing && (several || grid.world == EvalWorld::Lab) {
                return wrong(
                    block,
                    "connections pass probes in the simulator, in a block of their own without a [[method]]",
                );
            }
            if grid.methods.is_empty() && measured == [false; 6] {
                return wrong(block, "nothing is measured: neither the block nor the grid has a [[method]]");
            }
            let methods = grid.methods_of(block);
            let asking = methods.iter().filter(|method| method.name.request().is_some()).count();
            if asking != 0 && asking != methods.len() {
                return wrong(block, "methods with and without an agent need blocks of their own");
            }
            let local = |method: &MethodSpec| method.name == MethodName::Local;
            if grid.world == EvalWorld::Sim && methods.iter().any(local) {
                return wrong(
                    block,
                    "the simulator's host has no kernel to look into: `local` is for the lab",
                );
            }
        }
        if grid.blocks.iter().all(|block| block.bandwidth.is_some())
            && !(grid.methods.is_empty() && grid.quantities.is_empty())
        {
            return Err(bad_argument(anyhow!(
                "{}: a [[method]] and `quantities` are of blocks that judge no bandwidth tools, and there is none",
                file.display()
            )));
        }
        for published in &grid.published {
            if let Some(problem) = published.problem(&names) {
                return Err(bad_argument(anyhow!(
                    "{}: published, {}: {problem}",
                    file.display(),
                    published.at
                )));
            }
        }
        Ok(grid)
    }

    /// Whether a quantity gets rows.
    pub(super) fn wants(&self, quantity: Quantity) -> bool {
        self.quantities.is_empty() || self.quantities.contains(&quantity)
    }

    /// What is near enough, in the blocks that part sections.
    pub(super) fn near_enough(&self) -> BTreeMap<String, Within> {
        let of = |block: &Block| Some((block.name.clone(), block.sections?.within));
        self.blocks.iter().filter_map(of).collect()
    }

    /// What the originals of published methods found in the conditions of this block.
    pub(super) fn originals(&self, block: &str) -> &[Original] {
        let block = self.blocks.iter().find(|own| own.name == block);
        block.and_then(|block| block.bandwidth.as_ref()).map_or(&[], |asked| &asked.originals)
    }

    /// Every run of `conditions` that `only` names, each with its condition; all of them, where it names none.
    pub(super) fn runs<'a>(
        &self,
        conditions: &'a [Condition],
        only: Option<&Only>,
    ) -> Result<Vec<(&'a Condition, Place)>> {
        let all = conditions.iter().flat_map(|condition| {
            let block = &condition.block;
            let place = move |run| Place { block: block.clone(), condition: condition.number, run };
            (0..self.runs).map(move |run| (condition, place(run)))
        });
        let asked = |place: &Place| {
            only.is_none_or(|only| {
                only.block == place.block
                    && only.condition.is_none_or(|condition| condition == place.condition)
                    && only.run.is_none_or(|run| run == place.run)
            })
        };
        let runs: Vec<_> = all.filter(|(_, place)| asked(place)).collect();
        if runs.is_empty() {
            let there = |name: &str| {
                let its = conditions.iter().filter(|condition| condition.block == name);
                let last = its.map(|condition| condition.number).max().unwrap_or_default();
                format!("`{name}` (conditions {})", numbers(last))
            };
            let there: Vec<String> = self.blocks.iter().map(|block| there(&block.name)).collect();
            return Err(bad_argument(anyhow!(
                "{}: there is no such condition or run; there are {}, and of each condition the runs {}",
                self.file.display(),
                there.join(", "),
                numbers(self.runs.saturating_sub(1))
            )));
        }
        Ok(runs)
    }

    /// What identifies the grid: its text, and every condition that comes of it.
    pub(super) fn digest(&self, conditions: &[Condition]) -> Result<String> {
        let text = std::fs::read(&self.file).map_err(bad_argument)?;
        let mut digest = Sha256::new_with_prefix(text);
        for condition in conditions {
            match &condition.of {
                Of::Scenario(scenario) => digest.update(scenario.to_toml()),
                // All of it is in the grid's own text.
                Of::Passing(_) => {}
            }
        }
        Ok(digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    fn methods_of<'a>(&'a self, block: &'a Block) -> &'a [MethodSpec] {
        if block.methods.is_empty() { &self.methods } else { &block.methods }
    }

    fn wrong(&self, block: &Block, error: &anyhow::Error) -> anyhow::Error {
        bad_argument(anyhow!("{}: block `{}`: {error:#}", self.file.display(), block.name))
    }
}

/// Numbers from 0 to this one.
fn numbers(last: u32) -> String {
    if last == 0 { "0".to_owned() } else { format!("0 to {last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "name = \"base\"\n[[links]]\nrate = \"1 Gb/s\"\n[[links]]\nrate = \"100 Mb/s\"\n";

    /// The conditions that come of a grid file of this text.
    pub(super) fn conditions_of(text: &str) -> Result<Vec<Condition>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("base.toml"), BASE)?;
        let file = folder.path().join("grid.toml");
        std::fs::write(&file, text)?;
        Grid::load(&file)?.conditions(1)
    }

    pub(super) const HEAD: &str = "world = \"sim\"\nruns = 2\n[[method]]\nname = \"knee\"\n";

    #[test]
    fn the_simulator_has_no_kernel_to_look_into() {
        let head = HEAD.replace("knee", "local");
        let error = conditions_of(&format!("{head}[[block]]\nname = \"any\"\nrandom = 1\n")).unwrap_err();
        assert!(format!("{error:#}").contains("`local` is for the lab"), "{error:#}");
    }

    #[test]
    fn a_part_of_a_grid_is_made_of_the_same_runs() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grid.toml");
        let blocks = "[[block]]\nname = \"a\"\nrandom = 3\n[[block]]\nname = \"b\"\nrandom = 4\n";
        std::fs::write(&file, format!("{HEAD}{blocks}")).unwrap();
        let grid = Grid::load(&file).unwrap();
        let conditions = grid.conditions(1).unwrap();
        let places = |only: Option<&str>| {
            let only = only.map(|only| only.parse().unwrap());
            grid.runs(&conditions, only.as_ref())
                .map(|runs| runs.into_iter().map(|(_, place)| place.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(places(None).unwrap().len(), 14);
        assert_eq!(places(Some("b:2")).unwrap(), ["b:2:0", "b:2:1"]);
        assert_eq!(places(Some("b:3:1")).unwrap(), ["b:3:1"]);
        for wrong in ["b:4", "b:3:2", "c"] {
            let told = places(Some(wrong)).unwrap_err().to_string();
            let there = "there are `a` (conditions 0 to 2), `b` (conditions 0 to 3), and of each condition the runs 0 to 1";
            assert!(told.ends_with(there), "{told}");
        }
        assert_eq!(grid.digest(&conditions).unwrap(), grid.digest(&conditions).unwrap());
        assert_ne!(grid.digest(&conditions).unwrap(), grid.digest(&grid.conditions(2).unwrap()).unwrap());
    }

    #[test]
    fn names_of_blocks_can_be_told_apart() {
        let told = |names: [&str; 2]| {
            let blocks = names.map(|name| format!("[[block]]\nname = \"{name}\"\nrandom = 1\n"));
            format!("{:#}", conditions_of(&format!("{HEAD}{}", blocks.concat())).unwrap_err())
        };
        assert!(told(["a", "a"]).contains("block `a`: there are two"));
        assert!(told(["a:1", "b"]).contains("no colon"));
    }
}
