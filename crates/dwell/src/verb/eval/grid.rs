//! What a grid file says: worlds, conditions, methods.

use crate::failure::bad_argument;
use crate::verb::ppt::PptMethod;
use crate::verb::{capacity, delay};
use anyhow::{Context, Result, anyhow};
use dwell_core::capacity::EndLink;
use dwell_core::{Finding, Method, PathFacts, Quantity, Vantage};
use dwell_sim::{Ranges, Scenario, ScenarioError};
use serde::Deserialize;
use std::collections::BTreeMap;
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
    /// What each run measures, one after another.
    #[serde(rename = "method")]
    pub(super) methods: Vec<MethodSpec>,
    /// The quantities that get rows; all that a method finds, where none is named.
    #[serde(default)]
    quantities: Vec<Quantity>,
    #[serde(rename = "block")]
    blocks: Vec<Block>,
    /// The file itself.
    #[serde(skip)]
    file: PathBuf,
}

/// The worlds that know the truth.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EvalWorld {
    /// A testbed on this machine's kernel.
    Lab,
    /// The simulator.
    Sim,
}

impl EvalWorld {
    /// Its name in rows.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Lab => "lab",
            Self::Sim => "sim",
        }
    }
}

/// A method with the stamps that it reads.
#[derive(Copy, Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MethodSpec {
    pub(super) name: MethodName,
    #[serde(default)]
    pub(super) stamps: Vantage,
    /// Probes, where they are to be others than the method's usual: at most so many for `knee`, so many of each size
    /// for the published ones.
    probes: Option<usize>,
}

/// Every method that can be judged.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodName {
    Knee,
    Salehin2015,
    Salehin2017,
    EndLink,
    Delay,
}

impl MethodName {
    /// Its name in records and rows.
    pub(super) const fn stage(self) -> &'static str {
        match self {
            Self::Knee => PptMethod::Knee.name(),
            Self::Salehin2015 => PptMethod::Salehin2015.name(),
            Self::Salehin2017 => PptMethod::Salehin2017.name(),
            Self::EndLink => capacity::STAGE,
            Self::Delay => delay::STAGE,
        }
    }
}

impl MethodSpec {
    /// Ready to probe a path of which so much is known; `stage` is the application stage, where it was found.
    pub(super) fn build(&self, seed: u64, facts: &PathFacts, stage: Option<&Finding>) -> Box<dyn Method> {
        let ppt = |method: PptMethod| method.build(self.stamps, self.probes, seed, facts);
        match self.name {
            MethodName::Knee => ppt(PptMethod::Knee),
            MethodName::Salehin2015 => ppt(PptMethod::Salehin2015),
            MethodName::Salehin2017 => ppt(PptMethod::Salehin2017),
            MethodName::EndLink => Box::new(EndLink::new(Default::default(), facts)),
            // From application stamps alone, the receiving host's share is what knee found; else its kernel's stamps.
            MethodName::Delay => Box::new(delay::build(facts, stage.filter(|_| self.needs_stage()))),
        }
    }

    /// Whether it rests on the application stage that `knee` finds before it.
    pub(super) fn needs_stage(&self) -> bool {
        self.name == MethodName::Delay && self.stamps == Vantage::Application
    }

    /// Name of its measurement: the same method may read other stamps in another one.
    pub(super) fn stage(&self) -> String {
        match self.stamps {
            Vantage::Application => self.name.stage().to_owned(),
            Vantage::Capture => format!("{}-capture", self.name.stage()),
        }
    }

    /// Whether the trains that `other` sent are those that this one would send: only the stamps differ that they
    /// read. The sweep of `knee` goes where its stamps lead it.
    pub(super) fn shares_trains_with(&self, other: &Self) -> bool {
        let published = matches!(self.name, MethodName::Salehin2015 | MethodName::Salehin2017);
        published && self.name == other.name && self.probes == other.probes
    }
}

/// Conditions of one kind: a scenario with some of its keys varied, or scenarios drawn at random.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    name: String,
    /// Scenario file, from the grid's folder.
    base: Option<PathBuf>,
    /// Keys of the scenario, each with the values that it takes; every combination is a condition.
    #[serde(default)]
    axis: BTreeMap<String, Vec<Value>>,
    /// So many scenarios drawn at random.
    #[serde(default)]
    random: u32,
}

