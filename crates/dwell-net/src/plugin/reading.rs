//! The figure in what a tool printed.

use super::description::Value;
use super::gives::Gives;
use super::units::Units;
use regex::{Captures, Regex};
use std::collections::BTreeMap;

/// What a tool found, in bits per second or nanoseconds, as it counts.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Reading {
    /// The figure: where a tool gives a range alone, its middle.
    pub value: f64,
    /// The range that it gives, where it gives one.
    pub range: Option<(f64, f64)>,
}

impl Value {
    /// Reads `text`.
    ///
    /// # Errors
    /// What was looked for and is not there, or is no figure, as the middle of a sentence.
    pub(super) fn read(&self, text: &str) -> Result<Reading, String> {
        let figures = match (&self.json, &self.regex) {
            (Some(pointer), _) => [("value", by_json(text, pointer)?)].into(),
            (None, Some(regex)) => self.by_text(text, regex)?,
            (None, None) => return Err("its description names no place for a figure".to_owned()),
        };
        let scale = self.scale(text)?;
        let figures: BTreeMap<&str, f64> =
            figures.into_iter().map(|(name, figure)| (name, figure * scale)).collect();
        let most = most(self.quantity);
        if let Some((name, figure)) = figures.iter().find(|(_, figure)| !(0.0..=most).contains(*figure)) {
            return Err(format!("its {name} is {figure}, which no {} can be", told(self.quantity)));
        }
        let range = figures.get("low").copied().zip(figures.get("high").copied());
        if let Some((low, high)) = range.filter(|(low, high)| low > high) {
            return Err(format!("its range runs from {low} down to {high}"));
        }
        let middle = || range.map(|(low, high)| f64::midpoint(low, high));
        let value = figures.get("value").copied().or_else(middle).ok_or("it gives no figure")?;
        if let Some((low, high)) = range.filter(|(low, high)| !(*low..=*high).contains(&value)) {
            return Err(format!("its value, {value}, lies outside of its own range, {low} to {high}"));
        }
        Ok(Reading { value, range })
    }

    fn by_text(&self, text: &str, regex: &str) -> Result<BTreeMap<&'static str, f64>, String> {
        let captures = last(text, regex)?;
        ["value", "low", "high"]
            .into_iter()
            .filter_map(|name| Some((name, captures.name(name)?.as_str())))
            .map(|(name, text)| {
                let figure =
                    text.parse().map_err(|_| format!("its {name} is `{text}`, which is no number"))?;
                Ok((name, figure))
            })
            .collect()
    }

    fn scale(&self, text: &str) -> Result<f64, String> {
        let units = Units::of(self.quantity);
        let own = match &self.regex {
            Some(regex) => last(text, regex)?.name("unit").map(|unit| unit.as_str().to_owned()),
            None => None,
        };
        let unit = own.or_else(|| self.unit.clone()).ok_or("it does not tell the unit")?;
        units.scale(&unit).ok_or_else(|| format!("its unit is `{unit}`, which is none of {}", units.names()))
    }
}

/// No path carries more than a hundred terabits a second, and no packet is on its way for longer than a day.
const fn most(quantity: Gives) -> f64 {
    match quantity {
        Gives::RoundTrip => 86_400e9,
        Gives::AvailableBandwidth | Gives::Throughput | Gives::Capacity => 1e14,
    }
}

const fn told(quantity: Gives) -> &'static str {
    match quantity {
        Gives::RoundTrip => "time",
        Gives::AvailableBandwidth | Gives::Throughput | Gives::Capacity => "rate",
    }
}

fn last<'t>(text: &'t str, regex: &str) -> Result<Captures<'t>, String> {
    let compiled = Regex::new(regex).map_err(|error| error.to_string())?;
    compiled.captures_iter(text).last().ok_or_else(|| format!("nothing that it printed matches `{regex}`"))
}

fn by_json(text: &str, pointer: &str) -> Result<f64, String> {
    // Some tools print a line or two before the document.
    let begin = text.find('{').ok_or("it printed no JSON")?;
    let document: serde_json::Value = serde_json::Deserializer::from_str(&text[begin..])
        .into_iter()
        .next()
        .ok_or("it printed no JSON")?
        .map_err(|error| format!("what it printed is no whole JSON document ({error})"))?;
    if let Some(problem) = document.get("error").and_then(serde_json::Value::as_str) {
        return Err(format!("it says: {problem}"));
    }
    let found = document.pointer(pointer).ok_or_else(|| format!("its JSON has nothing at {pointer}"))?;
    found.as_f64().ok_or_else(|| format!("its JSON has `{found}` at {pointer}, which is no number"))
}

#[cfg(test)]
mod tests {
    use super::super::Plugin;

    #[test]
    fn a_figure_outside_of_its_own_range_is_none() {
        let plugin = "name = 'p'\nabout = 'a'\npackage = 'none'\ntime_limit_seconds = 2\n[client]\nat = 'source'\ncommand = ['true']\n\
             [value]\nquantity = 'available-bandwidth'\nregex = '(?<low>[0-9]+) (?<value>[0-9]+) (?<high>[0-9]+)'\nunit = 'Mb/s'\n";
        let value = Plugin::parse("p.toml", plugin).unwrap().value;
        assert_eq!(value.read("3 4 5").unwrap().range, Some((3e6, 5e6)));
        for garbage in ["3 90 5", "3 2 5"] {
            assert!(value.read(garbage).unwrap_err().contains("outside of its own range"), "{garbage}");
        }
    }

    #[test]
    fn a_figure_that_no_path_has_is_none() {
        let plugin = "name = 'p'\nabout = 'a'\npackage = 'none'\ntime_limit_seconds = 2\n[client]\nat = 'source'\ncommand = ['true']\n\
             [value]\nquantity = 'available-bandwidth'\nregex = 'bw=(?<value>[-+0-9.a-z]+)'\nunit = 'Mb/s'\n";
        let value = Plugin::parse("p.toml", plugin).unwrap().value;
        assert_eq!(value.read("bw=12.5").unwrap().value, 12.5e6);
        for garbage in ["bw=1e30", "bw=1e9", "bw=-1", "bw=nan", "bw=inf"] {
            let error = value.read(garbage).unwrap_err();
            assert!(error.contains("which no rate can be"), "{garbage}: {error}");
        }
    }
}
