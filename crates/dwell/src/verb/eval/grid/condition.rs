//! The conditions that come of a grid: each combination of what the axes say, or drawn at random.

use super::{Block, Grid};
use crate::failure::bad_argument;
use crate::verb::echo::Probe;
use crate::verb::eval::bandwidth::Bandwidth;
use crate::verb::eval::key::{plain, set_all};
use crate::verb::eval::method::MethodSpec;
use crate::verb::eval::passing::Passing;
use crate::verb::eval::sections::Sections;
use anyhow::{Result, anyhow};
use dwell_sim::{Ranges, Scenario, ScenarioError};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// One condition.
#[derive(Clone, Debug)]
pub(in crate::verb::eval) struct Condition {
    /// Name of its block.
    pub(in crate::verb::eval) block: String,
    /// Its place in the block, from 0.
    pub(in crate::verb::eval) number: u32,
    /// What its runs measure.
    pub(in crate::verb::eval) methods: Vec<MethodSpec>,
    /// What echoes its runs hear, where they hear any.
    pub(in crate::verb::eval) echo: Vec<Probe>,
    /// Which routers its runs probe, where they probe any.
    pub(in crate::verb::eval) fsd: Vec<u8>,
    /// How its runs measure sections, where they do.
    pub(in crate::verb::eval) sections: Option<Sections>,
    /// Which bandwidth tools its runs judge, where they do.
    pub(in crate::verb::eval) bandwidth: Option<Bandwidth>,
    /// Name of the block, and the keys that differ from condition to condition.
    pub(in crate::verb::eval) settings: BTreeMap<String, Value>,
    /// What its runs are made on.
    pub(in crate::verb::eval) of: Of,
}

/// What the runs of a condition are made on.
#[derive(Clone, Debug)]
pub(in crate::verb::eval) enum Of {
    /// A path between two hosts.
    Scenario(Box<Scenario>),
    /// Connections that pass probes.
    Passing(Passing),
}

impl Condition {
    /// Its scenario.
    pub(in crate::verb::eval) fn scenario(&self) -> Result<&Scenario> {
        match &self.of {
            Of::Scenario(scenario) => Ok(scenario),
            Of::Passing(_) => Err(anyhow!("connections that pass probes are no path between two hosts")),
        }
    }
}

impl Grid {
    /// All conditions, block by block.
    pub(in crate::verb::eval) fn conditions(&self, seed: u64) -> Result<Vec<Condition>> {
        let mut conditions = Vec::new();
        for block in &self.blocks {
            match (&block.base, block.random, &block.passing) {
                (None, 0, Some(passing)) if block.load.is_none() => {
                    for (settings, number) in
                        block.settings(seed).map_err(|error| self.wrong(block, &error))?.into_iter().zip(0..)
                    {
                        conditions.push(self.passing(block, number, passing, settings)?);
                    }
                }
                (Some(base), 0, None) if block.load.is_none() => {
                    for (settings, number) in
                        block.settings(seed).map_err(|error| self.wrong(block, &error))?.into_iter().zip(0..)
                    {
                        conditions.push(self.varied(block, number, base, settings)?);
                    }
                }
                (None, 1.., None)
                    if block.axis.is_empty() && block.set.is_empty() && block.draw.is_none() =>
                {
                    conditions.extend((0..block.random).map(|number| self.drawn(block, seed, number)));
                }
                _ => {
                    let rule = anyhow!(
                        "needs either `base` or `passing`, with `set` and with `axis` or `draw` or without, or `random`, \
                         with `load` or without"
                    );
                    return Err(self.wrong(block, &rule));
                }
            }
        }
        if conditions.is_empty() {
            return Err(bad_argument(anyhow!("{}: there are no conditions", self.file.display())));
        }
        Ok(conditions)
    }

    fn varied(
        &self,
        block: &Block,
        number: u32,
        base: &Path,
        mut settings: BTreeMap<String, Value>,
    ) -> Result<Condition> {
        let base = self.file.parent().unwrap_or(Path::new("")).join(base);
        // Read as a scenario first: its mistakes are told with their lines.
        Scenario::load(&base).map_err(bad_argument)?;
        let text = std::fs::read_to_string(&base).map_err(bad_argument)?;
        let mut scenario: Value = Value::Table(text.parse::<Table>().map_err(bad_argument)?);
        for (key, value) in block.set.iter().chain(&settings) {
            set_all(&mut scenario, key, value).map_err(|error| self.wrong(block, &error))?;
        }
        let name = base.display().to_string();
        let told = |settings: &BTreeMap<String, Value>| {
            let told: Vec<String> =
                settings.iter().map(|(key, value)| format!("{key} = {}", plain(value))).collect();
            told.join(", ")
        };
        let scenario = Scenario::parse(&name, &toml::to_string(&scenario)?).map_err(|error| match error {
            // The line is one of a text that nobody has seen.
            ScenarioError::Wrong { key, problem, .. } => {
                let all = block.set.clone().into_iter().chain(settings.clone()).collect();
                self.wrong(block, &anyhow!("{name} with {}: {key}: {problem}", told(&all)))
            }
            other => bad_argument(other),
        })?;
        settings.insert("block".to_owned(), Value::String(block.name.clone()));
        Ok(self.condition(block, number, settings, Of::Scenario(Box::new(scenario))))
    }

