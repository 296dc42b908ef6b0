//! What a description says of a tool, and whether that can be.

use super::error::PluginError;
use super::gives::Gives;
use super::units::Units;
use regex::Regex;
use serde::Deserialize;
use std::path::Path;
use std::time::Duration;

/// A tool, as its description says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plugin {
    /// Its name, in tables.
    pub name: String,
    /// What it measures, in a line.
    pub about: String,
    /// Who published it, or where it is to be had.
    #[serde(default)]
    pub origin: String,
    /// The package of the system that has it.
    #[serde(default)]
    pub package: Option<String>,
    /// So long may it take, beyond `{seconds}` where its commands name them.
    time_limit_seconds: u64,
    /// For `{port}`; where the server listens, on TCP or UDP.
    #[serde(default)]
    pub(super) port: Option<u16>,
    /// The end that waits. Some tools need none.
    #[serde(default)]
    pub(super) server: Option<End>,
    /// The end that measures.
    pub(super) client: End,
    /// What is read.
    pub(super) value: Value,
    /// What a figure counts of each packet.
    #[serde(default)]
    packet: Option<Packet>,
}

/// An end of the path.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum At {
    /// From which packets are sent.
    Source,
    /// To which they are sent.
    Destination,
}

/// One end of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Where it runs.
    pub(super) at: At,
    /// Program and arguments, with placeholders.
    pub(super) command: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Value {
    pub(super) quantity: Gives,
    /// Which end prints it.
    #[serde(default)]
    pub(super) printed_by: PrintedBy,
    /// Pointer (RFC 6901) into the document that it prints.
    #[serde(default)]
    pub(super) json: Option<String>,
    /// Regular expression with a group `value`, or with `low` and `high`, or with all three, and with `unit` or
    /// without. The last match counts.
    #[serde(default)]
    pub(super) regex: Option<String>,
    /// The unit, where no group tells it.
    #[serde(default)]
    pub(super) unit: Option<String>,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PrintedBy {
    #[default]
    Client,
    Server,
}

/// What a tool's figure counts of a packet, and what the packet takes of an Ethernet link.
#[derive(Copy, Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packet {
    counted_bytes: u32,
    wire_bytes: u32,
}

/// The placeholders that commands may have.
pub(super) const PLACEHOLDERS: [&str; 6] = ["source", "destination", "port", "seconds", "rate", "rate_mbps"];

impl Plugin {
    /// Reads a description.
    ///
    /// # Errors
    /// Says where it is wrong, and what would be right.
    pub fn load(file: &Path) -> Result<Self, PluginError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| PluginError::Unreadable { file: file.to_owned(), source })?;
        Self::parse(&file.display().to_string(), &text)
    }

    /// Reads the text of a description; `name` is for messages.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn parse(name: &str, text: &str) -> Result<Self, PluginError> {
        let plugin: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or(0, |span| span.start).min(text.len());
            let line = 1 + text.as_bytes()[..before].iter().filter(|byte| **byte == b'\n').count();
            PluginError::Wrong { place: format!("{name}:{line}"), problem: error.message().to_owned() }
        })?;
        match plugin.problem() {
            None => Ok(plugin),
            Some((key, problem)) => Err(PluginError::Wrong { place: format!("{name}: {key}"), problem }),
        }
    }

    /// What it measures.
    #[must_use]
    pub fn gives(&self) -> Gives {
        self.value.quantity
    }

    /// How long it may take when asked to measure for `seconds`.
    #[must_use]
    pub fn time_limit(&self, seconds: u32) -> Duration {
        let named = self.ends().any(|end| end.command.iter().any(|word| word.contains("{seconds}")));
        Duration::from_secs(self.time_limit_seconds + if named { u64::from(seconds) } else { 0 })
    }

    /// What its packets take of an Ethernet link, over what its figure counts of them.
    #[must_use]
    pub fn wire_over_counted(&self) -> f64 {
        self.packet.map_or(1.0, |packet| f64::from(packet.wire_bytes) / f64::from(packet.counted_bytes))
    }

    fn ends(&self) -> impl Iterator<Item = &End> {
        self.server.iter().chain([&self.client])
    }

    /// The first key that is wrong, and why.
    fn problem(&self) -> Option<(&'static str, String)> {
        let wrong = |key, problem: &str| Some((key, problem.to_owned()));
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return wrong("name", "needs letters");
        }
        if self.time_limit_seconds == 0 || self.time_limit_seconds > 3600 {
            return wrong("time_limit_seconds", "from 1 to 3600");
        }
        if let Some(server) = &self.server
            && server.at == self.client.at
        {
            return wrong("server.at", "both ends are at the same end of the path");
        }
        for (key, end) in [("client.command", Some(&self.client)), ("server.command", self.server.as_ref())] {
            let Some(end) = end else { continue };
            if end.command.first().is_none_or(String::is_empty) {
                return wrong(key, "needs at least the name of a program");
            }
            for word in &end.command {
                if let Some(name) = placeholders(word).find(|name| !PLACEHOLDERS.contains(name)) {
                    let known = PLACEHOLDERS.map(|name| format!("{{{name}}}")).join(", ");
                    return Some((key, format!("`{{{name}}}` is no placeholder; there are {known}")));
                }
                if word.contains("{port}") && self.port.is_none() {
                    return wrong(key, "has `{port}`, and the description has no `port`");
                }
            }
        }
        if let Some(Packet { counted_bytes, wire_bytes }) = self.packet
            && (counted_bytes == 0 || counted_bytes > wire_bytes)
        {
            return wrong("packet", "counted_bytes is above 0, and at most wire_bytes");
        }
        if self.packet.is_some() && self.value.quantity == Gives::RoundTrip {
            return wrong("packet", "a time counts no bytes");
        }
        self.value.problem(self.server.is_some())
    }
}