/// One condition.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// Name of the block, and the keys that differ from its base.
    pub(super) settings: BTreeMap<String, Value>,
    /// All of it.
    pub(super) scenario: Scenario,
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
        Ok(grid)
    }

    /// Whether a quantity gets rows.
    pub(super) fn wants(&self, quantity: Quantity) -> bool {
        self.quantities.is_empty() || self.quantities.contains(&quantity)
    }

    /// All conditions, block by block, or those of one block.
    pub(super) fn conditions(&self, only: Option<&str>, seed: u64) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        for block in self.blocks.iter().filter(|block| only.is_none_or(|only| only == block.name)) {
            match (&block.base, block.random) {
                (Some(base), 0) => {
                    for settings in block.settings().map_err(|error| self.wrong(block, &error))? {
                        conditions.push(self.varied(block, base, settings)?);
                    }
                }
                (None, 1..) if block.axis.is_empty() => {
                    conditions.extend((0..block.random).map(|i| block.drawn(seed, i)));
                }
                _ => {
                    let rule = anyhow!("needs either `base`, with an `axis` or without, or `random`");
                    return Err(self.wrong(block, &rule));
                }
            }
        }
        if conditions.is_empty() {
            return Err(bad_argument(anyhow!("{}: there is no such condition", self.file.display())));
        }
        Ok(conditions)
    }

    fn varied(&self, block: &Block, base: &Path, mut settings: BTreeMap<String, Value>) -> Result<Condition> {
        let base = self.file.parent().unwrap_or(Path::new("")).join(base);
        // Read as a scenario first: its mistakes are told with their lines.
        Scenario::load(&base).map_err(bad_argument)?;
        let text = std::fs::read_to_string(&base).map_err(bad_argument)?;
        let mut scenario: Value = Value::Table(text.parse::<Table>().map_err(bad_argument)?);
        for (key, value) in &settings {
            set(&mut scenario, key, value.clone()).map_err(|error| self.wrong(block, &error))?;
        }
        let name = base.display().to_string();
        let told = |settings: &BTreeMap<String, Value>| {
            let told: Vec<String> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            told.join(", ")
        };
        let scenario = Scenario::parse(&name, &toml::to_string(&scenario)?).map_err(|error| match error {
            // The line is one of a text that nobody has seen.
            ScenarioError::Wrong { key, problem, .. } => {
                self.wrong(block, &anyhow!("{name} with {}: {key}: {problem}", told(&settings)))
            }
            other => bad_argument(other),
        })?;
        settings.insert("block".to_owned(), Value::String(block.name.clone()));
        Ok(Condition { settings, scenario })
    }

    fn wrong(&self, block: &Block, error: &anyhow::Error) -> anyhow::Error {
        bad_argument(anyhow!("{}: block `{}`: {error:#}", self.file.display(), block.name))
    }
}

impl Block {
    /// The scenario of number `i`; its name says how to draw it again.
    fn drawn(&self, seed: u64, i: u32) -> Condition {
        let scenario =
            Scenario::random(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(i)), &Ranges::default());
        let rate = scenario.links.last().and_then(|link| link.rate);
        let settings = [
            ("block", Value::String(self.name.clone())),
            ("scenario", Value::String(scenario.name.clone())),
            ("hops", Value::Integer(scenario.links.len() as i64)),
            ("end_link", Value::String(rate.map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string()))),
        ];
        let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Condition { settings, scenario }
    }

    /// The keys that each condition sets.
    fn settings(&self) -> Result<Vec<BTreeMap<String, Value>>> {
        let mut all = vec![BTreeMap::new()];
        for (key, values) in &self.axis {
            if values.is_empty() {
                return Err(anyhow!("axis {key} has no values"));
            }
            let with = |settings: &BTreeMap<String, Value>, value: &Value| {
                let mut settings = settings.clone();
                settings.insert(key.clone(), value.clone());
                settings
            };
            all = all
                .iter()
                .flat_map(|settings| values.iter().map(move |value| with(settings, value)))
                .collect();
        }
        Ok(all)
    }
}