    fn passing(
        &self,
        block: &Block,
        number: u32,
        base: &Table,
        mut settings: BTreeMap<String, Value>,
    ) -> Result<Condition> {
        let mut passing = Value::Table(base.clone());
        for (key, value) in block.set.iter().chain(&settings) {
            set_all(&mut passing, key, value).map_err(|error| self.wrong(block, &error))?;
        }
        let passing = passing.try_into::<Passing>().map_err(anyhow::Error::from).and_then(Passing::checked);
        let passing = passing.map_err(|error| self.wrong(block, &error))?;
        settings.insert("block".to_owned(), Value::String(block.name.clone()));
        Ok(self.condition(block, number, settings, Of::Passing(passing)))
    }

    /// The scenario of number `number`; its name says how to draw it again.
    fn drawn(&self, block: &Block, seed: u64, number: u32) -> Condition {
        let usual = Ranges::default();
        let load = block.load.map_or(usual.load.clone(), |most| *usual.load.start()..=most);
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(number));
        let scenario = Scenario::random(seed, &Ranges { load, ..usual });
        let rate = scenario.links.last().and_then(|link| link.rate);
        let settings = [
            ("block", Value::String(block.name.clone())),
            ("scenario", Value::String(scenario.name.clone())),
            ("hops", Value::Integer(scenario.links.len() as i64)),
            ("end_link", Value::String(rate.map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string()))),
            ("nic", Value::String(scenario.destination.nic.kind().to_string())),
        ];
        let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        self.condition(block, number, settings, Of::Scenario(Box::new(scenario)))
    }

    fn condition(&self, block: &Block, number: u32, settings: BTreeMap<String, Value>, of: Of) -> Condition {
        Condition {
            block: block.name.clone(),
            number,
            methods: self.methods_of(block).to_vec(),
            echo: block.echo.clone(),
            fsd: block.fsd.clone(),
            sections: block.sections,
            bandwidth: block.bandwidth.clone(),
            settings,
            of,
        }
    }
}

impl Condition {
    /// Whether each of its runs is in a lab of its own.
    pub(in crate::verb::eval) fn has_own_labs(&self) -> bool {
        !self.echo.is_empty() || !self.fsd.is_empty() || self.sections.is_some() || self.bandwidth.is_some()
    }
}

impl Block {
    /// What each condition sets, by the axes or by chance.
    fn settings(&self, seed: u64) -> Result<Vec<BTreeMap<String, Value>>> {
        match &self.draw {
            Some(draw) if self.axis.is_empty() => return draw.settings(&self.name, seed),
            Some(_) => return Err(anyhow!("has axes and a draw; a block has one of them")),
            None => {}
        }
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

#[cfg(test)]
mod tests {
    use super::super::tests::{HEAD, conditions_of};
    use super::Condition;

    #[test]
    fn every_combination_is_a_condition() {
        let block = "[[block]]\nname = \"b\"\nbase = \"base.toml\"\n[block.axis]\n\
                     \"destination.spin\" = [\"0 us\", \"5 us\", \"10 us\"]\n\
                     \"links.last.rate\" = [\"100 Mb/s\", \"unshaped\"]\n";
        let conditions = conditions_of(&format!("{HEAD}{block}")).unwrap();
        assert_eq!(conditions.len(), 6);
        let last = &conditions[5];
        assert_eq!(last.scenario().unwrap().links[1].rate, None);
        assert_eq!(last.settings["destination.spin"].as_str(), Some("10 us"));
        assert_eq!(last.settings["block"].as_str(), Some("b"));
    }

    #[test]
    fn random_conditions_repeat() {
        let conditions = conditions_of(&format!("{HEAD}[[block]]\nname = \"any\"\nrandom = 5\n")).unwrap();
        let again = conditions_of(&format!("{HEAD}[[block]]\nname = \"any\"\nrandom = 5\n")).unwrap();
        assert_eq!(conditions.len(), 5);
        let scenario = |condition: &Condition| condition.scenario().unwrap().clone();
        assert!(conditions.iter().zip(&again).all(|(one, other)| scenario(one) == scenario(other)));
        assert!(scenario(&conditions[0]) != scenario(&conditions[1]));
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let told = |text: &str| format!("{:#}", conditions_of(text).unwrap_err());
        assert!(told("world = \"sim\"\nruns = \"two\"\n").contains("grid.toml:2: "));
        let error = told(&format!("{HEAD}[[block]]\nname = \"b\"\n"));
        assert!(error.contains("block `b`: needs either `base`"), "{error}");
        let head = "world = \"sim\"\nruns = 1\n[[block]]\nname = \"b\"\n";
        let passing = "passing = { connections = 5, probes = 3, behaviour = \"any\" }\n";
        let conditions = |axis: &str| conditions_of(&format!("{head}{passing}axis = {{ {axis} }}\n"));
        assert_eq!(conditions("loss = [0.0, 0.1], nat = [1, 2]").unwrap().len(), 4);
        let error = format!("{:#}", conditions("nat = [3]").unwrap_err());
        assert!(error.contains("block `b`: nat: between two probes"), "{error}");
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

    #[test]
    fn settings_of_a_block_are_no_axis() {
        let block = "[[block]]\nname = \"b\"\nbase = \"base.toml\"\nset = { destination = { spin = \"7 us\" } }\n\
                     [block.axis]\n\"destination.nic\" = [\"none\", { hold = { period = \"25 us\" } }]\n";
        let conditions = conditions_of(&format!("{HEAD}{block}")).unwrap();
        assert_eq!(conditions.len(), 2);
        let scenario = conditions[1].scenario().unwrap();
        assert_eq!(scenario.destination.spin.median().0, 7_000);
        assert_eq!(scenario.destination.nic.period().map(|period| period.0), Some(25_000));
        let keys: Vec<&str> = conditions[1].settings.keys().map(String::as_str).collect();
        assert_eq!(keys, ["block", "destination.nic"]);
    }
}