impl Value {
    fn problem(&self, server: bool) -> Option<(&'static str, String)> {
        let wrong = |key, problem: &str| Some((key, problem.to_owned()));
        if self.printed_by == PrintedBy::Server && !server {
            return wrong("value.printed_by", "there is no server");
        }
        let units = Units::of(self.quantity);
        let unit_known = match &self.unit {
            None => false,
            Some(unit) if units.scale(unit).is_some() => true,
            Some(unit) => {
                return Some(("value.unit", format!("`{unit}` is none of {}", units.names())));
            }
        };
        match (&self.json, &self.regex) {
            (Some(pointer), None) if !pointer.starts_with('/') => {
                wrong("value.json", "a JSON pointer begins with `/`: \"/end/sum_received/bits_per_second\"")
            }
            (Some(_), None) if !unit_known => {
                wrong("value.unit", "is missing: a JSON figure does not tell it")
            }
            (Some(_), None) => None,
            (None, Some(text)) => match Regex::new(text) {
                Err(error) => {
                    let line = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
                    Some(("value.regex", line))
                }
                Ok(regex) => {
                    let has = |name| regex.capture_names().flatten().any(|own| own == name);
                    if !(has("value") || has("low") && has("high")) {
                        wrong("value.regex", "needs a group (?<value>...), or (?<low>...) and (?<high>...)")
                    } else if !unit_known && !has("unit") {
                        wrong("value.unit", "is missing, and the expression has no group (?<unit>...)")
                    } else {
                        None
                    }
                }
            },
            _ => wrong("value", "needs either `json` or `regex`"),
        }
    }
}

/// The names between braces: `{host}`. What else stands between braces belongs to the command.
pub(super) fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.split('{').skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once('}')?;
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        plain.then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &str = "name = 'ping'\nabout = 'x'\ntime_limit_seconds = 5\n\
                        [client]\nat = 'source'\ncommand = ['ping', '-w', '{seconds}', '{destination}']\n\
                        [value]\nquantity = 'round-trip'\nregex = '= (?<value>[0-9.]+)'\nunit = 'ms'\n";

    fn told(from: &str, to: &str) -> String {
        assert!(PING.contains(from), "{from}");
        Plugin::parse("p.toml", &PING.replace(from, to)).unwrap_err().to_string()
    }

    #[test]
    fn a_description_is_read() {
        let ping = Plugin::parse("p.toml", PING).unwrap();
        assert_eq!((ping.name.as_str(), ping.gives()), ("ping", Gives::RoundTrip));
        assert_eq!(ping.time_limit(3), Duration::from_secs(8));
        assert_eq!(ping.wire_over_counted(), 1.0);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        assert!(told("about", "abuot").starts_with("p.toml:2: unknown field `abuot`"));
        assert!(told("{destination}", "{hots}").contains("client.command: `{hots}` is no placeholder"));
        assert!(told("{destination}", "{port}").contains("no `port`"));
        assert!(told("unit = 'ms'", "unit = 'Mb/s'").contains("value.unit: `Mb/s` is none of"));
        assert!(told("unit = 'ms'\n", "").contains("value.unit: is missing"));
        assert!(told("<value>", "<figure>").contains("value.regex: needs a group"));
        assert!(told("[0-9.]+", "[0-9.+").contains("value.regex: "));
        assert!(told("regex = '= (?<value>[0-9.]+)'", "json = 'end'").contains("begins with `/`"));
        assert!(told("regex = '= (?<value>[0-9.]+)'", "").contains("needs either `json` or `regex`"));
        assert!(told("limit_seconds = 5", "limit_seconds = 0").contains("from 1 to 3600"));
        assert!(
            told("'round-trip'\n", "'round-trip'\nprinted_by = 'server'\n").contains("there is no server")
        );
        let server = "[server]\nat = 'source'\ncommand = ['x']\n[client]";
        assert!(told("[client]", server).contains("same end"));
        let none = "command = []";
        assert!(
            told("command = ['ping', '-w', '{seconds}', '{destination}']", none)
                .contains("name of a program")
        );
    }

    #[test]
    fn braces_of_the_shell_are_the_shells_own() {
        let names = |word| placeholders(word).collect::<Vec<_>>();
        assert_eq!(names("a{port}b{rate_mbps}"), ["port", "rate_mbps"]);
        assert!(names("awk '{print $1}' ${HOME} {} {").is_empty() || names("${HOME}").is_empty());
    }
}
