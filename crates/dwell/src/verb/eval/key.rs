//! Keys of a scenario, as grids set them: paths such as `links.last.rate` or `links.1.cross.0.load`.

use anyhow::{Result, anyhow};
use toml::{Table, Value};

/// Sets every key of `keys`, which are parted by commas, to `value`.
pub(super) fn set_all(scenario: &mut Value, keys: &str, value: &Value) -> Result<()> {
    keys.split(',').try_for_each(|key| set(scenario, key.trim(), value.clone()))
}

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

/// What a setting says, in a few words: the last step of its key, and its value.
pub(super) fn told(key: &str, value: &Value) -> String {
    format!("{} {}", key.rsplit('.').next().unwrap_or(key), plain(value))
}

/// A value without TOML's marks. `{ hold = { period = "25 us" } }` is `hold 25 us`: where a table has nothing but one
/// figure, its name goes without saying.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(table) => {
            let entries: Vec<String> =
                table.iter().map(|(key, value)| format!("{key} {}", inner(value))).collect();
            entries.join(", ")
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Table(table) if table.len() == 1 => match table.values().next() {
            Some(Value::Table(_)) | None => plain(value),
            Some(figure) => plain(figure),
        },
        Value::Table(_) => format!("({})", plain(value)),
        other => plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        toml::from_str::<Table>(&format!("it = {text}")).unwrap().remove("it").unwrap()
    }

    #[test]
    fn tables_are_told_in_few_words() {
        let words = |text: &str| told("destination.nic", &value(text));
        assert_eq!(words("\"none\""), "nic none");
        assert_eq!(words("{ hold = { period = \"25 us\" } }"), "nic hold 25 us");
        let both = words("{ hold = { period = \"25 us\", frames = 32 } }");
        assert_eq!(both, "nic hold (frames 32, period 25 us)");
        assert_eq!(told("links.1.load, links.2.load", &Value::Float(0.5)), "load 0.5");
    }

    #[test]
    fn one_value_may_go_to_several_keys() {
        let mut scenario = Value::Table("links = [{}, {}]".parse().unwrap());
        set_all(&mut scenario, "links.0.rate, links.last.rate", &value("\"1 Gb/s\"")).unwrap();
        assert_eq!(scenario["links"][0]["rate"].as_str(), Some("1 Gb/s"));
        assert_eq!(scenario["links"][1]["rate"].as_str(), Some("1 Gb/s"));
    }

    #[test]
    fn a_whole_setting_is_replaced() {
        let mut scenario = Value::Table("destination = { nic = \"none\" }".parse().unwrap());
        set_all(&mut scenario, "destination.nic", &value("{ throttle = { period = \"5 us\" } }")).unwrap();
        assert_eq!(scenario["destination"]["nic"]["throttle"]["period"].as_str(), Some("5 us"));
    }
}