/// Sets `key`, such as `links.last.rate` or `links.1.cross.0.load`, in a scenario.
fn set(scenario: &mut Value, key: &str, value: Value) -> Result<()> {
    let mut at = scenario;
    let mut steps = key.split('.').peekable();
    while let Some(step) = steps.next() {
        let last = steps.peek().is_none();
        at = match at {
            Value::Table(table) if last => {
                table.insert(step.to_owned(), value);
                return Ok(());
            }
            // A distribution given as a plain time may be replaced by a table of its parameters.
            Value::Table(table) => {
                let entry = table.entry(step).or_insert_with(|| Value::Table(Table::new()));
                if !entry.is_table() && !entry.is_array() {
                    *entry = Value::Table(Table::new());
                }
                entry
            }
            Value::Array(items) => {
                let count = items.len();
                let index = match step {
                    "last" => count.checked_sub(1),
                    number => number.parse().ok(),
                };
                let item = index.and_then(|index| items.get_mut(index));
                let item =
                    item.ok_or_else(|| anyhow!("{key}: `{step}`: there are {count}, counted from 0"))?;
                if last {
                    *item = value;
                    return Ok(());
                }
                item
            }
            _ => return Err(anyhow!("{key}: nothing stands under `{step}`")),
        };
    }
    Err(anyhow!("an empty key"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "name = \"base\"\n[[links]]\nrate = \"1 Gb/s\"\n[[links]]\nrate = \"100 Mb/s\"\n";

    fn grid(text: &str) -> Result<Vec<Condition>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("base.toml"), BASE)?;
        let file = folder.path().join("grid.toml");
        std::fs::write(&file, text)?;
        Grid::load(&file)?.conditions(None, 1)
    }

    const HEAD: &str = "world = \"sim\"\nruns = 2\n[[method]]\nname = \"knee\"\n";

    #[test]
    fn every_combination_is_a_condition() {
        let block = "[[block]]\nname = \"b\"\nbase = \"base.toml\"\n[block.axis]\n\
                     \"destination.spin\" = [\"0 us\", \"5 us\", \"10 us\"]\n\
                     \"links.last.rate\" = [\"100 Mb/s\", \"unshaped\"]\n";
        let conditions = grid(&format!("{HEAD}{block}")).unwrap();
        assert_eq!(conditions.len(), 6);
        let last = &conditions[5];
        assert_eq!(last.scenario.links[1].rate, None);
        assert_eq!(last.settings["destination.spin"].as_str(), Some("10 us"));
        assert_eq!(last.settings["block"].as_str(), Some("b"));
    }

    #[test]
    fn random_conditions_repeat() {
        let conditions = grid(&format!("{HEAD}[[block]]\nname = \"any\"\nrandom = 5\n")).unwrap();
        let again = grid(&format!("{HEAD}[[block]]\nname = \"any\"\nrandom = 5\n")).unwrap();
        assert_eq!(conditions.len(), 5);
        assert!(conditions.iter().zip(&again).all(|(one, other)| one.scenario == other.scenario));
        assert!(conditions[0].scenario != conditions[1].scenario);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let told = |text: &str| format!("{:#}", grid(text).unwrap_err());
        assert!(told("world = \"sim\"\nruns = \"two\"\n").contains("grid.toml:2: "));
        let error = told(&format!("{HEAD}[[block]]\nname = \"b\"\n"));
        assert!(error.contains("block `b`: needs either `base`"), "{error}");
        let block = |axis: &str| {
            format!("{HEAD}[[block]]\nname = \"b\"\nbase = \"base.toml\"\n[block.axis]\n{axis}\n")
        };
        let error = told(&block("\"links.7.rate\" = [\"1 Gb/s\"]"));
        assert!(error.contains("block `b`: links.7.rate: `7`: there are 2"), "{error}");
        let error = told(&block("\"links.0.rate\" = [\"fast\"]"));
        assert!(error.contains("grid.toml: block `b`") && error.contains("links"), "{error}");
        let error = told(&block("\"destination.spin\" = []"));
        assert!(error.contains("axis destination.spin has no values"), "{error}");
    }
}
